/*
 * Running bound plans on the network and in shared memory: start, progress and waiting.
 *
 * The executor in offload/run runs both. A step to another node is pending while the wire has no
 * room for it; an operation that it has begun ends with a completion. The phase is complete when
 * no queue is left and no operation is in flight.
 */
#include "offload/rma/rma.h"

#include <stdio.h>

#include "offload/pace.h"
#include "offload/rma/state.h"
#include "offload/node/board.h"
#include "offload/node/fire.h"
#include "offload/yield.h"

/* Unless the plan is ordered, the rest of a step after a completion must not wait for its turn in
 * the queue. */
static enum pcoll_result fire_away(struct pcoll_rma_bound *bound, struct pcoll_step *base)
{
    struct pcoll_rma_step *step = base->own;
    enum pcoll_result result = pcoll_rma_advance(step);

    step->is_queued = bound->ordered;
    if (result == PCOLL_PENDING && step->stage == PCOLL_RMA_MOVING && !bound->ordered)
        result = PCOLL_OK;
    if (result == PCOLL_OK)
        base->threshold += base->gain;
    return result;
}

static inline enum pcoll_result rma_fire(struct pcoll_run *run, struct pcoll_step *step)
{
    if (step->kind == PCOLL_STEP_REMOTE)
        return fire_away(pcoll_rma_bound_of_run(run), step);
    return pcoll_node_fire(run, step);
}

/* Ranks of this node and of others may wait for this one forever: tell them that it has failed. */
static __attribute__((noinline)) enum pcoll_result stop(struct pcoll_rma_bound *bound)
{
    const bool is_known = bound->failed;

    bound->failed = true;
    if (!is_known)
        (void)pcoll_node_stop(&bound->node);
    pcoll_rma_send_farewells(bound);
    return PCOLL_ERR_SYSTEM;
}

/* What the executor returned, whose errors are those of steps within the node. If no queue is left,
 * the instance is complete once everything that was sent has arrived. */
static enum pcoll_result settle(struct pcoll_rma_bound *bound, enum pcoll_result result)
{
    if (__builtin_expect(bound->failed || result > PCOLL_PENDING, 0))
        return stop(bound);
    if (result == PCOLL_OK && (bound->inflight != 0 || bound->ready != NULL))
        return PCOLL_PENDING;
    return result;
}

/* Returns false if it is not yet time for a poll. */
static inline bool see_arrivals(struct pcoll_rma_bound *bound)
{
    bool polls;

    if (bound->nlinks == 0)
        return true;
    polls = pcoll_network_polls();
    if (polls)
        pcoll_rma_poll_rails(bound);
    pcoll_rma_read_inbox(bound);
    return polls;
}

/* Do what can be done, as far as it is known. */
static enum pcoll_result go_on(struct pcoll_rma_bound *bound)
{
    enum pcoll_result result;

    if (bound->failed) /* nothing is sent behind the farewells */
        return stop(bound);
    result = pcoll_rma_flush(bound);
    if (result == PCOLL_OK || result == PCOLL_PENDING)
        result = pcoll_run_progress(&bound->node.run, rma_fire);
    return settle(bound, result);
}

static enum pcoll_result progress(struct pcoll_rma_bound *bound)
{
    (void)see_arrivals(bound);
    return go_on(bound);
}

/* Whatever can be sent at once is sent before the first poll of the network, which takes time. */
enum pcoll_result pcoll_rma_start(struct pcoll_bound *base)
{
    struct pcoll_rma_bound *bound = pcoll_rma_bound_of(base);
    enum pcoll_result result;

    if (bound->failed)
        return PCOLL_ERR_SYSTEM;
    pcoll_network_event();
    pcoll_rma_read_inbox(bound);
    if (bound->node.board != NULL)
        pcoll_node_post(&bound->node);
    result = settle(bound, pcoll_run_start(&bound->node.run, rma_fire));
    return result == PCOLL_PENDING ? progress(bound) : result;
}

