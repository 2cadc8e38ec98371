/* Boards of plans: binding. The contract is in node/board.h. */
#include "offload/node/board_state.h"

#include <assert.h>
#include <stdlib.h>

#include "algorithms/util.h"

static bool is_reachable(const struct pcoll_node_board *board, struct pcoll_place place)
{
    return place.buffer > PCOLL_RECV || board->is_reachable[place.buffer];
}

/* Returns whether others can perform that reduction. Operands of other ranks are mapped here, and
 * in the same way by them. */
static bool is_common(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    const struct pcoll_node_board *board = b->bound->board;
    bool all = is_reachable(board, entry->local) && board->op != NULL &&
               board->op->kernel != NULL && board->op->unit <= PCOLL_REDUCE_TILE &&
               entry->noperands <= PCOLL_BOARD_OPERANDS;

    for (int i = 0; i < entry->noperands; i++) {
        const struct pcoll_operand *operand = &b->plan->operands[entry->first_operand + i];

        all = all &&
              (operand->rank != b->plan->rank || is_reachable(board, pcoll_operand_place(operand)));
    }
    return all;
}

/* Returns whether the entry is a long copy from or to user memory of a rank of the node. */
static bool is_for_peer(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    return pcoll_entry_is_remote(entry) && entry->bytes >= b->bound->board->coop_from &&
           entry->remote.buffer <= PCOLL_RECV && pcoll_node_number(b, entry->peer) != PCOLL_NONE;
}

static bool is_offered(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    switch (b->bound->board->offer) {
        case PCOLL_NODE_TO_ALL:
            return entry->op != PCOLL_OP_WAIT &&
                   (entry->op != PCOLL_OP_REDUCE || is_common(b, entry));
        case PCOLL_NODE_TO_PEERS:
            return is_for_peer(b, entry);
        default:
            return false;
    }
}

static bool is_long(const struct pcoll_plan *plan, int64_t from)
{
    return from != PCOLL_NONE && (pcoll_plan_bytes(plan, PCOLL_SEND) >= (uint64_t)from ||
                                  pcoll_plan_bytes(plan, PCOLL_RECV) >= (uint64_t)from);
}

/* To whom this rank offers entries. is_offered says which. */
static enum pcoll_node_offer offer_of(const struct pcoll_node_binding *b,
                                      const struct pcoll_node_group *group)
{
    if (b->memory->send_layout != NULL || b->memory->recv_layout != NULL)
        return PCOLL_NODE_TO_NOBODY;
    if (group->bell != NULL && is_long(b->plan, group->board_from))
        return PCOLL_NODE_TO_ALL;
    return group->coop_from > 0 ? PCOLL_NODE_TO_PEERS : PCOLL_NODE_TO_NOBODY;
}

static void count_posts(const struct pcoll_node_binding *b)
{
    struct pcoll_node_board *board = b->bound->board;

    for (int i = 0; i < b->plan->nentries; i++) {
        const struct pcoll_entry *entry = &b->plan->entries[i];

        if (!is_offered(b, entry))
            continue;
        board->room++;
        board->operand_room += entry->op == PCOLL_OP_REDUCE ? entry->noperands : 0;
    }
}

/* Returns whether agents map the memory, or it is in the agent's own process. */
static bool is_for_agents(const struct pcoll_node_binding *b, const struct pcoll_node_group *group,
                          const void *memory, enum pcoll_buffer buffer)
{
    return group->has_agent || group->can_map ||
           pcoll_heap_find(memory, pcoll_plan_bytes(b->plan, buffer)).fd != PCOLL_NONE;
}

