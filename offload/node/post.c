/* A rank performs its own entries on a board, with others. The contract is in node/board.h. */
#include "offload/node/board_state.h"

#include "offload/memory/process.h"
#include "offload/node/relay.h"

#define LOOKS 16     /* at an agent that makes no lap, before its work is taken over */
#define LAPS 3       /* of an agent that has left a copy alone */
#define PATIENCE 256 /* polls until the owner asks whether the helper is alive */

/* ---- chunks ---- */

/* Perform a chunk that the owner has claimed. If the kernel refuses, the owner of the other memory
 * is asked for it: the chunk is then a step of its own. */
static enum pcoll_result perform(struct pcoll_node_bound *bound, struct board_post *post,
                                 struct pcoll_chunk chunk)
{
    struct board_way way;
    int error;

    pcoll_node_chunk_find(bound, post->notice, &way);
    error = pcoll_node_chunk_perform(post->notice, &way, chunk, PCOLL_BY_OWNER);
    if (error == 0)
        return PCOLL_OK;
    post->asked = post->plain;
    post->asked.to = (char *)post->plain.to + chunk.first;
    post->asked.from = (const char *)post->plain.from + chunk.first;
    post->asked.bytes = (size_t)chunk.bytes;
    post->nasked = chunk.count;
    post->is_asking = true;
    return pcoll_node_refused(bound, &post->asked, error);
}

static void finish(struct pcoll_node_bound *bound, struct board_post *post, unsigned count)
{
    post->is_asking = false;
    bound->chunks++;
    pcoll_node_chunk_finish(bound, post->notice, 0, count);
}

/* Ask again for the chunk that is left to the owner of the other memory, if there is one. */
static enum pcoll_result ask_again(struct pcoll_node_bound *bound, struct board_post *post)
{
    const enum pcoll_result result =
        post->is_asking ? pcoll_node_ask(bound, &post->asked) : PCOLL_OK;

    if (result == PCOLL_OK && post->is_asking)
        finish(bound, post, post->nasked);
    return result;
}

static enum pcoll_result do_chunk(struct pcoll_node_bound *bound, struct board_post *post,
                                  struct pcoll_chunk chunk)
{
    const enum pcoll_result result = perform(bound, post, chunk);

    if (result == PCOLL_OK)
        finish(bound, post, chunk.count);
    return result;
}

/* Returns whether the helper that held a chunk when `word` was read has died. */
static bool has_died(const struct pcoll_node_board *board, const struct pcoll_notice *notice,
                     uint64_t word)
{
    const unsigned helper = pcoll_notice_read(word).helper;

    return pcoll_process_is_dead(board->members[helper - 1].pid) &&
           atomic_load_explicit(&notice->word, memory_order_acquire) == word;
}

/* Take back a chunk that a helper has returned, or with which it has died. */
static enum pcoll_result recover(struct pcoll_node_bound *bound, struct board_post *post)
{
    struct pcoll_notice *notice = post->notice;
    const uint64_t word = atomic_load_explicit(&notice->word, memory_order_acquire);
    const struct pcoll_notice_state state = pcoll_notice_read(word);
    struct pcoll_chunk chunk;

    if (!state.is_open || state.helper == 0)
        return PCOLL_OK;
    if (!state.is_returned) {
        if (++bound->board->looks % PATIENCE != 0 || !has_died(bound->board, notice, word))
            return PCOLL_OK;
        if (state.is_ending || notice->overwrites)
            return pcoll_node_give_up(bound, "shared memory: a process that helped has died");
    }
    return pcoll_notice_take_back(notice, word, &chunk) ? do_chunk(bound, post, chunk) : PCOLL_OK;
}

/* ---- firing ---- */

/* A start leaves the only copy to its peer. And long copies are left to an agent that is at work:
 * the cost of a computation must not depend on how often it tests. An agent that has looked several
 * times and done nothing cannot perform the copy. */
static bool is_left(const struct pcoll_node_board *board, struct board_post *post)
{
    uint64_t word;

    if (board->is_starting && post->is_only)
        return true;
    if (!board->leaves || !post->notice->is_public || !pcoll_node_is_long(post->notice))
        return false;
    word = atomic_load_explicit(&post->notice->word, memory_order_relaxed);
    if (word != post->word)
        post->laps = board->laps;
    post->word = word;
    return board->laps - post->laps < LAPS;
}

