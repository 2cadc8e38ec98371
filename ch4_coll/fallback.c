/* Persistent collectives on MPICH's own schedules, for calls that the backend does not run.
 *
 * Most go to MPIR_X_init_impl unchanged. Unless MPICH has repaired them (mpich_version.h), four
 * schedules are right for one start at most, so every call that would use them takes another one
 * of MPICH's:
 *
 *   schedule                        what goes wrong                    used by (stock)
 *   Iallgather recursive doubling   a block count grows from start to  Allgather
 *     (4.0.0 .. 4.1.0)              start; a datatype reference is
 *                                   dropped at each start
 *   Igather binomial                user data is copied at init, and   Gather, Allgather (inter)
 *     (4.0.0 .. 4.2.2)              never again
 *   Iscatter binomial               the first start uses up the        Scatter,
 *     (4.0.0 .. 4.3.1)              root's block count                 Reduce_scatter_block (inter)
 *   Ibcast by a circulant graph     it is no schedule: it runs at      Bcast, if a CVAR names it
 *     (since 5.1)                   init, and a start does nothing
 *
 * None of the replacements keeps state between starts. Neither a CVAR nor a tuning file may bring
 * the wrong ones back, so the algorithms are named here. The tree and ring forms (tsp_*) cannot be
 * used either: they misplace data in the user's buffers if a datatype was resized to less than its
 * true extent, and tsp_tree gathers nothing on one rank. */

#include "fallback.h"

unsigned long MPIDI_PCOLL_fallback_count = 0;

