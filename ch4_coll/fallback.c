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

static bool is_root(const struct MPIDI_PCOLL_arguments *a)
{
    return a->root == (a->comm->comm_kind == MPIR_COMM_KIND__INTRACOMM ? a->comm->rank : MPI_ROOT);
}

/* The arguments of a call, in the order of MPI. */
#define EQUAL(blocks) blocks.buffer, blocks.count, blocks.type
#define UNEQUAL(blocks) blocks.buffer, blocks.counts, blocks.displs, blocks.type
#define TYPED(blocks) blocks.buffer, blocks.counts, blocks.displs, blocks.types
#define ON_COMM a->comm, a->info, request

/* ---- those on which MPICH's own choice is right ---- */

int MPIDI_PCOLL_fallback_barrier(const struct MPIDI_PCOLL_arguments *a, MPIR_Request **request)
{
    return settle(MPIR_Barrier_init_impl(ON_COMM), request);
}

#define PASS_ON(name, Name, ...)                                                                   \
    int MPIDI_PCOLL_fallback_##name(const struct MPIDI_PCOLL_arguments *a, MPIR_Request **request) \
    {                                                                                              \
        return settle(MPIR_##Name##_init_impl(__VA_ARGS__, ON_COMM), request);                     \
    }

PASS_ON(allgatherv, Allgatherv, EQUAL(a->send), UNEQUAL(a->receive))
PASS_ON(gatherv, Gatherv, EQUAL(a->send), UNEQUAL(a->receive), a->root)
PASS_ON(scatterv, Scatterv, UNEQUAL(a->send), EQUAL(a->receive), a->root)
PASS_ON(alltoall, Alltoall, EQUAL(a->send), EQUAL(a->receive))
PASS_ON(alltoallv, Alltoallv, UNEQUAL(a->send), UNEQUAL(a->receive))
PASS_ON(alltoallw, Alltoallw, TYPED(a->send), TYPED(a->receive))
PASS_ON(neighbor_allgather, Neighbor_allgather, EQUAL(a->send), EQUAL(a->receive))
PASS_ON(neighbor_allgatherv, Neighbor_allgatherv, EQUAL(a->send), UNEQUAL(a->receive))
PASS_ON(allreduce, Allreduce, a->send.buffer, EQUAL(a->receive), a->op)
PASS_ON(reduce, Reduce, a->send.buffer, EQUAL(a->receive), a->op, a->root)
PASS_ON(reduce_scatter, Reduce_scatter, a->send.buffer, a->receive.buffer, a->receive.counts,
        a->receive.type, a->op)
PASS_ON(scan, Scan, a->send.buffer, EQUAL(a->receive), a->op)
PASS_ON(exscan, Exscan, a->send.buffer, EQUAL(a->receive), a->op)

/* ---- the others ---- */

/* A request for the schedule that `add` fills. */
static int scheduled(const struct MPIDI_PCOLL_arguments *a,
                     int (*add)(const struct MPIDI_PCOLL_arguments *a, MPIR_Sched_t sched),
                     MPIR_Request **request)
{
    MPIR_Sched_t sched;
    int mpi_errno = MPIDI_PCOLL_schedule_open(a->comm, &sched);
    MPIR_ERR_CHECK(mpi_errno);

    return MPIDI_PCOLL_schedule_close(add(a, sched), sched, a->comm, request);

fn_fail:
    return mpi_errno;
}

static int add_bcast(const struct MPIDI_PCOLL_arguments *a, MPIR_Sched_t sched)
{
    return MPIR_Ibcast_intra_sched_binomial(EQUAL(a->receive), a->root, a->comm, sched);
}

int MPIDI_PCOLL_fallback_bcast(const struct MPIDI_PCOLL_arguments *a, MPIR_Request **request)
{
    if (a->comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || !MPIDI_PCOLL_bcast_runs_at_init())
        return settle(MPIR_Bcast_init_impl(EQUAL(a->receive), a->root, ON_COMM), request);
    return scheduled(a, add_bcast, request);
}

/* Allgather: Bruck's algorithm or the ring on one group, an allgatherv between two groups. */

static int add_allgather_intra(const struct MPIDI_PCOLL_arguments *a, MPIR_Sched_t sched)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(a->receive.type, size);

    if (size * a->receive.count * a->comm->local_size < MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE)
        return MPIR_Iallgather_intra_sched_brucks(EQUAL(a->send), EQUAL(a->receive), a->comm,
                                                  sched);
    return MPIR_Iallgather_intra_sched_ring(EQUAL(a->send), EQUAL(a->receive), a->comm, sched);
}

