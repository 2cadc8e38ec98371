/*
 * The end of plans and groups. Unbinding is local, but a neighbor that has not yet unbound the plan
 * may still write credits here, or read communication buffers. An unbound plan therefore says
 * farewell to its neighbors on other nodes, and its memory stays registered until all of them have
 * said farewell, too. A farewell is sent on every rail, since one rail says nothing about what is
 * still in flight on another.
 */
#include <stdlib.h>

#include "offload/pace.h"
#include "offload/rma/state.h"

/* ---- what is no longer used ---- */

void pcoll_rma_group_release(struct pcoll_rma_group *g)
{
    if (--g->refs > 0)
        return;
    pcoll_node_group_destroy(g->node);
    for (int i = 0; i < g->nrails; i++)
        g->wire->close(g->endpoints[i]);
    pcoll_topology_fini(&g->levels);
    free(g->node_ranks);
    free(g);
}

static void drop_way(struct pcoll_rma_way *way)
{
    const struct pcoll_wire *wire = way->wire.endpoint ? way->wire.endpoint->wire : NULL;

    if (wire == NULL)
        return;
    if (way->inbox_key.is_taken)
        wire->drop_key(way->inbox_key.key);
    for (int i = 0; i < PCOLL_RMA_NMEMORIES; i++)
        if (way->keys[i].is_taken)
            wire->drop_key(way->keys[i].key);
    wire->disconnect(&way->wire);
}

static void unmap(struct pcoll_rma_rail *rail)
{
    struct pcoll_wire_endpoint *endpoint = rail->endpoint;

    if (endpoint == NULL)
        return;
    endpoint->wire->unmap(endpoint, &rail->mail);
    for (int i = 0; i < PCOLL_RMA_NMEMORIES; i++)
        endpoint->wire->unmap(endpoint, &rail->memories[i]);
}

void pcoll_rma_bound_destroy(struct pcoll_rma_bound *bound)
{
    struct pcoll_rma_group *group = bound ? bound->group : NULL;

    if (bound == NULL)
        return;
    for (int i = 0; bound->ways != NULL && i < bound->nways; i++)
        drop_way(&bound->ways[i]);
    for (int i = 0; bound->rails != NULL && i < bound->nrails; i++)
        unmap(&bound->rails[i]);
    pcoll_node_bound_fini(&bound->node);
    free(bound->mailbox);
    free(bound->sources);
    free(bound->steps);
    free(bound->channels);
    free(bound->links);
    free(bound->ways);
    free(bound->rails);
    free(bound);
    if (group != NULL)
        pcoll_rma_group_release(group);
}

/* ---- farewells ---- */

static struct pcoll_rma_bound *leaving;

/* Returns whether no neighbor uses the plan any more. */
static bool is_gone(struct pcoll_rma_bound *bound)
{
    bool gone = pcoll_rma_send_farewells(bound);

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

bool pcoll_rma_has_neighbors = false;

static void poll_now(const struct pcoll_wire *wire)
{
    wire->poll_all();
    pcoll_rma_leave_some();
}

void pcoll_rma_poll(const struct pcoll_wire *wire)
{
    if (pcoll_rma_has_neighbors && pcoll_network_polls())
        poll_now(wire);
}

int pcoll_rma_lingering(const struct pcoll_wire *wire)
{
    int n = 0;

    poll_now(wire);
    for (const struct pcoll_rma_bound *bound = leaving; bound != NULL; bound = bound->next_leaving)
        n += bound->group->wire == wire;
    return n;
}

/* A plan with operations in flight is left to the wire, which may still use its memory. */
void pcoll_rma_finalize(const struct pcoll_wire *wire)
{
    struct pcoll_rma_bound **link = &leaving;

    for (int i = 0; i < 100 && leaving != NULL; i++)
        poll_now(wire);
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

void pcoll_rma_group_destroy(struct pcoll_group *group)
{
    if (group == NULL)
        return;
    pcoll_rma_leave_some();
    pcoll_rma_group_release(pcoll_rma_group_of(group));
}
