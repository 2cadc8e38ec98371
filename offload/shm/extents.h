/*
 * Who has which part of the chunks of an arena: a list of parts, free or taken, that knows nothing
 * of memory.
 */
#ifndef PCOLL_SHM_EXTENTS_H
#define PCOLL_SHM_EXTENTS_H

#include <stddef.h>

#include "offload/medium.h"

struct pcoll_extent {
    int chunk;
    int taken;
    size_t offset, bytes; /* multiples of a line */
};

/* By chunk and offset, without gaps; no two free ones are neighbors once they were merged. */
struct pcoll_extents {
    struct pcoll_extent *list;
    int n, room;
};

void pcoll_extents_fini(struct pcoll_extents *extents);

/* Room for one more chunk and one more taken part; what follows until then cannot fail for lack of
 * memory. */
enum pcoll_result pcoll_extents_reserve(struct pcoll_extents *extents) PCOLL_MUST_CHECK;
void pcoll_extents_add_chunk(struct pcoll_extents *extents, int chunk, size_t bytes);
void pcoll_extents_drop_chunk(struct pcoll_extents *extents, int chunk);

/* Free the parts for which is_free says so, and merge neighbors. */
void pcoll_extents_merge(struct pcoll_extents *extents,
                         int (*is_free)(const void *context, const struct pcoll_extent *extent),
                         const void *context);

/* Take `bytes` of the smallest free part that has so many; NULL: there is none.  Valid until the
 * next call. */
const struct pcoll_extent *pcoll_extents_take(struct pcoll_extents *extents, size_t bytes);
size_t pcoll_extents_taken(const struct pcoll_extents *extents);

/* Is all of the chunk free? */
int pcoll_extents_is_unused(const struct pcoll_extents *extents, int chunk);

#endif /* PCOLL_SHM_EXTENTS_H */
