/*
 * What firing a step in shared memory is made of; inline, as it is the hot path of all media that
 * have ranks on one node.  Private to the media.
 */
#ifndef PCOLL_SHM_RUN_H
#define PCOLL_SHM_RUN_H

#include <string.h>

#include "offload/shm/relay.h"
#include "offload/shm/state.h"

static inline void pcoll_shm_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The futex word is the half of the counter that changes with every signal. */
static inline uint32_t *pcoll_shm_futex_word(struct pcoll_shm_line *line)
{
    uint32_t *halves = (uint32_t *)(void *)&line->value;

    return halves + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* A store that nobody else competes with needs no lock, and looks for no sleeper, as that would
 * wait for the line to arrive; sleepers wake up by themselves soon enough (see pcoll_shm_rest). */
static inline void pcoll_shm_signal(struct pcoll_shm_target *target, uint64_t add)
{
    struct pcoll_shm_line *line = target->line;

    if (target->alone) {
        target->signaled += add;
        atomic_store_explicit(&line->value, target->signaled, memory_order_release);
        return;
    }
    atomic_fetch_add_explicit(&line->value, add, memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&line->sleepers, memory_order_relaxed) != 0, 0))
        pcoll_shm_wake(line);
}

static inline void pcoll_shm_copy_any(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else
        pcoll_shm_copy(to, from, bytes);
}

static inline enum pcoll_result pcoll_shm_move(struct pcoll_shm_bound *bound,
                                               struct pcoll_shm_step *step)
{
    if (step->kind == PCOLL_SHM_COPY)
        pcoll_shm_copy_any(step->to, step->from, step->bytes);
    else if (step->kind != PCOLL_SHM_NOTHING)
        return pcoll_shm_reach(bound, step);
    return PCOLL_OK;
}

/* PCOLL_PENDING: not fired yet; nothing else may be before it. */
static inline enum pcoll_result pcoll_shm_fire(struct pcoll_shm_bound *bound,
                                               struct pcoll_shm_step *step)
{
    enum pcoll_result result = pcoll_shm_move(bound, step);

    if (__builtin_expect(result != PCOLL_OK, 0))
        return result;
    step->threshold += step->gain;
    if (step->done != NULL)
        pcoll_shm_signal(step->done, step->done_add);
    if (step->peer != NULL)
        pcoll_shm_signal(step->peer, step->peer_add);
    return PCOLL_OK;
}

#endif /* PCOLL_SHM_RUN_H */
