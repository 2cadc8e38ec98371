/* The MPI requests of plans, and their end.
 *
 * A request of ours has a partner request, `real`, for its whole lifetime. The references to `real`
 * are the plan's and, from a start on, the user's (dropped by MPI_Wait and similar calls) and the
 * instance's (dropped by MPIR_Request_complete, which is the last access of an instance: another
 * thread may start or free the request at once).
 *
 * What is freed while it is active leaves the lists, and the progress hook tears it down once it
 * has completed. Where MPICH has a lock for each VCI, so does whatever is freed: MPICH frees
 * requests and communicators in callbacks, whose caller may hold such a lock, and must neither wait
 * for our lock nor free a request. So does each init, since a program that only makes and frees
 * requests may never wait. */

#include "request.h"

#include "huge_pages.h"
#include "lock.h"
#include "mpich_version.h"
#include "mpir_coll_offload_hooks.h"
#include "once.h"
#include "process.h"
#include "reuse.h"
#include "waiting.h"

/* What the hook must tear down; guarded by the lock of lists. */
static struct MPIDI_PCOLL_request *leaving_requests = NULL; /* linked by next */
static struct MPIDI_PCOLL_comm *leaving_states = NULL;

unsigned long MPIDI_PCOLL_request_count = 0;

/* ---- creation ---- */

static void complete(struct MPIDI_PCOLL_plan *plan, int mpi_errno)
{
    MPIR_Request *real = ((struct MPIDI_PCOLL_request *)plan)->real;

    real->status.MPI_ERROR = mpi_errno;
    MPIR_Request_complete(real);
}

static MPIR_Request *create_real(void)
{
    MPIR_Request *real = MPIR_Request_create(MPIR_REQUEST_KIND__COLL);

    if (!real)
        return NULL;
    MPIR_Status_set_empty(&real->status);
    real->status.MPI_ERROR = MPI_SUCCESS;
    MPIR_cc_set(&real->cc, 0);
    return real;
}

static MPIR_Request *create_preq(void)
{
    MPIR_Request *preq = MPIR_Request_create(MPIR_REQUEST_KIND__PREQUEST_COLL);

    if (!preq)
        return NULL;
    preq->comm = NULL;
    preq->u.persist_coll.real_request = NULL;
    preq->u.persist_coll.sched_type = MPIDI_PCOLL_SCHED;
    preq->u.persist_coll.sched = NULL; /* a request that is discarded frees no plan */
    MPIDI_PCOLL_request_settle(preq);
    return preq;
}

struct MPIDI_PCOLL_request *MPIDI_PCOLL_request_create(void)
{
    struct MPIDI_PCOLL_request *request = MPL_calloc(1, sizeof(*request), MPL_MEM_COLL);

    if (!request)
        return NULL;
    request->plan.completed = complete;
    request->plan.past = MPIDI_PCOLL_YOUNG;
    request->real = create_real();
    request->preq = create_preq();
    if (request->real && request->preq)
        return request;
    MPIDI_PCOLL_request_discard(request);
    return NULL;
}

void MPIDI_PCOLL_request_discard(struct MPIDI_PCOLL_request *request)
{
    if (!request)
        return;
    if (request->real)
        MPIR_Request_free(request->real);
    if (request->preq)
        MPIR_Request_free(request->preq);
    MPL_free(request);
}

MPIR_Request *MPIDI_PCOLL_request_issue(struct MPIDI_PCOLL_request *request)
{
    struct MPIDI_PCOLL_comm *state = request->plan.state;

    MPIDI_PCOLL_lock_lists();
    request->preq->comm = state->comm; /* named, but without a reference */
    request->preq->u.persist_coll.sched = request;
    DL_APPEND(state->requests, request);
    MPIDI_PCOLL_unlock_lists();
    MPIDI_PCOLL_request_count++;
    return request->preq;
}

/* ---- start and wait ---- */

static void grow_up(struct MPIDI_PCOLL_plan *plan)
{
    const int starts = ++plan->starts;

    if (starts == 2)
        MPIDI_PCOLL_started_again(plan->state, plan->plan->signature.coll);
    if (starts < 2 ||
        (starts < MPIDI_PCOLL_HUGE_PAGES_FROM && MPIDI_PCOLL_may_use_huge_pages(plan)))
        return;
    if (starts == MPIDI_PCOLL_HUGE_PAGES_FROM)
        MPIDI_PCOLL_use_huge_pages(plan);
    plan->past = MPIDI_PCOLL_PLAIN;
}

static int look_back(struct MPIDI_PCOLL_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;

    if (plan->past == MPIDI_PCOLL_YOUNG)
        grow_up(plan);
    else
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    return mpi_errno;
}

