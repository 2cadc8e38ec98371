/* The progress hook. */

#include "hook.h"

#include "plan.h"

#include "lock.h"
#include "media_calls.h"
#include "mpich_version.h"
#include "mpir_coll_offload_hooks.h"
#include "process.h"
#include "request.h"
#include "waiting.h"

#include "ch4_coll_promote.h"

#include "offload/yield.h"

#include <stdint.h>

#define IDLE_PASSES_WITH_CORE 2000 /* passes of the progress engine before it yields */
#define IDLE_PASSES_CROWDED 1
#define IDLE_PASSES_PER_LOOK 64 /* passes between looks at other ranks' cores */
#define IDLE_PASSES_AWAKE 1000  /* of a rank that shares its core; then it also sleeps */
#define CLOSE_PASSES_PER_SLEEP 4
#define CLOSE_NS 1500    /* between passes that are further apart the application computes */
#define FAR_NS 5000      /* and between these surely, however slow MPICH's network is */
#define AWAKE_NS 2000000 /* of idle passes that yield, until a rank with a core sleeps once */

/* What a pass without progress does with the core. */
enum use_of_core { KEEP, YIELD, SLEEP };

static unsigned idle_passes = 0;
static uint64_t rested = 0; /* when an idle pass last had its core again, or kept it */

/* Counts a pass as idle: nothing has arrived since the last pass of the progress engine, and no
 * plan has completed. */
static bool is_idle(void)
{
    static int last = 0;
    const int count = MPIDI_PCOLL_completions();

    if (count == last) {
        idle_passes++;
        return true;
    }
    last = count;
    idle_passes = 0;
    return false;
}

/* Returns whether, on a rank that shares its core, others may need the core to make progress. */
static bool should_yield(void)
{
    if (!is_idle() || idle_passes <= IDLE_PASSES_CROWDED)
        return false;
    if (idle_passes % IDLE_PASSES_PER_LOOK == 0)
        MPIDI_PCOLL_see_missing_cores();
    return true;
}

/* It never sleeps, since it does not know which wait a pass belongs to and how long that has
 * lasted. */
void MPIDI_PCOLL_yield(void)
{
    bool yields = true;

    if (MPIDI_PCOLL_try_lock()) {
        yields = should_yield();
        MPIDI_PCOLL_unlock();
    }
    if (yields)
        pcoll_yield();
}

/* Returns whether one of many idle passes is to sleep. Some must not, since other communication may
 * go on meanwhile: which request a pass waits for is unknown. Nor may an application that computes
 * between passes be put to sleep. Passes of several threads say nothing about that, as each waits
 * for the lock of the other. */
static bool should_sleep(void)
{
    static _Thread_local unsigned close_passes = 0; /* so many in a row had nothing between them */

    if (MPIR_ThreadInfo.isThreaded || pcoll_now() - rested < CLOSE_NS)
        close_passes++;
    else
        close_passes = 0;
    if (close_passes < CLOSE_PASSES_PER_SLEEP)
        return false;
    close_passes = 0;
    return true;
}

/* Yield the core; and sleep now and then if passes have been idle for long. With Linux 6.18,
 * threads that yield without end have kept all others from the cores for minutes, those of the
 * kernel too; and ranks that only yield look busy, so that the kernel spreads them over cores on
 * which others compute, where their peers then wait for them. */
static enum use_of_core yield_or_sleep(void)
{
    return idle_passes > IDLE_PASSES_AWAKE && should_sleep() ? SLEEP : YIELD;
}

/* Of a rank with a core of its own, as far as it knows: ranks of other hosts may run on the same
 * core, as in containers. An application that computes between tests waits for nothing, and a yield
 * would double what a test costs it. */
static enum use_of_core yield_unless_far(void)
{
    static uint64_t awake_since = 0;
    const uint64_t now = pcoll_now(), since = now - rested;

    if (idle_passes == IDLE_PASSES_WITH_CORE + 1)
        awake_since = now;
    if (!MPIR_ThreadInfo.isThreaded) {
        rested = now;
        if (since > FAR_NS)
            return KEEP;
    }
    if (now - awake_since < AWAKE_NS)
        return YIELD;
    awake_since = now;
    return SLEEP;
}

/* Outside the lock. */
static void rest(enum use_of_core use)
{
    if (use == KEEP)
        return;
    pcoll_rest_usec(use == SLEEP ? MPIDI_PCOLL_SLEEP_USEC : 0);
    if (!MPIR_ThreadInfo.isThreaded)
        rested = pcoll_now();
}

/* Plans that start or end are no idle passes. */
static void see_changes(void)
{
    static unsigned long seen = 0;
    const unsigned long changes = MPIDI_PCOLL_plan_changes();

    if (changes != seen)
        idle_passes = 0;
    seen = changes;
}

/* A rank that shares its core still yields in the first pass. With a lock for each VCI a thread
 * does not have the lock here, and the passes may be another thread's, so they go on. */
void MPIDI_PCOLL_hook_new_wait(void)
{
    if (MPIDI_PCOLL_has_lock())
        return;
    idle_passes = MPL_MIN(idle_passes, IDLE_PASSES_CROWDED);
}

/* With the lock. */
static enum use_of_core have_progress(int *made_progress)
{
    MPIDI_PCOLL_network_poll();
    see_changes();
    *made_progress = MPIDI_PCOLL_progress_plans();
    if (*made_progress)
        idle_passes = 0;
    else if (MPIDI_PCOLL_crowded)
        return should_yield() ? yield_or_sleep() : KEEP;
    else if (MPIDI_PCOLL_has_active_plans() && is_idle() && idle_passes > IDLE_PASSES_WITH_CORE)
        return yield_unless_far();
    return KEEP;
}

/* If another thread has the lock, it makes progress, or will soon leave it. */
static MPIDI_PCOLL_HOOK(progress_hook, made_progress)
{
    struct MPIDI_PCOLL_request *gone;
    enum use_of_core use;

    *made_progress = 0;
    if (!MPIDI_PCOLL_try_lock())
        return MPI_SUCCESS;
    use = have_progress(made_progress);
    gone = MPIDI_PCOLL_unbind_leaving();
    MPIDI_PCOLL_unlock();
    MPIDI_PCOLL_requests_destroy(gone);
    rest(use);
    return MPI_SUCCESS;
}

int MPIDI_PCOLL_hook_open(void)
{
    int id, mpi_errno = MPIDI_PCOLL_HOOK_REGISTER(progress_hook, &id);

    if (mpi_errno == MPI_SUCCESS)
        MPIDI_PCOLL_hook_set(id);
    return mpi_errno;
}

void MPIDI_PCOLL_hook_close(void)
{
    MPIR_Progress_hook_deregister(MPIDI_PCOLL_hook_id());
    MPIDI_PCOLL_hook_set(-1);
}
