/* Ordinary blocking collectives: what MPICH calls in the place of MPID_X. A call runs as a promoted
 * plan, or goes to MPID_X. */

#include "promote.h"

#include "mpich_version.h"
#include "promote_key.h"

#include "ch4_coll_promote.h"

/* ---- copies between the user's memory and the buffers of a plan ---- */

static bool is_plain(const void *user, int contiguous)
{
    return contiguous && !MPIR_GPU_query_pointer_is_dev(user);
}

/* Most reductions are of one number. */
static void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, bytes);
}

static int copy_in(void *to, const void *user, MPI_Aint count, MPI_Datatype type)
{
    MPI_Aint bytes, true_lb, packed = 0;
    int contiguous, mpi_errno = MPI_SUCCESS;

    MPIDI_Datatype_check_contig_size_lb(type, count, contiguous, bytes, true_lb);
    if (is_plain(user, contiguous))
        copy_bytes(to, (const char *)user + true_lb, (size_t)bytes);
    else
        mpi_errno = MPIDI_PCOLL_typerep_pack(user, count, type, 0, to, bytes, &packed);
    return mpi_errno;
}

static int copy_out(const void *from, void *user, MPI_Aint count, MPI_Datatype type)
{
    MPI_Aint bytes, true_lb, unpacked = 0;
    int contiguous, mpi_errno = MPI_SUCCESS;

    MPIDI_Datatype_check_contig_size_lb(type, count, contiguous, bytes, true_lb);
    if (is_plain(user, contiguous))
        copy_bytes((char *)user + true_lb, from, (size_t)bytes);
    else
        mpi_errno = MPIDI_PCOLL_typerep_unpack(from, bytes, user, count, type, 0, &unpacked);
    return mpi_errno;
}

/* Run a plan; the rank sends and receives `count` elements, or does one of them. A buffer's address
 * may be 0 (MPI_BOTTOM). */
static int run(struct MPIDI_PCOLL_promoted *plan, bool sends, const void *sent, bool receives,
               void *received, MPI_Aint count, MPI_Datatype type)
{
    int mpi_errno = MPI_SUCCESS;

    if (sends)
        mpi_errno = copy_in(plan->in, sent, count, type);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_PCOLL_promoted_run(plan);
    if (mpi_errno == MPI_SUCCESS && receives)
        mpi_errno = copy_out(plan->out, received, count, type);
    return mpi_errno;
}

/* ---- the calls ---- */

static int find_reduction(enum pcoll_coll coll, int root, MPI_Aint count, MPI_Datatype type,
                          MPI_Op op, MPIR_Comm *comm, struct MPIDI_PCOLL_promoted **plan_p)
{
    MPI_Aint bytes;

    MPIDI_Datatype_check_size(type, count, bytes);
    return MPIDI_PCOLL_promote(
        comm, MPIDI_PCOLL_reduction_key(coll, root, bytes, op, type, comm->local_size), op, type,
        plan_p);
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
    struct MPIDI_PCOLL_promoted *plan;
    MPI_Aint bytes;
    int mpi_errno;

    MPIDI_Datatype_check_size(type, count, bytes);
    mpi_errno = MPIDI_PCOLL_promote(comm, MPIDI_PCOLL_key(PCOLL_BCAST, root, bytes), MPI_OP_NULL,
                                    MPI_DATATYPE_NULL, &plan);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!plan)
        return (MPID_Bcast)(buffer, count, type, root, comm, errflag);
    return run(plan, comm->rank == root, buffer, comm->rank != root, buffer, count, type);
}

int MPIDI_PCOLL_Reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype type,
                       MPI_Op op, int root, MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    const void *sent = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    struct MPIDI_PCOLL_promoted *plan;
    int mpi_errno = find_reduction(PCOLL_REDUCE, root, count, type, op, comm, &plan);

    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!plan)
        return (MPID_Reduce)(sendbuf, recvbuf, count, type, op, root, comm, errflag);
    return run(plan, true, sent, comm->rank == root, recvbuf, count, type);
}

int MPIDI_PCOLL_Allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype type,
                          MPI_Op op, MPIR_Comm *comm, MPIDI_PCOLL_errflag_t errflag)
{
    const void *sent = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    struct MPIDI_PCOLL_promoted *plan;
    int mpi_errno = find_reduction(PCOLL_ALLREDUCE, 0, count, type, op, comm, &plan);

    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!plan)
        return (MPID_Allreduce)(sendbuf, recvbuf, count, type, op, comm, errflag);
    return run(plan, true, sent, true, recvbuf, count, type);
}
