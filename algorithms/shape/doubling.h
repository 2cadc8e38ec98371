/*
 * Recursive doubling on a weighted butterfly: ranks, one of each team, reduce what they have, in
 * the order of the teams, and each gets the result.
 *
 * In each round groups of k ranks exchange what they have reduced so far, and all of a group reduce
 * its k operands, in the order of the teams. So all ranks build the same tree, whatever the
 * operator, and each operand is the sum of consecutive teams. What arrives in a round goes into k -
 * 1 slots of TEMP, and is reduced in the last of them.
 *
 * With radix k, k^n <= P < k^(n+1), there are n rounds in groups of k and then, if P / k^n is 2 or
 * more, one in groups of that many: so m = k^n floor(P / k^n) ranks take part, more than half of
 * all. The other e = P - m are folded (fold.h), in an additional round before and one after.
 *
 *      P = 5, k = 2, e = 1:   1 -> 0 | {01}<->2 3<->4 | {01}<->3 2<->4 | 0 -> 1
 *      P = 6, k = 3, e = 0:   0<->1<->2<->0 3<->4<->5<->3 | 0<->3 1<->4 2<->5
 *
 * Source: recursive doubling (Thakur et al. 2005, section 4.5), with a radix as in Ruefenacht et
 * al. 2017, "Generalisation of recursive doubling for allreduce", and the tank of document 001,
 * section 4.2.3: what arrives in a round, and the REDUCE of that round, each outweigh all that
 * arrives in later rounds; later REDUCEs do not come early.
 */
#ifndef PCOLL_DOUBLING_H
#define PCOLL_DOUBLING_H

#include <stdbool.h>

#include "algorithms/shape/fold.h"
#include "algorithms/teams.h"

/* The rounds of exchanges among `count` ranks. */
struct pcoll_doubling_rounds {
    struct pcoll_fold fold;
    int number;      /* of rounds, at least 1 */
    int radix, last; /* the size of a group, and of one of the last round */
};

/* count >= 2; radix 0 is 2, and one above `count` is as `count`. */
struct pcoll_doubling_rounds pcoll_doubling_rounds(int count, int radix);

struct pcoll_doubling {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    struct pcoll_doubling_rounds rounds; /* among the teams */
    int member;          /* of each team, which takes part: this rank and its counterparts */
    int bank;            /* the counter */
    uint64_t weight;     /* of the last round, more than all other signals that may come early */
    uint64_t slots;      /* offset in TEMP of pcoll_doubling_slots slots */
    uint64_t slot_bytes; /* of a slot */
    uint64_t bytes;
    struct pcoll_place result; /* where the last REDUCE writes */
    bool is_told;              /* the level is to say when it has done so */

    /* What is to be reduced, at the end the result: where it is, and the level that the counter has
     * reached when it is there. Level 0: it is there at start, in SEND. */
    struct pcoll_place sum;
    uint64_t level;
};

/* The number of slots for what a rank receives. */
uint64_t pcoll_doubling_slots(const struct pcoll_doubling_rounds *rounds);

/* More than all signals of the other ranks, and less than `weight` of others, together. */
uint64_t pcoll_doubling_weight(const struct pcoll_doubling_rounds *rounds, uint64_t weight);

/* Add the entries of the plan's rank. A folded rank receives the result in the last slot. */
void pcoll_doubling_add(struct pcoll_doubling *d);

/* How long it takes. */
struct pcoll_doubling_cost {
    struct pcoll_doubling_rounds rounds;
    struct pcoll_fold_links links;
    double bytes;
    double copy; /* the time that a rank that is folded takes for the result */
};

/* The time until all have the result. */
double pcoll_doubling_time(const struct pcoll_doubling_cost *cost);

#endif /* PCOLL_DOUBLING_H */
