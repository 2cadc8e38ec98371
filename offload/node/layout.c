/* Moves from and to user memory that is not contiguous: a copy into or out of shared memory packs
 * or unpacks, so the data is touched once on either side. */

#include "algorithms/plan/pool.h"
#include "offload/node/bound.h"

int pcoll_node_layout_kind(const struct pcoll_node_bound *bound, const struct pcoll_entry *entry)
{
    const struct pcoll_place *from = entry->op == PCOLL_OP_GET ? &entry->remote : &entry->local;
    const struct pcoll_place *to = entry->op == PCOLL_OP_GET ? &entry->local : &entry->remote;
    const int packs = bound->send_layout != NULL && from->buffer == PCOLL_SEND;
    const int unpacks = bound->recv_layout != NULL && to->buffer == PCOLL_RECV;

    if (packs)
        return unpacks ? PCOLL_NODE_REPACK : PCOLL_NODE_PACK;
    return unpacks ? PCOLL_NODE_UNPACK : PCOLL_NONE;
}

enum pcoll_result pcoll_node_layout_init(struct pcoll_node_bound *bound,
                                         const struct pcoll_plan *plan)
{
    uint64_t longest = 0;

    if (bound->send_layout == NULL || bound->recv_layout == NULL)
        return PCOLL_OK;
    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];

        if (entry->bytes > longest && entry->op == PCOLL_OP_COPY &&
            pcoll_node_layout_kind(bound, entry) == PCOLL_NODE_REPACK)
            longest = entry->bytes;
    }
    if (longest == 0)
        return PCOLL_OK;
    bound->scratch = pcoll_pool_get(longest);
    return bound->scratch ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

enum pcoll_result pcoll_node_repack(const struct pcoll_node_bound *bound,
                                    const struct pcoll_step *step)
{
    const struct pcoll_user_layout *send = bound->send_layout, *recv = bound->recv_layout;
    const uint64_t from = (uintptr_t)step->from, to = (uintptr_t)step->to;
    enum pcoll_result result = PCOLL_UNSUPPORTED;

    if (step->kind == PCOLL_NODE_PACK)
        return send->pack(send, from, step->to, step->bytes);
    if (step->kind == PCOLL_NODE_UNPACK)
        return recv->unpack(recv, to, step->from, step->bytes);
    if (send->copy != NULL && send->copy == recv->copy)
        result = send->copy(send, from, recv, to, step->bytes);
    if (result != PCOLL_UNSUPPORTED)
        return result;
    result = send->pack(send, from, bound->scratch, step->bytes);
    if (result == PCOLL_OK)
        result = recv->unpack(recv, to, bound->scratch, step->bytes);
    return result;
}
