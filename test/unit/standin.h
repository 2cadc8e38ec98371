/*
 * A stand-in for XPMEM's library and device, for nodes that have neither: it maps memory of other
 * ranks of a test, forked processes or threads, in earnest.
 *
 * Each process has an arena, a part of one memfd that all of them can map, at an address of its
 * own. Memory of the arena can be attached page by page, like any memory by XPMEM. An allocation
 * takes the lowest free addresses, so these are used again and again, but pages of the memfd that
 * have never been used. An attachment shows the pages that were there when it was made, which is
 * stricter than XPMEM: whoever uses one for memory that has been freed since sees old data. Of
 * memory elsewhere, an attachment is a copy.
 *
 * The program is linked so that open, dlopen, dlsym and dlclose lead here for the names of XPMEM.
 */
#ifndef PCOLL_TEST_STANDIN_H
#define PCOLL_TEST_STANDIN_H

#include <stdatomic.h>
#include <stdint.h>

/* What goes wrong, and where. */
enum standin_fault {
    STANDIN_FINE,
    STANDIN_NO_DEVICE,
    STANDIN_NO_LIBRARY,
    STANDIN_NO_FUNCTION,
    STANDIN_NO_SEGMENT,
    STANDIN_NO_PERMISSION,
    STANDIN_NO_ATTACH, /* from the `after`-th attachment on, the `length` next ones */
    STANDIN_NO_TOUCH,  /* the same, but what is attached cannot be touched */
    STANDIN_NUM_FAULTS
};

/* In memory that the processes share. */
struct standin {
    enum standin_fault fault;
    int rank; /* of the process at fault; -1: all */
    int after, length;
    _Atomic int attached, detached, permitted, released, refused; /* calls of all ranks */
};

/* Before ranks exist: the arenas, with no fault and no calls. */
struct standin *standin_create(void);
void standin_destroy(struct standin *standin);

/* In the process of that rank: give it its arena. */
void standin_enter(struct standin *standin, int rank);

/* Memory in the arena of this process, at an odd address; NULL: it is full. */
unsigned char *standin_get(uint64_t bytes);
void standin_put(unsigned char *memory);

#endif /* PCOLL_TEST_STANDIN_H */
