/*
 * The table of the collectives: what each rank sends and receives, and the three calls.
 */
#ifndef PCOLL_BENCH_CALLS_H
#define PCOLL_BENCH_CALLS_H

#include "bench.h"

enum { NUM_NEIGHBORS = 6 };

enum trait {
    ROOTED = 1 << 0,
    REDUCES = 1 << 1,
    NEIGHBOR = 1 << 2, /* on a periodic 3-D torus */
    UNEQUAL = 1 << 3,  /* blocks of 1, 1/2, 1/4 and 3/4 of the size */
    STRIDED = 1 << 4   /* faces: contiguous, rows, columns */
};

/* Which blocks a rank sends or receives. */
enum blocks { NONE, ONE, PER_RANK, ROOT_ONE, OTHERS_ONE, ROOT_ALL, PER_NEIGHBOR };

/* A block in a buffer, in chunks that lie `stride` bytes apart: the data that `sender` has in slot
 * `slot`, or the sum of it over `terms` ranks from `sender` on. */
struct part {
    int sender, slot, terms;
    size_t at, bytes, chunk, stride;
};

/* All that a call can take; counts are in bytes, or in doubles for a reduction. */
struct arguments {
    char *send, *recv;
    int nsent, nrecv;
    struct part *sent, *received;
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

#endif
