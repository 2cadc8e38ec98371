/*
 * What a collective is: no other file defines it.
 *
 * A call of a collective is described by two things. The *signature* holds what is the same on all
 * ranks of the communicator: the ranks have agreed on it, and a generator may deduce from it what
 * any other rank does. *Local* holds what only this rank knows; most collectives have none. Where
 * blocks differ between ranks, it lists the messages of this rank, its *edges* (edges.h).
 *
 * The row of a collective says how long SEND and RECV are, and what RECV must hold at completion.
 * The proof, the simulators, the media, the choice and the tools use the row; none of them
 * distinguishes collectives by name.
 *
 * To add one, add a line to PCOLL_COLLECTIVES and a row to collective.c.
 *
 * collective, edges and plan call each other, as they are one subject in three files: a plan has
 * the signature of its collective, whose row names a pattern of edges, and where an edge's bytes
 * arrive is a place that entries of a plan name.
 */
#ifndef PCOLL_COLLECTIVE_H
#define PCOLL_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All collectives, each as COLLECTIVE(NAME, name). */
#define PCOLL_COLLECTIVES(COLLECTIVE)                                                              \
    COLLECTIVE(BARRIER, barrier)                                                                   \
    COLLECTIVE(BCAST, bcast)                                                                       \
    COLLECTIVE(ALLGATHER, allgather)                                                               \
    COLLECTIVE(ALLGATHERV, allgatherv)                                                             \
    COLLECTIVE(GATHER, gather)                                                                     \
    COLLECTIVE(GATHERV, gatherv)                                                                   \
    COLLECTIVE(SCATTER, scatter)                                                                   \
    COLLECTIVE(SCATTERV, scatterv)                                                                 \
    COLLECTIVE(ALLTOALL, alltoall)                                                                 \
    COLLECTIVE(ALLTOALLV, alltoallv)                                                               \
    COLLECTIVE(ALLTOALLW, alltoallw)                                                               \
    COLLECTIVE(NEIGHBOR_ALLGATHER, neighbor_allgather)                                             \
    COLLECTIVE(NEIGHBOR_ALLGATHERV, neighbor_allgatherv)                                           \
    COLLECTIVE(NEIGHBOR_ALLTOALL, neighbor_alltoall)                                               \
    COLLECTIVE(NEIGHBOR_ALLTOALLV, neighbor_alltoallv)                                             \
    COLLECTIVE(NEIGHBOR_ALLTOALLW, neighbor_alltoallw)                                             \
    COLLECTIVE(ALLREDUCE, allreduce)                                                               \
    COLLECTIVE(REDUCE, reduce)                                                                     \
    COLLECTIVE(REDUCE_SCATTER_BLOCK, reduce_scatter_block)                                         \
    COLLECTIVE(REDUCE_SCATTER, reduce_scatter)                                                     \
    COLLECTIVE(SCAN, scan)                                                                         \
    COLLECTIVE(EXSCAN, exscan)

#define PCOLL_COLL_VALUE(NAME, name) PCOLL_##NAME,
enum pcoll_coll { PCOLL_COLLECTIVES(PCOLL_COLL_VALUE) PCOLL_NUM_COLLS };
#undef PCOLL_COLL_VALUE

#define PCOLL_NONE (-1)

struct pcoll_topology; /* topology.h */
struct pcoll_pattern;  /* edges.h */

/* What edges between nodes amount to if those of two nodes share a message (pairs.h). */
struct pcoll_crossing {
    int degree;      /* the most such edges with data of any rank, in one direction */
    int edges;       /* the most that leave any node */
    int messages;    /* the same, if those to one node count as one */
    int led;         /* the most pairs that any rank leads; 0: no edges share a message */
    uint64_t bytes;  /* the most that any node sends to others */
    uint64_t shared; /* the same, in messages of several edges */
    uint64_t temp;   /* the most TEMP of any rank */
};

/* What is asked for; the same on all ranks of the communicator. */
struct pcoll_signature {
    enum pcoll_coll coll;
    int nranks;
    int root;       /* of a rooted collective, otherwise 0 */
    uint64_t bytes; /* of the message, or of the block of one rank; with unequal blocks, of the
                     * largest */
    int in_place;   /* on all ranks, or on the root if there is one: see pcoll_is_in_place */
    const struct pcoll_topology *topology; /* NULL: all ranks are on one node */
    const struct pcoll_topology *levels;   /* of that node, or `topology` with the levels below its
                                            * nodes; NULL: none. A plan whose parameter `teams` is
                                            * not 0 has one of them as its topology. */

