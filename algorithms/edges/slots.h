/*
 * Blocks through slots at their receivers: the form temp of direct, whose head comment says how,
 * and under which condition. A slot is in a cell or in TEMP of the receiver (plan/edges.h).
 */
#ifndef PCOLL_SLOTS_H
#define PCOLL_SLOTS_H

#include "algorithms/algorithm.h"
#include "algorithms/plan/edges.h"
#include "algorithms/shape/ring.h"

/* All edges, or those that share or do not share the message of a pair of nodes (plan/pairs.h);
 * PCOLL_EDGES_APART have their landing in place of a slot. */
enum pcoll_edge_choice { PCOLL_EDGES_ALL, PCOLL_EDGES_SHARED, PCOLL_EDGES_APART };

/* The edges of a rank in one direction to other ranks that have data, the first ones with a rank
 * above this one: the senders of a rank do not all begin with it. */
struct pcoll_edge_walk {
    const struct pcoll_signature *signature;
    const struct pcoll_local *local;
    int rank, is_out;
    enum pcoll_edge_choice choice;
    int n, first, at;
};
struct pcoll_edge_walk pcoll_edge_walk(const struct pcoll_plan *plan,
                                       const struct pcoll_local *local, int is_out,
                                       enum pcoll_edge_choice choice);
int pcoll_edge_next(struct pcoll_edge_walk *walk, struct pcoll_edge *edge_p); /* 0: no more */

/* Copy the blocks of a rank for itself, unless it is in place. */
void pcoll_edges_copy_own(struct pcoll_plan *plan, const struct pcoll_local *local);

/* How the blocks of a plan go through slots. */
struct pcoll_edge_slots {
    struct pcoll_plan *plan;
    const struct pcoll_local *local;
    enum pcoll_edge_choice choice;
    struct pcoll_ring ring; /* the banks, if the edges have a root and blocks one segment; otherwise
                             * it has no slots */
    int nbanks;             /* without a ring; two for blocks of several segments */
    uint64_t slot_bytes, segment, nrounds;

    /* private, of the phase that is built */
    struct pcoll_edge_walk in, out; /* from their first edges on */
    uint64_t so_far[2], all[2];     /* segments that arrive in even and in odd rounds: until this
                                     * round, and in all */

    /* private, of the round that is built */
    struct pcoll_ring_use use;
    int bank;
    uint64_t round;
    uint64_t credits; /* of the bank that the receivers have given in earlier rounds */
};

/* The banks, counters and phases that a plan needs for this: counters are numbered from 0. */
int pcoll_edge_slots_banks(const struct pcoll_edge_slots *s);
int pcoll_edge_slots_counters(const struct pcoll_edge_slots *s);
int pcoll_edge_slots_phases(const struct pcoll_edge_slots *s);

/* Without a plan yet, for all edges. Segments of at most params->segment bytes. */
struct pcoll_edge_slots pcoll_edge_slots_of(const struct pcoll_signature *signature,
                                            const struct pcoll_local *local,
                                            const struct pcoll_params *params);

/* Add the entries of a phase, which is open; also those of blocks for the rank itself. */
void pcoll_edge_slots_build(struct pcoll_edge_slots *s, int phase);

#endif /* PCOLL_SLOTS_H */
