/* Persistent neighbor alltoall, alltoallv and alltoallw on a schedule of our own.
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
 *
 * One error lies in the bindings: if a rank has unequal in- and outdegrees, neighbor_alltoallw with
 * int counts widens as many counts as the other side has, so the counts that arrive here are wrong.
 * The bindings with MPI_Count are right. */

#include "fallback.h"

/* Neighbors of the calling rank in the order of the blocks, MPI_PROC_NULL included. */
struct neighbors {
    int *sources, *destinations;
    int nsources, ndestinations;
    int flip; /* 1 on a Cartesian communicator, otherwise 0 */
};

static int neighbors_init(struct neighbors *neighbors, MPIR_Comm *comm)
{
    int weighted, mpi_errno = MPI_SUCCESS;

    neighbors->sources = NULL;
    mpi_errno =
        MPIR_Topo_canon_nhb_count(comm, &neighbors->nsources, &neighbors->ndestinations, &weighted);
    MPIR_ERR_CHECK(mpi_errno);
    neighbors->sources = MPL_malloc(
        (size_t)(neighbors->nsources + neighbors->ndestinations + 1) * sizeof(int), MPL_MEM_COLL);
    MPIR_ERR_CHKANDJUMP(!neighbors->sources, mpi_errno, MPI_ERR_OTHER, "**nomem");
    neighbors->destinations = neighbors->sources + neighbors->nsources;
    neighbors->flip = MPIR_Topology_get(comm)->kind == MPI_CART;
    mpi_errno =
        MPIR_Topo_canon_nhb(comm, neighbors->nsources, neighbors->sources, MPI_UNWEIGHTED,
                            neighbors->ndestinations, neighbors->destinations, MPI_UNWEIGHTED);

fn_fail:
    return mpi_errno;
}

static void neighbors_fini(struct neighbors *neighbors)
{
    MPL_free(neighbors->sources);
}

/* The blocks of one buffer. A NULL array: the value is the same for all blocks, which are
 * adjacent. */
struct faces {
    char *buffer;
    MPI_Aint count;
    const MPI_Aint *counts, *displs;
    MPI_Aint unit; /* bytes per unit of a displacement */
    MPI_Datatype type;
    const MPI_Datatype *types;
};

static struct faces equal_faces(const void *buffer, MPI_Aint count, MPI_Datatype type)
{
    struct faces faces = {.buffer = (char *)buffer, .count = count, .type = type};

    MPIR_Datatype_get_extent_macro(type, faces.unit);
    return faces;
}

static struct faces unequal_faces(const void *buffer, const MPI_Aint counts[],
                                  const MPI_Aint displs[], MPI_Datatype type)
{
    struct faces faces = equal_faces(buffer, 0, type);

    faces.counts = counts;
    faces.displs = displs;
    return faces;
}

static struct faces typed_faces(const void *buffer, const MPI_Aint counts[],
                                const MPI_Aint displs[], const MPI_Datatype types[])
{
    return (struct faces){
        .buffer = (char *)buffer, .counts = counts, .displs = displs, .unit = 1, .types = types};
}

/* Block i alone. */
static struct faces face(const struct faces *faces, int i)
{
    MPI_Aint displ = faces->displs ? faces->displs[i] : i * faces->count;

    return (struct faces){.buffer = faces->buffer + displ * faces->unit,
                          .count = faces->counts ? faces->counts[i] : faces->count,
                          .type = faces->types ? faces->types[i] : faces->type};
}

static int add_messages(const struct faces *send, const struct faces *receive,
                        const struct neighbors *neighbors, MPIR_Comm *comm, MPIR_Sched_t sched)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < neighbors->ndestinations; i++) {
        struct faces one = face(send, i);

        mpi_errno = MPIR_Sched_send(one.buffer, one.count, one.type, neighbors->destinations[i],
                                    comm, sched);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0; i < neighbors->nsources; i++) {
        int slot = i ^ neighbors->flip;
        struct faces one = face(receive, slot);

        mpi_errno =
            MPIR_Sched_recv(one.buffer, one.count, one.type, neighbors->sources[slot], comm, sched);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Sched_barrier(sched);

fn_fail:
    return mpi_errno;
}

static int exchange_init(struct faces send, struct faces receive, MPIR_Comm *comm,
                         MPIR_Request **request)
{
    struct neighbors neighbors;
    MPIR_Sched_t sched;
    int mpi_errno = neighbors_init(&neighbors, comm);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_PCOLL_schedule_open(comm, &sched);
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = add_messages(&send, &receive, &neighbors, comm, sched);
    mpi_errno = MPIDI_PCOLL_schedule_close(mpi_errno, sched, comm, request);

fn_fail:
    neighbors_fini(&neighbors);
    return mpi_errno;
}

int MPIDI_PCOLL_Neighbor_alltoall_init(const void *sendbuf, MPI_Aint sendcount,
                                       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                       MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                       MPIR_Request **request)
{
    (void)info;
    return exchange_init(equal_faces(sendbuf, sendcount, sendtype),
                         equal_faces(recvbuf, recvcount, recvtype), comm, request);
}

int MPIDI_PCOLL_Neighbor_alltoallv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                                        const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                        void *recvbuf, const MPI_Aint recvcounts[],
                                        const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                        MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    (void)info;
    return exchange_init(unequal_faces(sendbuf, sendcounts, sdispls, sendtype),
                         unequal_faces(recvbuf, recvcounts, rdispls, recvtype), comm, request);
}

int MPIDI_PCOLL_Neighbor_alltoallw_init(const void *sendbuf, const MPI_Aint sendcounts[],
                                        const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                        void *recvbuf, const MPI_Aint recvcounts[],
                                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                        MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    (void)info;
    return exchange_init(typed_faces(sendbuf, sendcounts, sdispls, sendtypes),
                         typed_faces(recvbuf, recvcounts, rdispls, recvtypes), comm, request);
}
