/* Steps within a node, and what a rank does for others while it waits. The contract is in
 * node/bound.h. */
#include "offload/memory/cma.h"
#include "offload/node/board.h"
#include "offload/node/coop.h"
#include "offload/node/relay.h"

/* Handles steps whose memory is not mapped here. */
static enum pcoll_result reach(struct pcoll_run *run, struct pcoll_step *step)
{
    int error;

    if (step->kind == PCOLL_NODE_READ)
        error = pcoll_cma_read(step->pid, step->to, step->from, step->bytes);
    else if (step->kind == PCOLL_NODE_WRITE)
        error = pcoll_cma_write(step->pid, step->to, step->from, step->bytes);
    else if (step->kind == PCOLL_NODE_COOP)
        return pcoll_node_coop(pcoll_node_bound_of_run(run), step);
    else if (step->kind == PCOLL_NODE_POSTED)
        return pcoll_node_board_fire(pcoll_node_bound_of_run(run), step);
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
    uint32_t alarm = atomic_load_explicit(&bound->block->alarm, memory_order_acquire);

    if (__builtin_expect(alarm == 0, 1))
        return PCOLL_PENDING;
    if (alarm & PCOLL_NODE_FAILED)
        return PCOLL_ERR_SYSTEM;
    if (alarm & PCOLL_NODE_ASKING)
        pcoll_node_serve(bound);
    if (alarm >= PCOLL_NODE_COOPERATING)
        pcoll_node_help(bound);
    return PCOLL_PENDING;
}

/* No counter tells a rank that its request for a copy has been served, or that a cooperative copy
 * has landed. */
void pcoll_node_rest(struct pcoll_bound *base, unsigned usec)
{
    const struct pcoll_node_bound *bound = pcoll_node_bound_of(base);
    const int is_copying = bound->cooperating != NULL && !bound->is_ahead;

    pcoll_run_rest(&bound->run, bound->asking || is_copying ? 0 : usec);
}

uint64_t pcoll_node_position(const struct pcoll_bound *base)
{
    const struct pcoll_node_bound *bound = pcoll_node_bound_of(base);

    return pcoll_run_position(&bound->run) + bound->relayed + bound->opening + bound->helped;
}
