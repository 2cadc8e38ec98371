/*
 * A root and all other ranks: plans that consist of two roles.
 */
#ifndef PCOLL_STAR_H
#define PCOLL_STAR_H

#include "algorithms/plan/plan.h"

/* Adds the entries of a role to the only phase, and sets the gain of the only counter. */
typedef void pcoll_star_build(struct pcoll_plan *plan);

/* Generate the plan, whose rank is the root or another. */
enum pcoll_result pcoll_star_generate(struct pcoll_plan *plan, pcoll_star_build *root,
                                      pcoll_star_build *other) PCOLL_MUST_CHECK;

#endif /* PCOLL_STAR_H */