/* Ends every init. */
static int settle(int mpi_errno, MPIR_Request **request)
{
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;

    MPIR_Assert((*request)->u.persist_coll.real_request == NULL);
    MPIDI_PCOLL_request_settle(*request);
    __atomic_fetch_add(&MPIDI_PCOLL_fallback_count, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

int MPIDI_PCOLL_schedule_open(MPIR_Comm *comm, MPIR_Sched_t *sched_p)
{
    int tag;
    int mpi_errno = MPIR_Sched_next_tag(comm, &tag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Sched_create(sched_p, MPIR_SCHED_KIND_PERSISTENT);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Sched_set_tag(*sched_p, tag);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_schedule_close(int mpi_errno, MPIR_Sched_t sched, MPIR_Comm *comm,
                               MPIR_Request **request)
{
    MPIR_ERR_CHECK(mpi_errno);

    MPIR_Request *preq = MPIR_Request_create(MPIR_REQUEST_KIND__PREQUEST_COLL);
    MPIR_ERR_CHKANDJUMP(!preq, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_Comm_add_ref(comm);
    preq->comm = comm;
    preq->u.persist_coll.real_request = NULL;
    preq->u.persist_coll.sched_type = MPIR_SCHED_NORMAL;
    preq->u.persist_coll.sched = sched;
    MPIDI_PCOLL_request_list(comm, preq);
    *request = preq;
    return settle(MPI_SUCCESS, request);

fn_fail:
    MPIR_Sched_free(sched);
    return mpi_errno;
}

/* n adjacent blocks of equal count, as the vector collectives describe them. */
struct blocks {
    MPI_Aint *counts;
    MPI_Aint *displs;
};

static int blocks_init(struct blocks *blocks, int n, MPI_Aint count)
{
    int mpi_errno = MPI_SUCCESS;

    blocks->counts = MPL_malloc(2 * (size_t)n * sizeof(MPI_Aint), MPL_MEM_COLL);
    MPIR_ERR_CHKANDJUMP(!blocks->counts, mpi_errno, MPI_ERR_OTHER, "**nomem");
    blocks->displs = blocks->counts + n;
    for (int i = 0; i < n; i++) {
        blocks->counts[i] = count;
        blocks->displs[i] = i * count;
    }

fn_fail:
    return mpi_errno;
}

static void blocks_fini(struct blocks *blocks)
{
    MPL_free(blocks->counts);
}

/* The linear schedules omit a message only if its count is 0, but a count of empty elements on one
 * side may match 0 elements on the other. */
static MPI_Aint count_if_not_empty(MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(datatype, size);
    return size ? count : 0;
}

static bool is_root(const MPIR_Comm *comm, int root)
{
    return root == (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM ? comm->rank : MPI_ROOT);
}

/* Broadcast, barrier, and reductions of whole vectors. */

int MPIDI_PCOLL_fallback_barrier(MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    return settle(MPIR_Barrier_init_impl(comm, info, request), request);
}

int MPIDI_PCOLL_fallback_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                               MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    MPIR_Sched_t sched;
    int mpi_errno;

    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || !MPIDI_PCOLL_bcast_runs_at_init())
        return settle(MPIR_Bcast_init_impl(buffer, count, datatype, root, comm, info, request),
                      request);
    mpi_errno = MPIDI_PCOLL_schedule_open(comm, &sched);
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = MPIR_Ibcast_intra_sched_binomial(buffer, count, datatype, root, comm, sched);
    return MPIDI_PCOLL_schedule_close(mpi_errno, sched, comm, request);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                   MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                   MPIR_Info *info, MPIR_Request **request)
{
    return settle(
        MPIR_Allreduce_init_impl(sendbuf, recvbuf, count, datatype, op, comm, info, request),
        request);
}

int MPIDI_PCOLL_fallback_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm *comm,
                                MPIR_Info *info, MPIR_Request **request)
{
    return settle(
        MPIR_Reduce_init_impl(sendbuf, recvbuf, count, datatype, op, root, comm, info, request),
        request);
}

int MPIDI_PCOLL_fallback_scan(const void *sendbuf, void *recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                              MPIR_Request **request)
{
    return settle(MPIR_Scan_init_impl(sendbuf, recvbuf, count, datatype, op, comm, info, request),
                  request);
}

int MPIDI_PCOLL_fallback_exscan(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                                MPIR_Request **request)
{
    return settle(MPIR_Exscan_init_impl(sendbuf, recvbuf, count, datatype, op, comm, info, request),
                  request);
}

/* Allgather: Bruck's algorithm or the ring on one group, an allgatherv between two groups. */

static int add_allgather_intra(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                               MPIR_Comm *comm, MPIR_Sched_t sched)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(recvtype, size);

    if (size * recvcount * comm->local_size < MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE)
        return MPIR_Iallgather_intra_sched_brucks(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                                  recvtype, comm, sched);
    return MPIR_Iallgather_intra_sched_ring(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                            recvtype, comm, sched);
}

static int add_allgather_inter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                               MPIR_Comm *comm, MPIR_Sched_t sched)
{
    struct blocks blocks;
    int mpi_errno =
        blocks_init(&blocks, comm->remote_size, count_if_not_empty(recvcount, recvtype));
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = MPIR_Iallgatherv_inter_sched_remote_gather_local_bcast(
        sendbuf, count_if_not_empty(sendcount, sendtype), sendtype, recvbuf, blocks.counts,
        blocks.displs, recvtype, comm, sched);
    blocks_fini(&blocks);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                   void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                   MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const bool intra = comm->comm_kind == MPIR_COMM_KIND__INTRACOMM;
    MPIR_Sched_t sched;
    int mpi_errno;

    if (intra ? MPIDI_PCOLL_ALLGATHER_REPAIRED : MPIDI_PCOLL_GATHER_REPAIRED)
        return settle(MPIR_Allgather_init_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                               recvtype, comm, info, request),
                      request);
    mpi_errno = MPIDI_PCOLL_schedule_open(comm, &sched);
    MPIR_ERR_CHECK(mpi_errno);

    if (intra)
        mpi_errno = add_allgather_intra(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                        comm, sched);
    else
        mpi_errno = add_allgather_inter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                        comm, sched);
    return MPIDI_PCOLL_schedule_close(mpi_errno, sched, comm, request);

fn_fail:
    return mpi_errno;
}

/* Gather and scatter: linear, as gatherv and scatterv of equal blocks. */

static int add_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                      MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                      MPIR_Sched_t sched)
{
    struct blocks blocks = {NULL, NULL};
    int mpi_errno = MPI_SUCCESS;

    if (is_root(comm, root)) {
        recvcount = count_if_not_empty(recvcount, recvtype);
        mpi_errno = blocks_init(&blocks, comm->remote_size, recvcount);
        MPIR_ERR_CHECK(mpi_errno);
    } else if (root != MPI_PROC_NULL) {
        sendcount = count_if_not_empty(sendcount, sendtype);
    }
    mpi_errno =
        MPIR_Igatherv_allcomm_sched_linear(sendbuf, sendcount, sendtype, recvbuf, blocks.counts,
                                           blocks.displs, recvtype, root, comm, sched);
    blocks_fini(&blocks);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                                MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    MPIR_Sched_t sched;
    int mpi_errno;

    if (MPIDI_PCOLL_GATHER_REPAIRED)
        return settle(MPIR_Gather_init_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                            recvtype, root, comm, info, request),
                      request);
    mpi_errno = MPIDI_PCOLL_schedule_open(comm, &sched);
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno =
        add_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, sched);
    return MPIDI_PCOLL_schedule_close(mpi_errno, sched, comm, request);

