/* The persistent collectives of MPI in one table, and a form of arguments that fits all of them. */

#ifndef COLLECTIVES_H_INCLUDED
#define COLLECTIVES_H_INCLUDED

#include "check.h"

/* All collectives, in the order of the standard; BOTH: data may also be in place. */
#define COLLECTIVES(PLAIN, BOTH)                                                                   \
    PLAIN(BARRIER, barrier)                                                                        \
    PLAIN(BCAST, bcast)                                                                            \
    BOTH(GATHER, gather)                                                                           \
    BOTH(GATHERV, gatherv)                                                                         \
    BOTH(SCATTER, scatter)                                                                         \
    BOTH(SCATTERV, scatterv)                                                                       \
    BOTH(ALLGATHER, allgather)                                                                     \
    BOTH(ALLGATHERV, allgatherv)                                                                   \
    BOTH(ALLTOALL, alltoall)                                                                       \
    BOTH(ALLTOALLV, alltoallv)                                                                     \
    BOTH(ALLTOALLW, alltoallw)                                                                     \
    BOTH(REDUCE, reduce)                                                                           \
    BOTH(ALLREDUCE, allreduce)                                                                     \
    BOTH(REDUCE_SCATTER_BLOCK, reduce_scatter_block)                                               \
    BOTH(REDUCE_SCATTER, reduce_scatter)                                                           \
    BOTH(SCAN, scan)                                                                               \
    BOTH(EXSCAN, exscan)                                                                           \
    PLAIN(NEIGHBOR_ALLGATHER, neighbor_allgather)                                                  \
    PLAIN(NEIGHBOR_ALLGATHERV, neighbor_allgatherv)                                                \
    PLAIN(NEIGHBOR_ALLTOALL, neighbor_alltoall)                                                    \
    PLAIN(NEIGHBOR_ALLTOALLV, neighbor_alltoallv)                                                  \
    PLAIN(NEIGHBOR_ALLTOALLW, neighbor_alltoallw)

#define COLLECTIVE_VALUE(NAME, name) COLL_##NAME,
enum coll { COLLECTIVES(COLLECTIVE_VALUE, COLLECTIVE_VALUE) COLLS };
#undef COLLECTIVE_VALUE

enum trait {
    ROOTED = 1 << 0,
    IN_PLACE = 1 << 1, /* of all ranks, or of the root if there is one */
    VECTOR = 1 << 2,   /* blocks differ in length */
    PLACED = 1 << 3,   /* blocks have displacements */
    TYPED = 1 << 4,    /* each block has its own type */
    REDUCES = 1 << 5,
    NEIGHBOR = 1 << 6
};

/* Which blocks a rank sends or receives. */
enum blocks {
    NO_BLOCKS,
    ONE_BLOCK,
    ONE_PER_RANK,
    ONE_OF_ROOT,   /* a single one, and only on the root */
    ONE_OF_OTHERS, /* a single one, except on the root */
    ALL_OF_ROOT,   /* one for each rank, on the root */
    ONE_PER_EDGE
};

/* A block in a buffer: where it begins, in bytes, and its elements. */
struct block {
    MPI_Aint place;
    int count;
    MPI_Datatype type;
};

/* What this rank sends or receives. If blocks is NULL, the arguments have no meaning, and values
 * that the library must not look at are passed. `blocks` has at least one element, whose type is
 * used where blocks share one; where a count of several blocks is passed, they are equal. */
struct side {
    void *buffer;
    int n;
    struct block *blocks;
};

struct call {
    enum coll coll;
    int in_place; /* on this rank */
    struct side send, receive;
    int root;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Info info;
    void *arrays[2]; /* set by call_init */
};

struct collective {
    const char *name; /* in the names of calls, control variables and algorithms: "bcast" */
    unsigned traits;
    enum blocks sends, receives;
    int (*init)(const struct call *call, MPI_Request *request_p);
};

extern const struct collective collectives[COLLS];

static inline int coll_has(enum coll coll, enum trait trait)
{
    return (collectives[coll].traits & (unsigned)trait) != 0;
}

/* The collective with that name, or COLLS. */
enum coll coll_find(const char *name);

/* True if option -only=LIST names it, or there is no such option. */
int coll_wanted(enum coll coll);

/* True if this library runs the collective as plans: if it has a control variable for the choice
 * of its algorithm. */
int coll_has_plans(enum coll coll);

/* Number of blocks on a rank of n; `degree` is the number of its edges. */
int coll_blocks(enum blocks blocks, int is_root, int n, int degree);

/* A new info object that asks for an algorithm by name; "mpich": for MPICH's own path. */
MPI_Info call_algorithm(const char *name);

/* Unless NULL, call_init calls it immediately before MPI_X_init, with 1, and after it, with 0. */
extern void (*call_watch)(int begins);

/* Calls MPI_X_init and serves -want. MPI forbids to change arrays of arguments while the request
 * exists: call_free releases them afterwards. */
int call_init(struct call *call, MPI_Request *request_p);
void call_free(struct call *call);

#endif /* COLLECTIVES_H_INCLUDED */
