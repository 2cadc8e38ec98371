/*
 * A ring of communication buffers, for algorithms that let a rank run ahead.
 *
 * A message of S segments takes S slots of the ring one after the other. S divides the number of
 * slots or is a multiple of it, and a cycle of the plan is one turn of the ring or more. A rank
 * that fills slots may reuse those of a half when the ranks that empty them have returned the half.
 * They do so ("credit") once a turn, on one of two counters, one for each half of the ring.
 *
 * When an instance starts, all earlier ones have completed on this rank. So if a half holds several
 * instances, the first of them waits for the credit, and the last one gives it. Within an instance
 * segments may overtake each other: a rank that empties several slots before it gives credit counts
 * them, on one of two more counters.
 */
#ifndef PCOLL_RING_H
#define PCOLL_RING_H

#include <stdbool.h>

#include "algorithms/shape/segment.h"

struct pcoll_ring {
    int slots;
    uint64_t nsegments;  /* in one instance */
    uint64_t slot_bytes; /* 0: the cells beside the slots' counters, which are the first counters,
                          * are used */
};

/* One use of one slot. */
struct pcoll_ring_use {
    struct pcoll_segment segment;
    int slot, half;
    bool opens;    /* waits for credit */
    bool counts;   /* the credit waits until this use has emptied its slot */
    bool closes;   /* the last use of the half in this turn: gives credit */
    uint64_t turn; /* earlier uses of this slot in this cycle, and credits that each rank that
                    * empties it has given before */
};

struct pcoll_ring pcoll_ring_make(const struct pcoll_signature *signature,
                                  const struct pcoll_params *params, uint64_t default_segment);

/* The same for a vector whose segments are cut at multiples of signature->unit. They are counted in
 * units, except for slot_bytes, which is the size of the longest segment in bytes. */
struct pcoll_ring pcoll_unit_ring_make(const struct pcoll_signature *signature,
                                       const struct pcoll_params *params, uint64_t default_segment);

int pcoll_ring_phases(const struct pcoll_ring *ring);

/* A message has several segments. */
static inline bool pcoll_ring_is_cut(const struct pcoll_ring *ring)
{
    return ring->nsegments > 1;
}

/* Use `i` of phase `phase`, 0 <= i < nsegments. A plan asks for hundreds, so this is inline, does
 * without divisions where it can, and writes each field once, where it stays: a copy of a structure
 * reads two fields at a time, which waits for the writes. With such copies, here and of entries,
 * the 64 slots of a gather took 5.6 us instead of 1.9. */
static inline void pcoll_ring_use(const struct pcoll_ring *ring, uint64_t bytes, int phase,
                                  uint64_t i, struct pcoll_ring_use *use)
{
    const int half_ring = ring->slots / 2;
    const int q = phase * (int)ring->nsegments + (int)i;
    const int turn = q < ring->slots ? 0 : q / ring->slots, slot = q - turn * ring->slots;
    const int half = slot >= half_ring, in_half = slot - half * half_ring;
    /* of the slots of the half, those of one instance */
    const int some = ring->nsegments < (uint64_t)half_ring ? (int)ring->nsegments : half_ring;
    const struct pcoll_segment all = {0, bytes};
    const struct pcoll_segment segment =
        pcoll_ring_is_cut(ring) ? pcoll_segment_of(bytes, ring->nsegments, i) : all;

    use->segment.first = segment.first;
    use->segment.count = segment.count;
    use->slot = slot;
    use->half = half;
    use->opens = in_half < some;
    use->counts = in_half >= half_ring - some;
    use->closes = in_half + 1 == half_ring;
    use->turn = (uint64_t)turn;
}

/* The uses of one slot in a cycle, and the credits of one rank for one half. */
uint64_t pcoll_ring_turns(const struct pcoll_ring *ring);

/* The slot's place, in TEMP or CELL. */
struct pcoll_place pcoll_ring_place(const struct pcoll_ring *ring, int slot);

/* The counter of the credit for a half; the slots have counters 0 .. slots - 1. */
static inline int pcoll_ring_credit(const struct pcoll_ring *ring, int half)
{
    return ring->slots + half;
}

/* The counter of what a rank must have done before it gives credit for the half: that of the slot,
 * if no other use counts; or else one that counts the uses. */
static inline int pcoll_ring_emptied(const struct pcoll_ring *ring,
                                     const struct pcoll_ring_use *use)
{
    return pcoll_ring_is_cut(ring) ? ring->slots + 2 + use->half : use->slot;
}

/* The number of all these counters. */
static inline int pcoll_ring_counters(const struct pcoll_ring *ring)
{
    return ring->slots + (pcoll_ring_is_cut(ring) ? 4 : 2);
}

/* The size of TEMP on the rank that owns a ring. */
static inline uint64_t pcoll_ring_bytes(const struct pcoll_ring *ring)
{
    return (uint64_t)ring->slots * ring->slot_bytes;
}

/* Slots that hold `n` vectors each, of a ring that pcoll_unit_ring_make has made: in cells, if the
 * vectors of a slot fit one. The size of TEMP on the rank that owns them; and the place of vector
 * `i`, if the slots have counters from 0 on. */
uint64_t pcoll_vector_ring_bytes(const struct pcoll_ring *ring, int n);
struct pcoll_place pcoll_vector_ring_place(const struct pcoll_ring *ring, int slot, int n, int i);

/* A ring whose instances have one segment each can do without waiting for its last use: a rank that
 * starts the first instance of one half has completed all instances of the other half, and returns
 * that half. Add this credit for `peer` to the open phase, if it is such an instance. */
void pcoll_ring_return(struct pcoll_plan *plan, const struct pcoll_ring *ring, int phase, int peer);

/* With such credits from `npeers` ranks: what the credit counter of the half must have reached when
 * an instance opens it. */
static inline uint64_t pcoll_ring_returned(const struct pcoll_ring_use *use, int npeers)
{
    return use->half > 0 ? (uint64_t)npeers : 0;
}

/* The ring holds two messages: a rank fills it with the next while others read the last. */
static inline bool pcoll_ring_runs_ahead(const struct pcoll_ring *ring)
{
    return (uint64_t)ring->slots >= 2 * ring->nsegments;
}

/* The machine as seen by a rank that fills the ring: it waits for credit, and with too few cores
 * for its turn, once per half ring. */
struct pcoll_machine pcoll_ring_machine(const struct pcoll_ring *ring,
                                        const struct pcoll_machine *machine);

/* The time between the signals of several ranks that fill the slots of one: they signal the counter
 * of one slot, but in the calls before and after it those of others, so that calls overlap. */
static inline double pcoll_ring_arrival(const struct pcoll_ring *ring,
                                        const struct pcoll_machine *machine)
{
    return machine->arrival / ring->slots;
}

#endif /* PCOLL_RING_H */
