/* Boards of plans: what others of the node do, ranks that wait and the agent. The contract is in
 * node/board.h. */
#include <pthread.h>

#include "offload/node/board_state.h"
#include "offload/node/node.h"

/* ---- one notice ---- */

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
    pcoll_node_board_find_way(bound, notice, way);
    if (notice->noperands > 0)
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
    if (pcoll_node_board_perform(notice, &way, chunk) == 0) {
        pcoll_node_board_tally(notice, PCOLL_BY_HELPER);
        pcoll_node_board_finish(bound, notice, self);
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

void pcoll_node_board_help(struct pcoll_node_bound *bound)
{
    const int n = bound->board->nmembers;

    for (int i = 1; i < n; i++)
        if (help_member(bound, (bound->number + i) % n, 0))
            return;
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
