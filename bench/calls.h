/*
 * The table of the collectives: what each rank sends and receives, and the three calls.
 */
#ifndef PCOLL_BENCH_CALLS_H
#define PCOLL_BENCH_CALLS_H

#include "bench.h"

enum trait {
    ROOTED = 1 << 0,
    REDUCES = 1 << 1,
    NEIGHBOR = 1 << 2, /* in a neighborhood */
    UNEQUAL = 1 << 3,  /* blocks of 1, 1/2, 1/4 and 3/4 of the size */
    FACES = 1 << 4,    /* blocks of the faces, edges and corners of a cube */
    STRIDED = 1 << 5   /* these lie as in the cube's memory */
};

/* Which blocks a rank sends or receives. */
enum blocks { NONE, ONE, PER_RANK, ROOT_ONE, OTHERS_ONE, ROOT_ALL, PER_NEIGHBOR };

/* A block in a buffer, in chunks that lie `stride` bytes apart: the data that `sender` has in slot
 * `slot`, or the sum of it over `terms` ranks from `sender` on. */
struct block {
    int sender, slot, terms;
    size_t at, bytes, chunk, stride;
};

/* The blocks that this rank sends or receives, in their order; to be freed. */
struct block *blocks_list(const struct operation *op, bool sent, int *n_p);

/* Copy a block from its chunks, from `base` on, to contiguous memory. */
void block_pack(const struct block *block, const char *base, char *packed);

/* The reverse. */
void block_unpack(const struct block *block, char *base, const char *packed);

/* Copy a block into another one of the same shape. */
void block_copy(const struct block *to, char *to_base, const struct block *from,
                const char *from_base);

/* Take a block's memory into the cache of this core, and make it differ from all other copies if
 * `writes`; its contents stay. */
void block_use(const struct block *block, char *base, bool writes);

/* All that a call can take; counts are in bytes, or in doubles for a reduction. */
struct arguments {
    char *send, *recv;
    int nsent, nrecv;
    struct block *sent, *received;
    int count, own; /* of each block; of the only block of a rank that differs from others' */
    int *scounts, *sdispls, *rcounts, *rdispls;
    MPI_Aint *splaces, *rplaces;
    MPI_Datatype *stypes, *rtypes;
    int root;
    MPI_Comm comm;
};

struct collective_row {
    const char *name;
    unsigned traits;
    enum blocks sends, receives;
    void (*persistent)(const struct arguments *a, MPI_Info info, MPI_Request *request_p);
    void (*nonblocking)(const struct arguments *a, MPI_Request *request_p);
    void (*blocking)(const struct arguments *a);
};

extern const struct collective_row collective_rows[NUM_COLLECTIVES];

static inline bool collective_has(enum collective coll, enum trait trait)
{
    return (collective_rows[coll].traits & (unsigned)trait) != 0;
}

struct arguments *arguments_create(const struct operation *op);
void arguments_destroy(struct arguments *a);

/* ---- halo.c ---------------------------------------------------------------------------------- */

/* The exchange of a neighborhood collective with its arguments, by messages. */
struct halo *halo_open(const struct operation *op, enum way way, const struct arguments *a);
void halo_close(struct halo *halo); /* NULL is allowed */
void halo_begin(struct halo *halo);
void halo_finish(struct halo *halo);

#endif
