/* MPI_Barrier_init and the other 21: what MPICH calls. A call becomes a plan, or goes to MPICH's
 * path. */

#include "call.h"

#include "ch4_coll_redirect.h"
#include "fallback.h"
#include "once.h"

#define ONE(Name) +1
_Static_assert((MPIDI_PCOLL_CALLS(ONE)) == PCOLL_NUM_COLLS, "one call for each collective");
#undef ONE

/* ---- arguments ---- */

/* The same block for all ranks. */
static struct MPIDI_PCOLL_blocks one(const void *buffer, MPI_Aint count, MPI_Datatype type)
{
    return (struct MPIDI_PCOLL_blocks){
        .buffer = (char *)buffer, .count = count, .type = type, .is_one = true};
}

static struct MPIDI_PCOLL_blocks typed(const void *buffer, const MPI_Aint counts[],
                                       const MPI_Aint displs[], const MPI_Datatype types[])
{
    return (struct MPIDI_PCOLL_blocks){
        .buffer = (char *)buffer, .counts = counts, .displs = displs, .types = types};
}

/* The input of a reduction, whose elements `receive` describes. */
static struct MPIDI_PCOLL_blocks vector(const void *buffer)
{
    return (struct MPIDI_PCOLL_blocks){.buffer = (char *)buffer};
}

/* Collective: a plan, or NULL; *is_once_p: since no rank wants one. */
static int ask(enum pcoll_coll coll, const struct MPIDI_PCOLL_arguments *a,
               MPIDI_PCOLL_describe *describe, bool *is_once_p, MPIR_Request **request)
{
    struct MPIDI_PCOLL_call call = {
        .arguments = *a,
        .signature = {.coll = coll, .nranks = a->comm->local_size, .root = a->root},
        .comm = a->comm,
        .info = a->info,
        .is_once = *is_once_p,
        .eligible = true,
    };
    const int mpi_errno = MPIDI_PCOLL_call_init(&call, describe, request);

    *is_once_p = call.is_once;
    return mpi_errno;
}

/* Collective: a plan, or what `fallback` makes. */
static int init(enum pcoll_coll coll, const struct MPIDI_PCOLL_arguments *a,
                MPIDI_PCOLL_describe *describe, MPIDI_PCOLL_fallback *fallback,
                MPIR_Request **request)
{
    bool is_once = MPIDI_PCOLL_is_unasked(a->comm, coll);
    int mpi_errno = MPI_SUCCESS;

    *request = NULL;
    if (!is_once || a->info || MPIDI_PCOLL_tells_of_declined())
        mpi_errno = ask(coll, a, describe, &is_once, request);
    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = fallback(a, request);
    if (mpi_errno == MPI_SUCCESS && is_once)
        MPIDI_PCOLL_watch(*request, coll);
    return mpi_errno;
}

/* The same for a call with `comm`, `info`, `request` and these other arguments. */
#define INIT(NAME, description, fallback, ...)                                                     \
    init(PCOLL_##NAME,                                                                             \
         &(const struct MPIDI_PCOLL_arguments){.comm = comm, .info = info, __VA_ARGS__},           \
         MPIDI_PCOLL_describe_##description, MPIDI_PCOLL_fallback_##fallback, request)

/* ---- the calls ---- */

int MPIDI_PCOLL_Barrier_init(MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {.comm = comm, .info = info};

    return init(PCOLL_BARRIER, &a, NULL, MPIDI_PCOLL_fallback_barrier, request);
}

int MPIDI_PCOLL_Bcast_init(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return INIT(BCAST, bcast, bcast, .receive = MPIDI_PCOLL_equal(buffer, count, datatype),
                .root = root);
}

int MPIDI_PCOLL_Allgather_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                               MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return INIT(ALLGATHER, allgather, allgather, .send = one(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype));
}

int MPIDI_PCOLL_Allgatherv_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                                MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                MPIR_Request **request)
{
    return INIT(ALLGATHERV, allgatherv, allgatherv, .send = one(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_unequal(recvbuf, recvcounts, displs, recvtype));
}

int MPIDI_PCOLL_Gather_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                            MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return INIT(GATHER, gather, gather, .send = MPIDI_PCOLL_equal(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype), .root = root);
}

int MPIDI_PCOLL_Gatherv_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                             MPI_Datatype recvtype, int root, MPIR_Comm *comm, MPIR_Info *info,
                             MPIR_Request **request)
{
    return INIT(GATHERV, gatherv, gatherv, .send = MPIDI_PCOLL_equal(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_unequal(recvbuf, recvcounts, displs, recvtype),
                .root = root);
}

int MPIDI_PCOLL_Scatter_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                             MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return INIT(SCATTER, scatter, scatter, .send = MPIDI_PCOLL_equal(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype), .root = root);
}

int MPIDI_PCOLL_Scatterv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                              const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
                              MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                              MPIR_Info *info, MPIR_Request **request)
{
    return INIT(SCATTERV, scatterv, scatterv,
                .send = MPIDI_PCOLL_unequal(sendbuf, sendcounts, displs, sendtype),
                .receive = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype), .root = root);
}

