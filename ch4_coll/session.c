/* The backend from MPI_Init to MPI_Finalize: what is opened, and in which order all of it ends. */

#include "session.h"

#include "mpidimpl.h"

#include "agent.h"
#include "call.h"
#include "child.h"
#include "comm.h"
#include "cores.h"
#include "fallback.h"
#include "hook.h"
#include "job_report.h"
#include "media_calls.h"
#include "mpich_version.h"
#include "mpir_coll_offload_hooks.h"
#include "process.h"
#include "promote.h"
#include "report.h"
#include "request.h"
#include "reuse.h"
#include "settings.h"
#include "waiting.h"

#include "algorithms/plan/pool.h"
#include "offload/yield.h"

/* ---- the end ---- */

/* Peers may still read and write here until they have unbound their plans, too. */
static void leave_network(void)
{
    if (!MPIDI_PCOLL_network_used())
        return;
    MPIDI_PCOLL_unbind_all();
    for (unsigned round = 0; !MPIDI_PCOLL_network_left(); round++) {
        MPID_Progress_test(NULL);
        MPIDI_PCOLL_wait_round(round);
    }
}

/* Called before MPID_Finalize. */
static int finalize(void *extra)
{
    if (MPIDI_PCOLL_is_child())
        MPIDI_PCOLL_end_child();
    else {
        MPIDI_PCOLL_job_report();
        MPIDI_PCOLL_settings_keep();
    }
    MPIDI_PCOLL_agent_end();
    MPIDI_PCOLL_requests_destroy(MPIDI_PCOLL_unbind_leaving());
    leave_network();
    MPIDI_PCOLL_hook_close();
    MPIDI_PCOLL_crowded = false;
    MPIDI_PCOLL_promotion_free_keyval();
    MPIDI_PCOLL_comm_free_keyval();
    MPIDI_PCOLL_settings_free();
    MPIDI_PCOLL_job_report_free();
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

/* ---- the beginning ---- */

static void get_polls(void *address, void *object, int count, void *value)
{
    *(unsigned long *)value = MPIDI_PCOLL_network_polls().polls;
}

#define REGISTER_READ(name, address, get, text)                                                    \
    MPIR_T_PVAR_COUNTER_REGISTER_DYNAMIC_impl(                                                     \
        MPI_UNSIGNED_LONG, name, address, 1, MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,     \
        MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, get, NULL, "COLLECTIVE", text)
#define REGISTER(name, address, text) REGISTER_READ(name, address, NULL, text)

void MPIDI_PCOLL_pvars_init(void)
{
    static bool done = false;

    if (done)
        return;
    done = true;
    REGISTER(coll_offload_plans, &MPIDI_PCOLL_request_count,
             "persistent collectives that run as plans");
    REGISTER(coll_offload_reused_plans, &MPIDI_PCOLL_reused_count,
             "of these, those whose plan a freed request has left");
    REGISTER(coll_offload_fallbacks, &MPIDI_PCOLL_fallback_count,
             "persistent collectives on MPICH's own schedules");
    REGISTER(coll_offload_promoted_plans, &MPIDI_PCOLL_promoted_plans,
             "plans that serve ordinary blocking collectives");
    REGISTER(coll_offload_promoted_calls, &MPIDI_PCOLL_promoted_calls,
             "ordinary blocking collectives that plans have served");
    REGISTER(coll_offload_vain_binds, &MPIDI_PCOLL_vain_binds,
             "inits that chose again, as a rank had not mapped operands of others");
    REGISTER_READ(coll_offload_network_polls, NULL, get_polls,
                  "how often this process has polled the network for plans");
    MPIDI_PCOLL_agent_pvars_init();
    MPIDI_PCOLL_job_pvars_init();
}

#if MPIDI_PCOLL_HAS_ULTS
static void yield_to_ults(void)
{
    MPL_thread_yield();
}
#endif

int MPIDI_PCOLL_session_open(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIDI_PCOLL_hook_id() >= 0)
        goto fn_exit;
    mpi_errno = MPIDI_PCOLL_hook_open();
    MPIR_ERR_CHECK(mpi_errno);
#if MPIDI_PCOLL_HAS_ULTS
    pcoll_set_yield(yield_to_ults);
#endif
    MPIDI_PCOLL_watch_forks();
    MPIR_Add_finalize(finalize, NULL, 7);
    MPIR_Add_finalize(finalize_late, NULL, 2);
    MPIDI_PCOLL_see_cores();

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

void MPIDI_PCOLL_publish(void)
{
    if (MPIDI_PCOLL_is_switched_on())
        MPIDI_PCOLL_promotion_open();
}

int MPIDI_PCOLL_init_completed(void)
{
    const bool is_on = MPIDI_PCOLL_is_switched_on();

    MPIDI_PCOLL_on_one_node = is_on && MPIR_Process.num_nodes == 1;
    return is_on && MPIDI_PCOLL_cores().crowded ? MPIDI_PCOLL_session_open() : MPI_SUCCESS;
}
