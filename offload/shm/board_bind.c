/* Boards of plans: binding. The contract is in shm/board.h. */
#include "offload/shm/board_state.h"

#include <stdlib.h>
#include <unistd.h>

static int has_notice(const struct pcoll_entry *entry)
{
    return entry->op != PCOLL_OP_REDUCE && entry->op != PCOLL_OP_WAIT;
}

static int is_long(const struct pcoll_plan *plan, int64_t from)
{
    return from != PCOLL_NONE && (pcoll_plan_bytes(plan, PCOLL_SEND) >= (uint64_t)from ||
                                  pcoll_plan_bytes(plan, PCOLL_RECV) >= (uint64_t)from);
}

static int count_posts(const struct pcoll_shm_binding *b, const struct pcoll_shm_group *group)
{
    int n = 0;

    if (b->memory->send_layout != NULL || b->memory->recv_layout != NULL ||
        !is_long(b->plan, group->board_from))
        return 0;
    for (int i = 0; i < b->plan->nentries; i++)
        n += has_notice(&b->plan->entries[i]);
    return n;
}

enum pcoll_result pcoll_shm_board_init(const struct pcoll_shm_binding *b,
                                       const struct pcoll_shm_group *group)
{
    struct pcoll_shm_board *board;

    if (group->bell == NULL)
        return PCOLL_OK;
    board = calloc(1, sizeof(*board) + (size_t)b->nlocal * sizeof(board->members[0]));
    b->bound->board = board;
    if (board == NULL)
        return PCOLL_ERR_NOMEM;
    board->room = count_posts(b, group);
    board->nmembers = b->nlocal;
    board->ordered = b->plan->ordered;
    board->self = getpid();
    board->posts = calloc((size_t)board->room + 1, sizeof(*board->posts));
    board->first_post = calloc((size_t)b->plan->nphases + 1, sizeof(*board->first_post));
    return board->posts && board->first_post ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

static void destroy(struct pcoll_shm_bound *bound)
{
    struct pcoll_shm_board *board = bound->board;

    bound->board = NULL;
    free(board->posts);
    free(board->first_post);
    free(board);
}

void pcoll_shm_board_fini(struct pcoll_shm_bound *bound)
{
    if (bound->board == NULL)
        return;
    pcoll_shm_board_leave(bound);
    destroy(bound);
}

uint64_t pcoll_shm_board_count(const struct pcoll_shm_binding *b)
{
    return b->bound->board ? (uint64_t)b->bound->board->room : 0;
}

size_t pcoll_shm_board_bytes(const struct pcoll_shm_binding *b)
{
    uint64_t n = 0;

    for (int i = 0; i < b->nlocal; i++)
        n += b->cards[i].nnotices;
    return n == 0 ? 0 : PCOLL_LINE_BYTES + (size_t)n * sizeof(struct pcoll_notice);
}

void pcoll_shm_board_place(const struct pcoll_shm_binding *b, char *memory, size_t bytes)
{
    struct pcoll_notice *notice = (void *)(memory + PCOLL_LINE_BYTES);
    struct pcoll_shm_board *board = b->bound->board;

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
}

static uint64_t place_of(const struct pcoll_shm_bound *bound, const struct pcoll_target *target)
{
    return target ? (uint64_t)((char *)target->line - (char *)bound->block) : 0;
}

/* An end of a step: of memory of rank `number`, or mapped here. */
static struct pcoll_notice_place end_of(const struct pcoll_shm_bound *bound, const void *address,
                                        int number)
{
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)bound->block;

    if (number == bound->number && offset < bound->board->block_bytes)
        return (struct pcoll_notice_place){PCOLL_NONE, offset};
    return (struct pcoll_notice_place){number, (uintptr_t)address};
}

static void write_ends(const struct pcoll_shm_binding *b, const struct pcoll_entry *entry,
                       const struct pcoll_step *step, struct pcoll_notice *notice)
{
    const struct pcoll_shm_bound *bound = b->bound;
    const int self = bound->number;
    const int peer = entry->peer == PCOLL_NONE ? self : pcoll_shm_number(b, entry->peer);

    notice->from = end_of(bound, step->from, step->kind == PCOLL_SHM_READ ? peer : self);
    notice->to = end_of(bound, step->to, step->kind == PCOLL_SHM_WRITE ? peer : self);
    notice->bytes = step->bytes;
}

/* As in cooperative copies (shm/coop.h), where there are any. */
static uint32_t nchunks(const struct pcoll_shm_bound *bound, uint64_t bytes)
{
    const uint64_t from = bound->group->coop_from > 0 ? bound->group->coop_from : PCOLL_COOP_FROM;
    const uint64_t chunk = (from + 1) / 2, n = (bytes + chunk - 1) / chunk;

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
static int is_after_last(const struct pcoll_shm_binding *b, int i)
{
    const struct pcoll_shm_board *board = b->bound->board;
    int last;

    if (!board->ordered || board->nposts == 0)
        return 0;
    last = (int)(board->posts[board->nposts - 1].step - b->bound->run.steps);
    return b->plan->entries[last].trigger == b->plan->entries[i].trigger &&
           phase_of(b->plan, last) == phase_of(b->plan, i);
}

void pcoll_shm_board_step(const struct pcoll_shm_binding *b, int i, struct pcoll_step *step)
{
    const struct pcoll_entry *entry = &b->plan->entries[i];
    struct pcoll_shm_bound *bound = b->bound;
    struct pcoll_shm_board *board = bound->board;
    struct pcoll_notice *notice = &board->members[bound->number].notices[board->nposts];
    struct board_post *post = &board->posts[board->nposts];

    if (board->room == 0 || !has_notice(entry))
        return;
    notice->is_after = (uint16_t)is_after_last(b, i);
    board->first_post[phase_of(b->plan, i) + 1] = ++board->nposts;
    if (step->kind != PCOLL_STEP_SIGNAL)
        write_ends(b, entry, step, notice);
    notice->nchunks = nchunks(bound, notice->bytes);
    notice->trigger = entry->trigger == PCOLL_NONE ? 0 : pcoll_shm_counter_at(b, entry->trigger);
    notice->done = place_of(bound, step->done);
    notice->peer = place_of(bound, step->peer);
    notice->done_add = step->done ? step->done_add : 0;
    notice->peer_add = step->peer ? step->peer_add : 0;
    post->step = step;
    post->plain = *step;
    post->notice = notice;
    pcoll_shm_signalers_add_other(b, step->done);
    pcoll_shm_signalers_add_other(b, step->peer);
    step->kind = PCOLL_SHM_POSTED;
    step->done = step->peer = NULL;
    step->own = post;
}
