/*
 * How far apart the cores of the ranks of a node are.
 */
#ifndef PCOLL_NODE_DISTANCE_H
#define PCOLL_NODE_DISTANCE_H

#include "offload/bootstrap.h"
#include "offload/run/line.h"

/* Collective: *farthest_p is the longest time in nanoseconds that two neighbors take to exchange
 * flags, over all ranks; 0: unknown. `lines` is [2][nranks], zero, and shared by the ranks. */
enum pcoll_result pcoll_node_measure_distance(const struct pcoll_bootstrap *bootstrap,
                                              struct pcoll_line *lines, uint64_t *farthest_p);

#endif /* PCOLL_NODE_DISTANCE_H */
