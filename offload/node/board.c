/* Boards of plans: what the rank does whose entries they are, and what others of the node do, ranks
 * that wait and the agent. The contract is in node/board.h. */
#include "offload/node/board_state.h"

#include <errno.h>
#include <pthread.h>

#include "offload/memory/cma.h"
#include "offload/memory/process.h"
#include "offload/node/fire.h"
#include "offload/node/node.h"
#include "offload/node/relay.h"

#define LOOKS 16     /* at an agent that makes no lap, before its work is taken over */
#define LAPS 3       /* of an agent that has left a copy alone */
#define PATIENCE 256 /* polls until the owner asks whether the helper is alive */

/* ---- chunks ---- */

/* The signals come before the notice is closed, so that those of later steps come after them; what
 * the entry's own rank does then, after that for the peer. */
static void finish_chunk(const struct pcoll_node_bound *bound, struct pcoll_notice *notice,
                         unsigned helper)
{
    if (!pcoll_notice_finish(notice, helper))
        return;
    pcoll_node_signal_at(bound, notice->peer, notice->peer_add);
    pcoll_node_signal_at(bound, notice->done, notice->done_add);
    pcoll_notice_close(notice);
}

static struct board_end reach(const struct pcoll_node_bound *bound, struct pcoll_notice_place place)
{
    const struct pcoll_node_board *board = bound->board;
    struct board_end end = {(char *)bound->block + place.at, bound->self};

    if (place.number == PCOLL_NONE)
        return end;
    end.here = (char *)(uintptr_t)place.at;
    end.pid = board->members[place.number].pid;
    if (end.pid != bound->self)
        end.here = pcoll_node_mapped(bound, (int)place.number, place.at);
    return end;
}

/* All ranks of a plan reduce with the same operator, but this one may not have its kernel. */
static void find_operands(const struct pcoll_node_bound *bound, const struct pcoll_notice *notice,
                          struct board_way *way)
{
    const struct pcoll_notice_place *places = (void *)((char *)bound->block + notice->operands);

    for (int i = 0; i < way->noperands; i++) {
        way->operands[i] = (const unsigned char *)reach(bound, places[i]).here;
        if (way->operands[i] == NULL || way->op == NULL || way->op->kernel == NULL)
            way->to.here = NULL;
    }
}

static void find_way_to(const struct pcoll_node_bound *bound, const struct pcoll_notice *notice,
                        struct board_way *way)
{
    way->to = reach(bound, notice->to);
    way->from = (struct board_end){NULL, 0};
    way->noperands = notice->noperands;
    way->op = bound->board->op;
    if (way->noperands > 0)
        find_operands(bound, notice, way);
    else
        way->from = reach(bound, notice->from);
}

/* A kernel refuses nothing. */
static int reduce(const struct pcoll_notice *notice, const struct board_way *way,
                  struct pcoll_chunk chunk)
{
    const unsigned char *operands[PCOLL_BOARD_OPERANDS];
    unsigned char scratch[PCOLL_REDUCE_BLOCK];
    const struct pcoll_reduction reduction = {
        .op = way->op,
        .to = (unsigned char *)way->to.here + chunk.first,
        .bytes = (size_t)chunk.bytes,
        .operands = operands,
        .n = way->noperands,
        .scratch = notice->detours ? scratch : NULL,
    };

    for (int i = 0; i < reduction.n; i++)
        operands[i] = way->operands[i] + chunk.first;
    return pcoll_reduce(&reduction) == PCOLL_OK ? 0 : EINVAL;
}

/* Returns 0 or an errno. */
static int perform_chunk(const struct pcoll_notice *notice, const struct board_way *way,
                         struct pcoll_chunk chunk)
{
    const size_t bytes = (size_t)chunk.bytes;
    const uint64_t first = chunk.first;

    if (bytes == 0)
        return 0;
    if (way->noperands > 0)
        return reduce(notice, way, chunk);
    if (way->from.here == NULL)
        return pcoll_cma_read(way->from.pid, way->to.here + first,
                              (void *)(uintptr_t)(notice->from.at + first), bytes);
    if (way->to.here == NULL)
        return pcoll_cma_write(way->to.pid, (void *)(uintptr_t)(notice->to.at + first),
                               way->from.here + first, bytes);
    pcoll_copy(way->to.here + first, way->from.here + first, bytes);
    return 0;
}

