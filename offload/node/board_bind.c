/* Boards of plans: binding. The contract is in node/board.h. */
#include "offload/node/board_state.h"

#include <stdlib.h>
#include <unistd.h>

#include "algorithms/util.h"

static int is_reachable(const struct pcoll_node_board *board, struct pcoll_place place)
{
    return place.buffer > PCOLL_RECV || board->is_reachable[place.buffer];
}

/* Others can perform that reduction. */
static int is_common(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    const struct pcoll_node_board *board = b->bound->board;
    int all = is_reachable(board, entry->local) && board->op != NULL && board->op->kernel != NULL &&
              board->op->unit <= PCOLL_REDUCE_BLOCK && entry->noperands <= PCOLL_BOARD_OPERANDS;

    for (int i = 0; i < entry->noperands; i++)
        all = all && is_reachable(board, b->plan->operands[entry->first_operand + i]);
    return all;
}

static int has_notice(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    return entry->op != PCOLL_OP_WAIT && (entry->op != PCOLL_OP_REDUCE || is_common(b, entry));
}

static int is_long(const struct pcoll_plan *plan, int64_t from)
{
    return from != PCOLL_NONE && (pcoll_plan_bytes(plan, PCOLL_SEND) >= (uint64_t)from ||
                                  pcoll_plan_bytes(plan, PCOLL_RECV) >= (uint64_t)from);
}

static void count_posts(const struct pcoll_node_binding *b, const struct pcoll_node_group *group)
{
    struct pcoll_node_board *board = b->bound->board;

    if (b->memory->send_layout != NULL || b->memory->recv_layout != NULL ||
        !is_long(b->plan, group->board_from))
        return;
    for (int i = 0; i < b->plan->nentries; i++) {
        const struct pcoll_entry *entry = &b->plan->entries[i];

        if (!has_notice(b, entry))
            continue;
        board->room++;
        board->operand_room += entry->op == PCOLL_OP_REDUCE ? entry->noperands : 0;
    }
}

/* In a heap, which agents map, or in the agent's own process. */
static int is_for_agents(const struct pcoll_node_binding *b, const struct pcoll_node_group *group,
                         const void *memory, enum pcoll_buffer buffer)
{
    return group->is_host ||
           pcoll_heap_find(memory, pcoll_plan_bytes(b->plan, buffer)).fd != PCOLL_NONE;
}

enum pcoll_result pcoll_node_board_init(const struct pcoll_node_binding *b,
                                        const struct pcoll_node_group *group)
{
    struct pcoll_node_board *board;

    if (group->bell == NULL)
        return PCOLL_OK;
    board = calloc(1, sizeof(*board) + (size_t)b->nlocal * sizeof(board->members[0]));
    b->bound->board = board;
    if (board == NULL)
        return PCOLL_ERR_NOMEM;
    board->op = b->memory->op;
    board->is_reachable[PCOLL_SEND] = is_for_agents(b, group, b->memory->send, PCOLL_SEND);
    board->is_reachable[PCOLL_RECV] = is_for_agents(b, group, b->memory->recv, PCOLL_RECV);
    count_posts(b, group);
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
    free(board);
}

void pcoll_node_board_fini(struct pcoll_node_bound *bound)
{
    if (bound->board == NULL)
        return;
    pcoll_node_board_leave(bound);
    destroy(bound);
}

uint32_t pcoll_node_board_count(const struct pcoll_node_binding *b, uint32_t *noperands_p)
{
    const struct pcoll_node_board *board = b->bound->board;

    *noperands_p = board ? (uint32_t)board->operand_room : 0;
    return board ? (uint32_t)board->room : 0;
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
    board->block_bytes = bytes;
    for (int i = 0; i < b->nlocal; i++) {
        board->members[i] = (struct board_member){
            .pid = (pid_t)b->cards[i].pid,
            .notices = notice,
            .n = (int)b->cards[i].nnotices,
        };
        notice += b->cards[i].nnotices;
    }
    board->operands = (void *)notice;
    for (int i = 0; i < b->bound->number; i++)
        board->operands += b->cards[i].noperands;
}

static uint64_t place_of(const struct pcoll_node_bound *bound, const struct pcoll_target *target)
{
    return target ? (uint64_t)((char *)target->line - (char *)bound->block) : 0;
}

