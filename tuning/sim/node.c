/* The domains of a node; the contract is in node.h. */
#include "tuning/sim/node.h"

int pcoll_sim_node_level(const struct pcoll_sim_node *node, int core, int other)
{
    int level = 0;

    while (core / node->levels[level].cores != other / node->levels[level].cores)
        level++;
    return level;
}

static int ndomains_of(const struct pcoll_sim_node *node, int level)
{
    return pcoll_sim_node_cores(node) / node->levels[level].cores;
}

int pcoll_sim_node_ndomains(const struct pcoll_sim_node *node)
{
    int count = 0;

    for (int level = 0; level < node->nlevels; level++)
        count += ndomains_of(node, level);
    return count;
}

int pcoll_sim_node_domain(const struct pcoll_sim_node *node, int level, int core)
{
    int first = 0;

    for (int nearer = 0; nearer < level; nearer++)
        first += ndomains_of(node, nearer);
    return first + core / node->levels[level].cores;
}
