/*
 * Copies of plans with one thing wrong, to test the tests. The copies are allocated as a
 * generator's plans are; destroy them with pcoll_plan_destroy. NULL means out of memory.
 */
#ifndef PCOLL_TEST_MUTATE_H
#define PCOLL_TEST_MUTATE_H

#include "algorithms/plan/plan.h"

struct pcoll_plan *mutate_copy(const struct pcoll_plan *plan);

/* A copy without this entry. */
struct pcoll_plan *mutate_drop(const struct pcoll_plan *plan, int entry);

/* A copy in which the threshold of this entry is lower by one. The entry must have a trigger and a
 * threshold > 0. */
struct pcoll_plan *mutate_lower(const struct pcoll_plan *plan, int entry);
int mutate_can_lower(const struct pcoll_plan *plan, int entry);

/* A copy in which something is wrong with operand k of this REDUCE; NULL: that is impossible. */
enum mutate_how {
    MUTATE_SWAP,    /* exchanged with the next one */
    MUTATE_LOSE,    /* left out */
    MUTATE_DOUBLE,  /* replaced by the next one */
    MUTATE_SHIFT,   /* one unit off */
    MUTATE_TARGET,  /* the target is one unit off */
    MUTATE_TO_COPY, /* the REDUCE is a COPY of this operand, or if it is a peer's, a GET */
    MUTATE_TURN,    /* all in reverse order */
    MUTATE_NUM_HOW
};
struct pcoll_plan *mutate_operands(const struct pcoll_plan *plan, int entry, enum mutate_how how,
                                   int k);

/* Copies of all ranks' plans with the first phase only, so that the same counters and buffers serve
 * every instance; the gain of one cycle is counted again. Writes nranks plans to `to`; returns 0 if
 * out of memory. */
int mutate_collapse(struct pcoll_plan *const *plans, int nranks, struct pcoll_plan **to);

#endif /* PCOLL_TEST_MUTATE_H */
