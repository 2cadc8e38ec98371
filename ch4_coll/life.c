/* The life of plans: their requests, and their end.
 *
 * MPICH frees requests and communicators in callbacks. Where it has a lock for each VCI, the caller
 * may hold one, and must neither wait for our lock nor free a request; so what is freed there only
 * leaves the lists, and the progress hook tears it down. */

#include "pcoll.h"

#include "fallback.h"
#include "lock.h"
#include "mpir_coll_offload_hooks.h"

pthread_mutex_t MPIDI_PCOLL_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t MPIDI_PCOLL_mutex_of_lists = PTHREAD_MUTEX_INITIALIZER;

/* What the hook must tear down; guarded by the lock of lists. */
static struct MPIDI_PCOLL_plan *leaving_plans = NULL; /* linked by sibling_next */
static struct MPIDI_PCOLL_comm *leaving_states = NULL;

static unsigned long PVAR_COUNTER_coll_offload_plans = 0;

/* ---- requests ---- */

int MPIDI_PCOLL_request_create(struct MPIDI_PCOLL_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;

    plan->real = MPIR_Request_create(MPIR_REQUEST_KIND__COLL);
    MPIR_ERR_CHKANDJUMP(!plan->real, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_Status_set_empty(&plan->real->status);
    plan->real->status.MPI_ERROR = MPI_SUCCESS;
    MPIR_cc_set(&plan->real->cc, 0);
    plan->preq = MPIR_Request_create(MPIR_REQUEST_KIND__PREQUEST_COLL);
    MPIR_ERR_CHKANDJUMP(!plan->preq, mpi_errno, MPI_ERR_OTHER, "**nomem");
    plan->preq->comm = NULL;
    plan->preq->u.persist_coll.real_request = NULL;
    plan->preq->u.persist_coll.sched_type = MPIDI_PCOLL_SCHED;
    plan->preq->u.persist_coll.sched = NULL; /* a request that is discarded frees no plan */
    MPIDI_PCOLL_request_settle(plan->preq);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

void MPIDI_PCOLL_request_discard(struct MPIDI_PCOLL_plan *plan)
{
    if (plan->real)
        MPIR_Request_free(plan->real);
    if (plan->preq)
        MPIR_Request_free(plan->preq);
}

MPIR_Request *MPIDI_PCOLL_request_issue(struct MPIDI_PCOLL_plan *plan)
{
    MPIDI_PCOLL_lock_lists();
    plan->preq->comm = plan->state->comm;
    plan->preq->u.persist_coll.sched = plan;
    DL_APPEND_NP(plan->state->plans, plan, sibling_next, sibling_prev);
    MPIDI_PCOLL_unlock_lists();
    PVAR_COUNTER_coll_offload_plans++;
    return plan->preq;
}

void MPIDI_PCOLL_pvars_init(void)
{
    static bool done = false;

    if (done)
        return;
    done = true;
    MPIR_T_PVAR_COUNTER_REGISTER_STATIC_impl(
        MPI_UNSIGNED_LONG, coll_offload_plans, MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
        MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, "COLLECTIVE",
        "persistent collectives that run as plans");
    MPIR_T_PVAR_COUNTER_REGISTER_DYNAMIC_impl(
        MPI_UNSIGNED_LONG, coll_offload_fallbacks, &MPIDI_PCOLL_fallback_count, 1,
        MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
        MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, NULL, NULL, "COLLECTIVE",
        "persistent collectives on MPICH's own schedules");
    MPIDI_PCOLL_agent_pvars_init();
}

/* ---- the end ---- */

/* Local: no other rank can reach the plan's memory afterwards. */
static void unbind(struct MPIDI_PCOLL_plan *plan)
{
    if (plan->bound)
        plan->medium->unbind(plan->bound);
    if (plan->state)
        MPIDI_PCOLL_comm_release(plan->state);
}

/* Without the lock, as the last reference to a type calls functions of the user. */
static void destroy(struct MPIDI_PCOLL_plan *plan)
{
    pcoll_plan_destroy(plan->plan);
    MPIDI_PCOLL_forget_kept(plan);
    MPIDI_PCOLL_data_fini(&plan->in);
    MPIDI_PCOLL_data_fini(&plan->out);
    MPIDI_PCOLL_operator_destroy(plan->op);
    MPL_free(plan->blocks);
    MPIDI_PCOLL_local_free(plan->local);
    if (plan->real)
        MPIR_Request_free(plan->real);
    MPL_free(plan);
}

static void add_leaving(struct MPIDI_PCOLL_plan *plan)
{
    plan->sibling_next = leaving_plans;
    leaving_plans = plan;
    MPIDI_PCOLL_run_wake();
}

void MPIDI_PCOLL_plan_end(struct MPIDI_PCOLL_plan *plan)
{
    if (MPIDI_PCOLL_has_lock()) {
        MPIDI_PCOLL_lock_lists();
        add_leaving(plan);
        MPIDI_PCOLL_unlock_lists();
    } else {
        unbind(plan);
        destroy(plan);
    }
}

void MPIDI_PCOLL_free(MPIR_Request *preq)
{
    struct MPIDI_PCOLL_plan *plan = preq->u.persist_coll.sched;
    const bool later = MPIDI_PCOLL_has_lock();

    MPIDI_PCOLL_lock_lists();
    preq->comm = NULL; /* named, but without a reference */
    DL_DELETE_NP(plan->state->plans, plan, sibling_next, sibling_prev);
    if (later)
        add_leaving(plan);
    MPIDI_PCOLL_unlock_lists();
    if (later)
        return;
    if (plan->active)
        plan->doomed = true;
    else
        MPIDI_PCOLL_plan_end(plan);
}

void MPIDI_PCOLL_comm_freed(struct MPIDI_PCOLL_comm *state)
{
    const bool later = MPIDI_PCOLL_has_lock();

    MPIDI_PCOLL_lock_lists();
    for (struct MPIDI_PCOLL_plan *plan = state->plans; plan; plan = plan->sibling_next)
        plan->preq->comm = NULL;
    state->comm = NULL;
    if (later) {
        state->next_leaving = leaving_states;
        leaving_states = state;
        MPIDI_PCOLL_run_wake();
    }
    MPIDI_PCOLL_unlock_lists();
    if (!later)
        MPIDI_PCOLL_comm_release(state);
}

void MPIDI_PCOLL_leaving_disown(void)
{
    for (struct MPIDI_PCOLL_plan *plan = leaving_plans; plan; plan = plan->sibling_next)
        plan->medium = &MPIDI_PCOLL_medium_of_child;
}

/* ---- for the progress hook ---- */

bool MPIDI_PCOLL_anything_leaves(void)
{
    return leaving_plans || leaving_states;
}

struct MPIDI_PCOLL_plan *MPIDI_PCOLL_unbind_leaving(void)
{
    struct MPIDI_PCOLL_plan *plan, *next, *gone = NULL;
    struct MPIDI_PCOLL_comm *state, *next_state;

    MPIDI_PCOLL_lock_lists();
    plan = leaving_plans;
    state = leaving_states;
    leaving_plans = NULL;
    leaving_states = NULL;
    MPIDI_PCOLL_unlock_lists();
    for (; plan; plan = next) {
        next = plan->sibling_next;
        if (plan->active) {
            plan->doomed = true;
            continue;
        }
        unbind(plan);
        plan->sibling_next = gone;
        gone = plan;
    }
    for (; state; state = next_state) {
        next_state = state->next_leaving;
        MPIDI_PCOLL_comm_release(state);
    }
    return gone;
}

void MPIDI_PCOLL_destroy_list(struct MPIDI_PCOLL_plan *gone)
{
    for (struct MPIDI_PCOLL_plan *next; gone; gone = next) {
        next = gone->sibling_next;
        destroy(gone);
    }
}