static int add_allgather_inter(const struct MPIDI_PCOLL_arguments *a, MPIR_Sched_t sched)
{
    struct blocks blocks;
    int mpi_errno = blocks_init(&blocks, a->comm->remote_size,
                                count_if_not_empty(a->receive.count, a->receive.type));
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = MPIR_Iallgatherv_inter_sched_remote_gather_local_bcast(
        a->send.buffer, count_if_not_empty(a->send.count, a->send.type), a->send.type,
        a->receive.buffer, blocks.counts, blocks.displs, a->receive.type, a->comm, sched);
    blocks_fini(&blocks);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_allgather(const struct MPIDI_PCOLL_arguments *a, MPIR_Request **request)
{
    const bool intra = a->comm->comm_kind == MPIR_COMM_KIND__INTRACOMM;

    if (intra ? MPIDI_PCOLL_ALLGATHER_REPAIRED : MPIDI_PCOLL_GATHER_REPAIRED)
        return settle(MPIR_Allgather_init_impl(EQUAL(a->send), EQUAL(a->receive), ON_COMM),
                      request);
    return scheduled(a, intra ? add_allgather_intra : add_allgather_inter, request);
}

/* Gather and scatter: linear, as gatherv and scatterv of equal blocks. */

static int add_gather(const struct MPIDI_PCOLL_arguments *a, MPIR_Sched_t sched)
{
    struct blocks blocks = {NULL, NULL};
    MPI_Aint sent = a->send.count;
    int mpi_errno = MPI_SUCCESS;

    if (is_root(a)) {
        mpi_errno = blocks_init(&blocks, a->comm->remote_size,
                                count_if_not_empty(a->receive.count, a->receive.type));
        MPIR_ERR_CHECK(mpi_errno);
    } else if (a->root != MPI_PROC_NULL) {
        sent = count_if_not_empty(sent, a->send.type);
    }
    mpi_errno = MPIR_Igatherv_allcomm_sched_linear(a->send.buffer, sent, a->send.type,
                                                   a->receive.buffer, blocks.counts, blocks.displs,
                                                   a->receive.type, a->root, a->comm, sched);
    blocks_fini(&blocks);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_gather(const struct MPIDI_PCOLL_arguments *a, MPIR_Request **request)
{
    if (MPIDI_PCOLL_GATHER_REPAIRED)
        return settle(MPIR_Gather_init_impl(EQUAL(a->send), EQUAL(a->receive), a->root, ON_COMM),
                      request);
    return scheduled(a, add_gather, request);
}

static int add_scatter(const struct MPIDI_PCOLL_arguments *a, MPIR_Sched_t sched)
{
    struct blocks blocks = {NULL, NULL};
    MPI_Aint received = a->receive.count;
    int mpi_errno = MPI_SUCCESS;

    if (is_root(a)) {
        mpi_errno = blocks_init(&blocks, a->comm->remote_size,
                                count_if_not_empty(a->send.count, a->send.type));
        MPIR_ERR_CHECK(mpi_errno);
    } else if (a->root != MPI_PROC_NULL) {
        received = count_if_not_empty(received, a->receive.type);
    }
    mpi_errno = MPIR_Iscatterv_allcomm_sched_linear(a->send.buffer, blocks.counts, blocks.displs,
                                                    a->send.type, a->receive.buffer, received,
                                                    a->receive.type, a->root, a->comm, sched);
    blocks_fini(&blocks);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_scatter(const struct MPIDI_PCOLL_arguments *a, MPIR_Request **request)
{
    if (MPIDI_PCOLL_SCATTER_REPAIRED)
        return settle(MPIR_Scatter_init_impl(EQUAL(a->send), EQUAL(a->receive), a->root, ON_COMM),
                      request);
    return scheduled(a, add_scatter, request);
}

/* Reduce_scatter_block: between two groups, as a reduce_scatter of equal blocks. */

static int reduce_scatter_block_inter(const struct MPIDI_PCOLL_arguments *a, MPIR_Request **request)
{
    struct blocks blocks;
    int mpi_errno = blocks_init(&blocks, a->comm->local_size,
                                count_if_not_empty(a->receive.count, a->receive.type));
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = MPIR_Reduce_scatter_init_impl(a->send.buffer, a->receive.buffer, blocks.counts,
                                              a->receive.type, a->op, ON_COMM);
    blocks_fini(&blocks);

fn_fail:
    return mpi_errno;
}

int MPIDI_PCOLL_fallback_reduce_scatter_block(const struct MPIDI_PCOLL_arguments *a,
                                              MPIR_Request **request)
{
    int mpi_errno;

    if (MPIDI_PCOLL_SCATTER_REPAIRED || a->comm->comm_kind == MPIR_COMM_KIND__INTRACOMM)
        mpi_errno =
            MPIR_Reduce_scatter_block_init_impl(a->send.buffer, EQUAL(a->receive), a->op, ON_COMM);
    else
        mpi_errno = reduce_scatter_block_inter(a, request);
    return settle(mpi_errno, request);
}
