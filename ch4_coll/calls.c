/* MPI_Barrier_init and the other 21: what MPICH calls. A call becomes a plan, or goes to MPICH's
 * path. */

#include "call.h"

#include "ch4_coll_redirect.h"
#include "fallback.h"

#define ONE(Name) +1
_Static_assert((MPIDI_PCOLL_CALLS(ONE)) == PCOLL_NUM_COLLS, "one call for each collective");
#undef ONE

/* ---- arguments ---- */

/* One block for each rank, or for the only peer. */
static struct MPIDI_PCOLL_blocks equal(const void *buffer, MPI_Aint count, MPI_Datatype type)
{
    return (struct MPIDI_PCOLL_blocks){.buffer = (char *)buffer, .count = count, .type = type};
}

/* The same block for all ranks. */
static struct MPIDI_PCOLL_blocks one(const void *buffer, MPI_Aint count, MPI_Datatype type)
{
    return (struct MPIDI_PCOLL_blocks){
        .buffer = (char *)buffer, .count = count, .type = type, .is_one = true};
}

static struct MPIDI_PCOLL_blocks unequal(const void *buffer, const MPI_Aint counts[],
                                         const MPI_Aint displs[], MPI_Datatype type)
{
    return (struct MPIDI_PCOLL_blocks){
        .buffer = (char *)buffer, .counts = counts, .displs = displs, .type = type};
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

/* Collective: a plan, or what `fallback` makes. */
static int init(enum pcoll_coll coll, const struct MPIDI_PCOLL_arguments *a,
                MPIDI_PCOLL_describe *describe, MPIDI_PCOLL_fallback *fallback,
                MPIR_Request **request)
{
    struct MPIDI_PCOLL_call call = {
        .arguments = *a,
        .signature = {.coll = coll, .nranks = a->comm->local_size, .root = a->root},
        .comm = a->comm,
        .info = a->info,
        .eligible = true,
    };
    int mpi_errno = MPIDI_PCOLL_call_init(&call, describe, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = fallback(a, request);
    return mpi_errno;
}

/* ---- the calls ---- */

int MPIDI_PCOLL_Barrier_init(MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {.comm = comm, .info = info};

    return init(PCOLL_BARRIER, &a, NULL, MPIDI_PCOLL_fallback_barrier, request);
}

int MPIDI_PCOLL_Bcast_init(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .receive = equal(buffer, count, datatype),
        .root = root,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_BCAST, &a, MPIDI_PCOLL_describe_bcast, MPIDI_PCOLL_fallback_bcast, request);
}

int MPIDI_PCOLL_Allgather_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                               MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = one(sendbuf, sendcount, sendtype),
        .receive = equal(recvbuf, recvcount, recvtype),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_ALLGATHER, &a, MPIDI_PCOLL_describe_allgather, MPIDI_PCOLL_fallback_allgather,
                request);
}

int MPIDI_PCOLL_Allgatherv_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                                MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = one(sendbuf, sendcount, sendtype),
        .receive = unequal(recvbuf, recvcounts, displs, recvtype),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_ALLGATHERV, &a, MPIDI_PCOLL_describe_allgatherv,
                MPIDI_PCOLL_fallback_allgatherv, request);
}

int MPIDI_PCOLL_Gather_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                            MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = equal(sendbuf, sendcount, sendtype),
        .receive = equal(recvbuf, recvcount, recvtype),
        .root = root,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_GATHER, &a, MPIDI_PCOLL_describe_gather, MPIDI_PCOLL_fallback_gather,
                request);
}

int MPIDI_PCOLL_Gatherv_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                             MPI_Datatype recvtype, int root, MPIR_Comm *comm, MPIR_Info *info,
                             MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = equal(sendbuf, sendcount, sendtype),
        .receive = unequal(recvbuf, recvcounts, displs, recvtype),
        .root = root,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_GATHERV, &a, MPIDI_PCOLL_describe_gatherv, MPIDI_PCOLL_fallback_gatherv,
                request);
}

int MPIDI_PCOLL_Scatter_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                             MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = equal(sendbuf, sendcount, sendtype),
        .receive = equal(recvbuf, recvcount, recvtype),
        .root = root,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_SCATTER, &a, MPIDI_PCOLL_describe_scatter, MPIDI_PCOLL_fallback_scatter,
                request);
}

int MPIDI_PCOLL_Scatterv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                              const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
                              MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                              MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = unequal(sendbuf, sendcounts, displs, sendtype),
        .receive = equal(recvbuf, recvcount, recvtype),
        .root = root,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_SCATTERV, &a, MPIDI_PCOLL_describe_scatterv, MPIDI_PCOLL_fallback_scatterv,
                request);
}

int MPIDI_PCOLL_Alltoall_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = equal(sendbuf, sendcount, sendtype),
        .receive = equal(recvbuf, recvcount, recvtype),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_ALLTOALL, &a, MPIDI_PCOLL_describe_alltoall, MPIDI_PCOLL_fallback_alltoall,
                request);
}

int MPIDI_PCOLL_Alltoallv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                               const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                               const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                               MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = unequal(sendbuf, sendcounts, sdispls, sendtype),
        .receive = unequal(recvbuf, recvcounts, rdispls, recvtype),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_ALLTOALLV, &a, MPIDI_PCOLL_describe_alltoallv, MPIDI_PCOLL_fallback_alltoallv,
                request);
}

