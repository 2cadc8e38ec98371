/* Extents of objects; the contract is in memory/extents.h. */
#include "offload/memory/extents.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void pcoll_extents_fini(struct pcoll_extents *extents)
{
    free(extents->list);
}

enum pcoll_result pcoll_extents_reserve(struct pcoll_extents *extents)
{
    int room = 2 * extents->room + 8;
    struct pcoll_extent *list;

    if (extents->n + 2 <= extents->room)
        return PCOLL_OK;
    list = realloc(extents->list, (size_t)room * sizeof(*list));
    if (list == NULL)
        return PCOLL_ERR_NOMEM;
    extents->list = list;
    extents->room = room;
    return PCOLL_OK;
}

static void insert(struct pcoll_extents *extents, int at, struct pcoll_extent extent)
{
    assert(extents->n < extents->room);
    memmove(&extents->list[at + 1], &extents->list[at],
            (size_t)(extents->n - at) * sizeof(*extents->list));
    extents->list[at] = extent;
    extents->n++;
}

void pcoll_extents_add_object(struct pcoll_extents *extents, int object, size_t bytes)
{
    int at = 0;

    while (at < extents->n && extents->list[at].object < object)
        at++;
    insert(extents, at, (struct pcoll_extent){object, false, 0, bytes});
}

void pcoll_extents_drop_object(struct pcoll_extents *extents, int object)
{
    int kept = 0;

    for (int i = 0; i < extents->n; i++)
        if (extents->list[i].object != object)
            extents->list[kept++] = extents->list[i];
    extents->n = kept;
}

static bool can_merge(const struct pcoll_extent *a, const struct pcoll_extent *b)
{
    return !a->taken && !b->taken && a->object == b->object;
}

void pcoll_extents_merge(struct pcoll_extents *extents,
                         bool (*is_free)(const void *context, const struct pcoll_extent *extent),
                         const void *context)
{
    int kept = 0;

    for (int i = 0; i < extents->n; i++) {
        struct pcoll_extent next = extents->list[i];

        if (next.taken && is_free(context, &next))
            next.taken = false;
        if (kept > 0 && can_merge(&extents->list[kept - 1], &next))
            extents->list[kept - 1].bytes += next.bytes;
        else
            extents->list[kept++] = next;
    }
    extents->n = kept;
}

const struct pcoll_extent *pcoll_extents_take(struct pcoll_extents *extents, size_t bytes)
{
    struct pcoll_extent *best = NULL, rest;

    for (int i = 0; i < extents->n; i++) {
        struct pcoll_extent *extent = &extents->list[i];

        if (!extent->taken && extent->bytes >= bytes && (!best || extent->bytes < best->bytes))
            best = extent;
    }
    if (best == NULL)
        return NULL;
    rest = (struct pcoll_extent){best->object, false, best->offset + bytes, best->bytes - bytes};
    best->taken = true;
    best->bytes = bytes;
    if (rest.bytes > 0)
        insert(extents, (int)(best - extents->list) + 1, rest);
    return best;
}

size_t pcoll_extents_taken(const struct pcoll_extents *extents)
{
    size_t bytes = 0;

    for (int i = 0; i < extents->n; i++)
        bytes += extents->list[i].taken ? extents->list[i].bytes : 0;
    return bytes;
}

bool pcoll_extents_is_unused(const struct pcoll_extents *extents, int object)
{
    for (int i = 0; i < extents->n; i++)
        if (extents->list[i].object == object && extents->list[i].taken)
            return false;
    return true;
}
