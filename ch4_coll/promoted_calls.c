/* Ordinary blocking collectives: what MPICH calls in the place of MPID_X. A call runs as a promoted
 * plan, or goes to MPID_X. */

#include "promote.h"

#include "blocks.h"
#include "mpich_version.h"
#include "promote_key.h"

#include "ch4_coll_promote.h"

/* ---- copies between the user's memory and the buffers of a plan ---- */

static bool is_plain(const void *at, int contiguous)
{
    return contiguous && !MPIR_GPU_query_pointer_is_dev(at);
}

/* Most reductions are of one number. */
static void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, bytes);
}

static int copy_in(void *to, struct MPIDI_PCOLL_block from)
{
    MPI_Aint bytes, true_lb, packed = 0;
    int contiguous, mpi_errno = MPI_SUCCESS;

    MPIDI_Datatype_check_contig_size_lb(from.type, from.count, contiguous, bytes, true_lb);
    if (is_plain(from.user + true_lb, contiguous))
        copy_bytes(to, from.user + true_lb, (size_t)bytes);
    else
        mpi_errno =
            MPIDI_PCOLL_typerep_pack(from.user, from.count, from.type, 0, to, bytes, &packed);
    return mpi_errno;
}

static int copy_out(const void *from, struct MPIDI_PCOLL_block to)
{
    MPI_Aint bytes, true_lb, unpacked = 0;
    int contiguous, mpi_errno = MPI_SUCCESS;

    MPIDI_Datatype_check_contig_size_lb(to.type, to.count, contiguous, bytes, true_lb);
    if (is_plain(to.user + true_lb, contiguous))
        copy_bytes(to.user + true_lb, from, (size_t)bytes);
    else
        mpi_errno =
            MPIDI_PCOLL_typerep_unpack(from, bytes, to.user, to.count, to.type, 0, &unpacked);
    return mpi_errno;
}

/* ---- where a plan works ---- */

/* The contiguous memory that `n` adjacent blocks of so many bytes make up, or NULL. */
static char *find_memory(const struct MPIDI_PCOLL_blocks *blocks, int n, MPI_Aint bytes)
{
    const bool is_even = !blocks->displs; /* adjacent if the type is contiguous */
    char *first = NULL;

    for (int i = 0; i < (is_even && n > 0 ? 1 : n); i++) {
        const struct MPIDI_PCOLL_block block = MPIDI_PCOLL_block(blocks, i);
        MPI_Aint size, true_lb;
        int contiguous;
        char *at;

        MPIDI_Datatype_check_contig_size_lb(block.type, block.count, contiguous, size, true_lb);
        at = block.user + true_lb;
        first = i == 0 ? at : first;
        if (size != bytes || !is_plain(at, contiguous) || at != first + i * bytes)
            return NULL;
    }
    return first;
}

static bool overlap(const char *a, size_t na, const char *b, size_t nb)
{
    return (uintptr_t)a < (uintptr_t)b + nb && (uintptr_t)b < (uintptr_t)a + na;
}

/* How many blocks a call copies to and from the plan's buffers. */
struct copies {
    int in, out;
};

/* Moves a plan that can move to the user's memory. What is not contiguous, and input in place,
 * stays in the plan's buffers, and is copied. */
static struct copies move_to_user(struct MPIDI_PCOLL_promoted *plan, int nsent,
                                  const struct MPIDI_PCOLL_blocks *sent, int nreceived,
                                  const struct MPIDI_PCOLL_blocks *received)
{
    const bool shares = plan->in == plan->out;
    char *in = find_memory(sent, nsent, plan->block),
         *out = find_memory(received, nreceived, plan->block);
    struct copies copies;

    if (in && out && overlap(in, plan->in_bytes, out, plan->out_bytes))
        in = NULL;
    copies = (struct copies){.in = in ? 0 : nsent, .out = out ? 0 : nreceived};
    if (shares)
        in = out = in ? in : out;
    MPIDI_PCOLL_promoted_place(plan, in ? in : plan->in, out ? out : plan->out);
    return copies;
}

