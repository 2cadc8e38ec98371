/* MPI_Allreduce_init and the other calls that reduce: what their arguments mean. */

#include "call.h"

#include "fallback.h"

/* ---- what each call describes: vectors of elements that are not cut ---- */

static void add_operator(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;

    call->why = MPIDI_PCOLL_operator_create(a->op, a->recvtype, &call->op);
    if (call->why)
        call->eligible = false;
    else
        call->signature.unit = MPIDI_PCOLL_operator_base(call->op)->unit;
    call->signature.commutes = MPIR_Op_is_commutative(a->op);
}

/* Elements at `user`, or what takes their place: see MPIDI_PCOLL_add_data. */
static void add_elements(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_data *data, void *user,
                         MPI_Aint count, void *outer)
{
    const struct MPIDI_PCOLL_spans *spans = MPIDI_PCOLL_operator_spans(call->op);
    const MPI_Datatype type = call->arguments.recvtype;

    if (!spans)
        MPIDI_PCOLL_add_data(call, data, user, count, type, outer);
    else if (MPIR_GPU_query_pointer_is_dev(user) ||
             MPIDI_PCOLL_data_init_spans(data, user, count, type, spans, outer) != MPI_SUCCESS)
        call->eligible = false;
}

/* The rank's input of so many elements, in place those of the result, if there is one. */
static void add_vector(struct MPIDI_PCOLL_call *call, MPI_Aint count)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;
    const bool in_place = a->sendbuf == MPI_IN_PLACE;

    call->signature.in_place = in_place;
    if (call->eligible)
        add_elements(call, &call->in, in_place ? a->recvbuf : (void *)a->sendbuf, count,
                     in_place ? call->out.packed : NULL);
}

static void add_result(struct MPIDI_PCOLL_call *call, MPI_Aint count)
{
    if (call->eligible)
        add_elements(call, &call->out, call->arguments.recvbuf, count, NULL);
}

/* An allreduce, or a scan. */
static void describe_allreduce(struct MPIDI_PCOLL_call *call)
{
    add_operator(call);
    add_result(call, call->arguments.recvcount);
    add_vector(call, call->arguments.recvcount);
    call->signature.bytes = (uint64_t)call->in.bytes;
}

/* Whether a reduce is in place is up to the root: the other ranks agree to anything. */
static void describe_reduce(struct MPIDI_PCOLL_call *call)
{
    add_operator(call);
    if (MPIDI_PCOLL_is_root(call))
        add_result(call, call->arguments.recvcount);
    add_vector(call, call->arguments.recvcount);
    if (!MPIDI_PCOLL_is_root(call))
        call->signature.in_place = 1;
    call->signature.bytes = (uint64_t)call->in.bytes;
}

/* The receive buffer of rank 0 has no meaning, unless it is its input. */
static void describe_exscan(struct MPIDI_PCOLL_call *call)
{
    add_operator(call);
    if (call->comm->rank > 0)
        add_result(call, call->arguments.recvcount);
    add_vector(call, call->arguments.recvcount);
    call->signature.bytes = (uint64_t)call->in.bytes;
}

static void describe_reduce_scatter_block(struct MPIDI_PCOLL_call *call)
{
    const MPI_Aint count = call->arguments.recvcount;
    const int nranks = call->comm->local_size;

    add_operator(call);
    add_result(call, call->arguments.sendbuf == MPI_IN_PLACE ? count * nranks : count);
    add_vector(call, count * nranks);
    call->signature.bytes = (uint64_t)(call->in.bytes / nranks);
}

/* What an element takes in the vectors of a plan. */
static MPI_Aint element_bytes(const struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_spans *spans = MPIDI_PCOLL_operator_spans(call->op);
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(call->arguments.recvtype, size);
    return spans ? spans->unit : size;
}

/* The blocks of all ranks; returns the number of elements in them. */
static MPI_Aint add_blocks(struct MPIDI_PCOLL_call *call)
{
    const MPI_Aint *counts = call->arguments.recvcounts, size = element_bytes(call);
    const int nranks = call->comm->local_size;
    MPI_Aint all = 0;

    if (!MPIDI_PCOLL_add_blocks(call, counts, size))
        call->eligible = false;
    for (int r = 0; r < nranks; r++)
        all += counts[r];
    return all;
}

