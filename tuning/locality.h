/*
 * Where the ranks of a communicator are bound in their node, and so the distance between them.
 */
#ifndef PCOLL_LOCALITY_H
#define PCOLL_LOCALITY_H

#include <stdbool.h>

#include "algorithms/plan/topology.h"

/* The distance between the ranks of a node: that of the two ranks that are farthest apart.
 * localities[i] belongs to rank i; topology NULL: all ranks are on one node. PCOLL_LEVEL_ANY:
 * unknown, or no node has two ranks. */
enum pcoll_level pcoll_level_of(const struct pcoll_locality *localities, int nranks,
                                const struct pcoll_topology *topology);

/* The same for the ranks of one node, from the maximum of each number, as an unsigned one, and
 * whether the ranks' numbers differ. */
enum pcoll_level pcoll_level_of_node(struct pcoll_locality max, bool packages_differ,
                                     bool caches_differ);

/* The level, corrected by the time in which neighboring ranks exchange flags (medium.h); 0: not
 * measured. A virtual machine may report a cache that its cores do not share. */
enum pcoll_level pcoll_level_measured(enum pcoll_level reported, uint64_t nanoseconds);

#endif /* PCOLL_LOCALITY_H */