/* ---- the owner ---- */

/* Perform a chunk that the owner has claimed. If the kernel refuses, the owner of the other memory
 * is asked for it: the chunk is then a step of its own. */
static enum pcoll_result perform(struct pcoll_node_bound *bound, struct board_post *post,
                                 struct pcoll_chunk chunk)
{
    const struct pcoll_notice *notice = post->notice;
    struct board_way way;
    int error;

    find_way_to(bound, notice, &way);
    error = perform_chunk(notice, &way, chunk);
    if (error == 0) {
        pcoll_node_board_tally(notice, PCOLL_BY_OPENER);
        return PCOLL_OK;
    }
    post->apart = post->plain;
    post->apart.to = (char *)post->plain.to + chunk.first;
    post->apart.from = (const char *)post->plain.from + chunk.first;
    post->apart.bytes = (size_t)chunk.bytes;
    post->is_apart = 1;
    return pcoll_node_refused(bound, &post->apart, error);
}

/* The chunk that is apart, if there is one. */
static enum pcoll_result go_on_apart(struct pcoll_node_bound *bound, struct board_post *post)
{
    enum pcoll_result result = PCOLL_OK;

    if (!post->is_apart)
        return PCOLL_OK;
    result = pcoll_node_ask(bound, &post->apart);
    if (result != PCOLL_OK)
        return result;
    post->is_apart = 0;
    finish_chunk(bound, post->notice, 0);
    return PCOLL_OK;
}

static enum pcoll_result do_chunk(struct pcoll_node_bound *bound, struct board_post *post,
                                  struct pcoll_chunk chunk)
{
    enum pcoll_result result = perform(bound, post, chunk);

    if (result == PCOLL_OK) {
        post->is_apart = 0;
        finish_chunk(bound, post->notice, 0);
    }
    return result;
}

/* A helper has returned its chunk, or died with it. */
static enum pcoll_result recover(struct pcoll_node_bound *bound, struct board_post *post)
{
    struct pcoll_notice *notice = post->notice;
    const struct pcoll_notice_state state =
        pcoll_notice_read(atomic_load_explicit(&notice->word, memory_order_acquire));
    struct pcoll_chunk chunk;

    if (!state.is_open || state.helper == 0)
        return PCOLL_OK;
    if (!state.is_returned) {
        if (++bound->board->looks % PATIENCE != 0 ||
            !pcoll_process_is_dead(bound->board->members[state.helper - 1].pid))
            return PCOLL_OK;
        if (state.is_ending || notice->overwrites)
            return pcoll_node_give_up(bound, "shared memory: a process that helped has died");
    }
    return pcoll_notice_take_back(notice, &chunk) ? do_chunk(bound, post, chunk) : PCOLL_OK;
}

/* Long copies are left to an agent that is at work: what a computation costs must not depend on
 * how often it tests. An agent that has looked several times and done nothing cannot. */
static int is_left(const struct pcoll_node_bound *bound, struct board_post *post)
{
    uint64_t word;

    if (!bound->board->leaves || !pcoll_node_board_is_bulk(post->notice))
        return 0;
    word = atomic_load_explicit(&post->notice->word, memory_order_relaxed);
    if (word != post->word)
        post->laps = bound->board->laps;
    post->word = word;
    return bound->board->laps - post->laps < LAPS;
}

enum pcoll_result pcoll_node_board_fire(struct pcoll_node_bound *bound, struct pcoll_step *step)
{
    struct board_post *post = step->own;
    struct pcoll_notice *notice = post->notice;
    enum pcoll_result result = PCOLL_OK;
    struct pcoll_chunk chunk;

