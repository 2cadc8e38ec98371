/*
 * How the ranks of edges (algorithms/plan/edges.h) tell each other where their bytes belong.
 */
#ifndef PCOLL_OFFLOAD_EDGES_H
#define PCOLL_OFFLOAD_EDGES_H

#include "algorithms/plan/edges.h"
#include "offload/bootstrap.h"

/* The most edges of this rank to or from one other rank. */
int pcoll_edges_most_parallel(const struct pcoll_local *local, int rank);

/* Collective. Ranks with a common edge, even one of 0 bytes, tell each other: fills in `peer_first`
 * and, of out edges, `slot` and `in_cell`. The in edges must have their slots
 * (pcoll_edges_prepare). `most_parallel` is the maximum of pcoll_edges_most_parallel over all
 * ranks. One message of some 50 most_parallel bytes goes to each of these ranks. PCOLL_ERR_INVALID,
 * perhaps on some ranks only: the ends of an edge disagree about its bytes, or one of them lacks
 * it. */
enum pcoll_result pcoll_edges_swap(const struct pcoll_bootstrap *bootstrap,
                                   struct pcoll_local *local, int most_parallel) PCOLL_MUST_CHECK;

#endif /* PCOLL_OFFLOAD_EDGES_H */
