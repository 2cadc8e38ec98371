/* The medium `tcp_kernel`: start, progress, and its table. */
#include "offload/tcp_kernel/tcp_kernel.h"

#include "offload/tcp_kernel/state.h"
#include "offload/yield.h"

struct pcoll_tcp_kernel_settings pcoll_tcp_kernel_settings = {
    .piece = (size_t)128 << 10,
    .chain = 4096,
    .outlines = (size_t)32 << 20,
    .seconds = 30,
    .local = (size_t)64 << 10,
};

static enum pcoll_result progress(struct tcp_bound *b)
{
    enum pcoll_result result;

    if (!b->active)
        return PCOLL_OK;
    if (b->failed)
        return PCOLL_ERR_SYSTEM;
    result = pcoll_tcp_advance(b);
    b->active = result == PCOLL_PENDING;
    return result;
}

static enum pcoll_result tcp_progress(struct pcoll_bound *bound)
{
    return progress(tcp_bound_of(bound));
}

static enum pcoll_result tcp_start(struct pcoll_bound *bound)
{
    struct tcp_bound *b = tcp_bound_of(bound);

    if (b->failed)
        return PCOLL_ERR_SYSTEM;
    b->script = &b->scripts[b->starts++ % (uint64_t)b->nphases];
    b->position = b->early = b->retries = 0;
    b->done = b->skipped = 0;
    b->active = true;
    return progress(b);
}

/* The kernel ends the sleep when an action is complete. */
static void tcp_rest(struct pcoll_bound *bound, unsigned usec)
{
    struct tcp_bound *b = tcp_bound_of(bound);
    struct __kernel_timespec timeout = {.tv_sec = usec / 1000000,
                                        .tv_nsec = (long long)(usec % 1000000) * 1000};
    struct io_uring_cqe *cqe;

    if (usec == 0 || b->pending == 0 || !pcoll_may_sleep())
        pcoll_yield();
    else
        (void)io_uring_wait_cqe_timeout(&b->ring, &cqe, &timeout);
}

/* The user must request it: it interrupts the process, and each plan has connections of its own. */
static bool tcp_suits(bool one_node, const char *provider)
{
    (void)one_node;
    (void)provider;
    return false;
}

const struct pcoll_medium pcoll_medium_tcp_kernel = {
    .name = "tcp_kernel",
    .traits = PCOLL_SPANS_NODES | PCOLL_RUNS_BY_ITSELF,
    .suits = tcp_suits,
    .poll = pcoll_tcp_poll,
    .lingering = pcoll_tcp_lingering,
    .finalize = pcoll_tcp_finalize,
    .group_create = pcoll_tcp_group_create,
    .group_destroy = pcoll_autonomous_group_destroy,
    .group_provides = pcoll_tcp_group_provides,
    .group_rails = pcoll_one_rail,
    .group_level = pcoll_no_level,
    .group_sharing = pcoll_no_sharing,
    .group_levels = pcoll_no_levels,
    .group_reach = pcoll_no_reach,
    .group_measure = pcoll_no_measurement,
    .group_machine = pcoll_no_machine,
    .bind = pcoll_tcp_bind,
    .unbind = pcoll_tcp_unbind,
    .start = tcp_start,
    .progress = tcp_progress,
    .spin = pcoll_autonomous_spin,
    .rest = tcp_rest,
    .position = pcoll_no_position,
};