/* Run a plan, unless mpi_errno is an error. The rank sends so many blocks, and receives so many. A
 * buffer's address may be 0 (MPI_BOTTOM). */
static int run(int mpi_errno, struct MPIDI_PCOLL_promoted *plan, int nsent,
               const struct MPIDI_PCOLL_blocks *sent, int nreceived,
               const struct MPIDI_PCOLL_blocks *received)
{
    struct copies copies = {nsent, nreceived};

    if (mpi_errno == MPI_SUCCESS && plan->can_move)
        copies = move_to_user(plan, nsent, sent, nreceived, received);
    for (int i = 0; i < copies.in && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = copy_in((char *)plan->in + i * plan->block, MPIDI_PCOLL_block(sent, i));
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_PCOLL_promoted_run(plan);
    for (int i = 0; i < copies.out && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = copy_out((char *)plan->out + i * plan->block, MPIDI_PCOLL_block(received, i));
    return mpi_errno;
}

/* What a rank sends of its own, in place of which MPI_IN_PLACE may stand. */
static struct MPIDI_PCOLL_blocks own_block(const void *buffer, MPI_Aint count, MPI_Datatype type,
                                           const struct MPIDI_PCOLL_blocks *received, int rank)
{
    struct MPIDI_PCOLL_block block;

    if (buffer != MPI_IN_PLACE)
        return MPIDI_PCOLL_equal(buffer, count, type);
    block = MPIDI_PCOLL_block(received, rank);
    return MPIDI_PCOLL_equal(block.user, block.count, block.type);
}

/* ---- calls that move data ---- */

static int find_movement(enum pcoll_coll coll, int root, MPI_Aint count, MPI_Datatype type,
                         MPIR_Comm *comm, struct MPIDI_PCOLL_promoted **plan_p)
{
    MPI_Aint bytes;

    MPIDI_Datatype_check_size(type, count, bytes);
    return MPIDI_PCOLL_promote(comm, MPIDI_PCOLL_key(coll, root, bytes), MPI_OP_NULL,
                               MPI_DATATYPE_NULL, plan_p);
}

/* Between two groups, some ranks pass no types. */
static bool is_group(const MPIR_Comm *comm)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM;
}

int MPIDI_PCOLL_Barrier(MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    struct MPIDI_PCOLL_promoted *plan;
    int mpi_errno = MPIDI_PCOLL_promote(comm, MPIDI_PCOLL_key(PCOLL_BARRIER, 0, 1), MPI_OP_NULL,
                                        MPI_DATATYPE_NULL, &plan);

    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return plan ? MPIDI_PCOLL_promoted_run(plan) : (MPID_Barrier)(comm, errflag);
}

int MPIDI_PCOLL_Bcast(void *buffer, MPI_Aint count, MPI_Datatype type, int root, MPIR_Comm *comm,
                      MPIDI_PCOLL_errflag_t errflag)
{
    const struct MPIDI_PCOLL_blocks message = MPIDI_PCOLL_equal(buffer, count, type);
    struct MPIDI_PCOLL_promoted *plan;
    int mpi_errno = find_movement(PCOLL_BCAST, root, count, type, comm, &plan);

    if (mpi_errno == MPI_SUCCESS && !plan)
        return (MPID_Bcast)(buffer, count, type, root, comm, errflag);
    return run(mpi_errno, plan, comm->rank == root, &message, comm->rank != root, &message);
}

int MPIDI_PCOLL_Gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                       void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                       MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    const struct MPIDI_PCOLL_blocks all = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype);
    const bool is_root = comm->rank == root;
    struct MPIDI_PCOLL_promoted *plan = NULL;
    struct MPIDI_PCOLL_blocks own;
    int mpi_errno = MPI_SUCCESS;

    if (is_group(comm))
        mpi_errno = find_movement(PCOLL_GATHER, root, is_root ? recvcount : sendcount,
                                  is_root ? recvtype : sendtype, comm, &plan);
    if (mpi_errno == MPI_SUCCESS && !plan)
        return (MPID_Gather)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                             errflag);
    own = own_block(sendbuf, sendcount, sendtype, &all, comm->rank);
    return run(mpi_errno, plan, 1, &own, is_root ? comm->local_size : 0, &all);
}