enum pcoll_result pcoll_node_board_init(const struct pcoll_node_binding *b,
                                        const struct pcoll_node_group *group)
{
    const bool is_for_peers = group->coop_from > 0 && b->plan->user_rma;
    struct pcoll_node_board *board;

    if (group->bell == NULL && !is_for_peers)
        return PCOLL_OK;
    board = calloc(1, sizeof(*board) + (size_t)b->nlocal * sizeof(board->members[0]));
    b->bound->board = board;
    if (board == NULL)
        return PCOLL_ERR_NOMEM;
    board->bound = b->bound;
    board->op = b->memory->op;
    board->coop_from = group->coop_from;
    board->offer = offer_of(b, group);
    if (board->offer == PCOLL_NODE_TO_ALL) {
        board->is_reachable[PCOLL_SEND] = is_for_agents(b, group, b->memory->send, PCOLL_SEND);
        board->is_reachable[PCOLL_RECV] = is_for_agents(b, group, b->memory->recv, PCOLL_RECV);
    }
    count_posts(b);
    board->nmembers = b->nlocal;
    board->ordered = b->plan->ordered;
    board->posts = calloc((size_t)board->room + 1, sizeof(*board->posts));
    board->first_post = calloc((size_t)b->plan->nphases + 1, sizeof(*board->first_post));
    return board->posts && board->first_post ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

static void destroy(struct pcoll_node_bound *bound)
{
    struct pcoll_node_board *board = bound->board;

    bound->board = NULL;
    free(board->posts);
    free(board->first_post);
    free(board->others);
    free(board);
}

void pcoll_node_board_fini(struct pcoll_node_bound *bound)
{
    if (bound->board == NULL)
        return;
    if (bound->board->is_public)
        pcoll_node_leave(bound->board);
    destroy(bound);
}

void pcoll_node_board_tell(const struct pcoll_node_binding *b, struct pcoll_node_card *card)
{
    const struct pcoll_node_board *board = b->bound->board;

    if (board == NULL || b->is_alone)
        return;
    card->nnotices = (uint32_t)board->room;
    card->noperands = (uint32_t)board->operand_room;
    card->offer = board->room > 0 ? (uint16_t)board->offer : PCOLL_NODE_TO_NOBODY;
}

size_t pcoll_node_board_bytes(const struct pcoll_node_binding *b)
{
    size_t n = 0, noperands = 0;

    for (int i = 0; i < b->nlocal; i++) {
        n += b->cards[i].nnotices;
        noperands += b->cards[i].noperands;
    }
    if (n == 0)
        return 0;
    noperands *= sizeof(struct pcoll_notice_place);
    return PCOLL_LINE_BYTES + n * sizeof(struct pcoll_notice) +
           (noperands + PCOLL_LINE_BYTES - 1) / PCOLL_LINE_BYTES * PCOLL_LINE_BYTES;
}

void pcoll_node_board_place(const struct pcoll_node_binding *b, char *memory, size_t bytes)
{
    struct pcoll_notice *notice = (void *)(memory + PCOLL_LINE_BYTES);
    struct pcoll_node_board *board = b->bound->board;

    if (board == NULL)
        return;
    if (b->board_bytes == 0) {
        destroy(b->bound);
        return;
    }
    board->active = (void *)memory;
    board->extent_bytes = bytes;
    for (int i = 0; i < b->nlocal; i++) {
        board->members[i] = (struct board_member){
            .pid = (pid_t)b->cards[i].pid,
            .notices = notice,
            .n = (int)b->cards[i].nnotices,
        };
        board->is_public |= b->cards[i].offer == PCOLL_NODE_TO_ALL;
        notice += b->cards[i].nnotices;
    }
    board->operands = (void *)notice;
    for (int i = 0; i < b->bound->number; i++)
        board->operands += b->cards[i].noperands;
}

bool pcoll_node_board_is_public(const struct pcoll_node_bound *bound)
{
    return bound->board != NULL && bound->board->is_public;
}

/* ---- notices ---- */

static uint64_t place_of(const struct pcoll_node_bound *bound, const struct pcoll_target *target)
{
    return target ? (uint64_t)((char *)target->line - (char *)bound->extent) : 0;
}

/* An end of a step: an address of rank `number`, or, if that is this one, perhaps in the extent. */
static struct pcoll_notice_place end_of(const struct pcoll_node_bound *bound, const void *address,
                                        int number)
{
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)bound->extent;

    if (number == bound->number && offset < bound->board->extent_bytes)
        return (struct pcoll_notice_place){PCOLL_NONE, offset};
    return (struct pcoll_notice_place){number, (uintptr_t)address};
}

/* Where an operand lies, which has that address here. */
static struct pcoll_notice_place operand_at(const struct pcoll_node_binding *b,
                                            const struct pcoll_operand *operand, const void *here)
{
    const bool is_own = operand->rank == b->plan->rank || operand->buffer > PCOLL_RECV;

    if (is_own)
        return end_of(b->bound, here, b->bound->number);
    return (struct pcoll_notice_place){
        pcoll_node_number(b, operand->rank),
        pcoll_node_user_address(b, operand->rank, pcoll_operand_place(operand))};
}

