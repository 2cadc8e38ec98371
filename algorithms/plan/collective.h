/*
 * What a collective is: the only place that knows.
 *
 * A call of a collective is described by two things.  The *signature* holds what is the same on all
 * ranks of the communicator: they have agreed on it, and a generator may deduce from it what any
 * other rank does.  *Local* holds what this rank alone knows; most collectives have none.
 *
 * The row of a collective says how long SEND and RECV are and what must stand in RECV at
 * completion: `expect`.  The proof, the simulators, the media, the choice and the tools ask it, and
 * none of them tells one collective from another by its name.
 *
 * To add one: a line in PCOLL_COLLECTIVES and a row in collective.c.
 */
#ifndef PCOLL_COLLECTIVE_H
#define PCOLL_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

/* All there are, each as COLLECTIVE(NAME, name). */
#define PCOLL_COLLECTIVES(COLLECTIVE)                                                              \
    COLLECTIVE(BARRIER, barrier)                                                                   \
    COLLECTIVE(BCAST, bcast)                                                                       \
    COLLECTIVE(ALLGATHER, allgather)

#define PCOLL_COLL_VALUE(NAME, name) PCOLL_##NAME,
enum pcoll_coll { PCOLL_COLLECTIVES(PCOLL_COLL_VALUE) PCOLL_NUM_COLLS };
#undef PCOLL_COLL_VALUE

#define PCOLL_NONE (-1)

struct pcoll_topology; /* plan.h */

/* What is asked for.  The same on all ranks of the communicator. */
struct pcoll_signature {
    enum pcoll_coll coll;
    int nranks;
    int root;       /* of a rooted collective, else 0 */
    uint64_t bytes; /* the message, or the block of one rank; of unequal blocks the largest */
    int in_place;   /* on all ranks, SEND lies in RECV already: see pcoll_input_in_recv */
    const struct pcoll_topology *topology; /* NULL: all ranks on one node */

    const uint64_t *blocks; /* [nranks]: bytes of the block of each rank; NULL: all `bytes` */
    uint64_t unit;          /* bytes that must not be cut, of which all sizes are multiples; 0: 1 */
    int commutes;           /* of a reduction: operands may change places */
    int typed;              /* some rank's user memory is not contiguous: it has to be packed */
};

/* A message between this rank and another: bytes [first, first + bytes) of SEND (out) or RECV (in),
 * in packed order.  Of several edges between two ranks, the out edge of one meets the in edge of
 * the other that has the same key. */
struct pcoll_edge {
    int rank;
    int key;
    uint64_t first, bytes;
};

/* What only this rank knows of the call.  Nothing may be deduced from it for another rank: a plan
 * that depends on it cannot be made again elsewhere, so its generator gives each edge counters of
 * its own (see lower/lower.h).  Outlives the plan. */
struct pcoll_local {
    int nin, nout;
    const struct pcoll_edge *in, *out; /* NULL: none */
    int in_place;                      /* of this rank alone: a root's */
};

enum pcoll_trait {
    PCOLL_ROOTED = 1 << 0,       /* signature.root means something */
    PCOLL_SYNCHRONIZES = 1 << 1, /* moves no data; the result is that all ranks have started */
    PCOLL_REDUCES = 1 << 2,      /* RECV is folded of several ranks' data */
    PCOLL_IN_PLACE = 1 << 3,     /* SEND may lie in RECV */
    PCOLL_VECTOR = 1 << 4,       /* blocks differ: in signature.blocks, or in local edges */
    PCOLL_NEIGHBOR = 1 << 5      /* data go along local edges only */
};

/* What must stand in a part of RECV.  With `nranks` ranks from `rank` on, either `nranks` blocks in
 * a row, block k = bytes [from, from + bytes) of SEND of rank + k; or, if is_fold, one block that
 * is the fold of all of these in the order of ranks. */
struct pcoll_piece {
    uint64_t first; /* in RECV */
    uint64_t bytes; /* of one block */
    int rank, nranks;
    uint64_t from; /* in SEND */
    int is_fold;
};

struct pcoll_collective {
    const char *name; /* as in MPI, in CVARs and in the tuning table: "bcast" */
    unsigned traits;  /* enum pcoll_trait */

    /* Bytes of SEND and of RECV of a rank; `local` is that of this rank and may be NULL where the
     * signature says all.  Of a rank whose SEND or RECV means nothing: 0. */
    uint64_t (*send_bytes)(const struct pcoll_signature *signature, const struct pcoll_local *local,
                           int rank);
    uint64_t (*recv_bytes)(const struct pcoll_signature *signature, const struct pcoll_local *local,
                           int rank);

    /* Where in RECV a rank's SEND begins if it is in place. */
    uint64_t (*send_in_recv)(const struct pcoll_signature *signature, int rank);

    /* The i-th piece of RECV of `rank`, 0 when there are no more.  Pieces do not overlap; what none
     * of them covers is left as it was.  locals[nranks], or NULL where the signature says all. */
    int (*expect)(const struct pcoll_signature *signature, const struct pcoll_local *const *locals,
                  int rank, int i, struct pcoll_piece *piece_p);
};

extern const struct pcoll_collective *const pcoll_collectives[PCOLL_NUM_COLLS];

static inline const struct pcoll_collective *
pcoll_collective_of(const struct pcoll_signature *signature)
{
    return pcoll_collectives[signature->coll];
}

static inline int pcoll_coll_has(enum pcoll_coll coll, enum pcoll_trait trait)
{
    return (pcoll_collectives[coll]->traits & (unsigned)trait) != 0;
}

const char *pcoll_coll_name(enum pcoll_coll coll);

/* The collective of that name, or PCOLL_NONE. */
int pcoll_coll_find(const char *name);

/* All names, "barrier, bcast, allgather"; cut off where `text` is full. */
void pcoll_coll_names(char *text, size_t size);

/* Does it describe a call that exists: root and sizes in range, nothing that the collective does
 * not have, `local` where it is needed? */
int pcoll_signature_is_valid(const struct pcoll_signature *signature,
                             const struct pcoll_local *local);

/* Are they of one call, as far as all ranks must agree?  Topologies are not compared. */
int pcoll_signature_same(const struct pcoll_signature *a, const struct pcoll_signature *b);

/* A rank alone, or no data to move: nothing to be done with others, whatever the algorithm. */
int pcoll_is_trivial(const struct pcoll_signature *signature);

int pcoll_is_in_place(const struct pcoll_signature *signature, const struct pcoll_local *local);

/* Bytes [first, first + count) of RECV of a rank are its SEND; count is 0 if it is not in place. */
struct pcoll_span {
    uint64_t first, count;
};
struct pcoll_span pcoll_input_in_recv(const struct pcoll_signature *signature,
                                      const struct pcoll_local *local, int rank);

#endif /* PCOLL_COLLECTIVE_H */
