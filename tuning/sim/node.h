/*
 * A node as data: cores in domains (a cache, a die, a NUMA domain, a socket) within domains, and
 * what their ranks share. tools/sim/node_file.h reads one.
 *
 * Member i of a node is on core i, modulo the cores. Two cores are at the first level whose domains
 * hold both. `machine` is what a rank does alone, and what levels do not say.
 */
#ifndef PCOLL_SIM_NODE_H
#define PCOLL_SIM_NODE_H

#include "algorithms/algorithm.h"

enum { PCOLL_SIM_LEVELS = 8, PCOLL_SIM_CORES = 1 << 16, PCOLL_SIM_NAME_BYTES = 32 };

struct pcoll_sim_level {
    char name[PCOLL_SIM_NAME_BYTES];
    int cores;     /* of each domain */
    double link;   /* us per byte of what enters or leaves a domain; 0: unlimited */
    double caches; /* MiB: a call whose ranks in a domain have so much user data or less does not
                    * use `saturated`, that of memory; 0: every call does */
    struct pcoll_machine machine; /* between two cores at this level; `saturated` is of all that
                                   * goes through a domain or stays in it */
};

struct pcoll_sim_node {
    int nlevels; /* 0: all cores are equally near, and there is one for each rank */
    struct pcoll_sim_level levels[PCOLL_SIM_LEVELS];
    struct pcoll_machine machine;
};

/* The level of two cores of a node that has levels. */
int pcoll_sim_node_level(const struct pcoll_sim_node *node, int core, int other);

/* Domains of all levels are numbered from 0, from the first level on: how many there are, and the
 * number of the one that holds a core. */
int pcoll_sim_node_ndomains(const struct pcoll_sim_node *node);
int pcoll_sim_node_domain(const struct pcoll_sim_node *node, int level, int core);

/* The number of cores; 0: one for each rank. */
static inline int pcoll_sim_node_cores(const struct pcoll_sim_node *node)
{
    return node->nlevels > 0 ? node->levels[node->nlevels - 1].cores : 0;
}

#endif /* PCOLL_SIM_NODE_H */