/* An end of a step: of memory of rank `number`, or mapped here. */
static struct pcoll_notice_place end_of(const struct pcoll_node_bound *bound, const void *address,
                                        int number)
{
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)bound->block;

    if (number == bound->number && offset < bound->board->block_bytes)
        return (struct pcoll_notice_place){PCOLL_NONE, offset};
    return (struct pcoll_notice_place){number, (uintptr_t)address};
}

static void write_operands(const struct pcoll_node_binding *b,
                           const struct pcoll_reduction *reduction, struct pcoll_notice *notice)
{
    const struct pcoll_node_bound *bound = b->bound;
    struct pcoll_node_board *board = bound->board;
    struct pcoll_notice_place *places = board->operands + board->noperands;

    notice->to = end_of(bound, reduction->to, bound->number);
    notice->bytes = reduction->bytes;
    notice->unit = (uint32_t)reduction->op->unit;
    notice->operands = (uint64_t)((char *)places - (char *)bound->block);
    notice->noperands = (uint16_t)reduction->n;
    notice->detours = reduction->scratch != NULL;
    for (int i = 0; i < reduction->n; i++) {
        places[i] = end_of(bound, reduction->operands[i], bound->number);
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
}

/* As in cooperative copies (node/coop.h), where there are any. */
static uint32_t nchunks(const struct pcoll_node_bound *bound, uint64_t bytes)
{
    const uint64_t from = bound->group->coop_from > 0 ? bound->group->coop_from : PCOLL_COOP_FROM;
    const uint64_t chunk = (from + 1) / 2, n = pcoll_quotient_up(bytes, chunk);

    return (uint32_t)(n == 0 ? 1 : n > PCOLL_MOST_CHUNKS ? PCOLL_MOST_CHUNKS : n);
}

static int phase_of(const struct pcoll_plan *plan, int entry)
{
    int p = 0;

    while (entry >= plan->phases[p].first + plan->phases[p].count)
        p++;
    return p;
}

/* True if entry `i` must take effect after the one whose notice is the last so far. */
static int is_after_last(const struct pcoll_node_binding *b, int i)
{
    const struct pcoll_node_board *board = b->bound->board;
    int last;

    if (!board->ordered || board->nposts == 0)
        return 0;
    last = (int)(board->posts[board->nposts - 1].step - b->bound->run.steps);
    return b->plan->entries[last].trigger == b->plan->entries[i].trigger &&
           phase_of(b->plan, last) == phase_of(b->plan, i);
}

int pcoll_node_is_for_board(const struct pcoll_node_binding *b, const struct pcoll_entry *entry)
{
    return b->bound->board != NULL && b->bound->board->room > 0 && has_notice(b, entry);
}

void pcoll_node_board_step(const struct pcoll_node_binding *b, int i, struct pcoll_step *step)
{
    const struct pcoll_entry *entry = &b->plan->entries[i];
    struct pcoll_node_bound *bound = b->bound;
    struct pcoll_node_board *board = bound->board;
    struct pcoll_notice *notice = &board->members[bound->number].notices[board->nposts];
    struct board_post *post = &board->posts[board->nposts];

    notice->is_after = (uint16_t)is_after_last(b, i);
    board->first_post[phase_of(b->plan, i) + 1] = ++board->nposts;
    if (step->kind == PCOLL_STEP_REDUCE)
        write_operands(b, step->reduction, notice);
    else if (step->kind != PCOLL_STEP_SIGNAL)
        write_ends(b, entry, step, notice);
    notice->nchunks = nchunks(bound, notice->bytes);
    notice->trigger = entry->trigger == PCOLL_NONE ? 0 : pcoll_node_counter_at(b, entry->trigger);
    notice->done = place_of(bound, step->done);
    notice->peer = place_of(bound, step->peer);
    notice->done_add = step->done ? step->done_add : 0;
    notice->peer_add = step->peer ? step->peer_add : 0;
    post->step = step;
    post->plain = *step;
    post->notice = notice;
    pcoll_node_signalers_add_other(b, step->done);
    pcoll_node_signalers_add_other(b, step->peer);
    step->kind = PCOLL_NODE_POSTED;
    step->done = step->peer = NULL;
    step->own = post;
}
