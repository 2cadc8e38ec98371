/* Requests that a program uses once. */

#include "once.h"

#include <stdatomic.h>

#include "child.h"
#include "comm.h"
#include "lock.h"
#include "mpir_coll_offload_hooks.h"
#include "report.h"
#include "settings.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_USED_ONCE
      category    : COLLECTIVE
      type        : int
      default     : 8
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        After how many plans of one collective of a communicator that were freed with at most
        one start MPICH's schedules serve the next requests, as to make a plan takes longer than
        to use it once. A request that is started again makes plans return, within 64 inits.
        Until then inits get no plan whatever their blocks are, and info keys have no effect,
        which a message says.
        Plans of blocks of more than 64 KiB do not count, and neither do reductions, whose last
        bits could change, nor, unless the collective has a root, requests that got the plan
        of a freed one. Values: 0 (plans always), or 1 and more.
        Set it to 0 where a program uses many requests once, and then one many times; a
        communicator of its own for the latter does the same.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Copies between user buffers make longer plans faster than messages, with all that init takes. */
static const uint64_t SHORT = 64 << 10;

/* ---- at init ---- */

/* Programs that use requests again have no such inits; they need not look for the state. */
static atomic_bool has_stopped_asking = false; /* read without a lock */

static void leave_to_mpich(struct MPIDI_PCOLL_call *call)
{
    call->is_once = true;
    call->eligible = false;
    call->why = "the last requests were used once each";
}

/* Another rank's info may lack what this one's says, so none of them can ask for a plan. */
static void report_ignored_info(const struct MPIDI_PCOLL_call *call)
{
    char text[160];

    if (!call->info || call->comm->rank > 0 || !MPIDI_PCOLL_has_wishes(call))
        return;
    snprintf(text, sizeof(text),
             "%s: info keys coll_offload_... have no effect, as the last requests were used once "
             "each (MPIR_CVAR_COLL_OFFLOAD_USED_ONCE)",
             pcoll_coll_name(call->signature.coll));
    MPIDI_PCOLL_report(text);
}

bool MPIDI_PCOLL_is_unasked(MPIR_Comm *comm, enum pcoll_coll coll)
{
    struct MPIDI_PCOLL_comm *state;
    bool is_unasked;

    if (!atomic_load_explicit(&has_stopped_asking, memory_order_relaxed))
        return false;
    MPIDI_PCOLL_lock();
    state = MPIDI_PCOLL_is_child() ? NULL : MPIDI_PCOLL_comm_find(comm);
    is_unasked = state && state->once[coll].unasked > 0;
    if (is_unasked)
        state->once[coll].unasked--;
    MPIDI_PCOLL_unlock();
    return is_unasked;
}

void MPIDI_PCOLL_leave_unasked(struct MPIDI_PCOLL_call *call)
{
    leave_to_mpich(call);
    report_ignored_info(call);
}

bool MPIDI_PCOLL_wants_plan(const struct MPIDI_PCOLL_call *call)
{
    const enum pcoll_coll coll = call->signature.coll;
    const int enough = MPIR_CVAR_COLL_OFFLOAD_USED_ONCE;
    int used_once;

    if (enough <= 0 || call->is_promoted || pcoll_coll_has(coll, PCOLL_REDUCES))
        return true;
    MPIDI_PCOLL_lock_lists();
    used_once = call->state->once[coll].used_once;
    MPIDI_PCOLL_unlock_lists();
    return used_once < enough || MPIDI_PCOLL_has_wishes(call);
}

void MPIDI_PCOLL_stop_asking(struct MPIDI_PCOLL_call *call)
{
    atomic_store_explicit(&has_stopped_asking, true, memory_order_relaxed);
    call->state->once[call->signature.coll].unasked = MPIDI_PCOLL_UNASKED;
    leave_to_mpich(call);
}

/* ---- what has been counted ---- */

void MPIDI_PCOLL_started_again(struct MPIDI_PCOLL_comm *state, enum pcoll_coll coll)
{
    MPIDI_PCOLL_lock_lists();
    state->once[coll].used_once = 0;
    MPIDI_PCOLL_unlock_lists();
}

void MPIDI_PCOLL_used_once(struct MPIDI_PCOLL_comm *state, const struct pcoll_signature *signature,
                           bool is_reused)
{
    int *count = &state->once[signature->coll].used_once;

    if (is_reused && !pcoll_coll_has(signature->coll, PCOLL_ROOTED))
        return;
    if (signature->bytes <= SHORT && *count < INT_MAX)
        ++*count;
}

/* ---- requests of MPICH's ---- */

/* The sched_type of a watched request: the collective, its own type, and whether it has been
 * started. No value of enum MPIR_sched_type, nor MPIDI_PCOLL_SCHED, is as large. */
enum { WATCHED = 1 << 12, STARTED = 1, TYPE_SHIFT = 1, TYPE_MASK = 7, COLL_SHIFT = 4 };

_Static_assert(MPIDI_PCOLL_SCHED < WATCHED, "they differ");

static int read_watched(const MPIR_Request *preq)
{
    const int watched = (int)preq->u.persist_coll.sched_type;

    MPIR_Assert(watched & WATCHED);
    return watched;
}

static void write_type(MPIR_Request *preq, int type)
{
    preq->u.persist_coll.sched_type = (enum MPIR_sched_type)type;
}

static int type_of(int watched)
{
    return watched >> TYPE_SHIFT & TYPE_MASK;
}

void MPIDI_PCOLL_watch(MPIR_Request *preq, enum pcoll_coll coll)
{
    const int type = (int)preq->u.persist_coll.sched_type;

    if (type <= TYPE_MASK)
        write_type(preq, WATCHED | (int)coll << COLL_SHIFT | type << TYPE_SHIFT);
}

static void reset_count(MPIR_Comm *comm, enum pcoll_coll coll)
{
    struct MPIDI_PCOLL_comm *state;

    MPIDI_PCOLL_lock();
    state = MPIDI_PCOLL_comm_find(comm);
    if (state)
        MPIDI_PCOLL_started_again(state, coll);
    MPIDI_PCOLL_unlock();
}

/* At its second start the request becomes one of MPICH's like any other. */
int MPIDI_PCOLL_start_watched(MPIR_Request *preq)
{
    const int watched = read_watched(preq);
    int mpi_errno;

    write_type(preq, type_of(watched));
    if (watched & STARTED)
        reset_count(preq->comm, (enum pcoll_coll)((watched & ~WATCHED) >> COLL_SHIFT));
    mpi_errno = MPIR_Persist_coll_start(preq);
    if (!(watched & STARTED))
        write_type(preq, watched | STARTED);
    return mpi_errno;
}

bool MPIDI_PCOLL_is_normal(const MPIR_Request *preq)
{
    return type_of(read_watched(preq)) == MPIR_SCHED_NORMAL;
}