int MPIDI_PCOLL_start(MPIR_Request *preq)
{
    struct MPIDI_PCOLL_request *request = preq->u.persist_coll.sched;
    MPIR_Request *real = request->real;
    int mpi_errno = MPI_SUCCESS;

    if (unlikely(request->plan.past != MPIDI_PCOLL_PLAIN))
        mpi_errno = look_back(&request->plan);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_PCOLL_data_pack(&request->plan.in);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_cc_set(&real->cc, 1);
    MPIR_Request_add_ref(real);
    MPIR_Request_add_ref(real);
    preq->u.persist_coll.real_request = real;
    mpi_errno = MPIDI_PCOLL_plan_start(&request->plan);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* With threads, MPICH's own loop waits, which hands over the lock. */
void MPIDI_PCOLL_wait_hint(MPIR_Request *preq)
{
    struct MPIDI_PCOLL_request *request = preq->u.persist_coll.sched;

    if (!MPIR_ThreadInfo.isThreaded)
        MPIDI_PCOLL_plan_wait(&request->plan);
}

/* ---- the end ---- */

static void unbind(struct MPIDI_PCOLL_request *request)
{
    if (!MPIDI_PCOLL_reuse_keep(&request->plan))
        MPIDI_PCOLL_plan_unbind(&request->plan);
    MPIDI_PCOLL_state_release(request->plan.state);
}

void MPIDI_PCOLL_requests_destroy(struct MPIDI_PCOLL_request *gone)
{
    for (struct MPIDI_PCOLL_request *next; gone; gone = next) {
        next = gone->next;
        MPIDI_PCOLL_plan_fini(&gone->plan);
        MPIR_Request_free(gone->real);
        MPL_free(gone);
    }
}

void MPIDI_PCOLL_free(MPIR_Request *preq)
{
    struct MPIDI_PCOLL_request *request = preq->u.persist_coll.sched;
    struct MPIDI_PCOLL_comm *state = request->plan.state;
    const bool leaves = MPIDI_PCOLL_has_lock() || request->plan.active;

    MPIDI_PCOLL_lock_lists();
    if (request->plan.past == MPIDI_PCOLL_YOUNG && request->plan.starts < 2)
        MPIDI_PCOLL_used_once(state, &request->plan.plan->signature, request->plan.is_reused);
    preq->comm = NULL;
    DL_DELETE(state->requests, request);
    request->next = NULL;
    if (leaves) {
        request->next = leaving_requests;
        leaving_requests = request;
        MPIDI_PCOLL_hook_need(MPIDI_PCOLL_NEED_END);
    }
    MPIDI_PCOLL_unlock_lists();
    if (leaves)
        return;
    unbind(request);
    MPIDI_PCOLL_requests_destroy(request);
}

void MPIDI_PCOLL_comm_freed(struct MPIDI_PCOLL_comm *state)
{
    const bool leaves = MPIDI_PCOLL_has_lock();
    struct MPIDI_PCOLL_request *request;

    MPIDI_PCOLL_lock_lists();
    DL_FOREACH (state->requests, request)
        request->preq->comm = NULL;
    state->comm = NULL;
    if (leaves) {
        state->next_leaving = leaving_states;
        leaving_states = state;
        MPIDI_PCOLL_hook_need(MPIDI_PCOLL_NEED_END);
    }
    MPIDI_PCOLL_unlock_lists();
    if (!leaves)
        MPIDI_PCOLL_state_release(state);
}

/* Take those that are inactive out of the list of what leaves. */
static struct MPIDI_PCOLL_request *take_inactive(void)
{
    struct MPIDI_PCOLL_request **link = &leaving_requests, *taken = NULL, *request;

    while ((request = *link) != NULL) {
        if (request->plan.active) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        request->next = taken;
        taken = request;
    }
    return taken;
}

struct MPIDI_PCOLL_request *MPIDI_PCOLL_unbind_leaving(void)
{
    struct MPIDI_PCOLL_request *gone;
    struct MPIDI_PCOLL_comm *state, *next_state;

    MPIDI_PCOLL_lock_lists();
    gone = take_inactive();
    state = leaving_states;
    leaving_states = NULL;
    if ((gone || state) && !leaving_requests)
        MPIDI_PCOLL_hook_drop(MPIDI_PCOLL_NEED_END);
    MPIDI_PCOLL_unlock_lists();
    for (struct MPIDI_PCOLL_request *request = gone; request; request = request->next)
        unbind(request);
    for (; state; state = next_state) {
        next_state = state->next_leaving;
        MPIDI_PCOLL_state_release(state);
    }
    return gone;
}

void MPIDI_PCOLL_unbind_all(void)
{
    struct MPIDI_PCOLL_comm *state;
    struct MPIDI_PCOLL_request *request;

    for (state = MPIDI_PCOLL_states(); state; state = state->next)
        DL_FOREACH (state->requests, request)
            MPIDI_PCOLL_plan_unbind(&request->plan);
}

void MPIDI_PCOLL_requests_disown(const struct pcoll_medium *medium)
{
    struct MPIDI_PCOLL_comm *state;
    struct MPIDI_PCOLL_request *request;

    for (state = MPIDI_PCOLL_states(); state; state = state->next) {
        state->medium = medium;
        MPIDI_PCOLL_reuse_disown(state, medium);
        DL_FOREACH (state->requests, request)
            request->plan.medium = medium;
    }
    for (request = leaving_requests; request; request = request->next)
        request->plan.medium = medium;
}
