/*
 * Which event must precede which: X precedes Y exactly if Y does not happen while X is held back.
 *
 * Counters only rise and a fired entry stays fired, so whatever happens can only enable more
 * events. Of all runs without X there is therefore a greatest one, in which everything else takes
 * effect at once. An event outside it is impossible before X; one inside it is possible. A single
 * run of the plans with X held back thus decides for all Y and all orders of arrivals together.
 *
 * One cycle stands for all. X in cycle j disturbs no earlier cycle, since these complete without it
 * according to the check for life; they leave every counter at j * gain, which is the start of
 * cycle 0 shifted. The run has no last instance: it ends when nothing more can happen. Only a rank
 * that has run ahead farther than the others' buffers and credits could explain is assumed to run
 * forever and to signal without end. That can only make more events possible, so at worst a correct
 * plan is refused.
 */
#include "algorithms/proof/private.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ENDLESS (INT64_MAX / 2)

/* The state of all ranks in a run. */
struct pcoll_order_run {
    const struct pcoll_order_event *held; /* may be NULL */
    int limit;                            /* instances that a rank may start */
    bool is_endless;                      /* a rank at the limit runs forever */
    uint64_t *seen;                       /* one bit for each event of cycles 0 and 1; may be
                                           * NULL */
    int *instance, *left; /* [rank]: -1 before the first start; number of entries still to fire */
    int *started;         /* [rank]: the number of the START of that instance */
    int *first;           /* [rank]: its first entry */
    int64_t *value;       /* [counter] */
    int *next;            /* [counter]: its next entry in the current phase */
    int *risen, nrisen;   /* counters to examine, each at most once */
    char *is_risen;
    int *idle, nidle; /* ranks to start */
};

/* The counters of all ranks have consecutive numbers. */
struct pcoll_order {
    const struct pcoll_check *check;
    int nevents;       /* in a cycle */
    int *event_base;   /* [rank * nphases + phase] */
    int *counter_base; /* [rank] */
    int *counter_rank;
    int *group_base; /* [rank * nphases + phase]: offset in groups */
    int *groups;     /* [group base + counter + 1]: first entry of that trigger */
    uint64_t **rows; /* [event of cycle 0]: what happens without it; NULL: not run yet */
    bool failed;
    void *owned[16]; /* allocated by array() */
    int nowned;
    struct pcoll_order_run run;
};

static const struct pcoll_plan *plan_of(const struct pcoll_order *order, int rank)
{
    return order->check->plans[rank];
}

/* ---- events and groups of entries have numbers ---- */

/* Allocates a zeroed array of n elements, which is freed with the order; a failure is recorded. */
static void *array(struct pcoll_order *order, int n, size_t size)
{
    void *memory = calloc((size_t)n + 1, size);

    assert(order->nowned < (int)(sizeof(order->owned) / sizeof(order->owned[0])));
    if (memory == NULL)
        order->failed = true;
    order->owned[order->nowned++] = memory;
    return memory;
}

/* Number the events of one phase and the groups of its entries. */
static int lay_out_phase(struct pcoll_order *order, int rank, int phase, int group)
{
    const struct pcoll_plan *plan = plan_of(order, rank);
    int i = plan->phases[phase].first, end = i + plan->phases[phase].count;

    order->event_base[rank * plan->nphases + phase] = order->nevents;
    order->nevents += 2 + 2 * plan->phases[phase].count;
    order->group_base[rank * plan->nphases + phase] = group;
    for (int c = PCOLL_NONE; c <= plan->ncounters; c++) {
        while (i < end && plan->entries[i].trigger < c)
            i++;
        order->groups[group++] = i;
    }
    return group;
}

static bool lay_out(struct pcoll_order *order)
{
    const struct pcoll_check *check = order->check;
    int group = 0, counter = 0;

    for (int rank = 0; rank < check->nranks; rank++) {
        order->counter_base[rank] = counter;
        for (int c = 0; c < plan_of(order, rank)->ncounters; c++)
            order->counter_rank[counter++] = rank;
        for (int phase = 0; phase < check->nphases; phase++)
            group = lay_out_phase(order, rank, phase, group);
    }
    order->counter_base[check->nranks] = counter;
    order->rows = array(order, order->nevents, sizeof(*order->rows));
    return !order->failed;
}

