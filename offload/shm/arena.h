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

#define PCOLL_SHM_LINE 64 /* bytes of a cache line */

struct pcoll_shm_chunk {
    char *base;
    size_t size;
    int mapped; /* by this rank; else it is the mapping of another rank (thread) of
                 * this process */
};

/* What precedes the payload of a block, in shared memory.  One line. */
struct pcoll_shm_block {
    _Atomic uint32_t users;  /* ranks that have not released it */
    _Atomic uint32_t failed; /* 1 + rank of a user that gave up, or 0 */
};

struct pcoll_shm_arena {
    int rank, nranks;
    struct pcoll_shm_chunk *chunks;
    int nchunks;
    struct pcoll_shm_free *blocks; /* rank 0: all blocks ever carved */
    int nblocks;
    size_t used; /* rank 0: bytes carved from the last chunk */
};

void pcoll_shm_arena_init(struct pcoll_shm_arena *arena, int rank, int nranks);
void pcoll_shm_arena_fini(struct pcoll_shm_arena *arena);

/* Collective: carve a block with `bytes` of zeroed payload (the same on all ranks) that follows
 * *block_p by one line.  When there is no room, a new chunk is made of POSIX shared memory whose
 * pages are reserved at once, so that a full /dev/shm is an error here and never a SIGBUS later.
 * All ranks return the same result; who failed reports why.  On success one exchange remains for
 * the caller to make, `pcoll_agree`, before others may use the block. */
enum pcoll_result pcoll_shm_carve(struct pcoll_shm_arena *arena,
                                  const struct pcoll_bootstrap *bootstrap, size_t bytes,
                                  struct pcoll_shm_block **block_p) PCOLL_MUST_CHECK;
void pcoll_shm_release(struct pcoll_shm_block *block);

#endif /* PCOLL_SHM_ARENA_H */
