/* Turns entries into steps with addresses, so that a start has everything it needs. */
#include <string.h>

#include "offload/node/board.h"
#include "offload/node/binding.h"

static const struct pcoll_node_card *card_of(const struct pcoll_node_binding *b, int rank)
{
    return &b->cards[pcoll_node_number(b, rank)];
}

static char *area_of_number(const struct pcoll_node_binding *b, int number)
{
    return (char *)b->bound->extent + PCOLL_LINE_BYTES + b->areas[number];
}

static char *area(const struct pcoll_node_binding *b, int rank)
{
    return area_of_number(b, pcoll_node_number(b, rank));
}

char *pcoll_node_own_area(const struct pcoll_node_binding *b, size_t *bytes_p)
{
    *bytes_p = pcoll_node_plan_bytes(card_of(b, b->plan->rank));
    return area(b, b->plan->rank);
}

static struct pcoll_line *counter(const struct pcoll_node_binding *b, int rank, int index)
{
    const int number = pcoll_node_number(b, rank);

    return pcoll_line_at((struct pcoll_line *)(void *)area_of_number(b, number),
                         b->cards[number].stride, index);
}

/* An address in TEMP or CELL of any rank, which are mapped here. */
static char *shared_place(const struct pcoll_node_binding *b, int rank, struct pcoll_place place)
{
    if (place.buffer == PCOLL_TEMP)
        return area(b, rank) + pcoll_node_lines(pcoll_node_counters_bytes(card_of(b, rank))) +
               place.offset;
    return (char *)counter(b, rank, (int)(place.offset / PCOLL_CELL_BYTES))->cell +
           place.offset % PCOLL_CELL_BYTES;
}

static bool is_shared(struct pcoll_place place)
{
    return place.buffer == PCOLL_TEMP || place.buffer == PCOLL_CELL;
}

char *pcoll_node_own_place(const struct pcoll_node_binding *b, struct pcoll_place place)
{
    const bool is_send = place.buffer == PCOLL_SEND;

    if (is_shared(place))
        return shared_place(b, b->plan->rank, place);
    if (is_send ? b->memory->send_layout : b->memory->recv_layout)
        return (char *)(uintptr_t)place.offset;
    return (char *)(is_send ? b->memory->send : b->memory->recv) + place.offset;
}

uint64_t pcoll_node_user_address(const struct pcoll_node_binding *b, int rank,
                                 struct pcoll_place place)
{
    const struct pcoll_node_card *card = card_of(b, rank);

    return (place.buffer == PCOLL_SEND ? card->send : card->recv) + place.offset;
}

/* An address in the peer's memory, or in this process if it is shared. */
static char *peer_place(const struct pcoll_node_binding *b, int peer, struct pcoll_place place)
{
    if (is_shared(place))
        return shared_place(b, peer, place);
    return (char *)(uintptr_t)pcoll_node_user_address(b, peer, place);
}

/* The same in this process; NULL: it is not mapped here. */
static char *mapped_place(const struct pcoll_node_binding *b, int peer, struct pcoll_place place,
                          uint64_t bytes)
{
    if (is_shared(place))
        return shared_place(b, peer, place);
    return pcoll_node_mapped(b->bound, pcoll_node_number(b, peer),
                             pcoll_node_user_address(b, peer, place), bytes);
}

static char *address_of(const void *binding, int rank, struct pcoll_place place, uint64_t bytes)
{
    const struct pcoll_node_binding *b = binding;

    return rank == b->plan->rank ? pcoll_node_own_place(b, place)
                                 : mapped_place(b, rank, place, bytes);
}

static bool maps_operands_of(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    for (int i = 0; i < entry->noperands; i++) {
        const struct pcoll_operand *operand = &b->plan->operands[entry->first_operand + i];

        if (operand->rank != b->plan->rank &&
            !mapped_place(b, operand->rank, pcoll_operand_place(operand), entry->bytes))
            return false;
    }
    return true;
}

bool pcoll_node_maps_operands(const struct pcoll_node_binding *b)
{
    if (!(b->plan->needs & PCOLL_NEED_MAPPED))
        return true;
    for (int i = 0; i < b->plan->nentries; i++)
        if (b->plan->entries[i].bytes > 0 && !maps_operands_of(b, &b->plan->entries[i]))
            return false;
    return true;
}

static void resolve_reduce(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                           struct pcoll_step *step)
{
    step->reduction = pcoll_reductions_add(&b->bound->run.reductions, b->plan, entry, b->memory->op,
                                           address_of, b);
    step->kind = entry->bytes > 0 ? PCOLL_STEP_REDUCE : PCOLL_STEP_SIGNAL;
}

