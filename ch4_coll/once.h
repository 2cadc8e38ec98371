/* Requests that a program uses once: init, start, wait, free at each exchange. A plan costs it more
 * than a schedule of MPICH, so MPICH serves the next calls once none of the last plans was started
 * again.
 *
 * For each collective that only moves data (MPICH might reduce in another order, and so change last
 * bits in mid-run) a communicator counts the plans that were freed with at most one start since a
 * request was last started again. Each rank frees and starts when it likes, so the ranks compare
 * their counts in the first round of an init's agreement. Once all have counted enough, MPICH
 * serves this init, and the next MPIDI_PCOLL_UNASKED ones without any agreement, whatever their
 * blocks and info keys: all ranks make the same inits in the same order, but each knows only its
 * own arguments. Then they compare again. A request that took the plan of a freed one (reuse.h)
 * has cost one round, and counts only if the collective is rooted: there the ranks would not have
 * waited for each other. A request that MPICH serves is watched: when it is
 * started again, it resets the count, so that the next comparison leads to a plan. */

#ifndef ONCE_H_INCLUDED
#define ONCE_H_INCLUDED

#include "call.h"

enum { MPIDI_PCOLL_UNASKED = 63 };

/* ---- at init ---- */

/* Returns whether this is one of the inits without agreement. */
bool MPIDI_PCOLL_is_unasked(MPIR_Comm *comm, enum pcoll_coll coll);

/* Leave such an init to MPICH, and tell the user if its info keys have no effect. */
void MPIDI_PCOLL_leave_unasked(struct MPIDI_PCOLL_call *call);

/* ---- at the others, with the lock ---- */

/* Returns whether this rank wants a plan for the call, as far as it has counted. */
bool MPIDI_PCOLL_wants_plan(const struct MPIDI_PCOLL_call *call);

/* No rank wants a plan: leave this call to MPICH, and the next ones without agreement. */
void MPIDI_PCOLL_stop_asking(struct MPIDI_PCOLL_call *call);

/* Watch a new request of MPICH's. */
void MPIDI_PCOLL_watch(MPIR_Request *preq, enum pcoll_coll coll);

/* ---- at a start, and when a plan is freed ---- */

/* A request has been started for the second time. */
void MPIDI_PCOLL_started_again(struct MPIDI_PCOLL_comm *state, enum pcoll_coll coll);

/* With the lock of lists: a plan is freed that was started once at most. One for long blocks may
 * still have paid, and does not count. */
void MPIDI_PCOLL_used_once(struct MPIDI_PCOLL_comm *state, const struct pcoll_signature *signature,
                           bool is_reused);

#endif /* ONCE_H_INCLUDED */