int MPIDI_PCOLL_Alltoallw_init(const void *sendbuf, const MPI_Aint sendcounts[],
                               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                               void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                               const MPI_Datatype recvtypes[], MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = typed(sendbuf, sendcounts, sdispls, sendtypes),
        .receive = typed(recvbuf, recvcounts, rdispls, recvtypes),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_ALLTOALLW, &a, MPIDI_PCOLL_describe_alltoallv, MPIDI_PCOLL_fallback_alltoallw,
                request);
}

int MPIDI_PCOLL_Neighbor_allgather_init(const void *sendbuf, MPI_Aint sendcount,
                                        MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                        MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                        MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = one(sendbuf, sendcount, sendtype),
        .receive = equal(recvbuf, recvcount, recvtype),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_NEIGHBOR_ALLGATHER, &a, MPIDI_PCOLL_describe_edges,
                MPIDI_PCOLL_fallback_neighbor_allgather, request);
}

int MPIDI_PCOLL_Neighbor_allgatherv_init(const void *sendbuf, MPI_Aint sendcount,
                                         MPI_Datatype sendtype, void *recvbuf,
                                         const MPI_Aint recvcounts[], const MPI_Aint displs[],
                                         MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                         MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = one(sendbuf, sendcount, sendtype),
        .receive = unequal(recvbuf, recvcounts, displs, recvtype),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_NEIGHBOR_ALLGATHERV, &a, MPIDI_PCOLL_describe_edges,
                MPIDI_PCOLL_fallback_neighbor_allgatherv, request);
}

int MPIDI_PCOLL_Neighbor_alltoall_init(const void *sendbuf, MPI_Aint sendcount,
                                       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                       MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                       MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = equal(sendbuf, sendcount, sendtype),
        .receive = equal(recvbuf, recvcount, recvtype),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_NEIGHBOR_ALLTOALL, &a, MPIDI_PCOLL_describe_edges,
                MPIDI_PCOLL_fallback_neighbor_alltoalls, request);
}

int MPIDI_PCOLL_Neighbor_alltoallv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                                        const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                        void *recvbuf, const MPI_Aint recvcounts[],
                                        const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                        MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = unequal(sendbuf, sendcounts, sdispls, sendtype),
        .receive = unequal(recvbuf, recvcounts, rdispls, recvtype),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_NEIGHBOR_ALLTOALLV, &a, MPIDI_PCOLL_describe_edges,
                MPIDI_PCOLL_fallback_neighbor_alltoalls, request);
}

int MPIDI_PCOLL_Neighbor_alltoallw_init(const void *sendbuf, const MPI_Aint sendcounts[],
                                        const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                        void *recvbuf, const MPI_Aint recvcounts[],
                                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                        MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = typed(sendbuf, sendcounts, sdispls, sendtypes),
        .receive = typed(recvbuf, recvcounts, rdispls, recvtypes),
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_NEIGHBOR_ALLTOALLW, &a, MPIDI_PCOLL_describe_edges,
                MPIDI_PCOLL_fallback_neighbor_alltoalls, request);
}

int MPIDI_PCOLL_Allreduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = vector(sendbuf),
        .receive = equal(recvbuf, count, datatype),
        .op = op,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_ALLREDUCE, &a, MPIDI_PCOLL_describe_allreduce, MPIDI_PCOLL_fallback_allreduce,
                request);
}

int MPIDI_PCOLL_Reduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm *comm,
                            MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = vector(sendbuf),
        .receive = equal(recvbuf, count, datatype),
        .op = op,
        .root = root,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_REDUCE, &a, MPIDI_PCOLL_describe_reduce, MPIDI_PCOLL_fallback_reduce,
                request);
}

int MPIDI_PCOLL_Reduce_scatter_block_init(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                          MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                          MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = vector(sendbuf),
        .receive = equal(recvbuf, recvcount, datatype),
        .op = op,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_REDUCE_SCATTER_BLOCK, &a, MPIDI_PCOLL_describe_reduce_scatter_block,
                MPIDI_PCOLL_fallback_reduce_scatter_block, request);
}

int MPIDI_PCOLL_Reduce_scatter_init(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                    MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                    MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = vector(sendbuf),
        .receive = unequal(recvbuf, recvcounts, NULL, datatype),
        .op = op,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_REDUCE_SCATTER, &a, MPIDI_PCOLL_describe_reduce_scatter,
                MPIDI_PCOLL_fallback_reduce_scatter, request);
}

int MPIDI_PCOLL_Scan_init(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = vector(sendbuf),
        .receive = equal(recvbuf, count, datatype),
        .op = op,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_SCAN, &a, MPIDI_PCOLL_describe_allreduce, MPIDI_PCOLL_fallback_scan, request);
}

int MPIDI_PCOLL_Exscan_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                            MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments a = {
        .send = vector(sendbuf),
        .receive = equal(recvbuf, count, datatype),
        .op = op,
        .comm = comm,
        .info = info,
    };

    return init(PCOLL_EXSCAN, &a, MPIDI_PCOLL_describe_exscan, MPIDI_PCOLL_fallback_exscan,
                request);
}
