/*
 * Shared memory of a group of ranks on one node: objects that all ranks map, and extents carved
 * from them. Allocation is collective. Release is local: an extent is free again when every rank
 * has released it.
 */
#ifndef PCOLL_MEMORY_ARENA_H
#define PCOLL_MEMORY_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/medium.h"
#include "offload/run/line.h"
#include "offload/memory/extents.h"

struct pcoll_arena_object {
    char *base; /* NULL: no object has this number now */
    size_t bytes;
    bool mapped;  /* by this rank; otherwise `base` is the mapping of rank 0, a thread of this
                   * process */
    bool emptied; /* on rank 0: its pages are freed, but not all ranks have been told yet */
};

/* The header of an extent, which precedes the payload in shared memory: one cache line. */
struct pcoll_shm_extent {
    _Atomic uint32_t users; /* number of ranks that have not released the extent */
    _Atomic uint32_t alarm; /* what a waiting rank must know; 0: nothing */
};

struct pcoll_shm_arena {
    int rank, nranks;
    bool in_dev_shm; /* some rank cannot open memfds */
    struct pcoll_arena_object *objects;
    int nobjects;
    struct pcoll_extents extents; /* on rank 0: of all objects that are not emptied */
    size_t total;                 /* on rank 0: the size of these objects in bytes */
    size_t lately;                /* on rank 0: the bytes that were in use in the last requests */
};

void pcoll_shm_arena_init(struct pcoll_shm_arena *arena, int rank, int nranks);

/* Unmap all objects. */
void pcoll_shm_arena_fini(struct pcoll_shm_arena *arena);

/* A request for an extent. Rank 0 calls `clear` before other ranks learn of the extent, to zero
 * what they expect to be zero. The rest of the payload is undefined, since clearing long
 * communication buffers would take longer than everything else. */
struct pcoll_shm_wish {
    size_t bytes; /* size of the payload, the same on all ranks */
    void (*clear)(const void *context, char *payload);
    const void *context;
};

/* Collective: carve an extent; its payload follows *extent_p by one line. If there is no room, a
 * new object is made (memory/object.h); objects that all ranks have left are given back when they
 * become many, or when the system has no more memory. The arena thus holds at most about twice what
 * is in use, or what was lately, and 1 MiB, besides gaps between extents in use. All ranks return
 * the same result; the rank that failed reports why. On success the caller must make one more
 * exchange, `pcoll_agree`, before other ranks may use the extent. */
enum pcoll_result pcoll_shm_carve(struct pcoll_shm_arena *arena,
                                  const struct pcoll_bootstrap *bootstrap,
                                  const struct pcoll_shm_wish *wish,
                                  struct pcoll_shm_extent **extent_p) PCOLL_MUST_CHECK;

/* Release the extent on this rank. */
void pcoll_shm_release(struct pcoll_shm_extent *extent);

#endif /* PCOLL_MEMORY_ARENA_H */