static bool allocate(struct pcoll_order *order)
{
    const struct pcoll_check *check = order->check;
    int nphases = check->nphases, nranks = check->nranks, ncounters = 0;

    for (int rank = 0; rank < nranks; rank++)
        ncounters += plan_of(order, rank)->ncounters;
    order->event_base = array(order, nranks * nphases, sizeof(int));
    order->counter_base = array(order, nranks, sizeof(int));
    order->counter_rank = array(order, ncounters, sizeof(int));
    order->group_base = array(order, nranks * nphases, sizeof(int));
    order->groups = array(order, (ncounters + 2 * nranks) * nphases, sizeof(int));
    order->run.instance = array(order, nranks, sizeof(int));
    order->run.left = array(order, nranks, sizeof(int));
    order->run.started = array(order, nranks, sizeof(int));
    order->run.first = array(order, nranks, sizeof(int));
    order->run.idle = array(order, nranks, sizeof(int));
    order->run.value = array(order, ncounters, sizeof(int64_t));
    order->run.next = array(order, ncounters, sizeof(int));
    order->run.risen = array(order, ncounters, sizeof(int));
    order->run.is_risen = array(order, ncounters, sizeof(char));
    return !order->failed;
}

enum pcoll_result pcoll_order_create(const struct pcoll_check *check, struct pcoll_order **order_p)
{
    struct pcoll_order *order = calloc(1, sizeof(*order));

    if (order == NULL)
        return PCOLL_ERR_NOMEM;
    order->check = check;
    if (!allocate(order) || !lay_out(order)) {
        pcoll_order_destroy(order);
        return PCOLL_ERR_NOMEM;
    }
    *order_p = order;
    return PCOLL_OK;
}

void pcoll_order_destroy(struct pcoll_order *order)
{
    for (int i = 0; order->rows && i < order->nevents; i++)
        free(order->rows[i]);
    for (int i = 0; i < order->nowned; i++)
        free(order->owned[i]);
    free(order);
}

/* ---- a run ---- */

/* The number of an event after a START of the same rank that has the number `started`; the entries
 * of its phase are those from `first` on. */
static int number_after(int started, int first, struct pcoll_order_event event)
{
    const bool is_of_entry = event.kind == PCOLL_FIRE || event.kind == PCOLL_ARRIVE;

    return started + (int)event.kind + (is_of_entry ? 2 * (event.entry - first) : 0);
}

static int start_number(const struct pcoll_order *order, int rank, int instance)
{
    const int nphases = order->check->nphases;

    return order->event_base[rank * nphases + instance % nphases] +
           instance / nphases * order->nevents;
}

static int event_number(const struct pcoll_order *order, struct pcoll_order_event event)
{
    const int phase = event.instance % order->check->nphases;

    return number_after(start_number(order, event.rank, event.instance),
                        plan_of(order, event.rank)->phases[phase].first, event);
}

/* The event is of the rank's running instance, or comes later than those that are seen. */
static void see(struct pcoll_order *order, struct pcoll_order_event event)
{
    const struct pcoll_order_run *run = &order->run;

    if (run->seen && event.instance < 2 * order->check->nphases) {
        const int number = number_after(run->started[event.rank], run->first[event.rank], event);

        run->seen[number / 64] |= (uint64_t)1 << number % 64;
    }
}

static bool is_held(const struct pcoll_order_run *run, struct pcoll_order_event event)
{
    const struct pcoll_order_event *held = run->held;

    return held && held->rank == event.rank && held->instance == event.instance &&
           held->kind == event.kind && held->entry == event.entry;
}

/* A get's or copy's effects on the peer wait for the operation, so they have no order. */
static bool keeps_order(const struct pcoll_entry *entry)
{
    return entry->peer != PCOLL_NONE && (entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_ADD);
}

/* Returns whether the held event also holds back this arrival, because it comes later in order.
 * Entries of one trigger fire in the order of the list, and those of an instance before those of
 * the next. */
