/*
 * Memory for the arrays of plans, which one plan leaves to the next.
 *
 * The arrays of a long ring take hundreds of kilobytes. The C library returns as much to the system
 * as soon as it is free, and then every page costs a fault when the next plan needs it again: most
 * of the time of an init. So this process keeps a few free arrays, PCOLL_POOL_ARRAYS of at most
 * PCOLL_POOL_BYTES each. Any thread may call these functions at any time.
 */
#ifndef PCOLL_POOL_H
#define PCOLL_POOL_H

#include <stddef.h>

#define PCOLL_POOL_ARRAYS 4
#define PCOLL_POOL_BYTES ((size_t)512 << 10)

/* `bytes` bytes, aligned and uninitialized like those of malloc, or NULL: out of memory. Only
 * pcoll_pool_put may release them. */
void *pcoll_pool_get(size_t bytes);

/* Release what pcoll_pool_get has returned; NULL: nothing. */
void pcoll_pool_put(void *memory);

/* Release the free arrays. */
void pcoll_pool_clear(void);

#endif /* PCOLL_POOL_H */
