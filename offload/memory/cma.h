/*
 * Memory of other processes that is not mapped here (Linux' cross-memory attach).
 */
#ifndef PCOLL_MEMORY_CMA_H
#define PCOLL_MEMORY_CMA_H

#include <stddef.h>
#include <sys/types.h>

/* Copy from the memory of process `pid`. Returns 0 or an errno. */
int pcoll_cma_read(pid_t pid, void *to, const void *from, size_t bytes);

/* Copy to the memory of process `pid`. Returns 0 or an errno. */
int pcoll_cma_write(pid_t pid, void *to, const void *from, size_t bytes);

#endif /* PCOLL_MEMORY_CMA_H */
