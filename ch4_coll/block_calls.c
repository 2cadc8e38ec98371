/* What the arguments of calls that move equal blocks mean; and what all calls need for that. */

#include "call.h"

/* ---- the rank's data ---- */

void MPIDI_PCOLL_add_data(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_data *data,
                          const void *user, MPI_Aint count, MPI_Datatype type, void *outer)
{
    if (MPIR_GPU_query_pointer_is_dev(user) ||
        MPIDI_PCOLL_data_init(data, (void *)user, count, type, outer) != MPI_SUCCESS)
        call->eligible = false;
}

bool MPIDI_PCOLL_add_blocks(struct MPIDI_PCOLL_call *call, const MPI_Aint counts[], MPI_Aint size)
{
    const int nranks = call->comm->local_size;

    call->blocks = MPL_malloc(((size_t)nranks + 1) * sizeof(*call->blocks), MPL_MEM_COLL);
    if (!call->blocks)
        return false;
    call->blocks[0] = 0;
    for (int r = 0; r < nranks; r++) {
        const uint64_t bytes = (uint64_t)(counts[r] * size);

        call->blocks[r + 1] = call->blocks[r] + bytes;
        call->signature.bytes = MPL_MAX(call->signature.bytes, bytes);
    }
    call->signature.blocks = call->blocks;
    return true;
}

/* What the rank sends, `blocks` times send.count, unless it is in place. */
static void add_sent(struct MPIDI_PCOLL_call *call, int blocks)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;

    MPIDI_PCOLL_add_data(call, &call->in, a->send.buffer, a->send.count * blocks, a->send.type,
                         NULL);
}

static void add_received(struct MPIDI_PCOLL_call *call, int blocks)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;

    MPIDI_PCOLL_add_data(call, &call->out, a->receive.buffer, a->receive.count * blocks,
                         a->receive.type, NULL);
}

/* The rank's own block, of all that it receives: what it sends, in place. */
static void add_own_block(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;
    MPI_Aint extent, bytes = call->out.bytes / call->comm->local_size;
    int rank = call->comm->rank;
    char *packed = call->out.packed;

    MPIR_Datatype_get_extent_macro(a->receive.type, extent);
    MPIDI_PCOLL_add_data(call, &call->in, a->receive.buffer + rank * a->receive.count * extent,
                         a->receive.count, a->receive.type, packed ? packed + rank * bytes : NULL);
}

/* One block is as long as the other side says that all of them are. */
static void check_blocks(struct MPIDI_PCOLL_call *call, MPI_Aint block, MPI_Aint all)
{
    if (block * call->comm->local_size != all)
        call->eligible = false;
}

/* ---- what each call describes ---- */

void MPIDI_PCOLL_describe_bcast(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;
    struct MPIDI_PCOLL_data *data = MPIDI_PCOLL_is_root(call) ? &call->in : &call->out;

    MPIDI_PCOLL_add_data(call, data, a->receive.buffer, a->receive.count, a->receive.type, NULL);
    call->signature.bytes = (uint64_t)data->bytes;
}

/* The rank sends one block and receives one from each. */
static void add_block_and_all(struct MPIDI_PCOLL_call *call)
{
    add_received(call, call->comm->local_size);
    call->signature.in_place = call->arguments.send.buffer == MPI_IN_PLACE;
    if (call->signature.in_place)
        add_own_block(call);
    else
        add_sent(call, 1);
    check_blocks(call, call->in.bytes, call->out.bytes);
}

void MPIDI_PCOLL_describe_allgather(struct MPIDI_PCOLL_call *call)
{
    add_block_and_all(call);
    call->signature.bytes = (uint64_t)call->in.bytes;
}

/* Whether a gather or scatter is in place is up to the root: the other ranks agree to anything. */
void MPIDI_PCOLL_describe_gather(struct MPIDI_PCOLL_call *call)
{
    if (MPIDI_PCOLL_is_root(call)) {
        add_block_and_all(call);
    } else {
        call->signature.in_place = 1;
        add_sent(call, 1);
    }
    call->signature.bytes = (uint64_t)call->in.bytes;
}

void MPIDI_PCOLL_describe_scatter(struct MPIDI_PCOLL_call *call)
{
    const int nranks = call->comm->local_size;
    const bool has_block =
        !MPIDI_PCOLL_is_root(call) || call->arguments.receive.buffer != MPI_IN_PLACE;

    call->signature.in_place = !MPIDI_PCOLL_is_root(call) || !has_block;
    if (has_block)
        add_received(call, 1);
    if (MPIDI_PCOLL_is_root(call))
        add_sent(call, nranks);
    if (MPIDI_PCOLL_is_root(call) && has_block)
        check_blocks(call, call->out.bytes, call->in.bytes);
    call->signature.bytes =
        (uint64_t)(MPIDI_PCOLL_is_root(call) ? call->in.bytes / nranks : call->out.bytes);
}

/* In place, a copy of the receive buffer is sent: blocks may arrive before theirs has left. */
void MPIDI_PCOLL_describe_alltoall(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;
    const int nranks = call->comm->local_size;

    add_received(call, nranks);
    if (a->send.buffer != MPI_IN_PLACE)
        add_sent(call, nranks);
    else if (MPIDI_PCOLL_data_init_copy(&call->in, a->receive.buffer, a->receive.count * nranks,
                                        a->receive.type) != MPI_SUCCESS)
        call->eligible = false;
    if (call->in.bytes != call->out.bytes)
        call->eligible = false;
    call->signature.bytes = (uint64_t)(call->in.bytes / nranks);
}
