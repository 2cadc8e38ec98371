/* Steps within a node, and what a rank does for others while it waits. The contract is in
 * node/bound.h. */
#include "offload/memory/cma.h"
#include "offload/node/board.h"
#include "offload/node/relay.h"

/* Handles steps whose memory is not mapped here. */
static enum pcoll_result reach(struct pcoll_run *run, struct pcoll_step *step)
{
    int error;

    if (step->kind == PCOLL_NODE_READ)
        error = pcoll_cma_read(step->pid, step->to, step->from, step->bytes);
    else if (step->kind == PCOLL_NODE_WRITE)
        error = pcoll_cma_write(step->pid, step->to, step->from, step->bytes);
    else if (step->kind == PCOLL_NODE_POSTED)
        return pcoll_node_post_fire(pcoll_node_bound_of_run(run), step);
    else
        return pcoll_node_ask(pcoll_node_bound_of_run(run), step);
    if (__builtin_expect(error != 0, 0))
        return pcoll_node_refused(pcoll_node_bound_of_run(run), step, error);
    return PCOLL_OK;
}

/* Not inline: steps that only signal or copy should not pay for it. */
enum pcoll_result pcoll_node_perform(struct pcoll_run *run, struct pcoll_step *step)
{
    if (step->kind == PCOLL_STEP_REDUCE)
        return pcoll_reduce(step->reduction);
    if (step->kind >= PCOLL_NODE_PACK)
        return pcoll_node_repack(pcoll_node_bound_of_run(run), step);
    return reach(run, step);
}

enum pcoll_result pcoll_node_attend(struct pcoll_node_bound *bound)
{
    const uint32_t alarm = atomic_load_explicit(&bound->extent->alarm, memory_order_acquire);

    if (alarm & PCOLL_NODE_FAILED)
        return PCOLL_ERR_SYSTEM;
    if (alarm & PCOLL_NODE_ASKING)
        pcoll_node_serve(bound);
    if (bound->board != NULL)
        pcoll_node_help(bound);
    return PCOLL_PENDING;
}

/* No counter tells a rank that its request for a copy has been served, or that a helper has done a
 * chunk. But a step that is pending is at the head of a queue, and due, so the rank does not sleep.
 */
void pcoll_node_rest(struct pcoll_bound *base, unsigned usec)
{
    pcoll_run_rest(&pcoll_node_bound_of(base)->run, usec);
}

uint64_t pcoll_node_position(const struct pcoll_bound *base)
{
    const struct pcoll_node_bound *bound = pcoll_node_bound_of(base);

    return pcoll_run_position(&bound->run) + bound->relayed + bound->chunks;
}
