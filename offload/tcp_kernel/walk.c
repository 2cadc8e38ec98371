/* The walk; the contract is in walk.h. */
#include "offload/tcp_kernel/walk.h"

#include <stdlib.h>

#include "offload/autonomous/autonomous.h"

/* ---- outlines ---- */

size_t pcoll_tcp_outline_bytes(const struct pcoll_plan *plan)
{
    return sizeof(struct tcp_outline) + (size_t)plan->nentries * sizeof(struct tcp_note);
}

static struct tcp_note note_of(const struct pcoll_plan *plan, int phase, int i)
{
    const struct pcoll_entry *entry = &plan->entries[i];

    return (struct tcp_note){
        .phase = phase,
        .op = (int32_t)entry->op,
        .trigger = entry->trigger,
        .done = entry->done,
        .peer = entry->peer,
        .peer_counter = entry->peer_counter,
        .neighbor = entry->peer == PCOLL_NONE ? 0 : pcoll_autonomous_neighbor(plan, entry->peer),
        .buffer = (int32_t)entry->remote.buffer,
        .threshold = entry->threshold,
        .done_add = entry->done_add,
        .peer_add = entry->peer_add,
        .offset = entry->remote.offset,
        .bytes = entry->bytes,
    };
}

void pcoll_tcp_outline_write(const struct pcoll_plan *plan, struct tcp_outline *outline)
{
    *outline = (struct tcp_outline){.nphases = plan->nphases,
                                    .ncounters = plan->ncounters,
                                    .nneighbors = plan->nneighbors,
                                    .nnotes = plan->nentries};
    for (int p = 0; p < plan->nphases; p++)
        for (int k = 0; k < plan->phases[p].count; k++) {
            const int i = plan->phases[p].first + k;

            outline->notes[i] = note_of(plan, p, i);
        }
}

static bool is_counter(const struct tcp_outline *outline, int counter)
{
    return counter >= PCOLL_NONE && counter < outline->ncounters;
}

/* Returns whether the note names nothing that does not exist. */
static bool is_note_valid(const struct tcp_walk *walk, int rank, const struct tcp_note *note)
{
    const struct tcp_outline *outline = walk->outlines[rank];

    return is_counter(outline, note->trigger) && is_counter(outline, note->done) &&
           note->phase >= 0 && note->phase < outline->nphases &&
           (note->peer == PCOLL_NONE ||
            (note->peer >= 0 && note->peer < walk->nranks && note->neighbor >= 0 &&
             note->neighbor < outline->nneighbors &&
             is_counter(walk->outlines[note->peer], note->peer_counter)));
}

static bool is_valid(const struct tcp_walk *walk, size_t bytes)
{
    const size_t most = (bytes - sizeof(struct tcp_outline)) / sizeof(struct tcp_note);

    for (int r = 0; r < walk->nranks; r++) {
        const struct tcp_outline *outline = walk->outlines[r];

        if (outline->nphases != walk->outlines[0]->nphases || outline->ncounters < 0 ||
            outline->nneighbors < 0 || outline->nnotes < 0 || (size_t)outline->nnotes > most)
            return false;
    }
    for (int r = 0; r < walk->nranks; r++)
        for (int i = 0; i < walk->outlines[r]->nnotes; i++)
            if (!is_note_valid(walk, r, &walk->outlines[r]->notes[i]))
                return false;
    return true;
}

/* ---- ranks ---- */

/* Entries that may fire and touch one neighbor, the oldest first. */
struct queue {
    int first, last; /* PCOLL_NONE: none */
    int round;       /* when one of them fired */
};

/* A counter of a rank, or a queue of it. */
struct item {
    int rank, index;
};

struct walker {
    int *waiting;         /* [ncounters]: the next entry that waits for it; PCOLL_NONE: none */
    bool *raised;         /* [ncounters]: it is on the list */
    struct queue *queues; /* [nneighbors] */
    int *next;            /* [nnotes]: in its queue */
    int end;              /* of the entries of this phase */
};

struct run {
    struct tcp_walk *walk;
    struct walker *walkers; /* [nranks] */
    struct item *raised;    /* a ring of `nraised` counters to look at, from `first` on */
    int first, nraised, nall;
    struct item *now, *later; /* queues that are not empty: for this round, for the next one */
    int nnow, nlater;
    int round;
};

static const struct tcp_note *note_at(const struct run *run, int rank, int i)
{
    return &run->walk->outlines[rank]->notes[i];
}

static bool is_move(const struct tcp_note *note)
{
    return note->op == PCOLL_OP_PUT || note->op == PCOLL_OP_GET;
}

/* Have somebody look at the counter. */
static void mark(struct run *run, int rank, int counter)
{
    struct walker *w = &run->walkers[rank];

    if (w->raised[counter])
        return;
    w->raised[counter] = true;
    run->raised[(run->first + run->nraised++) % run->nall] = (struct item){rank, counter};
}

