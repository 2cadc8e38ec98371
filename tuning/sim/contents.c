#include "tuning/sim/contents.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

bool pcoll_contents_room(struct pcoll_contents *contents, uint32_t more)
{
    uint32_t room = contents->room ? 2 * contents->room : 2;
    struct pcoll_content *list;

    if (contents->count + more <= contents->room)
        return true;
    while (room < contents->count + more)
        room *= 2;
    list = realloc(contents->list, room * sizeof(*list));
    if (list == NULL)
        return false;
    contents->list = list;
    contents->room = room;
    return true;
}

uint32_t pcoll_contents_find(const struct pcoll_contents *contents, uint64_t at)
{
    uint32_t low = 0, high = contents->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (contents->list[middle].at + contents->list[middle].bytes <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void open_gap(struct pcoll_contents *contents, uint32_t i)
{
    memmove(contents->list + i + 1, contents->list + i,
            (contents->count - i) * sizeof(*contents->list));
    contents->count++;
}

static void close_gap(struct pcoll_contents *contents, uint32_t i, uint32_t n)
{
    memmove(contents->list + i, contents->list + i + n,
            (contents->count - i - n) * sizeof(*contents->list));
    contents->count -= n;
}

uint32_t pcoll_contents_clear(struct pcoll_contents *contents, uint64_t at, uint64_t end)
{
    uint32_t i = pcoll_contents_find(contents, at), last;

    if (i < contents->count && contents->list[i].at < at) {
        open_gap(contents, i);
        contents->list[i].bytes = at - contents->list[i].at;
        pcoll_content_drop_front(&contents->list[i + 1], contents->list[i].bytes);
        i++;
    }
    last = i;
    while (last < contents->count && contents->list[last].at + contents->list[last].bytes <= end)
        last++;
    close_gap(contents, i, last - i);
    if (i < contents->count && contents->list[i].at < end)
        pcoll_content_drop_front(&contents->list[i], end - contents->list[i].at);
    return i;
}

static bool continues(const struct pcoll_content *a, const struct pcoll_content *b)
{
    return a->at + a->bytes == b->at && a->from + a->bytes == b->from &&
           a->instance == b->instance && a->more == b->more;
}

/* Merge list[i] with its successor if they are contiguous. */
static void merge(struct pcoll_contents *contents, uint32_t i)
{
    if (i + 1 >= contents->count || !continues(&contents->list[i], &contents->list[i + 1]))
        return;
    contents->list[i].bytes += contents->list[i + 1].bytes;
    close_gap(contents, i + 1, 1);
}

bool pcoll_contents_put(struct pcoll_contents *contents, struct pcoll_content extent)
{
    uint32_t i;

    if (extent.bytes == 0)
        return true;
    if (!pcoll_contents_room(contents, 2))
        return false;
    i = pcoll_contents_clear(contents, extent.at, extent.at + extent.bytes);
    open_gap(contents, i);
    contents->list[i] = extent;
    merge(contents, i);
    if (i > 0)
        merge(contents, i - 1);
    return true;
}

bool pcoll_contents_get(const struct pcoll_contents *contents, uint64_t at, uint64_t bytes,
                        struct pcoll_contents *to)
{
    for (uint32_t i = pcoll_contents_find(contents, at); i < contents->count; i++) {
        struct pcoll_content one = contents->list[i];

        if (one.at >= at + bytes)
            break;
        if (one.at < at)
            pcoll_content_drop_front(&one, at - one.at);
        if (one.at + one.bytes > at + bytes)
            one.bytes = at + bytes - one.at;
        one.at -= at;
        if (!pcoll_contents_put(to, one))
            return false;
    }
    return true;
}