/* In place, a copy of the receive buffer is sent: the result may overlap several blocks in it. */
static void describe_reduce_scatter(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;
    MPI_Aint all;

    add_operator(call);
    all = add_blocks(call);
    add_result(call, a->recvcounts[call->comm->rank]);
    if (a->sendbuf != MPI_IN_PLACE)
        add_vector(call, all);
    else if (MPIDI_PCOLL_operator_spans(call->op))
        add_elements(call, &call->in, a->recvbuf, all, NULL);
    else if (call->eligible &&
             MPIDI_PCOLL_data_init_copy(&call->in, a->recvbuf, all, a->recvtype) != MPI_SUCCESS)
        call->eligible = false;
}

/* ---- the calls ---- */

static struct MPIDI_PCOLL_arguments vectors(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                            MPI_Datatype datatype, MPI_Op op)
{
    return (struct MPIDI_PCOLL_arguments){
        .sendbuf = sendbuf, .recvbuf = recvbuf, .recvcount = count, .recvtype = datatype, .op = op};
}

/* Collective: the request of a plan, or NULL if the call is declined. */
static int init(enum pcoll_coll coll, int root, const struct MPIDI_PCOLL_arguments *arguments,
                void (*describe)(struct MPIDI_PCOLL_call *call), PCOLL_ON_COMM)
{
    struct MPIDI_PCOLL_call call = {
        .arguments = *arguments,
        .signature = {.coll = coll, .nranks = comm->local_size, .root = root},
        .comm = comm,
        .info = info,
        .eligible = true,
    };

    return MPIDI_PCOLL_call_init(&call, describe, request);
}

int MPIDI_PCOLL_Allreduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments arguments = vectors(sendbuf, recvbuf, count, datatype, op);
    int mpi_errno = init(PCOLL_ALLREDUCE, 0, &arguments, describe_allreduce, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_allreduce(sendbuf, recvbuf, count, datatype, op, comm,
                                                   info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Reduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm *comm,
                            MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments arguments = vectors(sendbuf, recvbuf, count, datatype, op);
    int mpi_errno = init(PCOLL_REDUCE, root, &arguments, describe_reduce, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_reduce(sendbuf, recvbuf, count, datatype, op, root, comm,
                                                info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Reduce_scatter_block_init(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                          MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                          MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments arguments =
        vectors(sendbuf, recvbuf, recvcount, datatype, op);
    int mpi_errno = init(PCOLL_REDUCE_SCATTER_BLOCK, 0, &arguments, describe_reduce_scatter_block,
                         comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype,
                                                              op, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Reduce_scatter_init(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                    MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                    MPIR_Info *info, MPIR_Request **request)
{
    struct MPIDI_PCOLL_arguments arguments = vectors(sendbuf, recvbuf, 0, datatype, op);
    int mpi_errno;

    arguments.recvcounts = recvcounts;
    mpi_errno =
        init(PCOLL_REDUCE_SCATTER, 0, &arguments, describe_reduce_scatter, comm, info, request);
    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op,
                                                        comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Scan_init(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments arguments = vectors(sendbuf, recvbuf, count, datatype, op);
    int mpi_errno = init(PCOLL_SCAN, 0, &arguments, describe_allreduce, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno =
            MPIDI_PCOLL_fallback_scan(sendbuf, recvbuf, count, datatype, op, comm, info, request);
    return mpi_errno;
}

int MPIDI_PCOLL_Exscan_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                            MPIR_Request **request)
{
    const struct MPIDI_PCOLL_arguments arguments = vectors(sendbuf, recvbuf, count, datatype, op);
    int mpi_errno = init(PCOLL_EXSCAN, 0, &arguments, describe_exscan, comm, info, request);

    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno =
            MPIDI_PCOLL_fallback_exscan(sendbuf, recvbuf, count, datatype, op, comm, info, request);
    return mpi_errno;
}