int MPIDI_PCOLL_Scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                        MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    const struct MPIDI_PCOLL_blocks all = MPIDI_PCOLL_equal(sendbuf, sendcount, sendtype),
                                    own = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype);
    const bool is_root = comm->rank == root;
    struct MPIDI_PCOLL_promoted *plan = NULL;
    int mpi_errno = MPI_SUCCESS;

    if (is_group(comm))
        mpi_errno = find_movement(PCOLL_SCATTER, root, is_root ? sendcount : recvcount,
                                  is_root ? sendtype : recvtype, comm, &plan);
    if (mpi_errno == MPI_SUCCESS && !plan)
        return (MPID_Scatter)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                              comm, errflag);
    return run(mpi_errno, plan, is_root ? comm->local_size : 0, &all, recvbuf != MPI_IN_PLACE,
               &own);
}

int MPIDI_PCOLL_Allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm *comm,
                          MPIDI_PCOLL_errflag_t errflag)
{
    const struct MPIDI_PCOLL_blocks all = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype);
    struct MPIDI_PCOLL_promoted *plan;
    struct MPIDI_PCOLL_blocks own;
    int mpi_errno = find_movement(PCOLL_ALLGATHER, 0, recvcount, recvtype, comm, &plan);

    if (mpi_errno == MPI_SUCCESS && !plan)
        return (MPID_Allgather)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                errflag);
    own = own_block(sendbuf, sendcount, sendtype, &all, comm->rank);
    return run(mpi_errno, plan, 1, &own, comm->local_size, &all);
}

/* An allgather of blocks as long as the longest one. Long ones, if they differ, would move too much
 * that nobody reads. */
static uint64_t allgatherv_key(const MPI_Aint *counts, MPI_Datatype type, const MPIR_Comm *comm)
{
    MPI_Aint longest = counts[0], shortest = counts[0], size;
    uint64_t key;

    for (int r = 1; r < comm->local_size; r++) {
        longest = MPL_MAX(longest, counts[r]);
        shortest = MPL_MIN(shortest, counts[r]);
    }
    MPIDI_Datatype_check_size(type, longest, size);
    key = MPIDI_PCOLL_key(PCOLL_ALLGATHER, 0, size);
    return shortest < longest && MPIDI_PCOLL_key_is_long(key) ? 0 : key;
}

int MPIDI_PCOLL_Allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, const MPI_Aint *recvcounts, const MPI_Aint *displs,
                           MPI_Datatype recvtype, MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    const struct MPIDI_PCOLL_blocks all =
        MPIDI_PCOLL_unequal(recvbuf, recvcounts, displs, recvtype);
    struct MPIDI_PCOLL_promoted *plan = NULL;
    struct MPIDI_PCOLL_blocks own;
    int mpi_errno = MPI_SUCCESS;

    if (is_group(comm))
        mpi_errno = MPIDI_PCOLL_promote(comm, allgatherv_key(recvcounts, recvtype, comm),
                                        MPI_OP_NULL, MPI_DATATYPE_NULL, &plan);
    if (mpi_errno == MPI_SUCCESS && !plan)
        return (MPID_Allgatherv)(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                 recvtype, comm, errflag);
    own = own_block(sendbuf, sendcount, sendtype, &all, comm->rank);
    return run(mpi_errno, plan, 1, &own, comm->local_size, &all);
}

int MPIDI_PCOLL_Alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm *comm,
                         MPIDI_PCOLL_errflag_t errflag)
{
    const struct MPIDI_PCOLL_blocks received = MPIDI_PCOLL_equal(recvbuf, recvcount, recvtype),
                                    sent = sendbuf == MPI_IN_PLACE
                                               ? received
                                               : MPIDI_PCOLL_equal(sendbuf, sendcount, sendtype);
    struct MPIDI_PCOLL_promoted *plan;
    int mpi_errno = find_movement(PCOLL_ALLTOALL, 0, recvcount, recvtype, comm, &plan);

    if (mpi_errno == MPI_SUCCESS && !plan)
        return (MPID_Alltoall)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                               errflag);
    return run(mpi_errno, plan, comm->local_size, &sent, comm->local_size, &received);
}

