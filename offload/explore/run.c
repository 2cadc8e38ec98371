/*
 * `sim`: run a job once, in order or in a random order.
 *
 * Each event gets a key when it becomes possible; of the possible ones that with the least key
 * happens.  In order, keys count up.  At random, they are drawn, and some events are late: their
 * key is greater than that of all others, so that they happen when nothing else can.
 */
#include "offload/explore/state.h"

#include <stdlib.h>

struct keyed {
    uint64_t key;
    struct sim_event event;
};

struct scheduler {
    struct pcoll_sim *sim;
    bool random;
    uint64_t next;                /* key, or state of the random generator */
    unsigned late[SIM_NUM_KINDS]; /* share of late events in 1/16, by kind */
    int slow_rank;                /* all of its events are late */
    struct keyed *heap;
    int count;
    uint8_t *offered; /* of slots, then of ranks: bits 1 << kind */
    int *waiting;     /* of a counter: the first slot on it not offered yet, or -1 */
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
    for (int kind = 0; kind < SIM_NUM_KINDS; kind++)
        s->late[kind] = shares[draw(s) % (sizeof(shares) / sizeof(shares[0]))];
    s->slow_rank = (int)(draw(s) % (2 * (uint64_t)s->sim->nranks));
}

static int rank_of(const struct pcoll_sim *sim, struct sim_event event)
{
    if (event.kind == SIM_START || event.kind == SIM_COMPLETE)
        return event.index;
    return sim->slot[event.index].rank;
}

static uint64_t key_of(struct scheduler *s, struct sim_event event)
{
    uint64_t key;

    if (!s->random)
        return s->next++;
    key = draw(s);
    if (rank_of(s->sim, event) == s->slow_rank || (key & 15) < s->late[event.kind])
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

static struct sim_event pop(struct scheduler *s)
{
    const struct sim_event first = s->heap[0].event;
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

/* Queue the event if it is possible, once.  False: not possible yet. */
static bool offer(struct scheduler *s, enum sim_kind kind, int index)
{
    const struct sim_event event = {kind, index};
    const bool is_rank = kind == SIM_START || kind == SIM_COMPLETE;
    uint8_t *offered = &s->offered[is_rank ? s->sim->nslots + index : index];

    if (*offered >> kind & 1)
        return true;
    if (!pcoll_sim_can(s->sim, event))
        return false;
    *offered |= (uint8_t)(1 << kind);
    push(s, (struct keyed){key_of(s, event), event});
    return true;
}

static void offer_triggered(struct scheduler *s, int rank, int counter)
{
    int *waiting = &s->waiting[s->sim->rank[rank].first_counter + (size_t)counter];

    while (*waiting >= 0 && offer(s, SIM_FIRE, *waiting))
        *waiting = s->sim->slot[*waiting].next;
}

/* What comes next after this slot from its rank to its peer, if that is on its way already. */
static void offer_next_of_pair(struct scheduler *s, const struct sim_slot *slot)
{
    const struct pcoll_sim *sim = s->sim;
    const int rank = slot->rank, pair = slot->pair;
    const int end = rank + 1 < sim->nranks ? sim->rank[rank + 1].first_slot : sim->nslots;

    for (int i = sim->rank[rank].first_slot; i < end; i++)
        if (sim->ticket[i] == sim->delivered[pair] + 1 && sim->slot[i].pair == pair) {
            offer(s, SIM_WRITE, i);
            offer(s, SIM_POUR, i);
        }
}

static void offer_after_start(struct scheduler *s, int rank)
{
    const struct sim_rank *mine = &s->sim->rank[rank];

    for (int i = pcoll_sim_first_on(s->sim, rank, PCOLL_NONE); i >= 0; i = s->sim->slot[i].next)
        offer(s, SIM_FIRE, i);
    for (int c = 0; c < mine->plan->ncounters; c++) {
        s->waiting[mine->first_counter + (size_t)c] = pcoll_sim_first_on(s->sim, rank, c);
        offer_triggered(s, rank, c);
    }
    offer(s, SIM_COMPLETE, rank);
}

static void offer_after_complete(struct scheduler *s, int rank)
{
    s->offered[s->sim->nslots + rank] = 0;
    for (int r = 0; r < s->sim->nranks; r++)
        offer(s, SIM_START, r);
}

static void offer_after_step(struct scheduler *s, struct sim_event event)
{
    const struct sim_slot *slot = &s->sim->slot[event.index];

    for (int kind = SIM_READ; kind <= SIM_POUR; kind++)
        offer(s, (enum sim_kind)kind, event.index);
    if (event.kind == SIM_FIRE && slot->next >= 0)
        offer(s, SIM_FIRE, slot->next);
    if (event.kind == SIM_DONE) {
        if (slot->entry->done != PCOLL_NONE)
            offer_triggered(s, slot->rank, slot->entry->done);
        offer(s, SIM_COMPLETE, slot->rank);
    }
    if (event.kind == SIM_POUR)
        offer_triggered(s, slot->entry->peer, slot->entry->peer_counter);
    if (s->sim->ordered && slot->pair >= 0 && (event.kind == SIM_POUR || event.kind == SIM_WRITE))
        offer_next_of_pair(s, slot);
}

static bool run_events(struct scheduler *s)
{
    pcoll_sim_reset(s->sim);
    for (size_t c = 0; c < s->sim->ncounters; c++)
        s->waiting[c] = -1;
    for (int r = 0; r < s->sim->nranks; r++)
        offer(s, SIM_START, r);
    while (s->count > 0) {
        const struct sim_event event = pop(s);

        if (!pcoll_sim_apply(s->sim, event))
            return false;
        if (event.kind == SIM_START)
            offer_after_start(s, event.index);
        else if (event.kind == SIM_COMPLETE)
            offer_after_complete(s, event.index);
        else
            offer_after_step(s, event);
    }
    return pcoll_sim_end(s->sim);
}

static enum pcoll_result run(struct scheduler *s)
{
    const size_t events = (size_t)s->sim->nslots + (size_t)s->sim->nranks;
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    s->heap = calloc(events * SIM_NUM_KINDS, sizeof(*s->heap));
    s->offered = calloc(events, sizeof(*s->offered));
    s->waiting = malloc((s->sim->ncounters + 1) * sizeof(*s->waiting));
    if (s->heap && s->offered && s->waiting)
        result = run_events(s) ? PCOLL_OK : PCOLL_ERR_INVALID;
    free(s->heap);
    free(s->offered);
    free(s->waiting);
    return result;
}

enum pcoll_result pcoll_sim_run_inorder(struct pcoll_sim *sim)
{
    struct scheduler s = {.sim = sim, .slow_rank = -1};

    return run(&s);
}

enum pcoll_result pcoll_sim_run_random(struct pcoll_sim *sim, uint64_t seed)
{
    struct scheduler s = {.sim = sim};

    choose_character(&s, seed);
    return run(&s);
}
