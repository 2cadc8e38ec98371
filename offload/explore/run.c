/*
 * The explorer: run a job once, in order or in a random order.
 *
 * Each event gets a key when it becomes possible; of the possible events the one with the least key
 * happens. In order, keys count up. At random, they are drawn, and some events are late: their key
 * is greater than that of all others, so that they happen when nothing else can.
 */
#include "offload/explore/state.h"

#include <stdlib.h>

struct keyed {
    uint64_t key;
    struct explore_event event;
};

struct scheduler {
    struct pcoll_explore *explore;
    bool random;
    uint64_t next;                    /* the next key, or the state of the random generator */
    unsigned late[EXPLORE_NUM_KINDS]; /* share of late events by kind, in 1/16 */
    int slow_rank;                    /* all of its events are late */
    struct keyed *heap;
    int count;
    uint8_t *offered; /* of tasks, then of ranks: bits 1 << kind */
    int *waiting;     /* for each counter: the first task on it that has not been offered, or -1 */
};

/* splitmix64 */
static uint64_t draw(struct scheduler *s)
{
    uint64_t z = s->next += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void choose_character(struct scheduler *s, uint64_t seed)
{
    static const unsigned shares[] = {0, 0, 1, 4, 12, 16};

    s->random = true;
    s->next = seed;
    for (int kind = 0; kind < EXPLORE_NUM_KINDS; kind++)
        s->late[kind] = shares[draw(s) % (sizeof(shares) / sizeof(shares[0]))];
    s->slow_rank = (int)(draw(s) % (2 * (uint64_t)s->explore->nranks));
}

static int rank_of(const struct pcoll_explore *explore, struct explore_event event)
{
    if (event.kind == EXPLORE_START || event.kind == EXPLORE_COMPLETE)
        return event.index;
    return explore->task[event.index].rank;
}

static uint64_t key_of(struct scheduler *s, struct explore_event event)
{
    uint64_t key;

    if (!s->random)
        return s->next++;
    key = draw(s);
    if (rank_of(s->explore, event) == s->slow_rank || (key & 15) < s->late[event.kind])
        return key | (uint64_t)1 << 63;
    return key >> 1;
}

static void push(struct scheduler *s, struct keyed item)
{
    int i = s->count++;

    for (; i > 0 && s->heap[(i - 1) / 2].key > item.key; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = item;
}

static struct explore_event pop(struct scheduler *s)
{
    const struct explore_event first = s->heap[0].event;
    const struct keyed item = s->heap[--s->count];
    int i = 0;

    for (int child; (child = 2 * i + 1) < s->count; i = child) {
        if (child + 1 < s->count && s->heap[child + 1].key < s->heap[child].key)
            child++;
        if (s->heap[child].key >= item.key)
            break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = item;
    return first;
}

/* Queue the event once if it is possible. Returns false if it is not possible yet. */
static bool offer(struct scheduler *s, enum explore_kind kind, int index)
{
    const struct explore_event event = {kind, index};
    const bool is_rank = kind == EXPLORE_START || kind == EXPLORE_COMPLETE;
    uint8_t *offered = &s->offered[is_rank ? s->explore->ntasks + index : index];

    if (*offered >> kind & 1)
        return true;
    if (!pcoll_explore_can(s->explore, event))
        return false;
    *offered |= (uint8_t)(1 << kind);
    push(s, (struct keyed){key_of(s, event), event});
    return true;
}

static void offer_triggered(struct scheduler *s, int rank, int counter)
{
    int *waiting = &s->waiting[s->explore->rank[rank].first_counter + (size_t)counter];

    while (*waiting >= 0 && offer(s, EXPLORE_FIRE, *waiting))
        *waiting = s->explore->task[*waiting].next;
}

/* Offer the next task from the same rank to the same peer, if it has been issued. */
static void offer_next_of_connection(struct scheduler *s, const struct explore_task *task)
{
    const int next = pcoll_explore_next_turn(s->explore, task->connection);

    if (next >= 0) {
        offer(s, EXPLORE_WRITE, next);
        offer(s, EXPLORE_SIGNAL, next);
    }
}

static void offer_after_start(struct scheduler *s, int rank)
{
    const struct explore_rank *mine = &s->explore->rank[rank];

    for (int i = pcoll_explore_first_on(s->explore, rank, PCOLL_NONE); i >= 0;
         i = s->explore->task[i].next)
        offer(s, EXPLORE_FIRE, i);
    for (int c = 0; c < mine->plan->ncounters; c++) {
        s->waiting[mine->first_counter + (size_t)c] = pcoll_explore_first_on(s->explore, rank, c);
        offer_triggered(s, rank, c);
    }
    offer(s, EXPLORE_COMPLETE, rank);
}

static void offer_after_complete(struct scheduler *s, int rank)
{
    s->offered[s->explore->ntasks + rank] = 0;
    for (int r = 0; r < s->explore->nranks; r++)
        offer(s, EXPLORE_START, r);
}

static void offer_after_step(struct scheduler *s, struct explore_event event)
{
    const struct explore_task *task = &s->explore->task[event.index];

    for (int kind = EXPLORE_READ; kind <= EXPLORE_SIGNAL; kind++)
        offer(s, (enum explore_kind)kind, event.index);
    if (event.kind == EXPLORE_FIRE && task->next >= 0)
        offer(s, EXPLORE_FIRE, task->next);
    if (event.kind == EXPLORE_DONE) {
        if (task->entry->done != PCOLL_NONE)
            offer_triggered(s, task->rank, task->entry->done);
        offer(s, EXPLORE_COMPLETE, task->rank);
    }
    if (event.kind == EXPLORE_SIGNAL)
        offer_triggered(s, task->entry->peer, task->entry->peer_counter);
    if (s->explore->ordered && (event.kind == EXPLORE_SIGNAL || event.kind == EXPLORE_WRITE))
        offer_next_of_connection(s, task);
}

static bool run_events(struct scheduler *s)
{
    pcoll_explore_reset(s->explore);
    for (size_t c = 0; c < s->explore->ncounters; c++)
        s->waiting[c] = -1;
    for (int r = 0; r < s->explore->nranks; r++)
        offer(s, EXPLORE_START, r);
    while (s->count > 0) {
        const struct explore_event event = pop(s);

        if (!pcoll_explore_apply(s->explore, event))
            return false;
        if (event.kind == EXPLORE_START)
            offer_after_start(s, event.index);
        else if (event.kind == EXPLORE_COMPLETE)
            offer_after_complete(s, event.index);
        else
            offer_after_step(s, event);
    }
    return pcoll_explore_end(s->explore);
}

static enum pcoll_result run(struct scheduler *s)
{
    const size_t events = (size_t)s->explore->ntasks + (size_t)s->explore->nranks;
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (s->explore->options.helpers > 0)
        return PCOLL_ERR_INVALID;
    s->explore->compares = false;
    s->heap = calloc(events * EXPLORE_NUM_KINDS, sizeof(*s->heap));
    s->offered = calloc(events, sizeof(*s->offered));
    s->waiting = malloc((s->explore->ncounters + 1) * sizeof(*s->waiting));
    if (s->heap && s->offered && s->waiting)
        result = run_events(s) ? PCOLL_OK : PCOLL_ERR_INVALID;
    free(s->heap);
    free(s->offered);
    free(s->waiting);
    return result;
}

enum pcoll_result pcoll_explore_run_inorder(struct pcoll_explore *explore)
{
    struct scheduler s = {.explore = explore, .slow_rank = -1};

    return run(&s);
}

enum pcoll_result pcoll_explore_run_random(struct pcoll_explore *explore, uint64_t seed)
{
    struct scheduler s = {.explore = explore};

    choose_character(&s, seed);
    return run(&s);
}
