/*
 * The pairs of nodes (plan/pairs.h) of uniform edges: what the ranks of a call tell each other,
 * each rank finds out for itself, from the edges of its node and of the nodes next to it. It takes
 * O(s d) for each of these nodes with s ranks of d edges, and all patterns are mutual: to whom a
 * rank sends, from there it receives.
 */
#ifndef PCOLL_UNIFORM_H
#define PCOLL_UNIFORM_H

#include "algorithms/plan/pairs.h"

/* The edges of a rank, in ascending order of (node, rank, key), with their pairs. The caller owns
 * *local_p and gives it to pcoll_uniform_destroy. */
enum pcoll_result pcoll_uniform_create(const struct pcoll_signature *signature, int rank,
                                       struct pcoll_local **local_p) PCOLL_MUST_CHECK;
void pcoll_uniform_destroy(struct pcoll_local *local);

/* All pairs of a node. The caller owns *pairs_p. */
enum pcoll_result pcoll_uniform_pairs(const struct pcoll_signature *signature, int node,
                                      struct pcoll_node_pairs **pairs_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_UNIFORM_H */
