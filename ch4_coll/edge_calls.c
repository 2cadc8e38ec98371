/* MPI_Alltoallv_init and the other calls whose data moves along edges: what their arguments mean.
 */

#include "call.h"

#include "fallback.h"

/* True if those blocks that are not empty follow each other without gaps. Sets where the first one
 * begins, and the number of elements of all. */
static bool lie_side_by_side(const struct MPIDI_PCOLL_blocks *blocks, int n, MPI_Aint *first_p,
                             MPI_Aint *count_p)
{
    *first_p = *count_p = 0;
    for (int i = 0; i < n; i++) {
        if (blocks->counts[i] == 0)
            continue;
        if (*count_p == 0)
            *first_p = blocks->displs[i];
        if (blocks->displs[i] != *first_p + *count_p)
            return false;
        *count_p += blocks->counts[i];
    }
    return true;
}

/* All ranks know the blocks of all. Only contiguous blocks count as lying side by side: others are
 * packed one by one. */
static void describe_blocks(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_blocks *receive = &call->arguments.receive;
    const struct MPIDI_PCOLL_block send = MPIDI_PCOLL_block(&call->arguments.send, 0);
    MPI_Aint first, count, size;

    call->eligible = true;
    call->signature.in_place = call->arguments.in_place == MPIDI_PCOLL_KEEPS_OWN;
    call->is_apart = !lie_side_by_side(receive, call->comm->local_size, &first, &count);
    if (call->is_apart)
        return;
    MPIR_Datatype_get_size_macro(receive->type, size);
    if (!MPIDI_PCOLL_add_blocks(call, receive->counts, size)) {
        call->eligible = false;
        return;
    }
    MPIDI_PCOLL_add_data(call, &call->out, receive->buffer + first * receive->unit, count,
                         receive->type, NULL);
    MPIDI_PCOLL_add_data(call, &call->in, send.user, send.count, send.type, NULL);
    call->is_apart =
        call->in.is_packed || call->out.is_packed ||
        (uint64_t)call->in.bytes != pcoll_block_bytes(&call->signature, call->comm->rank);
}

/* Collective: the request of a plan, or NULL if the call is declined. */
static int init(enum pcoll_coll coll, int root, struct MPIDI_PCOLL_blocks send,
                struct MPIDI_PCOLL_blocks receive, enum MPIDI_PCOLL_in_place in_place,
                PCOLL_ON_COMM)
{
    struct MPIDI_PCOLL_call call = {
        .arguments = {.send = send, .receive = receive, .in_place = in_place},
        .signature = {.coll = coll, .nranks = comm->local_size, .root = root},
        .comm = comm,
        .info = info,
    };

    return MPIDI_PCOLL_call_init(
        &call, pcoll_coll_has(coll, PCOLL_VECTOR) ? describe_blocks : MPIDI_PCOLL_describe_edges,
        request);
}

/* Of the buffer that MPI_IN_PLACE may replace. */
static enum MPIDI_PCOLL_in_place keeps_own(const void *buffer)
{
    return buffer == MPI_IN_PLACE ? MPIDI_PCOLL_KEEPS_OWN : MPIDI_PCOLL_MOVES_ALL;
}

/* What a rank sends of its own, in place: block `rank` of those that it receives. */
static struct MPIDI_PCOLL_blocks own_block(const struct MPIDI_PCOLL_blocks *receive, int rank)
{
    const struct MPIDI_PCOLL_block own = MPIDI_PCOLL_block(receive, rank);

    return MPIDI_PCOLL_one_block(own.user, own.count, own.type);
}

