/* Buffers of plans in memory that other processes of the node can map. */

#ifndef ALLOC_MEM_H_INCLUDED
#define ALLOC_MEM_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>

/* A buffer of a plan, filled with zeros on request; if it is long, it is such memory. NULL: out of
 * memory. */
void *MPIDI_PCOLL_buffer_get(size_t bytes, bool zeros);
void MPIDI_PCOLL_buffer_put(void *buffer); /* NULL: nothing */

#endif /* ALLOC_MEM_H_INCLUDED */
