/*
 * The edges of a rank in the order in which its entries follow them, and what it keeps.
 */
#ifndef PCOLL_WALK_H
#define PCOLL_WALK_H

#include <stdbool.h>

#include "algorithms/algorithm.h"
#include "algorithms/plan/edges.h"

/* All edges, or those that share or do not share the message of a pair of nodes (plan/pairs.h);
 * PCOLL_EDGES_APART have their landing in place of a slot. */
enum pcoll_edge_choice { PCOLL_EDGES_ALL, PCOLL_EDGES_SHARED, PCOLL_EDGES_APART };

/* The edges of a rank in one direction to other ranks that have data, the first ones with a rank
 * above this one: the senders of a rank do not all begin with it. */
struct pcoll_edge_walk {
    const struct pcoll_signature *signature;
    const struct pcoll_local *local;
    int rank;
    bool is_out;
    enum pcoll_edge_choice choice;
    int n, first, at;
};
struct pcoll_edge_walk pcoll_edge_walk(const struct pcoll_plan *plan,
                                       const struct pcoll_local *local, bool is_out,
                                       enum pcoll_edge_choice choice);
bool pcoll_edge_next(struct pcoll_edge_walk *walk, struct pcoll_edge *edge_p); /* false: no more */

/* Copy the blocks of a rank for itself, unless it is in place. */
void pcoll_edges_copy_own(struct pcoll_plan *plan, const struct pcoll_local *local);

#endif /* PCOLL_WALK_H */
