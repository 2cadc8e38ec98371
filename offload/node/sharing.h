/*
 * Which ranks of a node share a cache, a NUMA domain, a socket: the levels of the topology below
 * the node.
 *
 * The cost model takes one distance (enum pcoll_level), that between the two ranks that are
 * farthest apart. It follows from what all ranks share: SAME_CACHE if they share a cache, and so
 * on. A kernel may report a cache that cores do not share, as in a virtual machine. If an exchange
 * of flags (distance.h) takes too long for a common cache, the distance is OTHER_CACHE; what ranks
 * share remains as the kernel tells it.
 *
 * The three are not always nested: NUMA domains of some processors divide the cores under a cache.
 */
#ifndef PCOLL_NODE_SHARING_H
#define PCOLL_NODE_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithms/plan/topology.h"

enum pcoll_shared { PCOLL_SHARED_CACHE, PCOLL_SHARED_NUMA, PCOLL_SHARED_SOCKET, PCOLL_NUM_SHARED };
extern const char *const pcoll_shared_names[PCOLL_NUM_SHARED]; /* "a cache", "a NUMA domain" .. */

/* The same on all ranks of the node, which have the numbers that their group gives them. */
struct pcoll_sharing {
    int nranks;
    int *first; /* [PCOLL_NUM_SHARED][nranks]: the lowest of the ranks that share it with that one;
                 * PCOLL_NONE: unknown, or the rank's cores have none in common */
    struct pcoll_topology levels; /* read it by pcoll_sharing_levels */
};

/* Of the localities of all ranks, `stride` bytes apart. Takes O(nranks log nranks) time. */
enum pcoll_result pcoll_sharing_init(struct pcoll_sharing *sharing, const void *localities,
                                     size_t stride, int nranks) PCOLL_MUST_CHECK;
void pcoll_sharing_fini(struct pcoll_sharing *sharing);

static inline int pcoll_sharing_first(const struct pcoll_sharing *sharing, enum pcoll_shared what,
                                      int rank)
{
    return sharing->first[(int)what * sharing->nranks + rank];
}

/* Returns whether the ranks are in several of these; false if one of them does not know its own. */
bool pcoll_sharing_is_divided(const struct pcoll_sharing *sharing, enum pcoll_shared what);

/* The distance, if the neighbors that are farthest apart exchange flags in so many nanoseconds; 0:
 * not measured. PCOLL_LEVEL_ANY: unknown, or there is one rank. */
enum pcoll_level pcoll_sharing_distance(const struct pcoll_sharing *sharing, uint64_t nanoseconds);

/* The levels of the node (pcoll_topology_divide): sockets, NUMA domains, caches. NULL: there are
 * none. */
static inline const struct pcoll_topology *pcoll_sharing_levels(const struct pcoll_sharing *sharing)
{
    return sharing->levels.nranks > 0 ? &sharing->levels : NULL;
}

/* The nodes of `topology` with such levels below them, as if all nodes were like this one, whose
 * ranks have rising numbers (pcoll_topology_repeat). PCOLL_UNSUPPORTED also if there are none.
 * Nodes of equal hashes are alike. */
enum pcoll_result pcoll_sharing_nest(const struct pcoll_sharing *sharing,
                                     const struct pcoll_topology *topology,
                                     struct pcoll_topology *nested_p) PCOLL_MUST_CHECK;
uint64_t pcoll_sharing_hash(const struct pcoll_sharing *sharing);

/* Writes which ranks share it, as `{0-7} {8-15}`, into `size` bytes, as far as that fits. Ranks of
 * which nothing is known are left out. */
void pcoll_sharing_text(const struct pcoll_sharing *sharing, enum pcoll_shared what, char *text,
                        size_t size);

/* The same of the levels, as `1 of 2 teams, 2 of 8 teams`. */
void pcoll_sharing_levels_text(const struct pcoll_sharing *sharing, char *text, size_t size);

#endif /* PCOLL_NODE_SHARING_H */
