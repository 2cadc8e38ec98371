/*
 * Which extents of an arena's objects are taken: a list of extents, free or taken, that does not
 * touch the memory itself.
 */
#ifndef PCOLL_MEMORY_EXTENTS_H
#define PCOLL_MEMORY_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "offload/medium.h"

struct pcoll_extent {
    int object;
    bool taken;
    size_t offset, bytes; /* multiples of a cache line */
};

/* Sorted by object and offset, without gaps; after merging, no two free ones are adjacent. */
struct pcoll_extents {
    struct pcoll_extent *list;
    int n, room;
};

void pcoll_extents_fini(struct pcoll_extents *extents);

/* Make room for one more object and one more taken extent, so that the following calls cannot fail
 * for lack of memory. */
enum pcoll_result pcoll_extents_reserve(struct pcoll_extents *extents) PCOLL_MUST_CHECK;

/* Add an object, all of it free. */
void pcoll_extents_add_object(struct pcoll_extents *extents, int object, size_t bytes);

/* Forget an object. */
void pcoll_extents_drop_object(struct pcoll_extents *extents, int object);

/* Free the extents for which is_free returns true, and merge adjacent free ones. */
void pcoll_extents_merge(struct pcoll_extents *extents,
                         bool (*is_free)(const void *context, const struct pcoll_extent *extent),
                         const void *context);

/* Take `bytes` bytes of the smallest free extent that is large enough; NULL: there is none. The
 * result is valid until the next call. */
const struct pcoll_extent *pcoll_extents_take(struct pcoll_extents *extents, size_t bytes);

/* Returns the bytes that are taken. */
size_t pcoll_extents_taken(const struct pcoll_extents *extents);

/* Returns whether the whole object is free. */
bool pcoll_extents_is_unused(const struct pcoll_extents *extents, int object);

#endif /* PCOLL_MEMORY_EXTENTS_H */
