/* What the arguments of calls that reduce mean. */

#include "call.h"

/* ---- what each call describes: vectors of elements that are not cut ---- */

static void add_operator(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;

    call->why = MPIDI_PCOLL_operator_create(a->op, a->receive.type, &call->op);
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
    const MPI_Datatype type = call->arguments.receive.type;

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
    const bool in_place = a->send.buffer == MPI_IN_PLACE;

    call->signature.in_place = in_place;
    if (call->eligible)
        add_elements(call, &call->in, in_place ? a->receive.buffer : a->send.buffer, count,
                     in_place ? call->out.packed : NULL);
}

static void add_result(struct MPIDI_PCOLL_call *call, MPI_Aint count)
{
    if (call->eligible)
        add_elements(call, &call->out, call->arguments.receive.buffer, count, NULL);
}

void MPIDI_PCOLL_describe_allreduce(struct MPIDI_PCOLL_call *call)
{
    add_operator(call);
    add_result(call, call->arguments.receive.count);
    add_vector(call, call->arguments.receive.count);
    call->signature.bytes = (uint64_t)call->in.bytes;
}

/* Whether a reduce is in place is up to the root: the other ranks agree to anything. */
void MPIDI_PCOLL_describe_reduce(struct MPIDI_PCOLL_call *call)
{
    add_operator(call);
    if (MPIDI_PCOLL_is_root(call))
        add_result(call, call->arguments.receive.count);
    add_vector(call, call->arguments.receive.count);
    if (!MPIDI_PCOLL_is_root(call))
        call->signature.in_place = 1;
    call->signature.bytes = (uint64_t)call->in.bytes;
}

/* The receive buffer of rank 0 has no meaning, unless it is its input. */
void MPIDI_PCOLL_describe_exscan(struct MPIDI_PCOLL_call *call)
{
    add_operator(call);
    if (call->comm->rank > 0)
        add_result(call, call->arguments.receive.count);
    add_vector(call, call->arguments.receive.count);
    call->signature.bytes = (uint64_t)call->in.bytes;
}

void MPIDI_PCOLL_describe_reduce_scatter_block(struct MPIDI_PCOLL_call *call)
{
    const MPI_Aint count = call->arguments.receive.count;
    const int nranks = call->comm->local_size;

    add_operator(call);
    add_result(call, call->arguments.send.buffer == MPI_IN_PLACE ? count * nranks : count);
    add_vector(call, count * nranks);
    call->signature.bytes = (uint64_t)(call->in.bytes / nranks);
}

/* What an element takes in the vectors of a plan. */
static MPI_Aint element_bytes(const struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_spans *spans = MPIDI_PCOLL_operator_spans(call->op);
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(call->arguments.receive.type, size);
    return spans ? spans->unit : size;
}

/* The blocks of all ranks; returns the number of elements in them. */
static MPI_Aint add_blocks(struct MPIDI_PCOLL_call *call)
{
    const MPI_Aint *counts = call->arguments.receive.counts, size = element_bytes(call);
    const int nranks = call->comm->local_size;
    MPI_Aint all = 0;

    if (!MPIDI_PCOLL_add_blocks(call, counts, size))
        call->eligible = false;
    for (int r = 0; r < nranks; r++)
        all += counts[r];
    return all;
}

/* In place, a copy of the receive buffer is sent: the result may overlap several blocks in it. */
void MPIDI_PCOLL_describe_reduce_scatter(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;
    MPI_Aint all;

    add_operator(call);
    all = add_blocks(call);
    add_result(call, a->receive.counts[call->comm->rank]);
    if (a->send.buffer != MPI_IN_PLACE)
        add_vector(call, all);
    else if (MPIDI_PCOLL_operator_spans(call->op))
        add_elements(call, &call->in, a->receive.buffer, all, NULL);
    else if (call->eligible && MPIDI_PCOLL_data_init_copy(&call->in, a->receive.buffer, all,
                                                          a->receive.type) != MPI_SUCCESS)
        call->eligible = false;
}
