/* The edges of a rank in order; the contract is in walk.h. */
#include "algorithms/edges/walk.h"

static bool edge_at(const struct pcoll_edge_walk *walk, int i, struct pcoll_edge *edge_p)
{
    return walk->is_out ? pcoll_edge_out(walk->signature, walk->local, walk->rank, i, edge_p)
                        : pcoll_edge_in(walk->signature, walk->local, walk->rank, i, edge_p);
}

struct pcoll_edge_walk pcoll_edge_walk(const struct pcoll_plan *plan,
                                       const struct pcoll_local *local, bool is_out,
                                       enum pcoll_edge_choice choice)
{
    struct pcoll_edge_walk walk = {.signature = &plan->signature,
                                   .local = local,
                                   .rank = plan->rank,
                                   .is_out = is_out,
                                   .choice = choice};
    struct pcoll_edge edge;

    for (; edge_at(&walk, walk.n, &edge); walk.n++)
        walk.first += walk.n == walk.first && edge.rank < walk.rank;
    return walk;
}

static bool is_chosen(const struct pcoll_edge_walk *walk, const struct pcoll_edge *edge)
{
    return edge->bytes > 0 && edge->rank != walk->rank &&
           (walk->choice == PCOLL_EDGES_ALL ||
            (walk->choice == PCOLL_EDGES_SHARED) == (edge->pair != PCOLL_NONE));
}

bool pcoll_edge_next(struct pcoll_edge_walk *walk, struct pcoll_edge *edge_p)
{
    while (walk->at < walk->n) {
        edge_at(walk, (walk->first + walk->at++) % walk->n, edge_p);
        if (!is_chosen(walk, edge_p))
            continue;
        if (walk->choice == PCOLL_EDGES_APART && !edge_p->in_cell)
            edge_p->slot = edge_p->landing / 2; /* the landing has two banks */
        return true;
    }
    return false;
}

void pcoll_edges_copy_own(struct pcoll_plan *plan, const struct pcoll_local *local)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct pcoll_edge edge;

    if (pcoll_is_in_place(signature, local, plan->rank))
        return;
    for (int i = 0; pcoll_edge_in(signature, local, plan->rank, i, &edge); i++)
        if (edge.rank == plan->rank && edge.bytes > 0)
            pcoll_plan_add(plan,
                           pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, edge.peer_first),
                                            pcoll_at(PCOLL_RECV, edge.first), edge.bytes));
}
