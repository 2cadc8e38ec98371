/*
 * Lowering: a plan for media whose peers' counters can only be raised by 1.
 *
 * Hardware counts events: a write to a peer raises a counter there by 1, whatever the plan wants to
 * signal (PCOLL_NEED_WEIGHTS).  Its own counters a rank may raise by any value, by deferred work
 * too. A lowered plan does the same as the one it is made from and asks for nothing else:
 *
 *   - a signal to a peer adds 1;
 *   - an entry is one deferred work: an ADD raises an own counter or a peer's, not both; a GET
 * signals nobody, and the `done` of a PUT or GET adds 1 to a counter that nothing else raises,
 * so that it tells when they are done (a COPY is the processor's work and stays as it is);
 *   - ADDs do not raise counters in a circle, nor a counter itself.
 *
 * What it costs shows in the account of the plan.  A medium with weighted remote adds, the
 * FI_OP_REMOTE_CNTR_ADD of document 001 or counters of bytes (signal v = write v bytes), takes the
 * plan as it was generated.
 *
 * Lowering is local.  Whom a rank's signals reach, and where, it learns from the plans of its
 * neighbors and theirs, which it makes itself: plans are functions of signature and parameters.
 * O(log^2 N) plans where a rank has O(log N) neighbors; N plans at most.
 *
 * A plan that depends on what only its rank knows (plan->local) cannot be made elsewhere.  Its
 * generator makes it in the lowered form, with signals of 1 and a counter for each meaning, and
 * sets plan->lowered.
 */
#ifndef PCOLL_LOWER_H
#define PCOLL_LOWER_H

#include "algorithms/algorithm.h"

/* Replace *plan_p, which pcoll_generate made by this algorithm and these parameters, by its lowered
 * form, if it is not lowered already.  PCOLL_UNSUPPORTED: its counters raise each other in a
 * circle, or it depends on plan->local.  On failure the plan is destroyed and *plan_p NULL. */
enum pcoll_result pcoll_lower(const struct pcoll_algorithm *algorithm,
                              const struct pcoll_params *params,
                              struct pcoll_plan **plan_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_LOWER_H */
