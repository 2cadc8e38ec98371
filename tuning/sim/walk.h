/*
 * The cost of a plan, derived from the plan itself.
 */
#ifndef PCOLL_SIM_WALK_H
#define PCOLL_SIM_WALK_H

#include "algorithms/algorithm.h"

/* The time in us of one instance that all ranks start together, simulated by the engine (engine.h)
 * with empty rings. Each node has a port for each rail. Negative: the algorithm does not suit the
 * call, or memory ran out. The `cost` of an algorithm estimates the same in O(log nranks) work;
 * this function generates the plans of all ranks. */
double pcoll_cost_walk(const struct pcoll_algorithm *algorithm,
                       const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine);

#endif /* PCOLL_SIM_WALK_H */
