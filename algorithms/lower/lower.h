/*
 * Lowering: rewrites a plan for media that can raise a peer's counter only by 1.
 *
 * Hardware counts events: a write to a peer raises a counter there by 1, whatever the plan wants to
 * signal (PCOLL_NEED_WEIGHTS). A rank may raise its own counters by any value, by deferred work
 * too. A lowered plan does the same as the plan it is made from and requires nothing else:
 *
 *   - a signal to a peer adds 1;
 *   - an entry is one deferred work: an ADD raises an own counter or a peer's, not both; a GET
 *     signals no peer, and the `done` of a PUT or GET adds 1 to a counter that nothing else raises,
 *     so that the counter tells when they are done (a COPY or REDUCE is the processor's work and
 *     stays as it is);
 *   - ADDs do not raise counters in a circle, nor the counter that triggers them.
 *
 * The account of the plan shows the cost. A medium with weighted remote adds, such as the
 * FI_OP_REMOTE_CNTR_ADD of document 001 or counters of bytes (signal v = write v bytes), takes the
 * plan as generated.
 *
 * Lowering is local. A rank learns which counters its signals reach from the plans of its neighbors
 * and of their neighbors, which it generates itself: plans are functions of signature and
 * parameters. These are O(log^2 N) plans if a rank has O(log N) neighbors, and at most N plans.
 *
 * A generator may make its plans in the lowered form, with signals of 1 and a counter for each
 * meaning, and set plan->lowered. It must if a plan depends on what only its rank knows
 * (plan->local), as other ranks cannot generate that plan; it should if all ranks are neighbors.
 */
#ifndef PCOLL_LOWER_H
#define PCOLL_LOWER_H

#include "algorithms/algorithm.h"

/* Replace *plan_p, which pcoll_generate made with this algorithm and these parameters, by its
 * lowered form, unless it is lowered already. PCOLL_UNSUPPORTED: its counters raise each other in a
 * circle, or it depends on plan->local. On failure the plan is destroyed and *plan_p is NULL. */
enum pcoll_result pcoll_lower(const struct pcoll_algorithm *algorithm,
                              const struct pcoll_params *params,
                              struct pcoll_plan **plan_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_LOWER_H */
