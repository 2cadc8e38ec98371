/*
 * How the levels below the node (topology.h) are made: from the team of each rank, or for all nodes
 * from those of one.
 */
#ifndef PCOLL_LEVELS_H
#define PCOLL_LEVELS_H

#include "algorithms/plan/topology.h"

enum { PCOLL_MAX_DIVISIONS = 3 };

/* A level that may exist: the team of each rank, any numbers, PCOLL_NONE for unknown, and the
 * distance of ranks of one team. */
struct pcoll_division {
    const int *teams;
    enum pcoll_level level;
};

/* The topology with such levels, from coarse to fine: *levels_p has the nodes of `topology`, and is
 * the first level if there is one node (NULL); *levels_p owns the levels below. A level is left out
 * unless its teams are known, divide those of the level above into more teams, and have two members
 * or more on average. PCOLL_UNSUPPORTED: no level is left. */
enum pcoll_result pcoll_topology_divide(const struct pcoll_topology *topology, int nranks,
                                        const struct pcoll_division *divisions, int n,
                                        struct pcoll_topology *levels_p) PCOLL_MUST_CHECK;

/* The topology with the same levels below every node. `levels` are those of one node, in which rank
 * i stands for the i-th, by number, of each node; their row says who leads. *nested_p owns its row
 * and levels, in memory that grows with the ranks of a node only. PCOLL_UNSUPPORTED: `topology` has
 * no formula, or nodes of other sizes. */
enum pcoll_result pcoll_topology_repeat(const struct pcoll_topology *topology,
                                        const struct pcoll_topology *levels,
                                        struct pcoll_topology *nested_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_LEVELS_H */
