/* The agent's visits of plans with boards. The contract is in node/node.h and node/board_state.h.
 */
#include "offload/node/node.h"

#include <pthread.h>

#include "offload/node/board_state.h"

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

void pcoll_node_visit(struct pcoll_node_board *board)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;

    pthread_once(&watched, watch_forks);
    pthread_mutex_lock(&mutex);
    board->next = visited;
    visited = board;
    pthread_mutex_unlock(&mutex);
}

void pcoll_node_leave(struct pcoll_node_board *board)
{
    struct pcoll_node_board **link = &visited;

    pthread_mutex_lock(&mutex);
    while (*link != NULL && *link != board)
        link = &(*link)->next;
    if (*link != NULL)
        *link = board->next;
    pthread_mutex_unlock(&mutex);
}

/* Performs one chunk of each entry that is offered to all. */
static bool help_member(struct pcoll_node_bound *bound, const struct board_member *member)
{
    bool moved = false;

    for (int i = 0; i < member->n; i++)
        moved |=
            member->notices[i].is_public && pcoll_node_help_with(bound, &member->notices[i], true);
    return moved;
}

static enum pcoll_visit visit(struct pcoll_node_board *board)
{
    bool moved = false;

    if (atomic_load_explicit(board->active, memory_order_seq_cst) == 0)
        return PCOLL_VISIT_NONE;
    for (int i = 0; i < board->nmembers; i++)
        moved |= help_member(board->bound, &board->members[i]);
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
