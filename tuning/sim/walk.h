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

/* The cost of a row: its own `cost`, or that of a walk if it has none; negative also if there are
 * no such teams (params->teams).
 *
 * A walk takes the time of a run, not of a formula: up to 2 ms at init for each set of parameters,
 * while the other ranks wait. So it is limited to jobs of PCOLL_WALK_RANKS ranks with
 * PCOLL_WALK_STEPS entries on all of them. A larger job costs PCOLL_COST_UNKNOWN, if the row suits
 * it: every row with a known cost is preferred, but a hint, a rule or the lack of any other row
 * still takes it. */
#define PCOLL_WALK_RANKS 64
#define PCOLL_WALK_STEPS 16384
#define PCOLL_COST_UNKNOWN 1e12
double pcoll_cost_of(const struct pcoll_algorithm *algorithm,
                     const struct pcoll_signature *signature, const struct pcoll_params *params,
                     const struct pcoll_machine *machine);

#endif /* PCOLL_SIM_WALK_H */