fn_fail:
    return mpi_errno;
}

static int add_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                       void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                       MPIR_Comm *comm, MPIR_Sched_t sched)
{
    struct blocks blocks = {NULL, NULL};
    int mpi_errno = MPI_SUCCESS;

    if (is_root(comm, root)) {
        sendcount = count_if_not_empty(sendcount, sendtype);
        mpi_errno = blocks_init(&blocks, comm->remote_size, sendcount);
        MPIR_ERR_CHECK(mpi_errno);
    } else if (root != MPI_PROC_NULL) {
        recvcount = count_if_not_empty(recvcount, recvtype);
    }
    mpi_errno =
        MPIR_Iscatterv_allcomm_sched_linear(sendbuf, blocks.counts, blocks.displs, sendtype,
                                            recvbuf, recvcount, recvtype, root, comm, sched);
    blocks_fini(&blocks);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                                 MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    MPIR_Sched_t sched;
    int mpi_errno;

    if (MPIDI_PCOLL_SCATTER_REPAIRED)
        return settle(MPIR_Scatter_init_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                             recvtype, root, comm, info, request),
                      request);
    mpi_errno = MPIDI_PCOLL_schedule_open(comm, &sched);
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno =
        add_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, sched);
    return MPIDI_PCOLL_schedule_close(mpi_errno, sched, comm, request);

fn_fail:
    return mpi_errno;
}

/* Reduce_scatter_block: between two groups, as a reduce_scatter of equal blocks. */

static int reduce_scatter_block_inter(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                      MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                      MPIR_Info *info, MPIR_Request **request)
{
    struct blocks blocks;
    int mpi_errno = blocks_init(&blocks, comm->local_size, count_if_not_empty(recvcount, datatype));
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = MPIR_Reduce_scatter_init_impl(sendbuf, recvbuf, blocks.counts, datatype, op, comm,
                                              info, request);
    blocks_fini(&blocks);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_reduce_scatter_block(const void *sendbuf, void *recvbuf,
                                              MPI_Aint recvcount, MPI_Datatype datatype, MPI_Op op,
                                              MPIR_Comm *comm, MPIR_Info *info,
                                              MPIR_Request **request)
{
    int mpi_errno;

    if (MPIDI_PCOLL_SCATTER_REPAIRED || comm->comm_kind == MPIR_COMM_KIND__INTRACOMM)
        mpi_errno = MPIR_Reduce_scatter_block_init_impl(sendbuf, recvbuf, recvcount, datatype, op,
                                                        comm, info, request);
    else
        mpi_errno = reduce_scatter_block_inter(sendbuf, recvbuf, recvcount, datatype, op, comm,
                                               info, request);
    return settle(mpi_errno, request);
}

/* The other collectives use MPICH's own choice. */

#define FORWARD(name, ...)                                                                         \
    int MPIDI_PCOLL_##name(__VA_ARGS__, MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
#define TO(NAME, ...)                                                                              \
    {                                                                                              \
        return settle(MPIR_##NAME##_init_impl(__VA_ARGS__, comm, info, request), request);         \
    }

/* clang-format off */
FORWARD(fallback_reduce_scatter, const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
        MPI_Datatype datatype, MPI_Op op)
TO(Reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op)

FORWARD(fallback_alltoall, PCOLL_SEND_EQUAL, PCOLL_RECEIVE_EQUAL)
TO(Alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)

FORWARD(fallback_allgatherv, PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL)
TO(Allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype)

FORWARD(fallback_gatherv, PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL, int root)
TO(Gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, root)

FORWARD(fallback_scatterv, PCOLL_SEND_UNEQUAL, PCOLL_RECEIVE_EQUAL, int root)
TO(Scatterv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root)

FORWARD(fallback_alltoallv, PCOLL_SEND_UNEQUAL, PCOLL_RECEIVE_UNEQUAL)
TO(Alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype)

FORWARD(fallback_alltoallw, PCOLL_SEND_TYPED, PCOLL_RECEIVE_TYPED)
TO(Alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes)

FORWARD(fallback_neighbor_allgather, PCOLL_SEND_EQUAL, PCOLL_RECEIVE_EQUAL)
TO(Neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)

FORWARD(fallback_neighbor_allgatherv, PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL)
TO(Neighbor_allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype)
/* clang-format on */
