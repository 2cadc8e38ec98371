/* Start, progress and completion of plans, and their end. */

#include "plan.h"

#include "agent.h"
#include "lock.h"
#include "process.h"

#include "offload/pairs.h"

static struct MPIDI_PCOLL_plan *active_plans = NULL;
static unsigned long changes = 0; /* of that list */

bool MPIDI_PCOLL_has_active_plans(void)
{
    return active_plans != NULL;
}

unsigned long MPIDI_PCOLL_plan_changes(void)
{
    return changes;
}

void MPIDI_PCOLL_plan_activate(struct MPIDI_PCOLL_plan *plan)
{
    if (!active_plans)
        MPIDI_PCOLL_hook_need(MPIDI_PCOLL_NEED_PLANS);
    plan->active = true;
    changes++;
    DL_APPEND(active_plans, plan);
}

static void deactivate(struct MPIDI_PCOLL_plan *plan)
{
    plan->active = false;
    changes++;
    DL_DELETE(active_plans, plan);
    if (active_plans)
        return;
    MPIDI_PCOLL_lock_lists();
    MPIDI_PCOLL_hook_drop(MPIDI_PCOLL_NEED_PLANS);
    MPIDI_PCOLL_unlock_lists();
}

static int fail(struct MPIDI_PCOLL_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;

    plan->past = MPIDI_PCOLL_FAILED;
    MPIDI_PCOLL_agent_report();
    MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    return mpi_errno;
}

void MPIDI_PCOLL_plan_complete(struct MPIDI_PCOLL_plan *plan, enum pcoll_result result)
{
    int mpi_errno;

    if (plan->active)
        deactivate(plan);
    mpi_errno = result == PCOLL_OK ? MPIDI_PCOLL_data_unpack(&plan->out) : fail(plan);
    plan->completed(plan, mpi_errno);
}

/* A user's function runs without the lock: other threads may then start, complete and free other
 * plans, so that the rest of the walk is off. */
bool MPIDI_PCOLL_progress_plans(void)
{
    struct MPIDI_PCOLL_plan *plan, *next;
    bool done = false;

    DL_FOREACH_SAFE (active_plans, plan, next) {
        const unsigned long before = changes;
        enum pcoll_result result;
        bool is_same;

        if (plan->busy)
            continue;
        plan->busy = true;
        result = plan->medium->progress(plan->bound);
        plan->busy = false;
        is_same = changes == before;
        if (result != PCOLL_PENDING) {
            MPIDI_PCOLL_plan_complete(plan, result);
            done = true;
        }
        if (!is_same)
            break;
    }
    return done;
}

void MPIDI_PCOLL_plans_disown(const struct pcoll_medium *medium)
{
    struct MPIDI_PCOLL_plan *plan;

    DL_FOREACH (active_plans, plan)
        plan->medium = medium;
}

void MPIDI_PCOLL_plan_unbind(struct MPIDI_PCOLL_plan *plan)
{
    if (plan->bound)
        plan->medium->unbind(plan->bound);
    plan->bound = NULL;
}

void MPIDI_PCOLL_local_free(struct pcoll_local *local)
{
    if (local)
        pcoll_pairs_destroy(local->pairs);
    MPL_free(local);
}

void MPIDI_PCOLL_plan_fini(struct MPIDI_PCOLL_plan *plan)
{
    pcoll_plan_destroy(plan->plan);
    MPIDI_PCOLL_free_kept(plan);
    MPIDI_PCOLL_data_fini(&plan->in);
    MPIDI_PCOLL_data_fini(&plan->out);
    MPIDI_PCOLL_operator_destroy(plan->op);
    MPL_free(plan->blocks);
    MPIDI_PCOLL_local_free(plan->local);
}