    if (!pcoll_notice_is_open(notice))
        return PCOLL_OK;
    if (is_left(bound, post))
        return PCOLL_PENDING;
    result = go_on_apart(bound, post);
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

/* ---- helpers ---- */

/* The notice, which is open, was opened after the one in front of it. */
static int is_due(const struct pcoll_node_bound *bound, struct pcoll_notice *notice)
{
    const struct pcoll_line *line = (void *)((char *)bound->block + notice->trigger);
    const uint64_t threshold = atomic_load_explicit(&notice->threshold, memory_order_relaxed);

    if (notice->is_after && pcoll_notice_is_open(notice - 1))
        return 0;
    return notice->trigger == 0 ||
           (int64_t)(atomic_load_explicit(&line->value, memory_order_acquire) - threshold) >= 0;
}

/* The ends of the copy or reduction, if it is for this thread. The system is asked only by agents,
 * and for copies from or to memory of this rank. */
static int find_way(const struct pcoll_node_bound *bound, const struct pcoll_notice *notice,
                    int is_agent, struct board_way *way)
{
    const int64_t self = bound->number;

    if (notice->bytes == 0)
        return 1;
    find_way_to(bound, notice, way);
    if (way->noperands > 0)
        return way->to.here != NULL;
    if (way->from.here != NULL && way->to.here != NULL)
        return 1;
    return (way->from.here != NULL || way->to.here != NULL) && !bound->board->cannot_help &&
           (is_agent || notice->from.number == self || notice->to.number == self);
}

/* True if something moved. */
static int help_with(struct pcoll_node_bound *bound, struct pcoll_notice *notice, int is_agent)
{
    const uint64_t word = atomic_load_explicit(&notice->word, memory_order_acquire);
    const unsigned self = (unsigned)bound->number + 1;
    struct board_way way;
    struct pcoll_chunk chunk;

    if (!pcoll_notice_read(word).is_open || !is_due(bound, notice) ||
        !find_way(bound, notice, is_agent, &way))
        return 0;
    if (!pcoll_notice_claim(notice, word, self, &chunk))
        return 0;
    if (perform_chunk(notice, &way, chunk) == 0) {
        pcoll_node_board_tally(notice, PCOLL_BY_HELPER);
        finish_chunk(bound, notice, self);
    } else {
        bound->board->cannot_help = 1;
        pcoll_notice_return(notice);
    }
    return 1;
}

/* One chunk of each notice of that member. */
static int help_member(struct pcoll_node_bound *bound, int number, int is_agent)
{
    const struct board_member *member = &bound->board->members[number];
    int moved = 0;

    for (int i = 0; i < member->n; i++)
        moved |= help_with(bound, &member->notices[i], is_agent);
    return moved;
}

static void help_others(struct pcoll_node_bound *bound)
{
    const int n = bound->board->nmembers;

    for (int i = 1; i < n; i++)
        if (help_member(bound, (bound->number + i) % n, 0))
            return;
}

/* ---- instances ---- */

/* True if an agent with a core of its own is there and makes laps, or sleeps and will be woken. */
static int is_in_good_hands(const struct pcoll_node_bound *bound)
{
    struct pcoll_node_board *board = bound->board;
    const struct pcoll_bell *bell = bound->group->bell;
    uint32_t laps;

    if (bell == NULL || !bell->has_core ||
        atomic_load_explicit(&bell->sleep, memory_order_relaxed) == PCOLL_RETIRED)
        return 0;
    laps = atomic_load_explicit(&bell->laps, memory_order_relaxed);
    if (laps != board->laps)
        board->lap_looks = 0;
    board->laps = laps;
    return board->lap_looks++ < LOOKS;
}

static void open_notices(const struct pcoll_node_board *board, int first, int end)
{
    for (int i = first; i < end; i++)
        pcoll_notice_open(board->posts[i].notice, board->posts[i].step->threshold);
}

/* Steps that wait for nothing are in one queue, in which a long copy that is left to the agent
 * would keep the rest; unless that is to be so. */
static enum pcoll_result fire_light(struct pcoll_node_bound *bound, int first, int end)
{
    struct pcoll_node_board *board = bound->board;
    enum pcoll_result result = PCOLL_OK;

