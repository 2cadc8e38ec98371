/*
 * How far apart the cores of the ranks of a node are.
 */
#ifndef PCOLL_NODE_DISTANCE_H
#define PCOLL_NODE_DISTANCE_H

#include "offload/bootstrap.h"
#include "offload/run/line.h"

/* Collective: the longer of the times in nanoseconds that this rank and its neighbors take to
 * exchange flags; 0: unknown. `lines` is [2][nranks], zero, and shared by the ranks. */
uint64_t pcoll_node_measure_distance(const struct pcoll_bootstrap *bootstrap,
                                     struct pcoll_line *lines);

#endif /* PCOLL_NODE_DISTANCE_H */