static bool is_behind(const struct pcoll_order *order, struct pcoll_order_event arrival)
{
    const struct pcoll_order_event *held = order->run.held;
    const struct pcoll_plan *plan = plan_of(order, arrival.rank);
    const struct pcoll_entry *first, *second = &plan->entries[arrival.entry];

    if (!held || held->rank != arrival.rank || !plan->ordered)
        return false;
    if (held->kind != PCOLL_FIRE && held->kind != PCOLL_ARRIVE)
        return false;
    first = &plan->entries[held->entry];
    if (!keeps_order(first) || !keeps_order(second) || first->peer != second->peer ||
        first->rail != second->rail)
        return false;
    return arrival.instance > held->instance ||
           (arrival.instance == held->instance && first->trigger == second->trigger &&
            arrival.entry > held->entry);
}

static void raise_counter(struct pcoll_order *order, int rank, int counter, int64_t add)
{
    struct pcoll_order_run *run = &order->run;
    int c;

    if (counter == PCOLL_NONE)
        return;
    c = order->counter_base[rank] + counter;
    run->value[c] = add == ENDLESS ? ENDLESS : run->value[c] + add;
    if (!run->is_risen[c])
        run->risen[run->nrisen++] = c;
    run->is_risen[c] = 1;
}

/* The effects on the peer, unless they are held back. */
static void arrive(struct pcoll_order *order, int rank, int instance, int i, int64_t add)
{
    const struct pcoll_entry *entry = &plan_of(order, rank)->entries[i];
    struct pcoll_order_event event = {PCOLL_ARRIVE, rank, instance, i};

    if (is_held(&order->run, event) || is_behind(order, event))
        return;
    see(order, event);
    raise_counter(order, entry->peer, entry->peer_counter, add);
}

static void complete(struct pcoll_order *order, int rank)
{
    see(order, (struct pcoll_order_event){PCOLL_COMPLETE, rank, order->run.instance[rank], 0});
    order->run.idle[order->run.nidle++] = rank;
}

static void fire(struct pcoll_order *order, int rank, int i)
{
    const struct pcoll_entry *entry = &plan_of(order, rank)->entries[i];
    struct pcoll_order_event event = {PCOLL_FIRE, rank, order->run.instance[rank], i};

    if (is_held(&order->run, event))
        return;
    see(order, event);
    raise_counter(order, rank, entry->done, (int64_t)entry->done_add);
    arrive(order, rank, event.instance, i, (int64_t)entry->peer_add);
    if (--order->run.left[rank] == 0)
        complete(order, rank);
}

/* The entries of `counter` (or PCOLL_NONE) in the current phase: [group[0], group[1]). */
static const int *group_of(const struct pcoll_order *order, int rank, int counter)
{
    int nphases = order->check->nphases, phase = order->run.instance[rank] % nphases;

    return &order->groups[order->group_base[rank * nphases + phase] + counter + 1];
}

/* Fire the entries whose threshold this counter has now reached. */
static void release(struct pcoll_order *order, int c)
{
    struct pcoll_order_run *run = &order->run;
    int rank = order->counter_rank[c], counter = c - order->counter_base[rank];
    const struct pcoll_plan *plan = plan_of(order, rank);
    int64_t raised;

    if (run->instance[rank] < 0)
        return;
    raised = run->instance[rank] / plan->nphases * (int64_t)plan->gain[counter];
    for (int end = group_of(order, rank, counter)[1]; run->next[c] < end;) {
        if (run->value[c] < (int64_t)plan->entries[run->next[c]].threshold + raised)
            return;
        fire(order, rank, run->next[c]++);
    }
}

/* The rank runs forever: its signals reach any threshold. */
static void signal_endlessly(struct pcoll_order *order, int rank)
{
    const struct pcoll_plan *plan = plan_of(order, rank);

    for (int i = 0; i < plan->nentries; i++) {
        raise_counter(order, rank, plan->entries[i].done, ENDLESS);
        arrive(order, rank, order->run.limit, i, ENDLESS);
    }
}

