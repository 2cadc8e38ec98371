/*
 * Shared memory of a group of ranks on one node: chunks that all ranks map, and blocks carved from
 * them.  Allocation is collective; release is local: a block is free again when every rank has
 * released it.
 */
#ifndef PCOLL_SHM_ARENA_H
#define PCOLL_SHM_ARENA_H

#include <stdatomic.h>
#include <stdint.h>

#include "offload/medium.h"
#include "offload/shm/extents.h"

#define PCOLL_SHM_LINE 64 /* bytes of a cache line */

struct pcoll_shm_chunk {
    char *base; /* NULL: no chunk has this number now */
    size_t bytes;
    int mapped;  /* by this rank; else it is the mapping of rank 0, a thread of this process */
    int emptied; /* rank 0: its pages are gone, but not all ranks have been told yet */
};

/* What precedes the payload of a block, in shared memory.  One line. */
struct pcoll_shm_block {
    _Atomic uint32_t users; /* ranks that have not released it */
    _Atomic uint32_t alarm; /* what a rank that waits must know; 0: nothing */
};

struct pcoll_shm_arena {
    int rank, nranks;
    int in_dev_shm; /* memfds cannot be opened by all ranks */
    struct pcoll_shm_chunk *chunks;
    int nchunks;
    struct pcoll_extents extents; /* rank 0: of all chunks that are not emptied */
    size_t total;                 /* rank 0: their bytes */
};

void pcoll_shm_arena_init(struct pcoll_shm_arena *arena, int rank, int nranks);
void pcoll_shm_arena_fini(struct pcoll_shm_arena *arena);

/* Collective: carve a block with `bytes` of zeroed payload (the same on all ranks) that follows
 * *block_p by one line.  When there is no room, a new chunk is made (shm/object.h); chunks that all
 * have left are given back when they are many, or when the system has no more memory.  So the
 * arena holds at most about twice what is in use and 1 MiB, except for what lies between blocks in
 * use. All ranks return the same result; who failed reports why.  On success one exchange remains
 * for the caller to make, `pcoll_agree`, before others may use the block. */
enum pcoll_result pcoll_shm_carve(struct pcoll_shm_arena *arena,
                                  const struct pcoll_bootstrap *bootstrap, size_t bytes,
                                  struct pcoll_shm_block **block_p) PCOLL_MUST_CHECK;
void pcoll_shm_release(struct pcoll_shm_block *block);

#endif /* PCOLL_SHM_ARENA_H */
