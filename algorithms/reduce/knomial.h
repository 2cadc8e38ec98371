/*
 * What reductions up a tree in rank order have in common (shape/order_tree.h), whatever its radix.
 */
#ifndef PCOLL_REDUCE_KNOMIAL_H
#define PCOLL_REDUCE_KNOMIAL_H

#include "algorithms/shape/ring.h"

/* How a vector is cut: slot_bytes is the size of the longest segment. */
struct pcoll_ring pcoll_reduce_tree_ring(const struct pcoll_signature *signature,
                                         const struct pcoll_params *params);

/* As in struct pcoll_algorithm. */
enum pcoll_result pcoll_reduce_tree_generate(struct pcoll_plan *plan, int radix,
                                             const struct pcoll_params *params) PCOLL_MUST_CHECK;
uint64_t pcoll_reduce_tree_temp_bytes(const struct pcoll_signature *signature, int radix,
                                      const struct pcoll_params *params);

#endif /* PCOLL_REDUCE_KNOMIAL_H */
