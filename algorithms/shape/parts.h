/*
 * The first half of what reduces in slices: every rank gives slice j of its vector to rank j, which
 * reduces the parts of its slice, in rank order, by one REDUCE.
 *
 * Parts lie in the communication buffer of the slice's owner, or in the cell beside the counter if
 * all of them fit. They go in segments of the slices, one after the other, through two counters in
 * turn. A rank that has put its parts of a segment says so to the peers with an empty slice, too.
 */
#ifndef PCOLL_PARTS_H
#define PCOLL_PARTS_H

#include "algorithms/shape/segment.h"

struct pcoll_parts {
    struct pcoll_plan *plan;
    struct pcoll_segment *slices; /* [nranks]: bytes of the current segment of each slice in SEND */
    uint64_t nsegments;           /* per instance */
    uint64_t segment;             /* the current one */
    uint64_t slot_bytes;          /* of a part in TEMP; 0: cells */
    int banks;                    /* of TEMP: 1, or as many as counters */
    int nslots;                   /* of a bank: one for each rank, or for each peer of the owner */
    int bank;                     /* of this segment: its counter, and which part of TEMP */
    int trigger;                  /* what the puts of this segment wait for */
    uint64_t threshold;
    uint64_t weight; /* of a part's signal */
};

/* The number of segments of a vector of `bytes` bytes: 1 or an even number, so that each instance
 * begins with the same counter. */
uint64_t pcoll_parts_nsegments(const struct pcoll_signature *signature, uint64_t bytes,
                               const struct pcoll_params *params);

/* Open a phase and begin its first segment, whose puts wait for nothing; go on to the next one,
 * whose puts wait for what `trigger` and `threshold` have been set to. Sets `segment` and `bank`.
 */
void pcoll_parts_open(struct pcoll_parts *parts, int phase);
void pcoll_parts_next(struct pcoll_parts *parts);

/* Cut the current segment of a vector of signature.bytes bytes into a slice for each rank; and the
 * bytes of a slot for the longest such slice. */
void pcoll_parts_cut(const struct pcoll_parts *parts);
uint64_t pcoll_parts_slice_slot(const struct pcoll_signature *signature, uint64_t nsegments);

/* Where the owner of a slice keeps the part of `sender`. */
struct pcoll_place pcoll_parts_at(const struct pcoll_parts *parts, int owner, int sender);

/* The peers of this rank, i = 0 .. nranks - 2, in the order in which it puts its parts. */
int pcoll_parts_peer(const struct pcoll_parts *parts, int i);

/* Add the puts. If `done` is not 0, the one to rank `told` (PCOLL_NONE: the first peer) adds that
 * to this rank's counter of the segment when the part has left. */
void pcoll_parts_put(const struct pcoll_parts *parts, int told, uint64_t done);

/* The REDUCE of this rank's slice, when its counter has reached `level`. */
struct pcoll_entry pcoll_parts_reduce(const struct pcoll_parts *parts, uint64_t level,
                                      struct pcoll_place to);

#endif /* PCOLL_PARTS_H */
