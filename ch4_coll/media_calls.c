/* Which medium carries the plans of a communicator; offload/media.c knows which media exist. */

#include "media_calls.h"

#include "mpidimpl.h"

#include "agent.h"
#include "network.h"
#include "process.h"
#include "report.h"

#include "offload/media.h"
#include "offload/pace.h"
#include "offload/race.h"
#include "offload/yield.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_MEDIUM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Medium of persistent collectives. Values: auto (shm on one node, otherwise
        ofi_trigger if the network runs plans by itself, otherwise ofi_rma or ucx_rma,
        whichever library MPICH uses), shm, ofi_rma (libfabric RMA), ofi_trigger (libfabric
        deferred work), ucx_rma (UCX), tcp_kernel (Linux runs plans over TCP by io_uring),
        mpich (MPICH's own schedules). Set it to compare media, to mpich if a medium fails, or
        to tcp_kernel if ranks of several hosts compute between start and wait.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static void report_hint(const char *name, bool exists)
{
    char line[PCOLL_MEDIA_BYTES + 150], names[PCOLL_MEDIA_BYTES];

    if (exists)
        snprintf(line, sizeof(line),
                 "MPIR_CVAR_COLL_OFFLOAD_MEDIUM: '%.30s' does not reach other nodes; using auto",
                 name);
    else
        snprintf(line, sizeof(line),
                 "MPIR_CVAR_COLL_OFFLOAD_MEDIUM: no medium '%.30s' (allowed: auto, %s, mpich); "
                 "using auto",
                 name, pcoll_media_names(names));
    MPIDI_PCOLL_report(line);
}

/* What MPI's own messages use. */
static const char *provider(void)
{
    return MPIDI_PCOLL_over_ucx() ? PCOLL_OVER_UCX : MPIDI_PCOLL_provider();
}

int MPIDI_PCOLL_medium_hint(bool one_node)
{
    const char *name = MPIR_CVAR_COLL_OFFLOAD_MEDIUM;
    int number;

    if (name && strcmp(name, "mpich") == 0)
        return PCOLL_NONE;
    if (name && *name && strcmp(name, "auto") != 0) {
        number = pcoll_media_find(name);
        if (number != PCOLL_NONE && pcoll_media_reaches(pcoll_media[number], one_node))
            return number;
        report_hint(name, number != PCOLL_NONE);
    }
    return pcoll_media_auto(one_node, provider());
}

int MPIDI_PCOLL_medium_next(int number, bool one_node)
{
    return pcoll_media_next(number, one_node, provider());
}

bool MPIDI_PCOLL_is_libfabric(const struct pcoll_medium *medium)
{
    return medium->library && strcmp(medium->library, PCOLL_LIBFABRIC) == 0;
}

/* ---- the medium's functions, without the agent ---- */

static bool network_used = false;
static uint64_t opened = 0; /* ns: when it was used first */

/* From now on the medium must progress whenever this process waits for anything. An agent that came
 * later would not be kept away from calls that have begun. */
static void open_network(void)
{
    network_used = true;
    if (opened == 0)
        opened = pcoll_now();
    MPIDI_PCOLL_agent_start();
    MPIDI_PCOLL_hook_need(MPIDI_PCOLL_NEED_NETWORK);
}

static void hold_agent(const struct pcoll_medium *medium)
{
    if (pcoll_is_network(medium))
        MPIDI_PCOLL_agent_hold();
}

static void release_agent(const struct pcoll_medium *medium)
{
    if (pcoll_is_network(medium))
        MPIDI_PCOLL_agent_release();
}

enum pcoll_result MPIDI_PCOLL_group_create(const struct pcoll_medium *medium,
                                           const struct pcoll_bootstrap *bootstrap,
                                           struct pcoll_group **group_p)
{
    enum pcoll_result result;

    if (pcoll_is_network(medium))
        open_network();
    hold_agent(medium);
    result = medium->group_create(bootstrap, group_p);
    release_agent(medium);
    return result;
}

void MPIDI_PCOLL_group_destroy(const struct pcoll_medium *medium, struct pcoll_group *group)
{
    hold_agent(medium);
    medium->group_destroy(group);
    release_agent(medium);
}

enum pcoll_result MPIDI_PCOLL_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                   const struct pcoll_memory *memory, struct pcoll_bound **bound_p)
{
    enum pcoll_result result;

    hold_agent(group->medium);
    result = group->medium->bind(group, plan, memory, bound_p);
    release_agent(group->medium);
    return result;
}

enum pcoll_result MPIDI_PCOLL_run_race(struct pcoll_group *group,
                                       const struct pcoll_plan *const *plans, int n,
                                       const struct pcoll_memory *memory, double *us)
{
    enum pcoll_result result;

    hold_agent(group->medium);
    result = pcoll_race(group, plans, n, memory, us);
    release_agent(group->medium);
    return result;
}

/* ---- the lifetime of the network ---- */

void MPIDI_PCOLL_network_poll(void)
{
    if (!network_used || !MPIDI_PCOLL_agent_try_hold())
        return;
    pcoll_media_poll();
    MPIDI_PCOLL_agent_release();
}

struct MPIDI_PCOLL_polls MPIDI_PCOLL_network_polls(void)
{
    struct MPIDI_PCOLL_polls all = {.polls = 0};

    if (opened == 0)
        return all;
    MPIDI_PCOLL_agent_hold();
    all.polls = pcoll_network_pace.polls;
    MPIDI_PCOLL_agent_release();
    all.ns = pcoll_now() - opened;
    return all;
}

bool MPIDI_PCOLL_network_used(void)
{
    return network_used;
}

void MPIDI_PCOLL_network_disown(void)
{
    network_used = false;
}

bool MPIDI_PCOLL_network_left(void)
{
    return !network_used || pcoll_media_lingering() == 0;
}

void MPIDI_PCOLL_network_close(void)
{
    if (network_used)
        pcoll_media_finalize();
    network_used = false;
    MPIDI_PCOLL_foreign_ends();
}