static void raise(struct run *run, int rank, int counter, uint64_t add)
{
    if (counter == PCOLL_NONE)
        return;
    run->walk->counters[rank][counter] += add;
    mark(run, rank, counter);
}

static void note_event(struct run *run, int rank, int i)
{
    run->walk->events[run->walk->nevents++] = (struct tcp_event){rank, i, run->round};
}

static void enqueue(struct run *run, int rank, int i)
{
    struct walker *w = &run->walkers[rank];
    const int neighbor = note_at(run, rank, i)->neighbor;
    struct queue *q = &w->queues[neighbor];

    w->next[i] = PCOLL_NONE;
    if (q->first != PCOLL_NONE) {
        w->next[q->last] = i;
    } else {
        q->first = i;
        if (q->round == run->round)
            run->later[run->nlater++] = (struct item){rank, neighbor};
        else
            run->now[run->nnow++] = (struct item){rank, neighbor};
    }
    q->last = i;
}

/* The entry's trigger is reached. If it touches no neighbor, it fires at once. */
static void trigger(struct run *run, int rank, int i)
{
    const struct tcp_note *note = note_at(run, rank, i);

    if (note->peer != PCOLL_NONE) {
        enqueue(run, rank, i);
        return;
    }
    note_event(run, rank, i);
    raise(run, rank, note->done, note->done_add);
}

/* Returns whether entry i waits for that counter; the entries of a phase are sorted by trigger and
 * threshold. */
static bool waits_for(const struct run *run, int rank, int i, int counter)
{
    return i != PCOLL_NONE && i < run->walkers[rank].end &&
           note_at(run, rank, i)->trigger == counter;
}

/* Look at all counters that have been raised. */
static void settle(struct run *run)
{
    while (run->nraised > 0) {
        const struct item item = run->raised[run->first];
        struct walker *w = &run->walkers[item.rank];
        int *i = &w->waiting[item.index];

        run->first = (run->first + 1) % run->nall;
        run->nraised--;
        w->raised[item.index] = false;
        while (waits_for(run, item.rank, *i, item.index) &&
               (int64_t)(run->walk->counters[item.rank][item.index] -
                         note_at(run, item.rank, *i)->threshold) >= 0)
            trigger(run, item.rank, (*i)++);
    }
}

/* ---- rounds ---- */

/* The first entry of a queue fires. */
static void fire(struct run *run, struct item item)
{
    struct walker *w = &run->walkers[item.rank];
    struct queue *q = &w->queues[item.index];
    const int i = q->first;
    const struct tcp_note *note = note_at(run, item.rank, i);

    q->round = run->round;
    q->first = w->next[i];
    if (q->first != PCOLL_NONE)
        run->later[run->nlater++] = item;
    note_event(run, item.rank, i);
    if (!is_move(note))
        raise(run, item.rank, note->done, note->done_add);
    settle(run);
}

/* What the events of the last round have done to others, and what has moved. */
static void take_effect(struct run *run, int first)
{
    for (int e = first; e < run->walk->nevents; e++) {
        const struct tcp_event event = run->walk->events[e];
        const struct tcp_note *note = note_at(run, event.rank, event.entry);

        if (note->peer != PCOLL_NONE)
            raise(run, note->peer, note->peer_counter, note->peer_add);
        if (is_move(note))
            raise(run, event.rank, note->done, note->done_add);
    }
}

static void swap_lists(struct run *run)
{
    struct item *now = run->now;

    run->now = run->later;
    run->later = now;
    run->nnow = run->nlater;
    run->nlater = 0;
}

static void walk_round(struct run *run)
{
    const int first = run->walk->nevents;

    for (int i = 0; i < run->nnow; i++)
        fire(run, run->now[i]);
    run->round++;
    swap_lists(run);
    take_effect(run, first);
    settle(run);
}

/* Make the entries of phase p wait; returns their number. */
static int begin_phase(struct run *run, int p, int rank)
{
    const struct tcp_outline *outline = run->walk->outlines[rank];
    struct walker *w = &run->walkers[rank];
    const int first = w->end;

    for (int c = 0; c < outline->ncounters; c++)
        w->waiting[c] = PCOLL_NONE;
    while (w->end < outline->nnotes && outline->notes[w->end].phase == p)
        w->end++;
    for (int i = first; i < w->end; i++) {
        const int counter = outline->notes[i].trigger;

        if (counter == PCOLL_NONE) {
            trigger(run, rank, i);
        } else if (w->waiting[counter] == PCOLL_NONE) {
            w->waiting[counter] = i;
            mark(run, rank, counter);
        }
    }
    return w->end - first;
}

/* An entry that no signal can reach any more would be a defect of the plans. */
static bool walk_phase(struct run *run, int p)
{
    int expected = run->walk->nevents;

    for (int r = 0; r < run->walk->nranks; r++)
        expected += begin_phase(run, p, r);
    settle(run);
    while (run->nnow > 0)
        walk_round(run);
    run->round++;
    return run->walk->nevents == expected;
}

