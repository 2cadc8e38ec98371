/* The child of a fork has copies of its parent's plans, which lead to memory that other ranks share
 * and to the parent's connections. It must touch neither: its plans get a medium that refuses to
 * run and forgets instead of unbinding. This costs starts and waits nothing. */

#include "child.h"

#include "media_calls.h"
#include "promote.h"
#include "report.h"
#include "request.h"

#include <pthread.h>

static bool is_child = false;

bool MPIDI_PCOLL_is_child(void)
{
    return is_child;
}

int MPIDI_PCOLL_refuse_child(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIDI_PCOLL_report("a child of fork() calls MPI for persistent collectives, which only its "
                       "parent may; the call fails");
    MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    return mpi_errno;
}

/* MPICH would now take part in barriers in the place of the parent, and wait there. */
void MPIDI_PCOLL_end_child(void)
{
    MPIDI_PCOLL_report("a child of fork() calls MPI_Finalize, which only its parent may; the child "
                       "ends");
    fflush(NULL);
    _exit(EXIT_FAILURE);
}

static enum pcoll_result refuse(struct pcoll_bound *bound)
{
    MPIDI_PCOLL_refuse_child();
    return PCOLL_ERR_SYSTEM;
}

static enum pcoll_result refuse_spin(struct pcoll_bound *bound, unsigned spins)
{
    return refuse(bound);
}

static void forget_plan(struct pcoll_bound *bound)
{
}

static void forget_group(struct pcoll_group *group)
{
}

/* Has the functions for existing groups and plans; a child makes no others. */
static const struct pcoll_medium medium_of_child = {
    .name = "none",
    .group_destroy = forget_group,
    .unbind = forget_plan,
    .start = refuse,
    .progress = refuse,
    .spin = refuse_spin,
};

static void disown(void)
{
    is_child = true;
    MPIDI_PCOLL_promotion_end();
    MPIDI_PCOLL_plans_disown(&medium_of_child);
    MPIDI_PCOLL_requests_disown(&medium_of_child);
    MPIDI_PCOLL_network_disown();
}

static void watch(void)
{
    pthread_atfork(NULL, NULL, disown);
}

void MPIDI_PCOLL_watch_forks(void)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;

    pthread_once(&watched, watch);
}
