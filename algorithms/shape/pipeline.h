/*
 * The pipelined broadcasts: one engine, and a shape (trees.h) for each algorithm of the family.
 */
#ifndef PCOLL_BCAST_PIPELINE_H
#define PCOLL_BCAST_PIPELINE_H

#include "algorithms/algorithm.h"
#include "algorithms/shape/trees.h"

/* As in struct pcoll_algorithm; `radix` is for the shape. */
enum pcoll_result pcoll_pipeline(const struct pcoll_shape *shape, int radix,
                                 struct pcoll_plan *plan,
                                 const struct pcoll_params *params) PCOLL_MUST_CHECK;
double pcoll_pipeline_cost(const struct pcoll_shape *shape, int radix,
                           const struct pcoll_signature *signature,
                           const struct pcoll_params *params, const struct pcoll_machine *machine);

/* The shapes themselves, for tests; that of two_tree is in two_tree.h. */
extern const struct pcoll_shape pcoll_shape_kary, pcoll_shape_trinaryx3;

#endif /* PCOLL_BCAST_PIPELINE_H */