/* ---- the beginning and the end ---- */

/* What the walkers have in common. */
struct pools {
    int *waiting, *next;
    bool *raised;
    struct queue *queues;
};

static void free_run(struct run *run, struct pools *pools)
{
    free(pools->waiting);
    free(pools->next);
    free(pools->raised);
    free(pools->queues);
    free(run->walkers);
    free(run->raised);
    free(run->now);
    free(run->later);
}

/* How much all ranks have of each. */
struct totals {
    size_t counters, neighbors, notes;
};

static struct totals add_up(const struct tcp_walk *walk)
{
    struct totals all = {0};

    for (int r = 0; r < walk->nranks; r++) {
        all.counters += (size_t)walk->outlines[r]->ncounters;
        all.neighbors += (size_t)walk->outlines[r]->nneighbors;
        all.notes += (size_t)walk->outlines[r]->nnotes;
    }
    return all;
}

static bool get_memory(struct run *run, struct pools *pools, const struct totals *all)
{
    struct tcp_walk *walk = run->walk;

    pools->waiting = calloc(all->counters + 1, sizeof(*pools->waiting));
    pools->next = calloc(all->notes + 1, sizeof(*pools->next));
    pools->raised = calloc(all->counters + 1, sizeof(*pools->raised));
    pools->queues = calloc(all->neighbors + 1, sizeof(*pools->queues));
    run->walkers = calloc((size_t)walk->nranks, sizeof(*run->walkers));
    run->raised = calloc(all->counters + 1, sizeof(*run->raised));
    run->now = calloc(all->neighbors + 1, sizeof(*run->now));
    run->later = calloc(all->neighbors + 1, sizeof(*run->later));
    walk->counters[0] = calloc(all->counters + 1, sizeof(*walk->counters[0]));
    walk->events = calloc(all->notes + 1, sizeof(*walk->events));
    return pools->waiting && pools->next && pools->raised && pools->queues && run->walkers &&
           run->raised && run->now && run->later && walk->counters[0] && walk->events;
}

/* Give each rank its part. */
static void divide(struct run *run, struct pools pools)
{
    struct tcp_walk *walk = run->walk;
    uint64_t *counters = walk->counters[0];

    for (int r = 0; r < walk->nranks; r++) {
        const struct tcp_outline *outline = walk->outlines[r];

        run->walkers[r] = (struct walker){.waiting = pools.waiting,
                                          .raised = pools.raised,
                                          .queues = pools.queues,
                                          .next = pools.next};
        for (int n = 0; n < outline->nneighbors; n++)
            pools.queues[n] = (struct queue){PCOLL_NONE, PCOLL_NONE, PCOLL_NONE};
        walk->counters[r] = counters;
        counters += outline->ncounters;
        pools.waiting += outline->ncounters;
        pools.raised += outline->ncounters;
        pools.queues += outline->nneighbors;
        pools.next += outline->nnotes;
    }
}

static enum pcoll_result walk_all(struct tcp_walk *walk)
{
    const struct totals all = add_up(walk);
    struct run run = {.walk = walk, .nall = (int)all.counters};
    struct pools pools = {0};
    enum pcoll_result result = PCOLL_OK;

    if (!get_memory(&run, &pools, &all))
        result = PCOLL_ERR_NOMEM;
    else
        divide(&run, pools);
    for (int p = 0; result == PCOLL_OK && p < walk->outlines[0]->nphases; p++)
        if (!walk_phase(&run, p))
            result = PCOLL_ERR_INVALID;
    if (result == PCOLL_OK && (size_t)walk->nevents != all.notes)
        result = PCOLL_ERR_INVALID;
    free_run(&run, &pools);
    return result;
}

enum pcoll_result pcoll_tcp_walk_create(int nranks, const void *all, size_t bytes,
                                        struct tcp_walk **walk_p)
{
    struct tcp_walk *walk = calloc(1, sizeof(*walk));
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (walk == NULL)
        return PCOLL_ERR_NOMEM;
    walk->nranks = nranks;
    walk->outlines = calloc((size_t)nranks, sizeof(*walk->outlines));
    walk->counters = calloc((size_t)nranks, sizeof(*walk->counters));
    for (int r = 0; walk->outlines && r < nranks; r++)
        walk->outlines[r] = (const void *)((const char *)all + (size_t)r * bytes);
    if (walk->outlines && walk->counters)
        result = is_valid(walk, bytes) ? walk_all(walk) : PCOLL_ERR_INVALID;
    if (result == PCOLL_OK)
        *walk_p = walk;
    else
        pcoll_tcp_walk_destroy(walk);
    return result;
}

void pcoll_tcp_walk_destroy(struct tcp_walk *walk)
{
    if (walk == NULL)
        return;
    if (walk->counters)
        free(walk->counters[0]);
    free(walk->counters);
    free((void *)walk->outlines);
    free(walk->events);
    free(walk);
}