static void write_operands(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                           const struct pcoll_reduction *reduction, struct pcoll_notice *notice)
{
    const struct pcoll_node_bound *bound = b->bound;
    const struct pcoll_operand *operands = b->plan->operands + entry->first_operand;
    struct pcoll_node_board *board = bound->board;
    struct pcoll_notice_place *places = board->operands + board->noperands;

    notice->to = end_of(bound, reduction->to, bound->number);
    notice->bytes = reduction->bytes;
    notice->unit = (uint32_t)reduction->op->unit;
    notice->operands = (uint64_t)((char *)places - (char *)bound->extent);
    notice->noperands = (uint16_t)reduction->n;
    notice->detours = reduction->scratch != NULL;
    for (int i = 0; i < reduction->n; i++) {
        places[i] = operand_at(b, &operands[i], reduction->operands[i]);
        notice->overwrites |= reduction->operands[i] == reduction->to;
    }
    board->noperands += reduction->n;
}

static void write_ends(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                       const struct pcoll_step *step, struct pcoll_notice *notice)
{
    const struct pcoll_node_bound *bound = b->bound;
    const int self = bound->number;
    const int peer = entry->peer == PCOLL_NONE ? self : pcoll_node_number(b, entry->peer);

    notice->from = end_of(bound, step->from, step->kind == PCOLL_NODE_READ ? peer : self);
    notice->to = end_of(bound, step->to, step->kind == PCOLL_NODE_WRITE ? peer : self);
    notice->bytes = step->bytes;
    notice->unit = PCOLL_LINE_BYTES; /* two ranks should not write to one line */
}

static uint32_t nchunks(const struct pcoll_node_board *board, uint64_t bytes)
{
    const uint64_t from = board->coop_from > 0 ? board->coop_from : PCOLL_COOP_FROM;
    const uint64_t chunk = from - from / 2, n = pcoll_quotient_up(bytes, chunk);

    return (uint32_t)(n == 0 ? 1 : n > PCOLL_MAX_CHUNKS ? PCOLL_MAX_CHUNKS : n);
}

static int phase_of(const struct pcoll_plan *plan, int entry)
{
    int p = 0;

    while (entry >= plan->phases[p].first + plan->phases[p].count)
        p++;
    return p;
}

/* The entry in front of entry `i` in the queue of its trigger, or PCOLL_NONE. */
static int entry_before(const struct pcoll_plan *plan, int i)
{
    const int first = plan->phases[phase_of(plan, i)].first, trigger = plan->entries[i].trigger;

    while (--i >= first && plan->entries[i].trigger == trigger)
        if (plan->entries[i].op != PCOLL_OP_WAIT)
            return i;
    return PCOLL_NONE;
}

/* In an ordered plan, a helper performs entry `i` when the notice in front is closed, if that is of
 * the entry before; otherwise its own rank fires that one first. */
static void order(const struct pcoll_node_binding *b, int i, struct board_post *post)
{
    const struct pcoll_node_board *board = b->bound->board;
    const int before = board->ordered ? entry_before(b->plan, i) : PCOLL_NONE;

    if (before == PCOLL_NONE)
        return;
    post->is_late =
        post == board->posts || post[-1].is_late || post[-1].step != &b->bound->run.steps[before];
    post->notice->is_after = !post->is_late;
}

/* Returns whether that rank only waits while others copy from and to its memory. Except in a tree,
 * ranks that have long copies of their own perform them at the same time, and one that ends first
 * would take parts of the others' last ones, although these are at work
 * (doc/notes/who-copies.md). */
static bool only_waits(const struct pcoll_node_binding *b, int number)
{
    return pcoll_coll_has(b->plan->signature.coll, PCOLL_ROOTED) ||
           b->bound->board->members[number].n == 0;
}

bool pcoll_node_is_offered(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    return b->bound->board != NULL && is_offered(b, entry);
}

