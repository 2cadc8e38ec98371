/*
 * Binding: ranks find their scripts together, then connect to their neighbors.
 *
 * All ranks take the same steps, whatever has failed on some of them.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/agree.h"
#include "offload/tcp_kernel/state.h"
#include "offload/tcp_kernel/walk.h"

static enum pcoll_result get_tables(struct tcp_bound *b)
{
    b->links = calloc((size_t)b->nneighbors + 1, sizeof(*b->links));
    b->scripts = calloc((size_t)b->nphases + 1, sizeof(*b->scripts));
    for (int n = 0; b->links && n < b->nneighbors; n++)
        b->links[n].socket = -1;
    return b->links && b->scripts ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

/* What this rank can do alone. */
static enum pcoll_result prepare(struct tcp_bound *b, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory)
{
    enum pcoll_result result;

    if (b == NULL)
        return PCOLL_ERR_NOMEM;
    if (plan == NULL)
        return PCOLL_ERR_INVALID;
    if (!pcoll_tcp_is_possible(plan))
        return PCOLL_UNSUPPORTED;
    b->plan = plan;
    b->nphases = plan->nphases;
    b->nneighbors = plan->nneighbors;
    result = get_tables(b);
    return result == PCOLL_OK ? pcoll_autonomous_memory_init(&b->memory, plan, memory) : result;
}

/* A ring for the longest chain of all phases. */
static enum pcoll_result get_ring(struct tcp_bound *b)
{
    enum pcoll_result result;

    b->room = 1;
    for (int p = 0; p < b->nphases; p++)
        if (b->scripts[p].n > b->room)
            b->room = b->scripts[p].n;
    if (b->room > pcoll_tcp_kernel_settings.chain)
        b->room = pcoll_tcp_kernel_settings.chain;
    result = pcoll_tcp_ring(&b->group->base.bootstrap, (unsigned)b->room, &b->ring);
    b->has_ring = result == PCOLL_OK;
    return result;
}

static enum pcoll_result meet(struct tcp_bound *b, struct tcp_outlines *outlines,
                              struct tcp_reception *reception)
{
    enum pcoll_result result = pcoll_tcp_order(b, outlines);

    if (result == PCOLL_OK)
        result = get_ring(b);
    return pcoll_tcp_reception_meet(reception, result);
}

static enum pcoll_result bind_together(struct tcp_bound *b, const struct pcoll_bootstrap *boot,
                                       const struct pcoll_plan *plan,
                                       const struct pcoll_memory *memory)
{
    struct tcp_reception *reception = NULL;
    struct tcp_outlines *outlines = NULL;
    struct pcoll_term bytes = {.kind = PCOLL_TERM_MAX};
    enum pcoll_result result = prepare(b, plan, memory);

    if (result == PCOLL_OK)
        result = pcoll_tcp_reception_open(b, &reception);
    if (result == PCOLL_OK)
        bytes.value = pcoll_tcp_outline_bytes(plan);
    result = pcoll_agree(boot, PCOLL_ROUND_PLAN, result, &bytes, 1);
    if (result == PCOLL_OK)
        result = pcoll_agree(boot, PCOLL_ROUND_READY,
                             pcoll_tcp_outlines_create(b, bytes.value, &outlines), NULL, 0);
    if (result == PCOLL_OK)
        result = pcoll_agree(boot, PCOLL_ROUND_BOUND, meet(b, outlines, reception), NULL, 0);
    pcoll_tcp_reception_close(reception);
    pcoll_tcp_outlines_destroy(outlines);
    return result;
}

enum pcoll_result pcoll_tcp_bind(struct pcoll_group *base, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p)
{
    struct tcp_group *group = tcp_group_of(base);
    struct tcp_bound *b = calloc(1, sizeof(*b));
    enum pcoll_result result;

    pcoll_tcp_poll();
    if (b) {
        b->base.medium = base->medium;
        b->group = group;
        group->base.refs++;
    }
    result = bind_together(b, &group->base.bootstrap, plan, memory);
    if (result == PCOLL_OK) {
        *bound_p = &b->base;
    } else if (b) {
        pcoll_tcp_release(b);
        pcoll_tcp_close(b);
    }
    return result;
}