    for (int i = first; i < end && board->posts[i].notice->trigger == 0 && !board->ordered; i++)
        if (!pcoll_node_board_is_bulk(board->posts[i].notice)) {
            result = pcoll_node_board_fire(bound, board->posts[i].step);
            if (result > PCOLL_PENDING)
                return result;
        }
    return PCOLL_OK;
}

/* A caller may ask again after the instance has ended. */
static enum pcoll_result judge(struct pcoll_node_bound *bound, enum pcoll_result result)
{
    if (result == PCOLL_PENDING || !bound->board->is_active)
        return result;
    bound->board->is_active = 0;
    atomic_fetch_sub_explicit(bound->board->active, 1, memory_order_relaxed);
    return result;
}

enum pcoll_result pcoll_node_board_start(struct pcoll_bound *base)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);
    struct pcoll_node_board *board = bound->board;
    const int first = board->first_post[bound->run.phase];
    const int end = board->first_post[bound->run.phase + 1];
    enum pcoll_result result;

    open_notices(board, first, end);
    atomic_fetch_add_explicit(board->active, 1, memory_order_seq_cst);
    board->is_active = 1;
    board->lap_looks = 0;
    board->leaves = bound->group->bell != NULL && pcoll_bell_ring(bound->group->bell) &&
                    is_in_good_hands(bound);
    result = fire_light(bound, first, end);
    if (result == PCOLL_OK)
        result = pcoll_run_start(&bound->run, pcoll_node_fire);
    return judge(bound, result > PCOLL_PENDING ? pcoll_node_stop(bound) : result);
}

static enum pcoll_result go_on(struct pcoll_node_bound *bound, enum pcoll_result result)
{
    if (result == PCOLL_PENDING) {
        if (!bound->board->leaves)
            help_others(bound);
        return judge(bound, pcoll_node_attend(bound));
    }
    return judge(bound, result == PCOLL_OK ? result : pcoll_node_stop(bound));
}

enum pcoll_result pcoll_node_board_progress(struct pcoll_bound *base)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);

    bound->board->leaves = is_in_good_hands(bound);
    return go_on(bound, pcoll_run_progress(&bound->run, pcoll_node_fire));
}

/* A rank that waits has nothing better to do. */
enum pcoll_result pcoll_node_board_spin(struct pcoll_bound *base, unsigned spins)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);
    enum pcoll_result result;

    bound->board->leaves = 0;
    result = pcoll_run_progress(&bound->run, pcoll_node_fire);
    while (result == PCOLL_PENDING && spins-- > 0) {
        pcoll_relax();
        result = pcoll_run_progress(&bound->run, pcoll_node_fire);
    }
    return go_on(bound, result);
}

/* ---- the agent ---- */

/* Plans that the agent of this process visits. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pcoll_node_board *visited;

/* The child of a fork has no agent. */
static void forget(void)
{
    pthread_mutex_init(&mutex, NULL);
    visited = NULL;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget);
}

void pcoll_node_board_open(struct pcoll_node_bound *bound)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    struct pcoll_node_board *board = bound->board;

    pthread_once(&watched, watch_forks);
    board->bound = bound;
    for (int p = 1; p <= bound->run.nphases; p++)
        if (board->first_post[p] < board->first_post[p - 1]) /* the phase has none */
            board->first_post[p] = board->first_post[p - 1];
    if (!bound->group->is_host)
        return;
    pthread_mutex_lock(&mutex);
    board->next = visited;
    visited = board;
    pthread_mutex_unlock(&mutex);
}

void pcoll_node_board_leave(struct pcoll_node_bound *bound)
{
    struct pcoll_node_board **link = &visited;

    pthread_mutex_lock(&mutex);
    while (*link != NULL && *link != bound->board)
        link = &(*link)->next;
    if (*link != NULL)
        *link = bound->board->next;
    pthread_mutex_unlock(&mutex);
}

static enum pcoll_visit visit(struct pcoll_node_board *board)
{
    int moved = 0;

    if (atomic_load_explicit(board->active, memory_order_seq_cst) == 0)
        return PCOLL_VISIT_NONE;
    for (int i = 0; i < board->nmembers; i++)
        moved |= help_member(board->bound, i, 1);
    return moved ? PCOLL_VISIT_MOVED : PCOLL_VISIT_IDLE;
}

enum pcoll_visit pcoll_node_visit_boards(void)
{
    enum pcoll_visit all = PCOLL_VISIT_NONE;

    pthread_mutex_lock(&mutex);
    for (struct pcoll_node_board *board = visited; board != NULL; board = board->next) {
        const enum pcoll_visit one = visit(board);

        all = one > all ? one : all;
    }
    pthread_mutex_unlock(&mutex);
    return all;
}
