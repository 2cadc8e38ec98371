/*
 * Recursive doubling on a weighted butterfly: ranks, one of each team, reduce what they have, in
 * the order of the teams, and each gets the result.
 *
 * In each round two ranks exchange what they have reduced so far, and both reduce the two halves,
 * those of the lower teams on the left on both sides. So all ranks build the same tree, whatever
 * the operator. What arrives in round j goes into slot j of TEMP, and is reduced there. A number of
 * ranks that is not a power of two is folded in adjacent pairs, so that groups stay consecutive:
 * with m = 2^n <= P and e = P - m, rank 2i + 1 gives what it has to 2i (i < e) in an additional
 * first round, and gets the result in an additional last one.
 *
 *      P = 5, e = 1:   1 -> 0 | {01}<->2 3<->4 | {01}<->3 2<->4 | 0 -> 1
 *
 * Source: recursive doubling (Thakur et al. 2005, section 4.5) with the tank of document 001,
 * section 4.2.3: what arrives in a round, and the REDUCE of that round, each outweigh all that
 * arrives in later rounds; later REDUCEs do not come early.
 */
#ifndef PCOLL_DOUBLING_H
#define PCOLL_DOUBLING_H

#include "algorithms/plan/plan.h"
#include "algorithms/teams.h"

struct pcoll_doubling {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int member;          /* of each team, which takes part: this rank and its likes */
    int bank;            /* the counter */
    uint64_t weight;     /* of the last round, more than all other signals that may come early */
    uint64_t slots;      /* offset in TEMP of pcoll_doubling_rounds slots */
    uint64_t slot_bytes; /* of a slot */
    uint64_t bytes;
    struct pcoll_place result; /* where the last REDUCE writes */
    int is_told;               /* the level is to say when it has done so */

    /* What is to be reduced, at the end the result: where it is, and the level that the counter has
     * reached when it is there. Level 0: it is there at start, in SEND. */
    struct pcoll_place sum;
    uint64_t level;
};

/* The number of rounds in which a rank may receive what it reduces, among `count` ranks. */
int pcoll_doubling_rounds(int count);

/* The number of steps, one after the other, until all of them have the result. */
int pcoll_doubling_steps(int count);

/* More than all signals of the other ranks, and less than `weight` of others, together. */
uint64_t pcoll_doubling_weight(int count, uint64_t weight);

/* Add the entries of the plan's rank. Who is folded finds the result in the last slot. */
void pcoll_doubling_add(struct pcoll_doubling *d);

#endif /* PCOLL_DOUBLING_H */