static void start(struct pcoll_order *order, int rank)
{
    struct pcoll_order_run *run = &order->run;
    const struct pcoll_plan *plan = plan_of(order, rank);
    struct pcoll_order_event event = {PCOLL_START, rank, run->instance[rank] + 1, 0};
    const struct pcoll_phase *phase = &plan->phases[event.instance % plan->nphases];
    const int *group;

    if (is_held(run, event))
        return;
    if (event.instance == run->limit) {
        if (run->is_endless)
            signal_endlessly(order, rank);
        return;
    }
    run->instance[rank] = event.instance;
    run->left[rank] = phase->count;
    run->started[rank] = start_number(order, rank, event.instance);
    run->first[rank] = phase->first;
    see(order, event);
    for (int c = 0; c < plan->ncounters; c++) {
        run->next[order->counter_base[rank] + c] = group_of(order, rank, c)[0];
        raise_counter(order, rank, c, 0);
    }
    if (run->left[rank] == 0)
        complete(order, rank);
    group = group_of(order, rank, PCOLL_NONE);
    for (int i = group[0]; i < group[1]; i++)
        fire(order, rank, i);
}

/* Run until nothing more can happen. */
static void run_all(struct pcoll_order *order)
{
    struct pcoll_order_run *run = &order->run;
    int nranks = order->check->nranks, ncounters = order->counter_base[nranks];

    memset(run->value, 0, (size_t)ncounters * sizeof(*run->value));
    for (int rank = 0; rank < nranks; rank++) {
        run->instance[rank] = -1;
        run->idle[run->nidle++] = rank;
    }
    while (run->nidle > 0 || run->nrisen > 0) {
        if (run->nidle > 0) {
            start(order, run->idle[--run->nidle]);
        } else {
            int c = run->risen[--run->nrisen];

            run->is_risen[c] = 0;
            release(order, c);
        }
    }
}

static size_t row_words(const struct pcoll_order *order)
{
    return (2 * (size_t)order->nevents + 63) / 64;
}

static uint64_t *run_without(struct pcoll_order *order, struct pcoll_order_event held)
{
    const struct pcoll_check *check = order->check;
    uint64_t *row = calloc(row_words(order), sizeof(*row));

    if (row == NULL) {
        order->failed = true;
        return NULL;
    }
    order->run.held = &held;
    order->run.limit = check->nphases * (check->nranks + 2);
    order->run.is_endless = true;
    order->run.seen = row;
    run_all(order);
    order->run.held = NULL;
    return row;
}

bool pcoll_order_before(struct pcoll_order *order, struct pcoll_order_event earlier,
                        struct pcoll_order_event later)
{
    int from = event_number(order, earlier), to = event_number(order, later);

    assert(from < order->nevents && to < 2 * order->nevents);
    if (order->rows[from] == NULL)
        order->rows[from] = run_without(order, earlier);
    if (order->rows[from] == NULL)
        return false;
    return !(order->rows[from][to / 64] >> to % 64 & 1);
}

bool pcoll_order_failed(const struct pcoll_order *order)
{
    return order->failed;
}

/* Name the first entry that a rank still waits for. */
static enum pcoll_result report_stuck(const struct pcoll_order *order, int rank)
{
    const struct pcoll_plan *plan = plan_of(order, rank);
    const struct pcoll_order_run *run = &order->run;
    int instance = run->instance[rank];

    for (int counter = 0; counter < plan->ncounters; counter++) {
        int c = order->counter_base[rank] + counter;

        if (run->next[c] < group_of(order, rank, counter)[1])
            return pcoll_check_fail(order->check, rank, instance % plan->nphases, run->next[c],
                                    "never fires: counter %d stays at %lld", counter,
                                    (long long)run->value[c]);
    }
    assert(0); /* a stuck rank waits for something */
    return PCOLL_ERR_INVALID;
}

enum pcoll_result pcoll_order_check_live(struct pcoll_order *order)
{
    const struct pcoll_check *check = order->check;

    for (int limit = 1; limit <= check->nphases; limit++) {
        order->run.limit = limit;
        order->run.is_endless = false;
        order->run.seen = NULL;
        run_all(order);
        for (int rank = 0; rank < check->nranks; rank++) {
            if (order->run.left[rank] > 0)
                return report_stuck(order, rank);
        }
    }
    return PCOLL_OK;
}
