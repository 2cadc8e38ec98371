/*
 * Reduction in slices by teams: one rank of each team reduces a slice of what these ranks have, in
 * the order of the teams, and gives the result to its counterparts, or to the one that needs it.
 *
 *      P = 3:   0:abc 1:def 2:ghi | 0 reduces adg, 1 beh, 2 cfi | all gather
 *
 * Source: reduce-scatter and allgather (Rabenseifner 2004), both by direct exchange, through TEMP:
 * a slice of each other rank goes into a slot, and its result to its place in the result.
 *
 * A result weighs `weight`, and a slice as much as P results: no more can come before all slices
 * have.
 */
#ifndef PCOLL_TEAM_SLICES_H
#define PCOLL_TEAM_SLICES_H

#include "algorithms/plan/plan.h"
#include "algorithms/teams.h"

struct pcoll_team_slices {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int member;          /* of each team, which takes part: this rank and its counterparts */
    int receiver;        /* the team that needs the result; PCOLL_NONE: all do */
    int bank;            /* the counter */
    uint64_t weight;     /* of a result, more than all signals that come from elsewhere */
    uint64_t slots;      /* offset in TEMP of a slot for each team */
    uint64_t slot_bytes; /* of a slot */
    uint64_t bytes;
    struct pcoll_place sum, result; /* what is to be reduced, and its result, on all of them in
                                     * memory that is not in use */
    uint64_t level; /* of the counter, when the sum is there; at the end, when the result is,
                     * or where nothing is received, when all have given their slices */
};

/* The maximum size of a slice if `bytes` bytes are cut among `count` ranks, in whole units. */
uint64_t pcoll_team_slices_bytes(uint64_t bytes, uint64_t unit, int count);

/* More than all signals of the other ranks, and less than `weight` of others, together. */
uint64_t pcoll_team_slices_weight(int count, uint64_t weight);

/* Add the entries of the plan's rank. */
void pcoll_team_slices_add(struct pcoll_team_slices *slices);

#endif /* PCOLL_TEAM_SLICES_H */
