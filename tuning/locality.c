#include "tuning/locality.h"

static enum pcoll_level level_of(struct pcoll_locality a, struct pcoll_locality b)
{
    if (a.package == PCOLL_NONE || b.package == PCOLL_NONE)
        return PCOLL_LEVEL_ANY;
    if (a.package != b.package)
        return PCOLL_LEVEL_OTHER_SOCKET;
    return a.cache == PCOLL_NONE || a.cache != b.cache ? PCOLL_LEVEL_OTHER_CACHE
                                                       : PCOLL_LEVEL_SAME_CACHE;
}

/* If every rank has the smallest distance to the first, all ranks have it to each other. */
enum pcoll_level pcoll_level_of(const struct pcoll_locality *localities, int nranks,
                                const struct pcoll_topology *topology)
{
    enum pcoll_level max = PCOLL_LEVEL_ANY;

    for (int rank = 0; rank < nranks; rank++) {
        int node = pcoll_topology_node(topology, rank), first = 0;
        enum pcoll_level level;

        if (topology)
            first = pcoll_topology_rank(topology, pcoll_topology_first(topology, node));
        level = level_of(localities[first], localities[rank]);
        if (rank == first)
            continue;
        if (level == PCOLL_LEVEL_ANY)
            return level;
        max = level > max ? level : max;
    }
    return max;
}

enum pcoll_level pcoll_level_of_node(struct pcoll_locality max, bool packages_differ,
                                     bool caches_differ)
{
    if (max.package == PCOLL_NONE)
        return PCOLL_LEVEL_ANY;
    if (packages_differ)
        return PCOLL_LEVEL_OTHER_SOCKET;
    return max.cache == PCOLL_NONE || caches_differ ? PCOLL_LEVEL_OTHER_CACHE
                                                    : PCOLL_LEVEL_SAME_CACHE;
}

enum pcoll_level pcoll_level_measured(enum pcoll_level reported, uint64_t nanoseconds)
{
    return reported == PCOLL_LEVEL_SAME_CACHE && nanoseconds > PCOLL_NEAR_NSEC
               ? PCOLL_LEVEL_OTHER_CACHE
               : reported;
}
