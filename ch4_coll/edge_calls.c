/* What the arguments of calls whose blocks may differ mean. Those of calls among neighbors mean no
 * more than their edges (edges.c). */

#include "call.h"

/* Returns whether those blocks that are not empty follow each other without gaps. Sets the first
 * one's index, and the number of elements of all. */
static bool lie_side_by_side(const struct MPIDI_PCOLL_blocks *blocks, int n, int *first_p,
                             MPI_Aint *count_p)
{
    *first_p = 0;
    *count_p = 0;
    for (int i = 0; i < n; i++) {
        if (blocks->counts[i] == 0)
            continue;
        if (*count_p == 0)
            *first_p = i;
        if (blocks->displs[i] != blocks->displs[*first_p] + *count_p)
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
    MPI_Aint count, size;
    int first;

    call->signature.in_place = call->in_place == MPIDI_PCOLL_KEEPS_OWN;
    call->is_scattered = !lie_side_by_side(receive, call->comm->local_size, &first, &count);
    if (call->is_scattered)
        return;
    MPIR_Datatype_get_size_macro(receive->type, size);
    if (!MPIDI_PCOLL_add_blocks(call, receive->counts, size)) {
        call->eligible = false;
        return;
    }
    MPIDI_PCOLL_add_data(call, &call->out, MPIDI_PCOLL_block(receive, first).user, count,
                         receive->type, NULL);
    MPIDI_PCOLL_add_data(call, &call->in, send.user, send.count, send.type, NULL);
    call->is_scattered =
        call->in.is_packed || call->out.is_packed ||
        (uint64_t)call->in.bytes != pcoll_block_bytes(&call->signature, call->comm->rank);
}

/* In place, a rank sends block `rank` of those that it receives. */
void MPIDI_PCOLL_describe_allgatherv(struct MPIDI_PCOLL_call *call)
{
    struct MPIDI_PCOLL_arguments *a = &call->arguments;

    if (a->send.buffer == MPI_IN_PLACE) {
        const struct MPIDI_PCOLL_block own = MPIDI_PCOLL_block(&a->receive, call->comm->rank);

        call->in_place = MPIDI_PCOLL_KEEPS_OWN;
        a->send = (struct MPIDI_PCOLL_blocks){
            .buffer = own.user, .count = own.count, .type = own.type, .is_one = true};
    }
    describe_blocks(call);
}

void MPIDI_PCOLL_describe_gatherv(struct MPIDI_PCOLL_call *call)
{
    if (call->arguments.send.buffer == MPI_IN_PLACE)
        call->in_place = MPIDI_PCOLL_KEEPS_OWN;
    MPIDI_PCOLL_describe_edges(call);
}

void MPIDI_PCOLL_describe_scatterv(struct MPIDI_PCOLL_call *call)
{
    if (call->arguments.receive.buffer == MPI_IN_PLACE)
        call->in_place = MPIDI_PCOLL_KEEPS_OWN;
    MPIDI_PCOLL_describe_edges(call);
}

/* In place, a rank sends what it has in place of what it receives. */
void MPIDI_PCOLL_describe_alltoallv(struct MPIDI_PCOLL_call *call)
{
    struct MPIDI_PCOLL_arguments *a = &call->arguments;

    if (a->send.buffer == MPI_IN_PLACE) {
        call->in_place = MPIDI_PCOLL_SENDS_COPY;
        a->send = a->receive;
    }
    MPIDI_PCOLL_describe_edges(call);
}