int MPIDI_PCOLL_Alltoall_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return INIT(ALLTOALL, alltoall, alltoall,
                .send = MPIDI_PCOLL_equal(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype));
}

int MPIDI_PCOLL_Alltoallv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                               const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                               const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                               MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request)
{
    return INIT(ALLTOALLV, alltoallv, alltoallv,
                .send = MPIDI_PCOLL_unequal(sendbuf, sendcounts, sdispls, sendtype),
                .receive = MPIDI_PCOLL_unequal(recvbuf, recvcounts, rdispls, recvtype));
}

int MPIDI_PCOLL_Alltoallw_init(const void *sendbuf, const MPI_Aint sendcounts[],
                               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                               void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                               const MPI_Datatype recvtypes[], MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request)
{
    return INIT(ALLTOALLW, alltoallv, alltoallw,
                .send = typed(sendbuf, sendcounts, sdispls, sendtypes),
                .receive = typed(recvbuf, recvcounts, rdispls, recvtypes));
}

int MPIDI_PCOLL_Neighbor_allgather_init(const void *sendbuf, MPI_Aint sendcount,
                                        MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                        MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                        MPIR_Request **request)
{
    return INIT(NEIGHBOR_ALLGATHER, edges, neighbor_allgather,
                .send = one(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype));
}

int MPIDI_PCOLL_Neighbor_allgatherv_init(const void *sendbuf, MPI_Aint sendcount,
                                         MPI_Datatype sendtype, void *recvbuf,
                                         const MPI_Aint recvcounts[], const MPI_Aint displs[],
                                         MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                         MPIR_Request **request)
{
    return INIT(NEIGHBOR_ALLGATHERV, edges, neighbor_allgatherv,
                .send = one(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_unequal(recvbuf, recvcounts, displs, recvtype));
}

int MPIDI_PCOLL_Neighbor_alltoall_init(const void *sendbuf, MPI_Aint sendcount,
                                       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                       MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                       MPIR_Request **request)
{
    return INIT(NEIGHBOR_ALLTOALL, edges, neighbor_alltoalls,
                .send = MPIDI_PCOLL_equal(sendbuf, sendcount, sendtype),
                .receive = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype));
}

int MPIDI_PCOLL_Neighbor_alltoallv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                                        const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                        void *recvbuf, const MPI_Aint recvcounts[],
                                        const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                        MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return INIT(NEIGHBOR_ALLTOALLV, edges, neighbor_alltoalls,
                .send = MPIDI_PCOLL_unequal(sendbuf, sendcounts, sdispls, sendtype),
                .receive = MPIDI_PCOLL_unequal(recvbuf, recvcounts, rdispls, recvtype));
}

int MPIDI_PCOLL_Neighbor_alltoallw_init(const void *sendbuf, const MPI_Aint sendcounts[],
                                        const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                        void *recvbuf, const MPI_Aint recvcounts[],
                                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                        MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return INIT(NEIGHBOR_ALLTOALLW, edges, neighbor_alltoalls,
                .send = typed(sendbuf, sendcounts, sdispls, sendtypes),
                .receive = typed(recvbuf, recvcounts, rdispls, recvtypes));
}

int MPIDI_PCOLL_Allreduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request)
{
    return INIT(ALLREDUCE, allreduce, allreduce, .send = vector(sendbuf),
                .receive = MPIDI_PCOLL_equal(recvbuf, count, datatype), .op = op);
}

int MPIDI_PCOLL_Reduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm *comm,
                            MPIR_Info *info, MPIR_Request **request)
{
    return INIT(REDUCE, reduce, reduce, .send = vector(sendbuf),
                .receive = MPIDI_PCOLL_equal(recvbuf, count, datatype), .op = op, .root = root);
}

int MPIDI_PCOLL_Reduce_scatter_block_init(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                          MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                          MPIR_Info *info, MPIR_Request **request)
{
    return INIT(REDUCE_SCATTER_BLOCK, reduce_scatter_block, reduce_scatter_block,
                .send = vector(sendbuf), .receive = MPIDI_PCOLL_equal(recvbuf, recvcount, datatype),
                .op = op);
}

int MPIDI_PCOLL_Reduce_scatter_init(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                    MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                    MPIR_Info *info, MPIR_Request **request)
{
    return INIT(REDUCE_SCATTER, reduce_scatter, reduce_scatter, .send = vector(sendbuf),
                .receive = MPIDI_PCOLL_unequal(recvbuf, recvcounts, NULL, datatype), .op = op);
}

int MPIDI_PCOLL_Scan_init(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return INIT(SCAN, allreduce, scan, .send = vector(sendbuf),
                .receive = MPIDI_PCOLL_equal(recvbuf, count, datatype), .op = op);
}

int MPIDI_PCOLL_Exscan_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                            MPIR_Request **request)
{
    return INIT(EXSCAN, exscan, exscan, .send = vector(sendbuf),
                .receive = MPIDI_PCOLL_equal(recvbuf, count, datatype), .op = op);
}
