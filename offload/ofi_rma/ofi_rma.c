/*
 * Running bound plans on the network and in shared memory: start, progress and waiting.
 *
 * As in shm.c a phase is a list of queues.  A step for another node may have to be tried again, as
 * the provider has no room, and stays at the head of its queue meanwhile; what it has begun ends
 * by a completion.  The phase is complete when no queue is left and no operation is under way.
 */
#include "offload/ofi_rma/ofi_rma.h"

#include <sched.h>
#include <unistd.h>
#include <stdio.h>

#include "offload/ofi_rma/state.h"
#include "offload/shm/relay.h"
#include "offload/shm/run.h"

/* Fire a step for another node; what remains to be done after a completion must not wait for its
 * turn in the queue, unless the plan is ordered. */
static enum pcoll_result fire_away(struct pcoll_ofi_bound *bound, struct pcoll_shm_step *shm)
{
    struct pcoll_ofi_step *step = shm->to;
    enum pcoll_result result = pcoll_ofi_advance(step);

    step->is_queued = bound->ordered;
    if (result == PCOLL_PENDING && step->stage == PCOLL_OFI_MOVING && !bound->ordered)
        result = PCOLL_OK;
    if (result == PCOLL_OK)
        shm->threshold += shm->gain;
    return result;
}

/* Fire what the counter of a queue allows; *moved_p is set when something was. */
static inline enum pcoll_result drain(struct pcoll_ofi_bound *bound, struct pcoll_shm_queue *queue,
                                      int *moved_p)
{
    uint64_t value =
        queue->line ? atomic_load_explicit(&queue->line->value, memory_order_acquire) : 0;

    while (queue->first != queue->end &&
           (queue->line == NULL || (int64_t)(value - queue->first->threshold) >= 0)) {
        enum pcoll_result result = queue->first->kind == PCOLL_SHM_AWAY
                                       ? fire_away(bound, queue->first)
                                       : pcoll_shm_fire(&bound->shm, queue->first);

        if (__builtin_expect(result != PCOLL_OK, 0))
            return result;
        queue->first++;
        *moved_p = 1;
    }
    return PCOLL_OK;
}

static enum pcoll_result drain_all(struct pcoll_ofi_bound *bound)
{
    struct pcoll_shm_bound *shm = &bound->shm;
    int moved = 1;

    while (moved && shm->npending > 0) {
        moved = 0;
        for (int i = 0; i < shm->npending; i++) {
            enum pcoll_result result = drain(bound, &shm->pending[i], &moved);

            if (result != PCOLL_OK && (result != PCOLL_PENDING || shm->asking != NULL)) {
                pcoll_shm_put_first(shm, i);
                return result;
            }
            if (shm->pending[i].first == shm->pending[i].end)
                shm->pending[i--] = shm->pending[--shm->npending];
        }
    }
    return PCOLL_OK;
}

/* Fire what can be fired without asking the network what is new. */
static enum pcoll_result fire_all(struct pcoll_ofi_bound *bound)
{
    enum pcoll_result result = pcoll_ofi_flush(bound);

    if (result == PCOLL_OK || result == PCOLL_PENDING)
        result = drain_all(bound);
    if (bound->failed)
        return PCOLL_ERR_SYSTEM;
    if (result != PCOLL_OK)
        return result;
    return bound->shm.npending == 0 && bound->inflight == 0 && bound->ready == NULL ? PCOLL_OK
                                                                                    : PCOLL_PENDING;
}

static enum pcoll_result progress(struct pcoll_ofi_bound *bound)
{
    if (bound->nlinks > 0) {
        pcoll_ofi_poll_rails(bound);
        pcoll_ofi_read_inbox(bound);
    }
    return fire_all(bound);
}

/* What can be sent at once goes before the first look at the network, which takes time. */
static enum pcoll_result ofi_start(struct pcoll_bound *base)
{
    struct pcoll_ofi_bound *bound = pcoll_ofi_bound_of(base);
    struct pcoll_shm_bound *shm = &bound->shm;
    const struct pcoll_shm_phase *phase = &shm->phases[shm->phase];
    enum pcoll_result result;

    if (bound->failed)
        return PCOLL_ERR_SYSTEM;
    shm->phase = shm->phase + 1 == shm->nphases ? 0 : shm->phase + 1;
    for (shm->npending = 0; shm->npending < phase->nqueues; shm->npending++)
        shm->pending[shm->npending] = phase->queues[shm->npending];
    pcoll_ofi_read_inbox(bound);
    result = fire_all(bound);
    return result == PCOLL_PENDING ? progress(bound) : result;
}

/* Not there yet: has a peer given up? */
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

/* Now and then poll for others what this plan does not use, which is all rails if it stays within
 * the node: they may still read here. */
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
        pcoll_shm_relax();
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
    else if (bound->nlinks == 0 && bound->shm.npending > 0)
        pcoll_shm_rest(base, usec);
    else
        usleep(usec); /* not in poll(2): what wakes it is often nothing that could be used */
}

static int ofi_suits(int one_node, const char *provider)
{
    (void)provider;
    return !one_node;
}

const struct pcoll_medium pcoll_medium_ofi_rma = {
    .name = "ofi_rma",
    .traits = PCOLL_SPANS_NODES,
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
};
