/*
 * How the ranks of edges (algorithms/plan/edges.h) tell each other where their bytes belong.
 */
#ifndef PCOLL_OFFLOAD_EDGES_H
#define PCOLL_OFFLOAD_EDGES_H

#include "algorithms/plan/edges.h"
#include "offload/bootstrap.h"

/* The most edges of this rank to or from one other rank. */
int pcoll_edges_max_parallel(const struct pcoll_local *local, int rank);

/* What the swap needs to know: maxima over all ranks. */
struct pcoll_edges_max {
    int parallel;   /* of pcoll_edges_max_parallel */
    int traffic;    /* of pcoll_pairs_max_traffic; 0: no edges share a message */
    uint64_t edges; /* in both directions, also to itself */
};

#define PCOLL_LETTERS_BYTES ((size_t)64 << 20)

/* Collective. Ranks with a common edge, even one of 0 bytes, tell each other: fills in `peer_first`
 * and, of out edges, `slot` and `in_cell`. The in edges must have their slots
 * (pcoll_edges_prepare). If ranks share memory, each writes a table there, of 40 bytes for each
 * edge, with room for max.edges; otherwise one message of some 80 max.parallel bytes, a letter,
 * goes to each of these ranks.
 *
 * If edges may share messages, the ranks of a node have a swap of their own before (pairs.h), and
 * all of them agree once more; then this fills in local->pairs, which the caller must destroy,
 * `pair`, `landing` and signature->crossing.
 *
 * PCOLL_UNSUPPORTED, on all ranks: some edges are parallel, and therefore all tables, or the
 * letters of a rank, would take more than PCOLL_LETTERS_BYTES.
 *
 * PCOLL_ERR_INVALID, perhaps on some ranks only: the ends of an edge disagree about its bytes, or
 * one of them lacks it. */
enum pcoll_result pcoll_edges_swap(const struct pcoll_bootstrap *bootstrap,
                                   struct pcoll_signature *signature, struct pcoll_local *local,
                                   struct pcoll_edges_max max) PCOLL_MUST_CHECK;

#endif /* PCOLL_OFFLOAD_EDGES_H */
