/*
 * Reduce up a tree of ranks, through communication buffers.
 *
 * Idea: every rank that has children owns a ring of slots, each with a counter. A slot has room for
 * one vector (or a segment of it) of each child. A child puts what its subtree gives into its
 * parent's slot without asking, and reuses that slot when the parent has returned it ("credit"),
 * half a ring at a time. When all children's vectors have arrived, the rank reduces them together
 * with its own by one REDUCE, in the place of the first child's; the root, in the user buffer.
 * Operands are in the order of places (relatives.h).
 *
 *      children 3 and 4 of 2:   3, 4 -> 2: 2 * 3 * 4
 *
 * If the vectors of all children of a rank fit a cell (PCOLL_CELL_BYTES), they travel beside the
 * counter.
 *
 * What counter data[slot] receives for one use: 1 from the gate that the parent's credit opens (if
 * there is one), 2 from each child's put, from the REDUCE (if the put to the parent or the credit
 * for the children waits for it), and from that put (if the credit waits for this slot only). On a
 * rank without children that is paced: 1 from the gate, 2 from the put before.
 *
 * Source: communication buffers and credits are those of the broadcast of document 003 (Sugiyama,
 * Nanri), section 4.6, in the opposite direction.
 *
 * Condition (lemma D, ranks that only send run ahead): a child waits for the credit of the last
 * turn of the half before it fills its slots again, and the parent gives it when it has passed on
 * all of that half.
 */
#ifndef PCOLL_UP_H
#define PCOLL_UP_H

#include <stdbool.h>

#include "algorithms/shape/relatives.h"
#include "algorithms/shape/ring.h"

/* The lane of a vector on its way up one tree, as one rank sees it. */
struct pcoll_up {
    struct pcoll_plan *plan;
    struct pcoll_ring ring;     /* pcoll_unit_ring_make */
    struct pcoll_segment lane;  /* in units; no longer than what the ring was made for */
    int counter;                /* the first of its counters, on all ranks */
    uint64_t temp, parent_temp; /* where its slots begin in TEMP, on this rank and on the parent */
    bool paced;                 /* without children, each segment waits until the one before has
                                 * left, so that what other trees send does not queue behind all */
    struct pcoll_relatives relatives;
};

/* The number of its counters. */
static inline int pcoll_up_counters(const struct pcoll_ring *ring)
{
    return pcoll_ring_counters(ring);
}

/* Add the entries of segment `i` of phase `phase`, 0 <= i < ring.nsegments, in ascending order. */
void pcoll_up_add(const struct pcoll_up *up, int phase, uint64_t i);

/* Complete the counters, when all entries have been added. */
void pcoll_up_end(const struct pcoll_up *up);

#endif /* PCOLL_UP_H */
