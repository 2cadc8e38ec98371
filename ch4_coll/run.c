/* Start, progress and completion of plans.
 *
 * A request of ours has a partner request, `real`, for its whole lifetime. The references to `real`
 * are the plan's and, from a start on, the user's (dropped by MPI_Wait and similar calls) and the
 * instance's (dropped by MPIR_Request_complete, which is the last access of an instance: another
 * thread may start or free the request at once). */

#include "algorithms/plan/pool.h"
#include "pcoll.h"

#include "lock.h"
#include "mpir_coll_offload_hooks.h"

#define IDLE_HOOKS_WITH_CORE 2000 /* passes of the progress engine before it yields */
#define IDLE_HOOKS_CROWDED 1
#define IDLE_HOOKS_PER_LOOK 64  /* passes between looks at other ranks' cores */
#define IDLE_HOOKS_PER_SLEEP 17 /* odd, so that threads that take turns all get to sleep */

/* What a pass without progress does with the core. */
enum use_of_core { KEEP, YIELD, SLEEP };

static struct MPIDI_PCOLL_plan *active_plans = NULL;
static unsigned long changes = 0; /* of that list */
static int hook_id = -1;
static unsigned idle_hooks = 0;
static bool hook_stays = false; /* stays active without an active plan */
static bool cores_known = false;
bool MPIDI_PCOLL_crowded = false;

/* With the lock: the hook is needed no more if nothing is active and nothing leaves. */
static void rest_hook(void)
{
    if (active_plans || hook_stays)
        return;
    MPIDI_PCOLL_lock_lists();
    if (!MPIDI_PCOLL_anything_leaves())
        MPIR_Progress_hook_deactivate(hook_id);
    MPIDI_PCOLL_unlock_lists();
}

static void activate(struct MPIDI_PCOLL_plan *plan)
{
    if (!active_plans && !hook_stays)
        MPIR_Progress_hook_activate(hook_id);
    plan->active = true;
    idle_hooks = 0;
    changes++;
    DL_APPEND(active_plans, plan);
}

static void deactivate(struct MPIDI_PCOLL_plan *plan)
{
    plan->active = false;
    changes++;
    DL_DELETE(active_plans, plan);
    rest_hook();
}

static int error_of(struct MPIDI_PCOLL_plan *plan, enum pcoll_result result)
{
    int mpi_errno = MPI_SUCCESS;

    if (result == PCOLL_OK)
        return MPIDI_PCOLL_data_unpack(&plan->out);
    plan->failed = true;
    MPIDI_PCOLL_agent_report();
    MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    return mpi_errno;
}

void MPIDI_PCOLL_complete(struct MPIDI_PCOLL_plan *plan, enum pcoll_result result)
{
    MPIR_Request *real = plan->real;

    if (plan->active)
        deactivate(plan);
    real->status.MPI_ERROR = error_of(plan, result);
    if (plan->doomed)
        MPIDI_PCOLL_plan_end(plan);
    MPIR_Request_complete(real);
}

/* A pass of the progress engine begins, on a rank that shares its core. True if nothing has arrived
 * since the last one and no plan has completed: others may need the core to make progress. */
static bool shall_yield(void)
{
    static int last = 0;
    int count = MPIDI_PCOLL_completions();

    if (count != last) {
        last = count;
        idle_hooks = 0;
        return false;
    }
    if (++idle_hooks <= IDLE_HOOKS_CROWDED)
        return false;
    if (!cores_known && idle_hooks % IDLE_HOOKS_PER_LOOK == 0)
        MPIDI_PCOLL_run_see_cores();
    return true;
}

/* It never sleeps, since it does not know which wait a pass belongs to and how long that has
 * lasted. */
void MPIDI_PCOLL_yield(void)
{
    bool yields = true;

    if (MPIDI_PCOLL_try_lock()) {
        yields = shall_yield();
        MPIDI_PCOLL_unlock();
    }
    if (yields)
        pcoll_yield();
}

/* Progress all active plans that no other thread is progressing; true if one has completed. A
 * user's function runs without the lock: other threads may then start, complete and free other
 * plans, so that the rest of the walk is off; and this one, which they only mark as doomed. */
static bool progress_plans(void)
{
    struct MPIDI_PCOLL_plan *plan, *next;
    bool done = false;

    DL_FOREACH_SAFE(active_plans, plan, next)
    {
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
            MPIDI_PCOLL_complete(plan, result);
            done = true;
        }
        if (!is_same)
            break;
    }
    return done;
}

/* Yield the core; and sleep now and then if passes have been idle for long. With Linux 6.18,
 * threads that yield without end have kept all others from the cores for minutes, those of the
 * kernel too. Most passes must not sleep: other communication may go on meanwhile, or computation;
 * and where no plan has been started, none does. Which request a pass waits for is unknown: those
 * of MPICH's own collectives, as at init of a plan, starve others as well. */
static enum use_of_core shall_sleep(void)
{
    const bool has_started_plans = changes > 0;

    return has_started_plans && idle_hooks > MPIDI_PCOLL_YIELDS_BEFORE_SLEEP &&
                   idle_hooks % IDLE_HOOKS_PER_SLEEP == 0
               ? SLEEP
               : YIELD;
}

/* With the lock. */
static enum use_of_core have_progress(int *made_progress)
{
    if (MPIDI_PCOLL_network_used())
        MPIDI_PCOLL_agent_poll_network();
    *made_progress = progress_plans();
    if (*made_progress)
        idle_hooks = 0;
    else if (MPIDI_PCOLL_crowded)
        return shall_yield() ? shall_sleep() : KEEP;
    else if (active_plans && ++idle_hooks > IDLE_HOOKS_WITH_CORE)
        return YIELD;
    return KEEP;
}