int MPIDI_PCOLL_Allgatherv_init(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL, PCOLL_ON_COMM)
{
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const struct MPIDI_PCOLL_blocks receive =
        MPIDI_PCOLL_unequal_blocks(recvbuf, recvcounts, rdispls, recvtype);
    int mpi_errno = init(PCOLL_ALLGATHERV, 0,
                         in_place ? own_block(&receive, comm->rank)
                                  : MPIDI_PCOLL_one_block(sendbuf, sendcount, sendtype),
                         receive, keeps_own(sendbuf), comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno =
            MPIDI_PCOLL_fallback_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                            rdispls, recvtype, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Gatherv_init(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL, int root, PCOLL_ON_COMM)
{
    int mpi_errno = init(PCOLL_GATHERV, root, MPIDI_PCOLL_one_block(sendbuf, sendcount, sendtype),
                         MPIDI_PCOLL_unequal_blocks(recvbuf, recvcounts, rdispls, recvtype),
                         keeps_own(sendbuf), comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                                 rdispls, recvtype, root, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Scatterv_init(PCOLL_SEND_UNEQUAL, PCOLL_RECEIVE_EQUAL, int root, PCOLL_ON_COMM)
{
    int mpi_errno = init(PCOLL_SCATTERV, root,
                         MPIDI_PCOLL_unequal_blocks(sendbuf, sendcounts, sdispls, sendtype),
                         MPIDI_PCOLL_one_block(recvbuf, recvcount, recvtype), keeps_own(recvbuf),
                         comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_scatterv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                  recvcount, recvtype, root, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Alltoallv_init(PCOLL_SEND_UNEQUAL, PCOLL_RECEIVE_UNEQUAL, PCOLL_ON_COMM)
{
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const struct MPIDI_PCOLL_blocks receive =
        MPIDI_PCOLL_unequal_blocks(recvbuf, recvcounts, rdispls, recvtype);
    int mpi_errno = init(
        PCOLL_ALLTOALLV, 0,
        in_place ? receive : MPIDI_PCOLL_unequal_blocks(sendbuf, sendcounts, sdispls, sendtype),
        receive, in_place ? MPIDI_PCOLL_SENDS_COPY : MPIDI_PCOLL_MOVES_ALL, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno =
            MPIDI_PCOLL_fallback_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                           recvcounts, rdispls, recvtype, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Alltoallw_init(PCOLL_SEND_TYPED, PCOLL_RECEIVE_TYPED, PCOLL_ON_COMM)
{
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const struct MPIDI_PCOLL_blocks receive =
        MPIDI_PCOLL_typed_blocks(recvbuf, recvcounts, rdispls, recvtypes);
    int mpi_errno = init(
        PCOLL_ALLTOALLW, 0,
        in_place ? receive : MPIDI_PCOLL_typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
        receive, in_place ? MPIDI_PCOLL_SENDS_COPY : MPIDI_PCOLL_MOVES_ALL, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno =
            MPIDI_PCOLL_fallback_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                           recvcounts, rdispls, recvtypes, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Neighbor_allgather_init(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_EQUAL, PCOLL_ON_COMM)
{
    int mpi_errno =
        init(PCOLL_NEIGHBOR_ALLGATHER, 0, MPIDI_PCOLL_one_block(sendbuf, sendcount, sendtype),
             MPIDI_PCOLL_equal_blocks(recvbuf, recvcount, recvtype), MPIDI_PCOLL_MOVES_ALL, comm,
             info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_neighbor_allgather(
            sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Neighbor_allgatherv_init(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL, PCOLL_ON_COMM)
{
    int mpi_errno =
        init(PCOLL_NEIGHBOR_ALLGATHERV, 0, MPIDI_PCOLL_one_block(sendbuf, sendcount, sendtype),
             MPIDI_PCOLL_unequal_blocks(recvbuf, recvcounts, rdispls, recvtype),
             MPIDI_PCOLL_MOVES_ALL, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_neighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf,
                                                             recvcounts, rdispls, recvtype, comm,
                                                             info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Neighbor_alltoall_init(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_EQUAL, PCOLL_ON_COMM)
{
    int mpi_errno =
        init(PCOLL_NEIGHBOR_ALLTOALL, 0, MPIDI_PCOLL_equal_blocks(sendbuf, sendcount, sendtype),
             MPIDI_PCOLL_equal_blocks(recvbuf, recvcount, recvtype), MPIDI_PCOLL_MOVES_ALL, comm,
             info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_neighbor_alltoall(
            sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Neighbor_alltoallv_init(PCOLL_SEND_UNEQUAL, PCOLL_RECEIVE_UNEQUAL, PCOLL_ON_COMM)
{
    int mpi_errno = init(PCOLL_NEIGHBOR_ALLTOALLV, 0,
                         MPIDI_PCOLL_unequal_blocks(sendbuf, sendcounts, sdispls, sendtype),
                         MPIDI_PCOLL_unequal_blocks(recvbuf, recvcounts, rdispls, recvtype),
                         MPIDI_PCOLL_MOVES_ALL, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_neighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype,
                                                            recvbuf, recvcounts, rdispls, recvtype,
                                                            comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Neighbor_alltoallw_init(PCOLL_SEND_TYPED, PCOLL_RECEIVE_TYPED, PCOLL_ON_COMM)
{
    int mpi_errno = init(PCOLL_NEIGHBOR_ALLTOALLW, 0,
                         MPIDI_PCOLL_typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
                         MPIDI_PCOLL_typed_blocks(recvbuf, recvcounts, rdispls, recvtypes),
                         MPIDI_PCOLL_MOVES_ALL, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_neighbor_alltoallw(sendbuf, sendcounts, sdispls, sendtypes,
                                                            recvbuf, recvcounts, rdispls, recvtypes,
                                                            comm, info, request);
    return mpi_errno;
}
