/* Bells of agents; the contract is in offload/bell.h. */
#include "offload/bell.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "offload/yield.h"

static void wake(struct pcoll_bell *bell)
{
    syscall(SYS_futex, &bell->sleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void pcoll_bell_wake(struct pcoll_bell *bell)
{
    atomic_store_explicit(&bell->sleep, PCOLL_AWAKE, memory_order_seq_cst);
    wake(bell);
}

bool pcoll_bell_ring(struct pcoll_bell *bell)
{
    uint32_t state = atomic_load_explicit(&bell->sleep, memory_order_seq_cst);

    if (__builtin_expect(state == PCOLL_AWAKE, 1))
        return true;
    if (state == PCOLL_ASLEEP &&
        atomic_compare_exchange_strong_explicit(&bell->sleep, &state, PCOLL_AWAKE,
                                                memory_order_seq_cst, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&bell->wakes, 1, memory_order_relaxed);
        wake(bell);
    }
    return state != PCOLL_RETIRED;
}

void pcoll_bell_sleep(struct pcoll_bell *bell, enum pcoll_sleep state, const _Atomic bool *stop,
                      uint64_t nsec)
{
    const uint64_t end = pcoll_now() + nsec;

    while (atomic_load_explicit(&bell->sleep, memory_order_seq_cst) == (uint32_t)state &&
           !atomic_load_explicit(stop, memory_order_seq_cst)) {
        const uint64_t time = pcoll_now();
        const uint64_t left = nsec == 0 ? 0 : end - time;
        const struct timespec timeout = {(time_t)(left / 1000000000), (long)(left % 1000000000)};

        if (nsec != 0 && time >= end)
            break;
        syscall(SYS_futex, &bell->sleep, FUTEX_WAIT, state, nsec ? &timeout : NULL, NULL, 0);
    }
}