/* ---- calls that reduce ---- */

static int find_reduction(enum pcoll_coll coll, int root, MPI_Aint count, MPI_Datatype type,
                          MPI_Op op, MPIR_Comm *comm, struct MPIDI_PCOLL_promoted **plan_p)
{
    MPI_Aint bytes;

    MPIDI_Datatype_check_size(type, count, bytes);
    return MPIDI_PCOLL_promote(
        comm, MPIDI_PCOLL_reduction_key(coll, root, bytes, op, type, comm->local_size), op, type,
        plan_p);
}

/* Returns whether a plan serves the call; then *mpi_errno_p is its result. An error before that
 * counts as served. Input that is MPI_IN_PLACE lies where the result goes. */
static bool serve_reduction(enum pcoll_coll coll, int root, const void *sendbuf, void *recvbuf,
                            MPI_Aint count, MPI_Datatype type, MPI_Op op, MPIR_Comm *comm,
                            int *mpi_errno_p)
{
    const struct MPIDI_PCOLL_blocks received = MPIDI_PCOLL_equal(recvbuf, count, type),
                                    sent = sendbuf == MPI_IN_PLACE
                                               ? received
                                               : MPIDI_PCOLL_equal(sendbuf, count, type);
    const int nsent = coll == PCOLL_REDUCE_SCATTER_BLOCK ? comm->local_size : 1;
    struct MPIDI_PCOLL_promoted *plan;

    *mpi_errno_p = find_reduction(coll, root, count, type, op, comm, &plan);
    if (*mpi_errno_p == MPI_SUCCESS && !plan)
        return false;
    if (*mpi_errno_p == MPI_SUCCESS)
        *mpi_errno_p = run(MPI_SUCCESS, plan, nsent, &sent, plan->out_bytes > 0, &received);
    return true;
}

int MPIDI_PCOLL_Reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype type,
                       MPI_Op op, int root, MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    int mpi_errno;

    if (serve_reduction(PCOLL_REDUCE, root, sendbuf, recvbuf, count, type, op, comm, &mpi_errno))
        return mpi_errno;
    return (MPID_Reduce)(sendbuf, recvbuf, count, type, op, root, comm, errflag);
}

int MPIDI_PCOLL_Allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype type,
                          MPI_Op op, MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    int mpi_errno;

    if (serve_reduction(PCOLL_ALLREDUCE, 0, sendbuf, recvbuf, count, type, op, comm, &mpi_errno))
        return mpi_errno;
    return (MPID_Allreduce)(sendbuf, recvbuf, count, type, op, comm, errflag);
}

int MPIDI_PCOLL_Reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                     MPI_Datatype type, MPI_Op op, MPIR_Comm *comm,
                                     MPIDI_PCOLL_errflag_t errflag)
{
    int mpi_errno;

    if (serve_reduction(PCOLL_REDUCE_SCATTER_BLOCK, 0, sendbuf, recvbuf, count, type, op, comm,
                        &mpi_errno))
        return mpi_errno;
    return (MPID_Reduce_scatter_block)(sendbuf, recvbuf, count, type, op, comm, errflag);
}

int MPIDI_PCOLL_Scan(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype type,
                     MPI_Op op, MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    int mpi_errno;

    if (serve_reduction(PCOLL_SCAN, 0, sendbuf, recvbuf, count, type, op, comm, &mpi_errno))
        return mpi_errno;
    return (MPID_Scan)(sendbuf, recvbuf, count, type, op, comm, errflag);
}

int MPIDI_PCOLL_Exscan(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype type,
                       MPI_Op op, MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    int mpi_errno;

    if (serve_reduction(PCOLL_EXSCAN, 0, sendbuf, recvbuf, count, type, op, comm, &mpi_errno))
        return mpi_errno;
    return (MPID_Exscan)(sendbuf, recvbuf, count, type, op, comm, errflag);
}