static void open_notice(struct board_post *post)
{
    post->is_opened = true;
    pcoll_notice_open(post->notice, post->step->threshold);
}

enum pcoll_result pcoll_node_post_fire(struct pcoll_node_bound *bound, struct pcoll_step *step)
{
    struct board_post *post = step->own;
    struct pcoll_notice *notice = post->notice;
    enum pcoll_result result;
    struct pcoll_chunk chunk;

    if (!post->is_opened)
        open_notice(post);
    if (!pcoll_notice_is_open(notice))
        return PCOLL_OK;
    if (is_left(bound->board, post))
        return PCOLL_PENDING;
    result = ask_again(bound, post);
    while (result == PCOLL_OK &&
           pcoll_notice_claim(notice, atomic_load_explicit(&notice->word, memory_order_acquire), 0,
                              &chunk))
        result = do_chunk(bound, post, chunk);
    if (result == PCOLL_OK)
        result = recover(bound, post);
    if (result != PCOLL_OK)
        return result;
    return pcoll_notice_is_open(notice) ? PCOLL_PENDING : PCOLL_OK;
}

/* ---- instances ---- */

void pcoll_node_post(struct pcoll_node_bound *bound)
{
    const struct pcoll_node_board *board = bound->board;
    const int *first = &board->first_post[bound->run.phase];

    for (int i = first[0]; i < first[1]; i++) {
        board->posts[i].is_opened = false;
        if (!board->posts[i].is_late)
            open_notice(&board->posts[i]);
    }
}

/* Returns whether an agent with a core of its own is there and makes laps, or sleeps and will be
 * woken. */
static bool is_in_good_hands(const struct pcoll_node_bound *bound)
{
    struct pcoll_node_board *board = bound->board;
    const struct pcoll_bell *bell = bound->group->bell;
    uint32_t laps;

    if (bell == NULL || !bell->has_core ||
        atomic_load_explicit(&bell->sleep, memory_order_relaxed) == PCOLL_RETIRED)
        return false;
    laps = atomic_load_explicit(&bell->laps, memory_order_relaxed);
    if (laps != board->laps)
        board->lap_looks = 0;
    board->laps = laps;
    return board->lap_looks++ < LOOKS;
}

/* Steps that wait for nothing are in one queue, in which a long copy that is left to the agent
 * would hold up the rest. In an ordered plan it must. */
static enum pcoll_result fire_short(struct pcoll_node_bound *bound, int first, int end)
{
    const struct pcoll_node_board *board = bound->board;
    enum pcoll_result result = PCOLL_OK;

    for (int i = first; i < end && board->posts[i].notice->trigger == 0 && !board->ordered; i++)
        if (!pcoll_node_is_long(board->posts[i].notice)) {
            result = pcoll_node_post_fire(bound, board->posts[i].step);
            if (result > PCOLL_PENDING)
                return result;
        }
    return PCOLL_OK;
}

enum pcoll_result pcoll_node_board_begin(struct pcoll_node_bound *bound)
{
    struct pcoll_node_board *board = bound->board;
    const int *first = &board->first_post[bound->run.phase];

    pcoll_node_post(bound);
    board->is_starting = true;
    if (!board->is_public)
        return PCOLL_OK;
    atomic_fetch_add_explicit(board->active, 1, memory_order_seq_cst);
    board->is_active = true;
    board->lap_looks = 0;
    board->leaves = bound->group->bell != NULL && pcoll_bell_ring(bound->group->bell) &&
                    is_in_good_hands(bound);
    return fire_short(bound, first[0], first[1]);
}

void pcoll_node_board_go_on(struct pcoll_node_bound *bound, bool waits)
{
    struct pcoll_node_board *board = bound->board;

    board->is_starting = false;
    if (board->is_public)
        board->leaves = !waits && is_in_good_hands(bound);
}

/* A caller may ask again after the instance has ended. */
void pcoll_node_board_end(struct pcoll_node_bound *bound)
{
    struct pcoll_node_board *board = bound->board;

    if (!board->is_active)
        return;
    board->is_active = false;
    atomic_fetch_sub_explicit(board->active, 1, memory_order_relaxed);
}
