/*
 * Memory of this process that the other processes of the node can map: MPI_Alloc_mem's, and buffers
 * of plans. A copy between such memories is one memcpy by whichever process performs it.
 *
 * The heap consists of objects, memfds that take memory page by page as it is touched, like
 * malloc's. A new object is at least as large as all others together, so there are few. Other
 * processes attach an object when they bind a plan that accesses it, and keep it until the last
 * such plan is unbound; the pages of freed memory are given back at once nevertheless, unless the
 * process has locked them (mlock(2)).
 *
 * The memory is shared with the children of a fork, as that of MPI_Win_allocate_shared is. A child
 * cannot free it: that does nothing.
 *
 * Any thread may call these functions at any time.
 */
#ifndef PCOLL_MEMORY_HEAP_H
#define PCOLL_MEMORY_HEAP_H

#include <stdbool.h>
#include <sys/types.h>

#include "algorithms/plan/plan.h"
#include "offload/memory/process.h"

/* Where memory lies in the heap of a process; plain data. */
struct pcoll_heap_place {
    struct pcoll_process_id token; /* of the object */
    uint64_t offset;               /* in the object */
    int32_t fd;                    /* of the object, in the process; PCOLL_NONE: not in its heap */
    int32_t unused;
};

/* `bytes` zero bytes, aligned to a page; NULL: the system lacks memfds or memory, or commits only
 * the memory that it has, so that a page could be missing later. */
void *pcoll_heap_get(size_t bytes);

/* PCOLL_UNSUPPORTED: `memory` is not in the heap. PCOLL_ERR_INVALID: it is, but is not what
 * pcoll_heap_get has returned. */
enum pcoll_result pcoll_heap_put(void *memory) PCOLL_MUST_CHECK;

/* Where those bytes lie, if all of them are in one object. */
struct pcoll_heap_place pcoll_heap_find(const void *memory, uint64_t bytes);

/* The object of this process that has the token; NULL: none has. */
char *pcoll_heap_object(const struct pcoll_process_id *token, size_t *bytes_p);

/* ---- attach.c: heaps of other processes ---- */

/* An object of another process as it is mapped here; or other memory of one (xpmem.h). */
struct pcoll_attachment {
    char *base;
    size_t bytes;
    int64_t apid; /* XPMEM's permission; 0: an object, of which the rest tells */
    struct pcoll_process_id token;
    bool is_own; /* it is this process' (ranks may be threads), and mapped as long as it exists */
    int refs;
    struct pcoll_attachment *next;
};

/* The object of that process in which the place is; NULL: it cannot be mapped. Attachments are
 * counted, and an object is mapped once. */
struct pcoll_attachment *pcoll_attach(pid_t pid, const struct pcoll_heap_place *place);

/* Give up an attachment; NULL: nothing. */
void pcoll_detach(struct pcoll_attachment *attachment);

#endif /* PCOLL_MEMORY_HEAP_H */