    const uint64_t *blocks; /* [nranks + 1]: where the block of each rank begins if all lie side by
                             * side, from 0 on, and where the last one ends; NULL: each has `bytes`.
                             * It outlives every plan of the signature. */
    uint64_t unit;          /* sizes are multiples of this many bytes, which must not be cut; 0
                             * means 1 */
    bool commutes;          /* for a reduction: operands may be swapped */
    bool typed;             /* some rank's user memory is not contiguous and has to be packed */

    /* Of a collective with edges (PCOLL_EDGES): the most edges with other ranks of any rank in one
     * direction, or 1 if there are none; the most bytes on its in edges and on its out edges; and
     * the most that any keeps, on edges to itself. All are 0 if the edges are uniform or follow
     * from `blocks`. */
    int degree;
    uint64_t in_volume, out_volume, kept;
    struct pcoll_crossing crossing; /* the same edges between nodes; all 0: as above */
};

/* A message between this rank and another, or itself: bytes [first, first + bytes) of SEND (an out
 * edge) or RECV (an in edge). Blocks may lie anywhere in these buffers, and those in SEND may
 * overlap. Of several edges between two ranks, the out edge of one matches the in edge of the other
 * that has the same key. An edge of 0 bytes moves nothing. */
struct pcoll_edge {
    int rank;
    int key;
    uint64_t first, bytes;
    uint64_t peer_first; /* `first` of the matching edge of the peer */
    uint64_t slot;       /* where the bytes arrive in a communication buffer with one bank, which
                          * the receiver decides: see pcoll_edge_slot */
    bool in_cell;        /* the slot is in a cell */
    int pair;            /* of an edge that shares the message of its pair of nodes, the number of
                          * that pair in local->pairs (pairs.h); PCOLL_NONE: it does not share one */
    uint64_t landing;    /* in place of `slot` where such messages exist, if it is not in a cell:
                          * where the bytes are in the shared message, or in TEMP of the receiver */
    bool is_answered;    /* there is also an edge of more than 0 bytes in the other direction */
};

/* What only this rank knows about the call. Nothing may be deduced from it about other ranks,
 * except what an edge says about its peer. Other ranks cannot generate a plan that depends on it,
 * so its generator makes it in the lowered form (see lower/lower.h). It outlives the plan. */
struct pcoll_local {
    int nin, nout;
    struct pcoll_edge *in, *out; /* [nin], [nout], in ascending order of (rank, key) */
    bool in_place;               /* on this rank only: for a root */
    struct pcoll_pairs *pairs;   /* what it knows about the messages of its node; or NULL */
};

enum pcoll_trait {
    PCOLL_ROOTED = 1 << 0,       /* signature.root has a meaning */
    PCOLL_SYNCHRONIZES = 1 << 1, /* moves no data; the result is that all ranks have started */
    PCOLL_REDUCES = 1 << 2,      /* RECV is reduced from several ranks' data */
    PCOLL_IN_PLACE = 1 << 3,     /* a rank's own block may be where it belongs already */
    PCOLL_VECTOR = 1 << 4,       /* blocks may differ: see signature.blocks */
    PCOLL_EDGES = 1 << 5,        /* data moves along the edges of each rank: without `local` they
                                  * are the uniform ones, or follow from the blocks */
    PCOLL_NEIGHBORS = 1 << 6     /* these are between neighbors in the communicator's topology */
};

/* What some bytes of RECV must hold. With `nranks` ranks from `rank` on, these are either `nranks`
 * adjacent blocks, where block k is bytes [from, from + bytes) of SEND of rank + k, or, if is_fold
 * is set, one block that is the reduction of all of these in rank order. */
struct pcoll_piece {
    uint64_t first; /* in RECV */
    uint64_t bytes; /* of one block */
    int rank, nranks;
    uint64_t from; /* in SEND */
    bool is_fold;
};

