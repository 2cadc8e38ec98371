/*
 * Copies within mapped memory.
 */
#ifndef PCOLL_COPY_H
#define PCOLL_COPY_H

#include <stddef.h>
#include <stdint.h>

/* Copy `bytes` bytes between buffers that do not overlap; both are mapped here. */
void pcoll_copy(void *to, const void *from, size_t bytes);

/* As pcoll_copy, but always past the cache, if the processor can. */
void pcoll_copy_past(void *to, const void *from, size_t bytes);

/* Some processors' string instructions copy lines that another core holds several times as fast if
 * the target does not lie just behind the source, modulo PCOLL_COPY_PERIOD (doc/notes/caches.md).
 * Users' memory begins at a page or just behind one, so long communication buffers begin half a
 * page behind one. */
#define PCOLL_COPY_PERIOD ((size_t)4096)

/* How many bytes behind `address` the next such place is: less than PCOLL_COPY_PERIOD. */
static inline size_t pcoll_copy_padding(uintptr_t address)
{
    return (PCOLL_COPY_PERIOD / 2 - address) % PCOLL_COPY_PERIOD;
}

#endif /* PCOLL_COPY_H */
