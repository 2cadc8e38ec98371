/*
 * Recursive halving and doubling: ranks, one of each team, reduce what they have, in the order of
 * the teams, each a slice of it, and then gather the slices.
 *
 * In round h = 0 .. n-1 two ranks at distance 2^h give each other half of what they still reduce,
 * and each reduces the other half: the lower rank the lower one. Nearest ranks come first, so what
 * a rank has are always consecutive teams, whatever the operator, and in the end rank p has the
 * slice whose number is p with its bits reversed. Then the rounds run backwards, and each puts what
 * it has of the result into the place of the other's. P ranks that are no power of two are folded
 * (fold.h), in an additional round before and one after.
 *
 *      P = 4, vectors abcd:   0 <-> 1, 2 <-> 3: 0 has ab, 1 cd, 2 ab, 3 cd |
 *      0 <-> 2, 1 <-> 3: 0 has a, 2 b, 1 c, 3 d | 0 <-> 2, 1 <-> 3 | 0 <-> 1, 2 <-> 3
 *
 * Source: Rabenseifner 2004, "Optimization of collective reduction operations" (vector halving with
 * distance doubling), and the tank of document 001, section 4.2.3: what arrives in a round, and the
 * REDUCE of that round, each outweigh all that arrives in later rounds; later REDUCEs do not come
 * early.
 *
 * Condition: a byte of the result depends on that byte of what every rank has. So when it arrives
 * somewhere, all ranks have begun, and that rank no longer needs what it overwrites: result and sum
 * may be one.
 */
#ifndef PCOLL_HALVING_H
#define PCOLL_HALVING_H

#include "algorithms/shape/fold.h"
#include "algorithms/shape/segment.h"
#include "algorithms/teams.h"

struct pcoll_halving {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int member;      /* of each team, which takes part: this rank and its counterparts */
    int bank;        /* the counter */
    uint64_t weight; /* of the last round, more than all other signals that may come early */
    uint64_t slots;  /* offset in TEMP of pcoll_halving_slots bytes */
    uint64_t bytes;
    struct pcoll_place whole, result; /* on all ranks: memory for what is folded, which may be that
                                       * of the result; the result */

    /* What is to be reduced, at the end the result: where it is, and when: if the counter `trigger`
     * has reached the threshold; PCOLL_NONE: it is there at start. */
    struct pcoll_place sum;
    int trigger;
    uint64_t threshold;

    uint64_t level; /* of the counter `bank`, before what is added and after it */
};

/* `count` ranks, 2 or more. */
struct pcoll_fold pcoll_halving_fold(int count);

/* The bytes of TEMP for what arrives, but what is folded. */
uint64_t pcoll_halving_slots(int count, uint64_t bytes, uint64_t unit);

/* More than all signals of the other ranks, and less than `weight` of others, together. */
uint64_t pcoll_halving_weight(int count, uint64_t weight);

/* Add the entries of the plan's rank. */
void pcoll_halving_add(struct pcoll_halving *halving);

/* How long it takes. */
struct pcoll_halving_cost {
    struct pcoll_fold_links operands, results;
    double bytes;
};

/* The time until all have the result. */
double pcoll_halving_time(const struct pcoll_halving_cost *cost);

#endif /* PCOLL_HALVING_H */
