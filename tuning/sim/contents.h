/*
 * What lies in a buffer: a list of extents, each of which is a part of a message.
 */
#ifndef PCOLL_SIM_CONTENTS_H
#define PCOLL_SIM_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes [at, at + bytes) hold the bytes from `from` on of the message of `instance`. After a
 * reduction these are the bytes of the first of 1 + `more` ranks. */
struct pcoll_content {
    uint64_t at, bytes, from;
    int64_t instance;
    uint64_t more;
};

/* Sorted by `at`, without overlaps; extents that continue each other are one. The caller frees
 * `list`; all zeros is an empty list. */
struct pcoll_contents {
    struct pcoll_content *list;
    uint32_t count, room;
};

/* Make room for that many more extents; false: out of memory. */
bool pcoll_contents_room(struct pcoll_contents *contents, uint32_t more);

/* The index of the first extent that ends after `at`. */
uint32_t pcoll_contents_find(const struct pcoll_contents *contents, uint64_t at);

/* Remove everything in [at, end); returns the index at which an extent beginning at `at` belongs.
 * There must be room for one more extent. */
uint32_t pcoll_contents_clear(struct pcoll_contents *contents, uint64_t at, uint64_t end);

/* Put the extent in the place of what is there; false: out of memory. */
bool pcoll_contents_put(struct pcoll_contents *contents, struct pcoll_content extent);

/* Copy the contents of [at, at + bytes) to `to`, starting at 0; false: out of memory. */
bool pcoll_contents_get(const struct pcoll_contents *contents, uint64_t at, uint64_t bytes,
                        struct pcoll_contents *to);

static inline void pcoll_content_drop_front(struct pcoll_content *extent, uint64_t bytes)
{
    extent->at += bytes;
    extent->from += bytes;
    extent->bytes -= bytes;
}

#endif /* PCOLL_SIM_CONTENTS_H */
