/*
 * Where the bytes of a range come from: the entries that wrote them, backwards to the input.
 *
 * The value of a byte is a tree: a leaf is a byte of input, and an inner node a REDUCE. Only its
 * leaves from left to right, the *word*, count for the meaning, as operators are associative; a
 * hash of the tree tells whether two values also have equal bits.
 */
#ifndef PCOLL_PROOF_TRACE_H
#define PCOLL_PROOF_TRACE_H

#include <stdbool.h>

#include "algorithms/proof/private.h"

/* A byte range of a rank's buffer, read in an instance. In place, SEND is named as part of RECV. */
struct pcoll_range {
    int owner;
    enum pcoll_buffer buffer;
    uint64_t first, bytes;
};

/* A byte of input. */
struct pcoll_leaf {
    int rank;
    uint64_t offset; /* in SEND */
};

struct pcoll_hash {
    uint64_t a, b;
};

/* What the trace looks for: bytes from `offset` on of the input of `nranks` ranks from `rank` on,
 * for `receiver`; and what it has found of them. */
struct pcoll_quest {
    const struct pcoll_flow *flow;
    int receiver, phase;
    int rank, nranks;
    uint64_t offset;
    struct pcoll_leaf *word; /* [nranks] */
    int length;              /* of the word, which may be more than fits */
};

/* What a range holds. */
struct pcoll_value {
    uint64_t bytes; /* of the range, from its start on, that have equal trees with leaves at equal
                     * distances */
    struct pcoll_hash hash;
};

static inline bool pcoll_same_hash(struct pcoll_hash x, struct pcoll_hash y)
{
    return x.a == y.a && x.b == y.b;
}

/* Follow the start of the range, as the reader finds it, to the input. Adds leaves to the word of
 * the quest, and counts those that do not fit. */
enum pcoll_result pcoll_trace(struct pcoll_quest *quest, const struct pcoll_range *range,
                              struct pcoll_order_event reader,
                              struct pcoll_value *value_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_PROOF_TRACE_H */
