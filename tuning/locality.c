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

enum { UNKNOWN, PACKAGE, NOT_PACKAGE, CACHE, NOT_CACHE };

void pcoll_locality_write(struct pcoll_locality locality, uint64_t *words)
{
    words[UNKNOWN] = locality.package == PCOLL_NONE;
    words[PACKAGE] = (uint64_t)locality.package;
    words[NOT_PACKAGE] = ~words[PACKAGE];
    words[CACHE] = (uint64_t)locality.cache;
    words[NOT_CACHE] = ~words[CACHE];
}

enum pcoll_level pcoll_locality_read(const uint64_t *words)
{
    const uint64_t none = (uint64_t)PCOLL_NONE;

    if (words[UNKNOWN])
        return PCOLL_LEVEL_ANY;
    if (words[PACKAGE] != ~words[NOT_PACKAGE])
        return PCOLL_LEVEL_OTHER_SOCKET;
    return words[CACHE] == none || words[CACHE] != ~words[NOT_CACHE] ? PCOLL_LEVEL_OTHER_CACHE
                                                                     : PCOLL_LEVEL_SAME_CACHE;
}

/* Through a common cache an exchange took 50 to 60 ns; between the caches of one socket 240, on
 * another machine 138 to 299 (doc/notes/near-and-far-cores.md). */
enum pcoll_level pcoll_level_measured(enum pcoll_level reported, uint64_t nanoseconds)
{
    enum { FAR = 110 };

    return reported == PCOLL_LEVEL_SAME_CACHE && nanoseconds > FAR ? PCOLL_LEVEL_OTHER_CACHE
                                                                   : reported;
}