/* Returns whether this neighbor will take no further part: `fate` says why; the culprit is noted.
 */
static bool is_gone(struct pcoll_rma_bound *bound, const struct pcoll_rma_way *way, char *fate,
                    size_t size)
{
    int culprit = PCOLL_NONE;

    if (pcoll_rma_farewell_of(way, &culprit) == PCOLL_RMA_FAILED) {
        if (culprit == PCOLL_NONE)
            snprintf(fate, size, "gave up");
        else
            snprintf(fate, size, "gave up because of rank %d", culprit);
    } else if (way->wire.endpoint->wire->is_lost(&way->wire)) {
        snprintf(fate, size, "is lost");
        culprit = way->rank;
    } else {
        return false;
    }
    bound->culprit = culprit;
    return true;
}

/* Find out whether a peer has given up, since the instance is not complete. */
static enum pcoll_result check_failed(struct pcoll_rma_bound *bound)
{
    const struct pcoll_rma_group *group = bound->group;
    char text[120], fate[64];

    if (pcoll_node_attend(&bound->node) != PCOLL_PENDING)
        bound->failed = true;
    for (int i = 0; i < bound->nways && !bound->failed; i++) {
        if (!is_gone(bound, &bound->ways[i], fate, sizeof(fate)))
            continue;
        snprintf(text, sizeof(text), "%s: rank %d %s", group->wire->library, bound->ways[i].rank,
                 fate);
        group->bootstrap.report(group->bootstrap.context, text);
        pcoll_node_raise(&bound->node);
        bound->failed = true;
    }
    return bound->failed ? stop(bound) : PCOLL_PENDING;
}

/* Now and then poll for other ranks the rails that this plan does not use, which are all rails if
 * it stays within the node: they may still read here, unless this process has no neighbors. */
static void poll_for_others(struct pcoll_rma_bound *bound)
{
    const struct pcoll_rma_group *group = bound->group;

    if (bound->nlinks == 0 && !(pcoll_rma_has_neighbors && pcoll_network_polls()))
        return;
    for (int i = bound->nlinks > 0 ? bound->nrails : 0; i < group->nrails; i++)
        group->wire->poll(group->endpoints[i]);
}

enum pcoll_result pcoll_rma_progress(struct pcoll_bound *base)
{
    struct pcoll_rma_bound *bound = pcoll_rma_bound_of(base);
    enum pcoll_result result = progress(bound);

    if (result != PCOLL_PENDING)
        return result;
    poll_for_others(bound);
    return check_failed(bound);
}

enum pcoll_result pcoll_rma_spin(struct pcoll_bound *base, unsigned spins)
{
    struct pcoll_rma_bound *bound = pcoll_rma_bound_of(base);
    enum pcoll_result result = progress(bound);

    while (result == PCOLL_PENDING && spins > 0) {
        pcoll_relax();
        spins -= see_arrivals(bound);
        result = go_on(bound);
    }
    return result == PCOLL_PENDING ? pcoll_rma_progress(base) : result;
}

void pcoll_rma_rest(struct pcoll_bound *base, unsigned usec)
{
    const struct pcoll_rma_bound *bound = pcoll_rma_bound_of(base);

    pcoll_rma_leave_some();
    if (usec > 0 && bound->nlinks == 0 && pcoll_run_waits(&bound->node.run))
        pcoll_node_rest(base, usec);
    else
        pcoll_rest_usec(usec); /* rather than poll(2), which often wakes up for nothing useful */
}

uint64_t pcoll_rma_position(const struct pcoll_bound *base)
{
    const struct pcoll_rma_bound *bound = pcoll_rma_bound_of(base);
    uint64_t position = pcoll_node_position(base) * 31 + (uint64_t)bound->inflight;

    for (int i = 0; i < bound->nsources; i++)
        position += bound->sources[i].sum;
    return position;
}
