/*
 * Running bound plans on the network and in shared memory: start, progress and waiting.
 *
 * The executor in offload/run runs both. A step to another node is pending while the provider has
 * no room for it; an operation that it has begun ends with a completion. The phase is complete when
 * no queue is left and no operation is in flight.
 */
#include "offload/ofi_rma/ofi_rma.h"

#include <sched.h>
#include <unistd.h>
#include <stdio.h>

#include "offload/ofi_rma/state.h"
#include "offload/shm/fire.h"

/* Unless the plan is ordered, the rest of a step after a completion must not wait for its turn in
 * the queue. */
static enum pcoll_result fire_away(struct pcoll_ofi_bound *bound, struct pcoll_step *base)
{
    struct pcoll_ofi_step *step = base->own;
    enum pcoll_result result = pcoll_ofi_advance(step);

    step->is_queued = bound->ordered;
    if (result == PCOLL_PENDING && step->stage == PCOLL_OFI_MOVING && !bound->ordered)
        result = PCOLL_OK;
    if (result == PCOLL_OK)
        base->threshold += base->gain;
    return result;
}

static inline enum pcoll_result ofi_fire(struct pcoll_run *run, struct pcoll_step *step)
{
    if (step->kind == PCOLL_SHM_AWAY)
        return fire_away(pcoll_ofi_bound_of_run(run), step);
    return pcoll_shm_fire(run, step);
}

/* No queue is left: has everything that was sent arrived? */
static enum pcoll_result settle(const struct pcoll_ofi_bound *bound, enum pcoll_result result)
{
    if (bound->failed)
        return PCOLL_ERR_SYSTEM;
    if (result == PCOLL_OK && (bound->inflight != 0 || bound->ready != NULL))
        return PCOLL_PENDING;
    return result;
}

static enum pcoll_result progress(struct pcoll_ofi_bound *bound)
{
    enum pcoll_result result;

    if (bound->nlinks > 0) {
        pcoll_ofi_poll_rails(bound);
        pcoll_ofi_read_inbox(bound);
    }
    result = pcoll_ofi_flush(bound);
    if (result == PCOLL_OK || result == PCOLL_PENDING)
        result = pcoll_run_progress(&bound->shm.run, ofi_fire);
    return settle(bound, result);
}

/* Whatever can be sent at once is sent before the first poll of the network, which takes time. */
static enum pcoll_result ofi_start(struct pcoll_bound *base)
{
    struct pcoll_ofi_bound *bound = pcoll_ofi_bound_of(base);
    enum pcoll_result result;

    if (bound->failed)
        return PCOLL_ERR_SYSTEM;
    pcoll_ofi_read_inbox(bound);
    result = settle(bound, pcoll_run_start(&bound->shm.run, ofi_fire));
    return result == PCOLL_PENDING ? progress(bound) : result;
}

/* The instance is not complete: has a peer given up? */
static enum pcoll_result check_failed(struct pcoll_ofi_bound *bound)
{
    const struct pcoll_bootstrap *bootstrap = &bound->group->bootstrap;
    char text[80];

    if (pcoll_shm_attend(&bound->shm) != PCOLL_PENDING)
        bound->failed = 1;
    for (int i = 0; i < bound->nways && !bound->failed; i++)
        if (pcoll_ofi_farewell_of(&bound->ways[i]) == PCOLL_OFI_FAILED) {
            snprintf(text, sizeof(text), "libfabric: rank %d gave up", bound->ways[i].rank);
            bootstrap->report(bootstrap->context, text);
            atomic_fetch_or_explicit(&bound->shm.block->alarm, PCOLL_SHM_FAILED,
                                     memory_order_release);
            bound->failed = 1;
        }
    if (!bound->failed)
        return PCOLL_PENDING;
    pcoll_ofi_say_farewell(bound, PCOLL_OFI_FAILED);
    return PCOLL_ERR_SYSTEM;
}

/* Now and then poll for other ranks the rails that this plan does not use, which are all rails if
 * it stays within the node: they may still read here. */
static void poll_for_others(struct pcoll_ofi_bound *bound)
{
    const struct pcoll_ofi_group *group = bound->group;

    for (int i = bound->nlinks > 0 ? bound->nrails : 0; i < group->nrails; i++)
        pcoll_ofi_poll(group->endpoints[i]);
}

static enum pcoll_result ofi_progress(struct pcoll_bound *base)
{
    struct pcoll_ofi_bound *bound = pcoll_ofi_bound_of(base);
    enum pcoll_result result = progress(bound);

    if (result != PCOLL_PENDING)
        return result;
    poll_for_others(bound);
    return check_failed(bound);
}

static enum pcoll_result ofi_spin(struct pcoll_bound *base, unsigned spins)
{
    struct pcoll_ofi_bound *bound = pcoll_ofi_bound_of(base);
    enum pcoll_result result = progress(bound);

    while (result == PCOLL_PENDING && spins-- > 0) {
        pcoll_relax();
        result = progress(bound);
    }
    return result == PCOLL_PENDING ? ofi_progress(base) : result;
}

static void ofi_rest(struct pcoll_bound *base, unsigned usec)
{
    const struct pcoll_ofi_bound *bound = pcoll_ofi_bound_of(base);

    pcoll_ofi_leave_some();
    if (usec == 0)
        sched_yield();
    else if (bound->nlinks == 0 && pcoll_run_waits(&bound->shm.run))
        pcoll_shm_rest(base, usec);
    else
        usleep(usec); /* usleep rather than poll(2), which often wakes up for nothing useful */
}

static uint64_t ofi_position(const struct pcoll_bound *base)
{
    const struct pcoll_ofi_bound *bound = pcoll_ofi_bound_of(base);
    uint64_t position = pcoll_shm_position(base) * 31 + (uint64_t)bound->inflight;

    for (int i = 0; i < bound->nsources; i++)
        position += bound->sources[i].sum;
    return position;
}

static int ofi_suits(int one_node, const char *provider)
{
    (void)provider;
    return !one_node;
}

const struct pcoll_medium pcoll_medium_ofi_rma = {
    .name = "ofi_rma",
    .traits = PCOLL_SPANS_NODES | PCOLL_LENDS,
    .node_medium = "shm",
    .suits = ofi_suits,
    .poll = pcoll_ofi_rma_poll,
    .lingering = pcoll_ofi_rma_lingering,
    .finalize = pcoll_ofi_rma_finalize,
    .group_create = pcoll_ofi_rma_group_create,
    .group_destroy = pcoll_ofi_rma_group_destroy,
    .group_provides = pcoll_ofi_rma_group_provides,
    .group_rails = pcoll_ofi_rma_group_rails,
    .combine = pcoll_ofi_rma_combine,
    .bind = pcoll_ofi_rma_bind,
    .unbind = pcoll_ofi_rma_unbind,
    .start = ofi_start,
    .progress = ofi_progress,
    .spin = ofi_spin,
    .rest = ofi_rest,
    .position = ofi_position,
};
