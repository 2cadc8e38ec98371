/* Persistent neighbor alltoall, alltoallv and alltoallw on a schedule of our own, for calls that
 * the backend does not run.
 *
 * MPICH's linear schedules post receives in list order (v, w) or in reverse (alltoall). All
 * messages between two ranks carry one tag, so if two edges join the same pair, data lands in the
 * wrong block: on periodic dimensions of 1 or 2 processes, and on graphs with multiple edges.
 *
 * The standard (MPI 4.1, sections 8.6 and 8.7) says which block matches which.
 *
 *   Cartesian: what is sent in slot x, to the neighbor on one side, arrives there in the slot of
 *              the other side, x ^ 1.
 *   Graph:     the k-th edge to a process matches the k-th edge from it.
 *
 * Sends are posted in the order of their slots, so receives are posted in the order of the slots
 * that send to them: l = i ^ 1 for i = 0, 1, ... on a Cartesian communicator, and l = i on a graph.
 */

#include "fallback.h"

static int add_messages(const struct MPIDI_PCOLL_blocks *send,
                        const struct MPIDI_PCOLL_blocks *receive,
                        const struct MPIDI_PCOLL_neighbors *neighbors, MPIR_Comm *comm,
                        MPIR_Sched_t sched)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < neighbors->ndestinations; i++) {
        const struct MPIDI_PCOLL_block one = MPIDI_PCOLL_block(send, i);

        mpi_errno =
            MPIR_Sched_send(one.user, one.count, one.type, neighbors->destinations[i], comm, sched);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0; i < neighbors->nsources; i++) {
        int slot = i ^ neighbors->flip;
        const struct MPIDI_PCOLL_block one = MPIDI_PCOLL_block(receive, slot);

        mpi_errno =
            MPIR_Sched_recv(one.user, one.count, one.type, neighbors->sources[slot], comm, sched);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Sched_barrier(sched);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_neighbor_alltoalls(const struct MPIDI_PCOLL_arguments *a,
                                            MPIR_Request **request)
{
    struct MPIDI_PCOLL_neighbors neighbors;
    MPIR_Sched_t sched;
    int mpi_errno = MPIDI_PCOLL_neighbors_init(&neighbors, a->comm);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_PCOLL_schedule_open(a->comm, &sched);
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = add_messages(&a->send, &a->receive, &neighbors, a->comm, sched);
    mpi_errno = MPIDI_PCOLL_schedule_close(mpi_errno, sched, a->comm, request);

fn_fail:
    MPIDI_PCOLL_neighbors_fini(&neighbors);
    return mpi_errno;
}
