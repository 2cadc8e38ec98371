/*
 * Unbinding. It is local, but a neighbor that has not yet unbound the plan may still write credits
 * here, or read communication buffers. An unbound plan therefore says farewell to its neighbors on
 * other nodes, and its memory stays registered until all of them have said farewell, too. A
 * farewell is sent on every rail, since one rail says nothing about what is still in flight on
 * another.
 */
#include "offload/rma/state.h"

static struct pcoll_rma_bound *leaving;

static int is_gone(struct pcoll_rma_bound *bound)
{
    int gone = pcoll_rma_say_farewell(bound, PCOLL_RMA_LEFT);

    for (int i = 0; i < bound->nways; i++)
        gone &= pcoll_rma_farewell_of(&bound->ways[i], NULL) != PCOLL_RMA_HERE;
    return gone && bound->inflight == 0;
}

void pcoll_rma_leave_some(void)
{
    struct pcoll_rma_bound **link = &leaving;

    while (*link != NULL) {
        struct pcoll_rma_bound *bound = *link;

        if (is_gone(bound)) {
            *link = bound->next_leaving;
            pcoll_rma_bound_destroy(bound);
        } else {
            link = &bound->next_leaving;
        }
    }
}

/* User memory belongs to the user again; peers have completed all their accesses to it. */
void pcoll_rma_unbind(struct pcoll_bound *base)
{
    struct pcoll_rma_bound *bound;

    if (base == NULL)
        return;
    bound = pcoll_rma_bound_of(base);
    for (int i = 0; i < bound->nrails; i++) {
        struct pcoll_wire_endpoint *endpoint = bound->rails[i].endpoint;

        endpoint->wire->unmap(endpoint, &bound->rails[i].memories[PCOLL_RMA_SEND]);
        endpoint->wire->unmap(endpoint, &bound->rails[i].memories[PCOLL_RMA_RECV]);
    }
    bound->next_leaving = leaving;
    leaving = bound;
    pcoll_rma_leave_some();
}

void pcoll_rma_poll(const struct pcoll_wire *wire)
{
    wire->poll_all();
    pcoll_rma_leave_some();
}

int pcoll_rma_lingering(const struct pcoll_wire *wire)
{
    int n = 0;

    pcoll_rma_poll(wire);
    for (const struct pcoll_rma_bound *bound = leaving; bound != NULL; bound = bound->next_leaving)
        n += bound->group->wire == wire;
    return n;
}

/* A plan with operations in flight is left to the wire, which may still use its memory. */
void pcoll_rma_finalize(const struct pcoll_wire *wire)
{
    struct pcoll_rma_bound **link = &leaving;

    for (int i = 0; i < 100 && leaving != NULL; i++)
        pcoll_rma_poll(wire);
    while (*link != NULL) {
        struct pcoll_rma_bound *bound = *link;

        if (bound->group->wire != wire) {
            link = &bound->next_leaving;
            continue;
        }
        *link = bound->next_leaving;
        if (bound->inflight == 0)
            pcoll_rma_bound_destroy(bound);
    }
    wire->close_kept();
}
