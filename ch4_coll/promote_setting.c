/* What the user wants to be promoted, and whether all ranks of a communicator want the same. */

#include "promote.h"

#include "cores.h"
#include "mpich_version.h"
#include "report.h"

#include "ch4_coll_promote.h"

#include "algorithms/util.h"
#include "offload/yield.h"

/* Of what MPI_Finalize calls: before the plans that serve ordinary calls end (session.c). */
enum { BEFORE_PLANS_END = 8 };

bool MPIDI_PCOLL_promotes = false;

/* What is promoted; 0 is not published. THREADS: nothing, whatever the user wants. The
 * settings of a user are those from OFF on. */
static enum { UNKNOWN, THREADS, OFF, AUTO, EXACT, ALL } level = OFF;
static uint64_t opened = 0; /* when MPI was initialized */
static const char *const names[] = {[UNKNOWN] = "unknown", [THREADS] = "off because of its threads",
                                    [OFF] = "off",         [AUTO] = "auto",
                                    [EXACT] = "exact",     [ALL] = "all"};

static void read_level(void)
{
    const char *wish = MPIR_CVAR_COLL_OFFLOAD_PROMOTE;
    char text[120];

    level = AUTO;
    if (!wish || !*wish)
        return;
    for (int i = OFF; i <= ALL; i++)
        if (strcmp(wish, names[i]) == 0) {
            level = i;
            return;
        }
    snprintf(text, sizeof(text),
             "MPIR_CVAR_COLL_OFFLOAD_PROMOTE: no '%.30s' (allowed: off, auto, exact, all); using "
             "auto",
             wish);
    MPIDI_PCOLL_report(text);
}

/* The default is not worth a message. */
static bool is_asked_for(void)
{
    return level > AUTO || MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0;
}

void MPIDI_PCOLL_promotion_end(void)
{
    MPIDI_PCOLL_promotes = false;
}

static int end(void *extra)
{
    MPIDI_PCOLL_promotion_end();
    return 0;
}

/* Counts and keys have no lock. MPICH's global lock guards them; where it has one for each VCI, a
 * process in which several threads may call it promotes nothing. */
static void respect_threads(void)
{
    if (level == OFF || MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__GLOBAL ||
        MPIR_ThreadInfo.thread_provided != MPI_THREAD_MULTIPLE)
        return;
    if (is_asked_for())
        MPIDI_PCOLL_report("MPIR_CVAR_COLL_OFFLOAD_PROMOTE: this MPICH has a lock for each VCI, "
                           "where calls of a process with MPI_THREAD_MULTIPLE are not promoted; "
                           "using off");
    level = THREADS;
}

/* A rank whose setting the others cannot see promotes nothing. */
void MPIDI_PCOLL_promotion_open(void)
{
    char text[160];
    int error;

    opened = pcoll_now();
    read_level();
    if (MPIR_Process.local_size == 1)
        level = OFF;
    respect_threads();
    error = MPIDI_PCOLL_setting_publish((uint16_t)level);
    if (level > OFF && error != 0) {
        snprintf(text, sizeof(text),
                 "MPIR_CVAR_COLL_OFFLOAD_PROMOTE: no memory that the ranks of this node share: %s; "
                 "using off",
                 strerror(error));
        if (is_asked_for())
            MPIDI_PCOLL_report(text);
        level = OFF;
    }
    MPIDI_PCOLL_promotes = level > OFF;
    if (MPIDI_PCOLL_promotes)
        MPIR_Add_finalize(end, NULL, BEFORE_PLANS_END);
}

uint64_t MPIDI_PCOLL_promotion_opened(void)
{
    return opened;
}

/* MPICH lists the ranks of a node in ascending order. */
static int setting_of(MPIR_Comm *comm, int rank)
{
    const int world_rank = MPIDI_PCOLL_world_rank(comm, rank);
    const int *ranks = MPIR_Process.node_local_map;
    const int *found = bsearch(&world_rank, ranks, (size_t)MPIR_Process.local_size, sizeof(*ranks),
                               pcoll_compare_ints);

    return found ? MPIDI_PCOLL_setting_of((int)(found - ranks)) : UNKNOWN;
}

/* The first rank that promotes says why it does not here. */
bool MPIDI_PCOLL_all_promote(MPIR_Comm *comm)
{
    char text[160];
    bool is_first = true;
    int other = comm->rank; /* with another setting */

    for (int r = 0; r < comm->local_size; r++) {
        const int setting = setting_of(comm, r);

        is_first &= setting <= OFF || r >= comm->rank;
        if (setting != level)
            other = r;
    }
    if (other == comm->rank)
        return true;
    snprintf(text, sizeof(text),
             "MPIR_CVAR_COLL_OFFLOAD_PROMOTE: '%s' here, but '%s' on process %d of MPI_COMM_WORLD; "
             "calls that both make are not promoted",
             names[level], names[setting_of(comm, other)], MPIDI_PCOLL_world_rank(comm, other));
    if (is_first && (setting_of(comm, other) >= OFF || is_asked_for()))
        MPIDI_PCOLL_report(text);
    return false;
}

bool MPIDI_PCOLL_promotes_crowded(void)
{
    return level > AUTO;
}

bool MPIDI_PCOLL_promotes_inexact(void)
{
    return level == ALL;
}
