/*
 * How far apart the cores of the ranks of a node are.
 */
#ifndef PCOLL_NODE_DISTANCE_H
#define PCOLL_NODE_DISTANCE_H

#include "offload/bootstrap.h"
#include "offload/run/line.h"

/* Collective over two ranks: each writes the other's line and waits for its own; the lines are zero
 * at first. In nanoseconds for both directions at once; 0: the other rank did not answer, or only
 * when this one yielded its core, as it does if they may share it (`is_crowded`). */
uint64_t pcoll_exchange_flags(struct pcoll_line *own, struct pcoll_line *other, bool is_crowded);

struct pcoll_distance {
    uint64_t nanoseconds; /* in which the two ranks exchange flags; 0: unknown */
    int rank;             /* the lower of the two; the other one is its right neighbor */
};

/* Collective: the longer of the distances between this rank and its neighbors. `lines` is
 * [2][nranks], zero, and shared by the ranks. */
struct pcoll_distance pcoll_node_measure_distance(const struct pcoll_bootstrap *bootstrap,
                                                  struct pcoll_line *lines);

#endif /* PCOLL_NODE_DISTANCE_H */