void pcoll_node_board_step(const struct pcoll_node_binding *b, int i, struct pcoll_step *step)
{
    const struct pcoll_entry *entry = &b->plan->entries[i];
    struct pcoll_node_bound *bound = b->bound;
    struct pcoll_node_board *board = bound->board;
    struct pcoll_notice *notice = &board->members[bound->number].notices[board->nposts];
    struct board_post *post = &board->posts[board->nposts];

    assert(board->nposts < board->room);
    post->step = step;
    post->plain = *step;
    post->notice = notice;
    order(b, i, post);
    board->first_post[phase_of(b->plan, i) + 1] = ++board->nposts;
    if (step->kind == PCOLL_STEP_REDUCE)
        write_operands(b, entry, step->reduction, notice);
    else if (step->kind != PCOLL_STEP_SIGNAL)
        write_ends(b, entry, step, notice);
    notice->nchunks = nchunks(board, notice->bytes);
    notice->is_public = board->offer == PCOLL_NODE_TO_ALL;
    notice->is_whole = !notice->is_public && !only_waits(b, pcoll_node_number(b, entry->peer));
    notice->trigger = entry->trigger == PCOLL_NONE ? 0 : pcoll_node_counter_at(b, entry->trigger);
    notice->done = place_of(bound, step->done);
    notice->peer = place_of(bound, step->peer);
    notice->done_add = step->done ? step->done_add : 0;
    notice->peer_add = step->peer ? step->peer_add : 0;
    pcoll_node_signalers_add_other(b, step->done);
    pcoll_node_signalers_add_other(b, step->peer);
    step->kind = PCOLL_NODE_POSTED;
    step->done = step->peer = NULL;
    step->own = post;
}

struct pcoll_step *pcoll_node_board_plain(const struct pcoll_step *step)
{
    struct board_post *post = step->own;

    return &post->plain;
}

void pcoll_node_board_move(const struct pcoll_step *step)
{
    const struct board_post *post = step->own;
    struct pcoll_notice *notice = post->notice;

    if (notice->from.number != PCOLL_NONE)
        notice->from.at = (uintptr_t)post->plain.from;
    if (notice->to.number != PCOLL_NONE)
        notice->to.at = (uintptr_t)post->plain.to;
}

/* ---- the end of binding ---- */

/* Returns whether no entry that moves data or signals a peer waits for this one. */
static bool is_last(const struct pcoll_plan *plan, const struct pcoll_entry *entry)
{
    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *other = &plan->entries[i];

        if (entry->done != PCOLL_NONE && other->trigger == entry->done && other != entry &&
            (pcoll_entry_has_data(other) || other->peer_counter != PCOLL_NONE))
            return false;
    }
    return true;
}

static void find_only_copies(const struct pcoll_node_binding *b)
{
    struct pcoll_node_board *board = b->bound->board;

    for (int i = 0; i < board->nposts; i++) {
        const ptrdiff_t entry = board->posts[i].step - b->bound->run.steps;

        board->posts[i].is_only = board->offer == PCOLL_NODE_TO_PEERS &&
                                  board->nposts <= b->plan->nphases &&
                                  is_last(b->plan, &b->plan->entries[entry]);
    }
}

static bool may_help_with(const struct pcoll_notice *notice, int number)
{
    return notice->is_public || notice->from.number == number || notice->to.number == number;
}

/* Adds the notices of that member for this rank, unless there is no memory for them. */
static void add_others(struct pcoll_node_board *board, int number)
{
    const struct board_member *member = &board->members[number];

    for (int i = 0; i < member->n; i++)
        if (may_help_with(&member->notices[i], board->bound->number)) {
            if (board->others != NULL)
                board->others[board->nothers] = (struct board_other){&member->notices[i], number};
            board->nothers++;
        }
}

/* Without memory for the list, this rank helps nobody. */
static void find_others(struct pcoll_node_board *board)
{
    const int n = board->nmembers, self = board->bound->number;

    for (int i = 1; i < n; i++)
        add_others(board, (self + i) % n);
    if (board->nothers > 0)
        board->others = calloc((size_t)board->nothers, sizeof(*board->others));
    board->nothers = 0;
    for (int i = 1; i < n && board->others != NULL; i++)
        add_others(board, (self + i) % n);
}

void pcoll_node_board_open(const struct pcoll_node_binding *b)
{
    struct pcoll_node_board *board = b->bound->board;

    if (board == NULL)
        return;
    for (int p = 1; p <= b->plan->nphases; p++)
        if (board->first_post[p] < board->first_post[p - 1]) /* the phase has none */
            board->first_post[p] = board->first_post[p - 1];
    find_only_copies(b);
    find_others(board);
    if (board->is_public && b->bound->group->has_agent)
        pcoll_node_visit(board);
}
