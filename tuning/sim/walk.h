/*
 * The cost of a plan from the plan itself.
 */
#ifndef PCOLL_SIM_WALK_H
#define PCOLL_SIM_WALK_H

#include "algorithms/algorithm.h"

/* Time in us of one instance that all ranks start together, by the engine (engine.h), in which the
 * rings of all are empty.  Each node has a port for each rail.  Negative: the algorithm does not
 * suit, or there is no memory.  What the `cost` of an algorithm estimates in O(log nranks) work;
 * this one makes the plans of all ranks. */
double pcoll_cost_walk(const struct pcoll_algorithm *algorithm,
                       const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine);

#endif /* PCOLL_SIM_WALK_H */
