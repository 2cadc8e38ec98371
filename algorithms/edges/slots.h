/*
 * Blocks through slots: the form temp of direct, where a slot is in a cell or in TEMP of the
 * receiver (plan/edges.h), and direct_shared, where it is in TEMP of the sender. Their head
 * comments say how, and under which condition.
 */
#ifndef PCOLL_SLOTS_H
#define PCOLL_SLOTS_H

#include <stdbool.h>

#include "algorithms/edges/walk.h"
#include "algorithms/shape/ring.h"

/* How the blocks of a plan go through slots. */
struct pcoll_edge_slots {
    struct pcoll_plan *plan;
    const struct pcoll_local *local;
    enum pcoll_edge_choice choice;
    struct pcoll_ring ring; /* the banks, if the edges have a root and blocks one segment; otherwise
                             * it has no slots */
    int nbanks;             /* without a ring; two for blocks of several segments */
    int nparts;             /* of the peers of a rank with many: each has counters of its own, of
                             * arrivals in a bank and of credits. Peer p is in part p mod nparts */
    bool at_sender; /* a rank sends the same block along all edges, from a slot of its own */
    uint64_t slot_bytes, segment, nrounds;

    /* private, of the phase that is built */
    struct pcoll_edge_walk in, out; /* from their first edges on */
    uint64_t so_far[2];             /* segments that arrive in even and in odd rounds until this
                                     * round, if there are several */

    /* private, of the round that is built */
    struct pcoll_ring_use use;
    int bank;
    uint64_t round;
    uint64_t credits; /* of the bank that the receivers have given in earlier rounds */
};

/* The banks that a plan needs for this, the counters of its rank, which are numbered from 0 (when
 * s->plan has been set), and the phases. */
int pcoll_edge_slots_banks(const struct pcoll_edge_slots *s);
int pcoll_edge_slots_counters(const struct pcoll_edge_slots *s);
int pcoll_edge_slots_phases(const struct pcoll_edge_slots *s);

/* Without a plan yet, for all edges. Segments of at most params->segment bytes, and of more if a
 * block would have more than PCOLL_MAX_SEGMENTS. A slot, too, is a limit (0: the only one). */
struct pcoll_edge_slots pcoll_edge_slots_of(const struct pcoll_signature *signature,
                                            const struct pcoll_local *local,
                                            const struct pcoll_params *params);

/* The same in slots of the sender. */
struct pcoll_edge_slots pcoll_edge_sender_slots_of(const struct pcoll_signature *signature,
                                                   const struct pcoll_local *local,
                                                   const struct pcoll_params *params);

/* Generate a plan that does nothing else, and is its own lowered form. */
enum pcoll_result pcoll_edge_slots_generate(struct pcoll_edge_slots *s,
                                            struct pcoll_plan *plan) PCOLL_MUST_CHECK;

/* Add the entries of a phase, which is open; also those of blocks for the rank itself. */
void pcoll_edge_slots_build(struct pcoll_edge_slots *s, int phase);

#endif /* PCOLL_SLOTS_H */