static void resolve_move(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                         struct pcoll_step *step)
{
    const bool is_get = entry->op == PCOLL_OP_GET;
    char *local = pcoll_node_own_place(b, entry->local), *remote;

    if (entry->op == PCOLL_OP_COPY)
        remote = pcoll_node_own_place(b, entry->remote);
    else
        remote = peer_place(b, entry->peer, entry->remote);
    step->bytes = (size_t)entry->bytes;
    step->from = is_get ? remote : local;
    step->to = is_get ? local : remote;
    step->kind = pcoll_node_layout_kind(b->bound, entry);
    if (step->kind != PCOLL_NONE)
        return;
    step->kind = PCOLL_STEP_COPY;
    if (entry->op != PCOLL_OP_COPY && !is_shared(entry->remote)) {
        step->kind = is_get ? PCOLL_NODE_READ : PCOLL_NODE_WRITE;
        step->pid = (pid_t)card_of(b, entry->peer)->pid;
    }
    /* Equal addresses mean the same memory only within this process. */
    if (entry->bytes == 0 || (step->kind == PCOLL_STEP_COPY && step->from == step->to))
        step->kind = PCOLL_STEP_SIGNAL;
}

/* The position in the index where the target for `line` is or belongs: counters are hashed by their
 * place in the extent with a multiplication (Knuth, TAOCP 3, 6.4), with linear probing. */
static struct pcoll_target **find_target(const struct pcoll_node_binding *b,
                                         const struct pcoll_line *line)
{
    const size_t at = (size_t)((const char *)line - (const char *)b->bound->extent);
    size_t i = at / PCOLL_HALF_LINE_BYTES * 2654435761u;

    while (b->index[i & b->index_mask] != NULL && b->index[i & b->index_mask]->line != line)
        i++;
    return &b->index[i & b->index_mask];
}

uint64_t pcoll_node_counter_at(const struct pcoll_node_binding *b, int index)
{
    return (uint64_t)((char *)counter(b, b->plan->rank, index) - (char *)b->bound->extent);
}

/* The target for a counter; at its first use this rank becomes one of the signalers. */
struct pcoll_target *pcoll_node_target(const struct pcoll_node_binding *b, int rank, int index)
{
    struct pcoll_line *line = counter(b, rank, index);
    struct pcoll_target **found = find_target(b, line);

    if (*found == NULL) {
        *found = &b->bound->run.targets[b->bound->run.ntargets++];
        **found = (struct pcoll_target){.line = line, .sleepers = b->bound->run.sleepers};
        pcoll_node_signalers_add(b, *found, area(b, rank) + pcoll_node_plan_bytes(card_of(b, rank)),
                                 index);
    }
    return *found;
}

/* Returns whether the entry's peer is on another node. */
static bool is_away(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    return entry->peer != PCOLL_NONE && pcoll_node_number(b, entry->peer) == PCOLL_NONE;
}

static void resolve_entry(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                          struct pcoll_step *step)
{
    memset(step, 0, sizeof(*step));
    if (entry->trigger != PCOLL_NONE) {
        step->threshold = entry->threshold;
        step->gain = b->plan->gain[entry->trigger];
    }
    if (is_away(b, entry))
        step->kind = PCOLL_STEP_REMOTE;
    else if (entry->op == PCOLL_OP_REDUCE)
        resolve_reduce(b, entry, step);
    else if (pcoll_entry_has_data(entry))
        resolve_move(b, entry, step);
    step->done_add = entry->done_add;
    step->peer_add = entry->peer_add;
    if (entry->done != PCOLL_NONE)
        step->done = pcoll_node_target(b, b->plan->rank, entry->done);
    if (entry->peer_counter != PCOLL_NONE && step->kind != PCOLL_STEP_REMOTE)
        step->peer = pcoll_node_target(b, entry->peer, entry->peer_counter);
}

/* Others may perform a step if its rank offers it (board.h). Otherwise this rank alone does, and a
 * READ or WRITE of memory that is mapped here becomes a copy (views.c). A board comes first, as
 * nobody could help with an ordinary copy. Steps to another node are left to their medium. */
static void offer(const struct pcoll_node_binding *b, int i, struct pcoll_step *step)
{
    const struct pcoll_entry *entry = &b->plan->entries[i];

    if (step->kind == PCOLL_STEP_REMOTE)
        return;
    if (pcoll_node_is_offered(b, entry))
        pcoll_node_board_step(b, i, step);
    else if (step->kind == PCOLL_NODE_READ || step->kind == PCOLL_NODE_WRITE)
        pcoll_node_map_step(b, entry, step);
}

void pcoll_node_resolve(const struct pcoll_node_binding *b)
{
    struct pcoll_run *run = &b->bound->run;

    for (int i = 0; i < b->plan->nentries; i++) {
        resolve_entry(b, &b->plan->entries[i], &run->steps[i]);
        offer(b, i, &run->steps[i]);
    }
    pcoll_run_cut(run, b->plan, counter(b, b->plan->rank, 0), card_of(b, b->plan->rank)->stride);
}

uint64_t pcoll_node_longest_reach(const struct pcoll_node_binding *b)
{
    uint64_t longest = 0;

    if (!(b->plan->needs & PCOLL_NEED_USER_RMA))
        return 0;
    for (int i = 0; i < b->plan->nentries; i++) {
        const struct pcoll_entry *entry = &b->plan->entries[i];

        if (pcoll_entry_is_remote(entry) && !is_shared(entry->remote) && !is_away(b, entry) &&
            entry->bytes > longest)
            longest = entry->bytes;
    }
    return longest;
}