/* If another thread has the lock, it makes progress, or will soon leave it. */
static MPIDI_PCOLL_HOOK(progress_hook, made_progress)
{
    struct MPIDI_PCOLL_plan *gone = NULL;
    enum use_of_core use;

    *made_progress = 0;
    if (!MPIDI_PCOLL_try_lock())
        return MPI_SUCCESS;
    use = have_progress(made_progress);
    if (MPIDI_PCOLL_has_lock()) {
        gone = MPIDI_PCOLL_unbind_leaving();
        rest_hook();
    }
    MPIDI_PCOLL_unlock();
    MPIDI_PCOLL_destroy_list(gone);
    if (use != KEEP)
        pcoll_rest_usec(use == SLEEP ? MPIDI_PCOLL_SLEEP_USEC : 0);
    return MPI_SUCCESS;
}

int MPIDI_PCOLL_start(MPIR_Request *preq)
{
    struct MPIDI_PCOLL_plan *plan = preq->u.persist_coll.sched;
    MPIR_Request *real = plan->real;
    enum pcoll_result result;
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(plan->failed, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    mpi_errno = MPIDI_PCOLL_data_pack(&plan->in);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PCOLL_lock();
    MPIR_cc_set(&real->cc, 1);
    MPIR_Request_add_ref(real);
    MPIR_Request_add_ref(real);
    preq->u.persist_coll.real_request = real;
    result = plan->medium->start(plan->bound);
    if (result != PCOLL_PENDING)
        MPIDI_PCOLL_complete(plan, result);
    else
        activate(plan);
    MPIDI_PCOLL_unlock();
    mpi_errno = MPIDI_PCOLL_copy_kept(plan);
    MPIR_ERR_CHECK(mpi_errno);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

static void set_hook(void)
{
    hook_stays = MPIDI_PCOLL_crowded || MPIDI_PCOLL_network_used();
    if (hook_stays || active_plans)
        MPIR_Progress_hook_activate(hook_id);
    else
        rest_hook();
}

void MPIDI_PCOLL_run_wake(void)
{
    MPIR_Progress_hook_activate(hook_id);
}

void MPIDI_PCOLL_run_network(void)
{
    MPIDI_PCOLL_network_opened();
    MPIDI_PCOLL_agent_hire();
    set_hook();
}

void MPIDI_PCOLL_run_see_cores(void)
{
    struct MPIDI_PCOLL_cores cores = MPIDI_PCOLL_cores();

    cores_known = cores.all_known;
    MPIDI_PCOLL_crowded = cores.crowded;
    set_hook();
}

bool MPIDI_PCOLL_is_switched_on(void)
{
    if (MPIR_CVAR_DEVICE_COLLECTIVES != MPIR_CVAR_DEVICE_COLLECTIVES_percoll)
        return MPIR_CVAR_DEVICE_COLLECTIVES == MPIR_CVAR_DEVICE_COLLECTIVES_all;
#define IS_ON(NAME, name) || MPIR_CVAR_##NAME##_INIT_DEVICE_COLLECTIVE
    return false PCOLL_COLLECTIVES(IS_ON);
#undef IS_ON
}

int MPIDI_PCOLL_init_completed(void)
{
    if (!MPIDI_PCOLL_is_switched_on() || MPIR_Process.local_size == 1)
        return MPI_SUCCESS;
    MPIDI_PCOLL_cores_publish();
    return MPIDI_PCOLL_cores().crowded ? MPIDI_PCOLL_run_init() : MPI_SUCCESS;
}

/* Peers may still read and write here until they have unbound their plans, too. */
static void leave_network(void)
{
    if (!MPIDI_PCOLL_network_used())
        return;
    MPIDI_PCOLL_comm_unbind_all();
    for (unsigned round = 0; !MPIDI_PCOLL_network_left(); round++) {
        MPID_Progress_test(NULL);
        MPIDI_PCOLL_wait_round(round);
    }
}

void MPIDI_PCOLL_run_disown(void)
{
    struct MPIDI_PCOLL_plan *plan;

    DL_FOREACH(active_plans, plan)
    plan->medium = &MPIDI_PCOLL_medium_of_child;
}

static int finalize(void *extra)
{
    if (MPIDI_PCOLL_is_child())
        MPIDI_PCOLL_end_child();
    MPIDI_PCOLL_agent_dismiss();
    MPIDI_PCOLL_destroy_list(MPIDI_PCOLL_unbind_leaving());
    leave_network();
    MPIR_Progress_hook_deregister(hook_id);
    hook_id = -1;
    MPIDI_PCOLL_crowded = false;
    MPIDI_PCOLL_comm_free_keyval();
    MPIDI_PCOLL_settings_free();
    MPIDI_PCOLL_report_free();
    return 0;
}

/* Called after MPID_Finalize. */
static int finalize_late(void *extra)
{
    MPIDI_PCOLL_network_close();
    pcoll_pool_clear();
    return 0;
}

#if MPIDI_PCOLL_HAS_ULTS
static void yield_to_ults(void)
{
    MPL_thread_yield();
}
#endif

int MPIDI_PCOLL_run_init(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (hook_id >= 0)
        goto fn_exit;
    mpi_errno = MPIDI_PCOLL_HOOK_REGISTER(progress_hook, &hook_id);
    MPIR_ERR_CHECK(mpi_errno);
#if MPIDI_PCOLL_HAS_ULTS
    pcoll_set_yield(yield_to_ults);
#endif
    MPIDI_PCOLL_watch_forks();
    MPIR_Add_finalize(finalize, NULL, 7);
    MPIR_Add_finalize(finalize_late, NULL, 2);
    MPIDI_PCOLL_run_see_cores();

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}
