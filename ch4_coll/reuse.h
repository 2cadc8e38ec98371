/* Inits that repeat: the plan of a freed request is kept idle, and the next init of the same call
 * takes it, with other user buffers, after one round of agreement; it generates, binds and
 * exchanges nothing. To its peers this is the next instance of a plan that was never freed.
 *
 * Each rank decides alone which of its plans it keeps, and which of these matches a call. So in the
 * first round of an init each rank tells the number of the plan that matches, and all take it if
 * all have told the same. A plan that a rank has told, and that not all take, is destroyed. Before
 * the round each rank also tells, in the plan's shared memory, where its new buffers are: ranks may
 * access user memory of others.
 *
 * Kept are plans in shared memory without an agent or a report of the job, and without info keys;
 * reductions only with predefined operators and types. Not kept is a plan whose ranks have mapped
 * user memory of others (MPI_Alloc_mem, XPMEM). Of the others, a communicator keeps the last few,
 * within a limit of their memory.
 *
 * Plans know positions among packed bytes, not datatypes, and are kept without their data: nothing
 * refers to a type that the user has freed. A plan that packs at start, into a buffer, serves any
 * types with as many bytes; one that packs on the way those whose pieces are known, as it may cut
 * them anywhere. Not kept is a plan that copies from type to type (kept.c). */

#ifndef REUSE_H_INCLUDED
#define REUSE_H_INCLUDED

#include "call.h"
#include "plan.h"

/* Inits that took such a plan since MPI was first initialized. */
extern unsigned long MPIDI_PCOLL_reused_count;

/* ---- at init, with the lock ---- */

/* Note what the call asks for, as this rank describes it, in call->shape, and take the plan that
 * matches into call->idle, so that it stays until the ranks have agreed. Returns its number, or 0:
 * none matches. */
uint64_t MPIDI_PCOLL_reuse_tell(struct MPIDI_PCOLL_call *call);

/* The choice that call->idle was made by, which rank 0 proposes once more in case not all ranks
 * have that plan; NULL: there is none. */
const struct pcoll_choice *MPIDI_PCOLL_reuse_choice(const struct MPIDI_PCOLL_call *call);

/* After the round: unless all ranks have told the same plan, call->idle is destroyed, and NULL. */
void MPIDI_PCOLL_reuse_hear(struct MPIDI_PCOLL_call *call, bool is_same);

/* call->idle becomes *plan, with the call's data. */
void MPIDI_PCOLL_reuse_take(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_plan *plan);

/* ---- when a plan is freed, with the lock ---- */

/* Keep an inactive plan, of which *plan becomes empty, if it is one of those. Returns whether it
 * is. */
bool MPIDI_PCOLL_reuse_keep(struct MPIDI_PCOLL_plan *plan);

/* In a child of a fork: the kept plans of a communicator get the child's medium. */
void MPIDI_PCOLL_reuse_disown(struct MPIDI_PCOLL_comm *state, const struct pcoll_medium *medium);

#endif /* REUSE_H_INCLUDED */
