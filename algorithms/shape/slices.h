/*
 * The first half of a reduction in slices: every rank gives slice j of its vector to rank j, which
 * reduces the operands of its slice, in rank order, by one REDUCE.
 *
 * Operands lie in the communication buffer of the slice's owner, or in the cell beside the counter
 * if all of them fit. They go in segments of the slices, one after the other, through two counters
 * in turn. A rank that has put its operands of a segment also signals peers with an empty slice.
 */
#ifndef PCOLL_SLICES_H
#define PCOLL_SLICES_H

#include "algorithms/shape/segment.h"

struct pcoll_slices {
    struct pcoll_plan *plan;
    struct pcoll_segment *cut; /* [nranks]: bytes of the current segment of each slice in SEND */
    uint64_t nsegments;        /* per instance */
    uint64_t segment;          /* the current one */
    uint64_t slot_bytes;       /* of an operand in TEMP; 0: cells */
    int banks;                 /* of TEMP: 1, or as many as counters */
    int nslots;                /* of a bank: one for each rank, or for each peer of the owner */
    int bank;                  /* of this segment: its counter, and its bank of TEMP */
    int trigger;               /* what the puts of this segment wait for */
    uint64_t threshold;
    uint64_t weight; /* of an operand's signal */
};

/* The number of segments of a vector of `bytes` bytes: 1 or an even number, so that each instance
 * begins with the same counter. */
uint64_t pcoll_slices_nsegments(const struct pcoll_signature *signature, uint64_t bytes,
                                const struct pcoll_params *params);

/* Open a phase and begin its first segment, whose puts wait for nothing. Sets `segment` and `bank`.
 */
void pcoll_slices_open(struct pcoll_slices *slices, int phase);

/* Begin the next segment, whose puts wait for what `trigger` and `threshold` have been set to. Sets
 * `segment` and `bank`. */
void pcoll_slices_next(struct pcoll_slices *slices);

/* Cut the current segment of a vector of signature.bytes bytes into a slice for each rank. */
void pcoll_slices_cut(const struct pcoll_slices *slices);

/* The bytes of a slot for the longest such slice. */
uint64_t pcoll_slices_slot_bytes(const struct pcoll_signature *signature, uint64_t nsegments);

/* Where the owner of a slice keeps the operand of `sender`. */
struct pcoll_place pcoll_slices_at(const struct pcoll_slices *slices, int owner, int sender);

/* The peers of this rank, i = 0 .. nranks - 2, in the order in which it puts operands. */
int pcoll_slices_peer(const struct pcoll_slices *slices, int i);

/* Add the puts. If `done` is not 0, the one to rank `told` (PCOLL_NONE: the first peer) adds that
 * to this rank's counter of the segment when the operand has left. */
void pcoll_slices_put(const struct pcoll_slices *slices, int told, uint64_t done);

/* The REDUCE of this rank's slice, when its counter has reached `level`. */
struct pcoll_entry pcoll_slices_reduce(const struct pcoll_slices *slices, uint64_t level,
                                       struct pcoll_place to);

#endif /* PCOLL_SLICES_H */
