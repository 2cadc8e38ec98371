/*
 * Copies within mapped memory.
 */
#ifndef PCOLL_COPY_H
#define PCOLL_COPY_H

#include <stddef.h>

/* Copy `bytes` bytes between buffers that do not overlap; both are mapped here. */
void pcoll_copy(void *to, const void *from, size_t bytes);

/* As pcoll_copy, but always past the cache, if the processor can. */
void pcoll_copy_past(void *to, const void *from, size_t bytes);

#endif /* PCOLL_COPY_H */
