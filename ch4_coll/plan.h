/* A bound plan with the user's data. It knows no MPI request: a callback tells its owner that an
 * instance has ended. */

#ifndef PLAN_H_INCLUDED
#define PLAN_H_INCLUDED

#include "data.h"
#include "lock.h"
#include "operator.h"
#include "state.h"

#include "tuning/choose.h"

/* What a start must know of earlier ones. */
enum MPIDI_PCOLL_past {
    MPIDI_PCOLL_PLAIN, /* nothing */
    MPIDI_PCOLL_YOUNG, /* how many there were */
    MPIDI_PCOLL_FAILED /* an instance failed; starts are refused */
};

/* What a call asks for, as one rank describes it before the ranks agree (reuse.h). Calls whose
 * shapes, blocks and edges are the same on each rank have the same plan. */
struct MPIDI_PCOLL_shape {
    bool is_known;                    /* false: no other call has it */
    struct pcoll_signature signature; /* its pointers have no meaning */
    MPI_Op op;                        /* of a reduction */
    MPI_Datatype type;                /* the same */
    uint64_t settings;                /* a hash */
    bool is_mapped;                   /* a buffer lies in memory of MPI_Alloc_mem */
    bool is_in_packed, is_out_packed; /* data is not contiguous */
};

struct MPIDI_PCOLL_plan {
    const struct pcoll_medium *medium;
    struct pcoll_bound *bound;
    struct MPIDI_PCOLL_data in, out; /* packed at start, unpacked at completion */
    struct MPIDI_PCOLL_kept *kept;   /* [nkept]: blocks that a rank has for itself */
    int nkept;
    struct MPIDI_PCOLL_operator *op; /* of a reduction; otherwise NULL */
    uint64_t *blocks;                /* of plan->signature; owned */
    struct pcoll_local *local;       /* where data moves along edges; otherwise NULL */
    struct pcoll_plan *plan;
    struct MPIDI_PCOLL_comm *state; /* the plan has a reference, unless it is kept (reuse.h) */
    uint64_t number;                /* of this communicator's plans, from 1 on, on all ranks */
    struct MPIDI_PCOLL_shape shape;
    struct pcoll_choice choice; /* rank 0's; other ranks know its algorithm and parameters */
    bool is_reused;             /* a request before this one had it, too */

    bool active;
    bool busy; /* a thread is progressing it, perhaps in a user's function without the lock */
    enum MPIDI_PCOLL_past past;
    int starts;                           /* of a young plan */
    struct MPIDI_PCOLL_plan *prev, *next; /* active plans */

    /* Called when the instance has ended, successfully or with an error that the wait call returns;
     * the plan is inactive. This is the last access of the instance: another thread may start or
     * free the plan at once. Needs the lock. */
    void (*completed)(struct MPIDI_PCOLL_plan *plan, int mpi_errno);
};

/* ---- kept.c: blocks of packed data that a rank has for itself ---- */

/* Take their copies out of `raw`; they are neither packed nor unpacked from then on. After the data
 * is settled. Returns an MPI error code. */
int MPIDI_PCOLL_keep(struct MPIDI_PCOLL_plan *plan, struct pcoll_plan *raw);

/* Make the same copies, at start; there is at least one. Returns an MPI error code. */
int MPIDI_PCOLL_copy_kept(const struct MPIDI_PCOLL_plan *plan);

/* Free the list of kept blocks. */
void MPIDI_PCOLL_free_kept(struct MPIDI_PCOLL_plan *plan);

/* Returns whether an inactive plan can have other user memory, for which its medium's `tell` is
 * necessary only if other ranks access that. */
static inline bool MPIDI_PCOLL_plan_can_move(const struct MPIDI_PCOLL_plan *plan)
{
    return plan->bound->can_move && plan->medium->move && plan->nkept == 0;
}

/* ---- run.c: start, progress, completion; the end of a plan ---- */

/* With the lock: note that an instance has begun, and not ended yet. */
void MPIDI_PCOLL_plan_activate(struct MPIDI_PCOLL_plan *plan);

/* With the lock: note that an instance has ended. */
void MPIDI_PCOLL_plan_complete(struct MPIDI_PCOLL_plan *plan, enum pcoll_result result);

/* Start an inactive plan that has not failed, and whose data is packed. The instance may end within
 * the call. Returns an MPI error code. Inline, as it is called at every start. */
static inline int MPIDI_PCOLL_plan_start(struct MPIDI_PCOLL_plan *plan)
{
    enum pcoll_result result;

    MPIDI_PCOLL_lock();
    result = plan->medium->start(plan->bound);
    if (result != PCOLL_PENDING)
        MPIDI_PCOLL_plan_complete(plan, result);
    else
        MPIDI_PCOLL_plan_activate(plan);
    MPIDI_PCOLL_unlock();
    return plan->nkept > 0 ? MPIDI_PCOLL_copy_kept(plan) : MPI_SUCCESS;
}

/* With the lock: progress all active plans that no other thread is progressing. Returns whether one
 * has completed. */
bool MPIDI_PCOLL_progress_plans(void);

/* Returns whether any plan is active. */
bool MPIDI_PCOLL_has_active_plans(void);

/* A number that changes whenever a plan becomes active or inactive; 0: none has been active. */
unsigned long MPIDI_PCOLL_plan_changes(void);

/* Give all active plans the child's medium, in a child of a fork. */
void MPIDI_PCOLL_plans_disown(const struct pcoll_medium *medium);

/* Unbind the plan, unless that has been done. Local; no other rank can reach its memory afterwards.
 */
void MPIDI_PCOLL_plan_unbind(struct MPIDI_PCOLL_plan *plan);

/* Free what an unbound plan consists of, except its reference to the state. Without the lock, as
 * the last reference to a type calls functions of the user. */
void MPIDI_PCOLL_plan_fini(struct MPIDI_PCOLL_plan *plan);

/* Free what a rank knows of edges; NULL: nothing. */
void MPIDI_PCOLL_local_free(struct pcoll_local *local);

#endif /* PLAN_H_INCLUDED */
