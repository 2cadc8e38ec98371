/*
 * Plans with one thing wrong, to test the tests.  What the copies are made of is the same as in
 * plans of a generator; end them with pcoll_plan_destroy.  NULL: out of memory.
 */
#ifndef PCOLL_TEST_MUTATE_H
#define PCOLL_TEST_MUTATE_H

#include "algorithms/plan/plan.h"

struct pcoll_plan *mutate_copy(const struct pcoll_plan *plan);

/* Without this entry. */
struct pcoll_plan *mutate_drop(const struct pcoll_plan *plan, int entry);

/* The threshold of this entry lower by one.  The entry must have a trigger and a threshold > 0. */
struct pcoll_plan *mutate_lower(const struct pcoll_plan *plan, int entry);
int mutate_can_lower(const struct pcoll_plan *plan, int entry);

/* Plans of all ranks with one phase, the first, so that the same counters and buffers serve every
 * instance; what they gain in one cycle is counted again.  Writes nranks plans to `to`; returns 0
 * when out of memory. */
int mutate_collapse(struct pcoll_plan *const *plans, int nranks, struct pcoll_plan **to);

#endif /* PCOLL_TEST_MUTATE_H */