/* The ranks of such a piece. */
enum pcoll_sources {
    PCOLL_FROM_ALL,
    PCOLL_FROM_ROOT,
    PCOLL_FROM_PREFIX, /* up to and with the receiver */
    PCOLL_FROM_LOWER   /* up to the one before it */
};

typedef uint64_t pcoll_size_of(const struct pcoll_signature *signature,
                               const struct pcoll_local *local, int rank);

struct pcoll_collective {
    const char *name; /* in MPI, CVARs and the tuning table: "bcast" */
    unsigned traits;  /* enum pcoll_trait */

    /* Number of bytes of a rank's SEND and RECV. `local` belongs to that rank and may be NULL if
     * the signature says everything. 0 if the rank's SEND or RECV has no meaning. */
    pcoll_size_of *send_bytes, *recv_bytes;

    /* The offset in RECV at which a rank's SEND begins if it is in place. */
    uint64_t (*send_in_recv)(const struct pcoll_signature *signature, int rank);

    /* Without edges, the only piece of RECV, unless its blocks are empty. */
    pcoll_size_of *block_bytes;
    uint64_t (*block_from)(const struct pcoll_signature *signature, int rank);
    enum pcoll_sources sources;

    /* The uniform edges (edges.h); NULL: the collective has no edges. */
    const struct pcoll_pattern *pattern;
};

/* The block of a rank, and where it begins if the blocks of all ranks lie side by side; that of
 * rank `nranks` begins where the last one ends. */
uint64_t pcoll_block_bytes(const struct pcoll_signature *signature, int rank);
uint64_t pcoll_block_first(const struct pcoll_signature *signature, int rank);

extern const struct pcoll_collective *const pcoll_collectives[PCOLL_NUM_COLLS];

static inline const struct pcoll_collective *
pcoll_collective_of(const struct pcoll_signature *signature)
{
    return pcoll_collectives[signature->coll];
}

static inline bool pcoll_coll_has(enum pcoll_coll coll, enum pcoll_trait trait)
{
    return (pcoll_collectives[coll]->traits & (unsigned)trait) != 0;
}

const char *pcoll_coll_name(enum pcoll_coll coll);

/* The collective with that name, or PCOLL_NONE. */
int pcoll_coll_find(const char *name);

/* Write all names, "barrier, bcast, ...", truncated to the size of `text`. */
void pcoll_coll_names(char *text, size_t size);

/* Returns whether it describes a possible call: root and sizes are in range, it has nothing that
 * the collective lacks, and `local` is given if needed. */
bool pcoll_signature_is_valid(const struct pcoll_signature *signature,
                              const struct pcoll_local *local);

/* Returns whether both are of one call, as far as all ranks must agree. Topologies are not
 * compared. */
bool pcoll_signature_same(const struct pcoll_signature *a, const struct pcoll_signature *b);

/* The i-th piece of RECV of `rank`; returns false if there are no more. Pieces do not overlap;
 * bytes that no piece covers are unchanged. `locals` has nranks elements, each of which may be
 * NULL, or is NULL if the signature says everything. */
bool pcoll_expect(const struct pcoll_signature *signature, const struct pcoll_local *const *locals,
                  int rank, int i, struct pcoll_piece *piece_p);

/* Returns whether RECV of both ranks must hold the same. */
bool pcoll_expects_same(const struct pcoll_signature *signature,
                        const struct pcoll_local *const *locals, int rank, int other);

/* Returns whether nothing is to be done with other ranks, whatever the algorithm: a single rank, or
 * no data. */
bool pcoll_is_trivial(const struct pcoll_signature *signature);

/* Returns whether the block that the rank has for itself is not moved: because SEND lies in RECV,
 * or (a root that scatters) because the block stays in SEND and the rank has no RECV. With a root
 * this concerns the root only. */
bool pcoll_is_in_place(const struct pcoll_signature *signature, const struct pcoll_local *local,
                       int rank);

/* Bytes [first, first + count) of a rank's RECV are its SEND; count is 0 if SEND does not lie
 * there. */
struct pcoll_span {
    uint64_t first, count;
};
struct pcoll_span pcoll_input_in_recv(const struct pcoll_signature *signature,
                                      const struct pcoll_local *local, int rank);

#endif /* PCOLL_COLLECTIVE_H */
