/* Other user memory for a plan that is bound. Its ranks have told where theirs is before a round of
 * agreement, and behind it each gives its steps the new addresses, before it starts. All had the
 * plan inactive when they came to the round, so no rank uses old addresses any more. */
#include "offload/node/board.h"
#include "offload/node/relay.h"

/* A plan with views of user memory would need other views. */
bool pcoll_node_can_move(const struct pcoll_node_bound *bound, const struct pcoll_plan *plan)
{
    return bound->views == NULL && !(plan->needs & PCOLL_NEED_MAPPED) &&
           !pcoll_node_board_is_public(bound);
}

void pcoll_node_tell(struct pcoll_bound *base, const struct pcoll_memory *memory)
{
    pcoll_node_tell_bases(pcoll_node_bound_of(base), memory);
}

/* Returns whether steps have an address for it that changes. With a layout they have offsets. */
static bool has_address(const struct pcoll_memory *memory, struct pcoll_place place)
{
    if (place.buffer == PCOLL_SEND)
        return memory->send_layout == NULL;
    return place.buffer == PCOLL_RECV && memory->recv_layout == NULL;
}

static char *own_place(const struct pcoll_memory *memory, struct pcoll_place place)
{
    return (char *)(place.buffer == PCOLL_SEND ? memory->send : memory->recv) + place.offset;
}

/* The other end of the entry's copy, in user memory of this rank or, as an address there, of its
 * peer. */
static char *other_place(const struct pcoll_node_bound *bound, const struct pcoll_entry *entry,
                         const struct pcoll_memory *memory)
{
    const struct pcoll_place place = entry->remote;

    if (entry->op == PCOLL_OP_COPY)
        return own_place(memory, place);
    return (char *)(uintptr_t)(pcoll_node_told_base(bound, entry->peer, place.buffer) +
                               place.offset);
}

static void set_end(struct pcoll_step *step, bool is_source, char *address)
{
    if (is_source)
        step->from = address;
    else
        step->to = address;
}

static void move_step(const struct pcoll_node_bound *bound, const struct pcoll_entry *entry,
                      const struct pcoll_memory *memory, struct pcoll_step *step)
{
    const bool is_get = entry->op == PCOLL_OP_GET;

    if (has_address(memory, entry->local))
        set_end(step, !is_get, own_place(memory, entry->local));
    if (has_address(memory, entry->remote))
        set_end(step, is_get, other_place(bound, entry, memory));
    if (step->kind == PCOLL_STEP_COPY || step->kind == PCOLL_STEP_SIGNAL)
        step->kind = step->from == step->to ? PCOLL_STEP_SIGNAL : PCOLL_STEP_COPY;
}

static void move_copy(const struct pcoll_node_bound *bound, const struct pcoll_entry *entry,
                      const struct pcoll_memory *memory, struct pcoll_step *step)
{
    if (step->kind == PCOLL_NODE_POSTED) {
        move_step(bound, entry, memory, pcoll_node_board_plain(step));
        pcoll_node_board_move(step);
    } else {
        move_step(bound, entry, memory, step);
    }
}

static char *moved_address(const void *memory, int rank, struct pcoll_place place, uint64_t bytes)
{
    (void)rank, (void)bytes;
    return has_address(memory, place) ? own_place(memory, place) : NULL;
}

/* The ranks of the plan are those of the group, with the same numbers. */
void pcoll_node_move(struct pcoll_bound *base, const struct pcoll_plan *plan,
                     const struct pcoll_memory *memory)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);
    struct pcoll_reduction *reduction = bound->run.reductions.list;

    bound->send_layout = memory->send_layout;
    bound->recv_layout = memory->recv_layout;
    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];

        if (entry->op == PCOLL_OP_REDUCE)
            pcoll_reductions_move(&bound->run.reductions, reduction++, plan, entry, moved_address,
                                  memory);
        else if (pcoll_entry_has_data(entry) && entry->bytes > 0)
            move_copy(bound, entry, memory, &bound->run.steps[i]);
    }
}
