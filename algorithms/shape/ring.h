/*
 * A ring of communication buffers, for algorithms that let a rank run ahead.
 *
 * A message of S segments takes S slots of the ring one after the other; S divides the number of
 * slots or is a multiple of it, and a cycle of the plan is one turn of the ring or more.  Who fills
 * slots may use one again when those who empty it gave it back; they do so ("credit") on one of two
 * counters, one for each half of the ring.
 *
 * With one segment, the instances before have completed when the next starts, so the last slot of
 * a half is given back for all of them, and the first one waits for it.  With several, segments of
 * an instance may overtake each other, and each slot is given back and waited for by itself.
 */
#ifndef PCOLL_RING_H
#define PCOLL_RING_H

#include "algorithms/private.h"

struct pcoll_ring {
    int slots;
    uint64_t nsegments;  /* of one instance */
    uint64_t slot_bytes; /* 0: the cells beside the slots' counters, which come first */
};

/* One use of one slot. */
struct pcoll_ring_use {
    struct pcoll_segment part;
    int slot, half;
    int opens;        /* waits for credit */
    int closes;       /* gives credit */
    uint64_t turn;    /* uses of this slot before, in this cycle */
    uint64_t credits; /* that each of those who empty the slot gave before */
};

struct pcoll_ring pcoll_ring_make(const struct pcoll_signature *signature,
                                  const struct pcoll_params *params, uint64_t default_segment);

int pcoll_ring_phases(const struct pcoll_ring *ring);

/* Use `i` of phase `phase`, 0 <= i < nsegments. */
struct pcoll_ring_use pcoll_ring_use(const struct pcoll_ring *ring, uint64_t bytes, int phase,
                                     uint64_t i);

/* Credits of one rank for one half in a cycle; uses of one slot in a cycle. */
uint64_t pcoll_ring_credits(const struct pcoll_ring *ring);
uint64_t pcoll_ring_turns(const struct pcoll_ring *ring);

/* TEMP or CELL. */
struct pcoll_place pcoll_ring_place(const struct pcoll_ring *ring, int slot);

/* The counter of the credit for a half; those of the slots are 0 .. slots - 1. */
static inline int pcoll_ring_credit(const struct pcoll_ring *ring, int half)
{
    return ring->slots + half;
}

/* TEMP of the rank that owns a ring. */
static inline uint64_t pcoll_ring_bytes(const struct pcoll_ring *ring)
{
    return (uint64_t)ring->slots * ring->slot_bytes;
}

/* The machine as who fills the ring sees it: it waits for credit, and short of cores for its turn,
 * once for half a ring. */
struct pcoll_machine pcoll_ring_machine(const struct pcoll_ring *ring,
                                        const struct pcoll_machine *machine);

#endif /* PCOLL_RING_H */
