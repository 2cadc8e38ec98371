/*
 * Which parts of an arena's chunks are taken: a list of parts, free or taken, that does not touch
 * the memory itself.
 */
#ifndef PCOLL_MEMORY_EXTENTS_H
#define PCOLL_MEMORY_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "offload/medium.h"

struct pcoll_extent {
    int chunk;
    bool taken;
    size_t offset, bytes; /* multiples of a cache line */
};

/* Sorted by chunk and offset, without gaps; after merging, no two free parts are adjacent. */
struct pcoll_extents {
    struct pcoll_extent *list;
    int n, room;
};

void pcoll_extents_fini(struct pcoll_extents *extents);

/* Make room for one more chunk and one more taken part, so that the following calls cannot fail for
 * lack of memory. */
enum pcoll_result pcoll_extents_reserve(struct pcoll_extents *extents) PCOLL_MUST_CHECK;
void pcoll_extents_add_chunk(struct pcoll_extents *extents, int chunk, size_t bytes);
void pcoll_extents_drop_chunk(struct pcoll_extents *extents, int chunk);

/* Free the parts for which is_free returns true, and merge adjacent free parts. */
void pcoll_extents_merge(struct pcoll_extents *extents,
                         bool (*is_free)(const void *context, const struct pcoll_extent *extent),
                         const void *context);

/* Take `bytes` bytes of the smallest free part that is large enough; NULL: there is none. The
 * result is valid until the next call. */
const struct pcoll_extent *pcoll_extents_take(struct pcoll_extents *extents, size_t bytes);
size_t pcoll_extents_taken(const struct pcoll_extents *extents);

/* True if the whole chunk is free. */
bool pcoll_extents_is_unused(const struct pcoll_extents *extents, int chunk);

#endif /* PCOLL_MEMORY_EXTENTS_H */
