/*
 * Reduction in shares: ranks, one of each team, each reduce a share of what they have, in the order
 * of the teams, and give the result to their likes, or to the one that needs it.
 *
 *      P = 3:   0:abc 1:def 2:ghi | 0 reduces adg, 1 beh, 2 cfi | all gather
 *
 * Source: reduce-scatter and allgather (Rabenseifner 2004), both by direct exchange, through TEMP:
 * a share of each other rank goes into a slot, and its result to its place in the result.
 *
 * A result weighs `weight`, and a share as much as P results: no more can come before all shares
 * have.
 */
#ifndef PCOLL_SHARES_H
#define PCOLL_SHARES_H

#include "algorithms/plan/plan.h"
#include "algorithms/teams.h"

struct pcoll_shares {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int member;          /* of each team, which takes part: this rank and its likes */
    int receiver;        /* the team that needs the result; PCOLL_NONE: all do */
    int bank;            /* the counter */
    uint64_t weight;     /* of a result, more than all signals that come from elsewhere */
    uint64_t slots;      /* offset in TEMP of a slot for each team */
    uint64_t slot_bytes; /* of a slot */
    uint64_t bytes;
    struct pcoll_place sum, result; /* what is to be reduced, and its result, on all of them in
                                     * memory that is not in use */
    uint64_t level; /* of the counter, when the sum is there; at the end, when the result is,
                     * or where nothing is received, when all have given their shares */
};

/* The most bytes of a share of `bytes` bytes, whole units, among `count` ranks. */
uint64_t pcoll_shares_bytes(uint64_t bytes, uint64_t unit, int count);

/* More than all signals of the other ranks, and less than `weight` of others, together. */
uint64_t pcoll_shares_weight(int count, uint64_t weight);

/* Add the entries of the plan's rank. */
void pcoll_shares_add(struct pcoll_shares *shares);

#endif /* PCOLL_SHARES_H */
