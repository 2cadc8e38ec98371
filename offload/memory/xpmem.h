/*
 * XPMEM: any memory of another process, mapped here, by a module of the kernel that some sites
 * have.
 *
 * A process opens its whole address space as one segment, with the permissions of a file of mode
 * 0600: processes of the same user may attach ranges of it. What is attached are addresses, not
 * pages: the kernel finds a page when it is touched, and forgets it if the owner unmaps it. An
 * attachment is made when a plan is bound and given up when it is unbound; nothing is cached beyond
 * that, so no attachment outlives the plan whose buffers it shows.
 *
 * The library is loaded when it is first needed, and its header is not, as one build serves nodes
 * with and without XPMEM. The five functions and their one structure have been the same since
 * SGI's first version; test/unit/test_xpmem.c compares them with the header where it is installed.
 */
#ifndef PCOLL_MEMORY_XPMEM_H
#define PCOLL_MEMORY_XPMEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pcoll_attachment; /* heap.h */

/* ---- the library, as its header declares it ---- */

typedef int64_t pcoll_xpmem_id; /* of a segment, or of the permission to attach it */

struct pcoll_xpmem_addr {
    pcoll_xpmem_id apid;
    off_t offset;
};

/* Each as FUNCTION(result, name, parameters). -1 is an error everywhere. */
#define PCOLL_XPMEM_FUNCTIONS(FUNCTION)                                                            \
    FUNCTION(pcoll_xpmem_id, make, (void *, size_t, int, void *))                                  \
    FUNCTION(pcoll_xpmem_id, get, (pcoll_xpmem_id, int, int, void *))                              \
    FUNCTION(int, release, (pcoll_xpmem_id))                                                       \
    FUNCTION(void *, attach, (struct pcoll_xpmem_addr, size_t, void *))                            \
    FUNCTION(int, detach, (void *))

#define PCOLL_XPMEM_DEVICE "/dev/xpmem"
#define PCOLL_XPMEM_LIBRARY "libxpmem.so.0"

enum { PCOLL_XPMEM_RDWR = 2, PCOLL_XPMEM_PERMIT_MODE = 1 };

/* ---- what plans use ---- */

/* The most ranges that this process attaches at a time. The kernel limits the mappings of a
 * process, to 65530 by default, and the application needs some. */
#define PCOLL_XPMEM_MAX_ATTACHED 8192

/* The segment of this process, the same at every call; PCOLL_NONE: this node has no XPMEM, or it
 * refuses. After a fork, the child has another one. Any thread may call this. */
pcoll_xpmem_id pcoll_xpmem_segment(void);

/* Why there is no segment, once pcoll_xpmem_segment has been called. */
const char *pcoll_xpmem_refusal(void);

/* The pages that contain those bytes, of which there is at least one, of the process that has the
 * segment. NULL: they cannot be mapped, which is an answer. pcoll_detach gives them up. */
struct pcoll_attachment *pcoll_xpmem_attach(pcoll_xpmem_id segment, uint64_t address,
                                            uint64_t bytes);

/* For pcoll_detach. */
void pcoll_xpmem_detach(struct pcoll_attachment *attachment);

/* The address of the first byte of the page that contains that one. */
uint64_t pcoll_xpmem_page(uint64_t address);

#endif /* PCOLL_MEMORY_XPMEM_H */
