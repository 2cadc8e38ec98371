/* The send and receive formulation of a plan; schedule.h holds the idea and the contract. */
#include "tools/sim/schedule.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The tags of operations that entry i causes: 4 i + one of these. */
enum { TAG_FIRST, TAG_ANSWER, TAG_SIGNAL, TAGS };

/* One signal to a counter of the rank. */
struct inflow {
    int counter, op; /* the operation that sends this signal when it ends */
    uint64_t add;
    int source, rail, trigger, entry; /* see queues(); source NONE: this rank */
};

struct builder {
    const struct pcoll_plan *own;
    struct pcoll_schedule *schedule;
    int room, needs_room;
    struct inflow *inflows;
    int ninflows, inflow_room;
    int *first_op;   /* of each own entry; NONE: it has none */
    char *fired;     /* own entries, while something is held back */
    uint64_t *level; /* values of the own counters in that state */
    bool failed, unsupported;
};

/* ---- growing lists ---- */

static bool grow(void *list_p, int count, int *room, size_t size)
{
    void *wider, **list = list_p;

    if (count < *room)
        return true;
    *room = *room ? 2 * *room : 32;
    wider = realloc(*list, (size_t)*room * size);
    if (wider == NULL)
        return false;
    *list = wider;
    return true;
}

static int add_op(struct builder *b, struct pcoll_schedule_op op)
{
    struct pcoll_schedule *s = b->schedule;
    void *list = s->ops;

    if (!grow(&list, s->nops, &b->room, sizeof(*s->ops))) {
        b->failed = true;
        return 0;
    }
    s->ops = list;
    s->ops[s->nops] = op;
    return s->nops++;
}

static void add_need(struct builder *b, int need)
{
    struct pcoll_schedule *s = b->schedule;
    void *list = s->needs;

    if (!grow(&list, s->nneeds, &b->needs_room, sizeof(*s->needs))) {
        b->failed = true;
        return;
    }
    s->needs = list;
    s->needs[s->nneeds++] = need;
}

static void add_inflow(struct builder *b, struct inflow inflow)
{
    void *list = b->inflows;

    if (!grow(&list, b->ninflows, &b->inflow_room, sizeof(*b->inflows))) {
        b->failed = true;
        return;
    }
    b->inflows = list;
    b->inflows[b->ninflows++] = inflow;
}

/* ---- operations ---- */

/* The first operation of entry i of `plan`; this rank is one end of it. */
static struct pcoll_schedule_op first_of(const struct builder *b, const struct pcoll_plan *plan,
                                         int i)
{
    const struct pcoll_entry *entry = &plan->entries[i];
    const bool is_put = entry->op == PCOLL_OP_PUT;
    const bool is_own = plan == b->own;

    return (struct pcoll_schedule_op){
        .type = is_own ? PCOLL_SCHEDULE_SEND : PCOLL_SCHEDULE_RECV,
        .peer = is_own ? entry->peer : plan->rank,
        .rail = entry->rail,
        .tag = TAGS * i + TAG_FIRST,
        .bytes = is_put ? entry->bytes : 0,
        .is_data = is_put || pcoll_coll_has(plan->signature.coll, PCOLL_SYNCHRONIZES),
    };
}

/* The answer to a get, or the signal of a get or copy, derived from the first operation. */
static struct pcoll_schedule_op answer_of(struct pcoll_schedule_op op, uint64_t bytes)
{
    op.type = op.type == PCOLL_SCHEDULE_SEND ? PCOLL_SCHEDULE_RECV : PCOLL_SCHEDULE_SEND;
    op.tag += TAG_ANSWER;
    op.bytes = bytes;
    op.is_data = true;
    return op;
}

static struct pcoll_schedule_op signal_of(struct pcoll_schedule_op op)
{
    op.tag += TAG_SIGNAL;
    op.is_data = false;
    return op;
}

static bool signals_later(const struct pcoll_entry *entry)
{
    return entry->peer_counter != PCOLL_NONE &&
           (entry->op == PCOLL_OP_GET || entry->op == PCOLL_OP_COPY);
}

/* The bytes that a COPY copies; a REDUCE takes about as long as the copies of all operands but
 * one. */
static uint64_t work_of(const struct pcoll_entry *entry)
{
    return entry->op == PCOLL_OP_REDUCE ? (uint64_t)(entry->noperands - 1) * entry->bytes
                                        : entry->bytes;
}

/* Each of these operations needs the preceding one. */
static void add_own(struct builder *b, int i)
{
    const struct pcoll_entry *entry = &b->own->entries[i];
    const struct pcoll_schedule_op first = first_of(b, b->own, i);
    const bool is_local = entry->peer == PCOLL_NONE || entry->op == PCOLL_OP_COPY;
    int last;

    if (entry->op == PCOLL_OP_WAIT)
        return;
    last = add_op(b, is_local ? (struct pcoll_schedule_op){.type = PCOLL_SCHEDULE_CALC,
                                                           .peer = PCOLL_NONE,
                                                           .bytes = work_of(entry)}
                              : first);
    b->first_op[i] = last;
    if (entry->op == PCOLL_OP_GET)
        last = add_op(b, answer_of(first, entry->bytes));
    if (signals_later(entry))
        add_op(b, signal_of(first));
    if (entry->done != PCOLL_NONE)
        add_inflow(b, (struct inflow){.counter = entry->done,
                                      .op = last,
                                      .add = entry->done_add,
                                      .source = PCOLL_NONE,
                                      .entry = i});
}

/* What an entry of another rank does to this rank. */
static void add_other(struct builder *b, const struct pcoll_plan *plan, int i)
{
    const struct pcoll_entry *entry = &plan->entries[i];
    const struct pcoll_schedule_op first = first_of(b, plan, i);
    int op = PCOLL_NONE;

    if (entry->op != PCOLL_OP_COPY)
        op = add_op(b, first);
    if (entry->op == PCOLL_OP_GET)
        add_op(b, answer_of(first, entry->bytes));
    if (signals_later(entry))
        op = add_op(b, signal_of(first));
    if (entry->peer_counter == PCOLL_NONE)
        return;
    add_inflow(
        b, (struct inflow){.counter = entry->peer_counter,
                           .op = op,
                           .add = entry->peer_add,
                           .source = plan->rank,
                           .rail = plan->ordered && !signals_later(entry) ? entry->rail : -1 - i,
                           .trigger = entry->trigger,
                           .entry = i});
}

static void add_operations(struct builder *b, struct pcoll_plan *const *others, int nothers)
{
    for (int i = 0; i < b->own->phases[0].count; i++)
        add_own(b, i);
    for (int p = 0; p < nothers; p++)
        for (int i = 0; others[p]->rank != b->own->rank && i < others[p]->phases[0].count; i++)
            if (others[p]->entries[i].peer == b->own->rank)
                add_other(b, others[p], i);
}

/* ---- edges ---- */

static int order(int a, int b)
{
    return (a > b) - (a < b);
}

/* Sorts by counter; inflows of one counter that arrive in order are adjacent and in that order. */
static int compare_inflows(const void *left, const void *right)
{
    const struct inflow *a = left, *b = right;
    const int by[] = {order(a->counter, b->counter), order(a->source, b->source),
                      order(a->rail, b->rail), order(a->trigger, b->trigger),
                      order(a->entry, b->entry)};

    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++)
        if (by[i] != 0)
            return by[i];
    return 0;
}

/* Returns whether both arrive in the order of their entries, since the peer's plan is ordered. */
static bool queues(const struct inflow *a, const struct inflow *b)
{
    return a->source != PCOLL_NONE && a->counter == b->counter && a->source == b->source &&
           a->rail == b->rail && a->trigger == b->trigger;
}

/* Add all signals of other ranks, except what is held back: inflow `held` and those after it. */
static void signal_without(struct builder *b, int held)
{
    bool is_held = false;

    memset(b->level, 0, (size_t)b->own->ncounters * sizeof(*b->level));
    for (int i = 0; i < b->ninflows; i++) {
        is_held = i == held || (is_held && queues(&b->inflows[held], &b->inflows[i]));
        if (!is_held && b->inflows[i].source != PCOLL_NONE)
            b->level[b->inflows[i].counter] += b->inflows[i].add;
    }
}

/* Fire entry i if possible; its `done` is held back if it is inflow `held`. */
static bool fire_without(struct builder *b, int held, int i)
{
    const struct pcoll_entry *entry = &b->own->entries[i];
    const struct inflow *back = &b->inflows[held];

    if (b->fired[i] ||
        (entry->trigger != PCOLL_NONE && b->level[entry->trigger] < entry->threshold))
        return false;
    b->fired[i] = 1;
    if (entry->done != PCOLL_NONE && (back->source != PCOLL_NONE || back->entry != i))
        b->level[entry->done] += entry->done_add;
    return true;
}

/* Let everything happen that can happen without that inflow. */
static void run_without(struct builder *b, int held)
{
    bool again = true;

    memset(b->fired, 0, (size_t)b->own->phases[0].count);
    signal_without(b, held);
    while (again) {
        again = false;
        for (int i = 0; i < b->own->phases[0].count; i++)
            again |= fire_without(b, held, i);
    }
}

/* For each own entry and inflow: whether the entry needs it. */
static void find_needs(struct builder *b, char *needed)
{
    const int n = b->own->phases[0].count;

    for (int x = 0; x < b->ninflows; x++) {
        run_without(b, x);
        for (int i = 0; i < n; i++)
            needed[(size_t)i * (size_t)b->ninflows + (size_t)x] =
                !b->fired[i] && b->own->entries[i].trigger == b->inflows[x].counter;
    }
}

/* Of inflows that arrive in order, only the last is needed. */
static void add_needs(struct builder *b, const struct pcoll_entry *entry, const char *needed)
{
    uint64_t sum = 0;

    for (int x = 0; x < b->ninflows; x++) {
        const struct inflow *one = &b->inflows[x];

        sum += needed[x] ? one->add : 0;
        if (needed[x] && !(x + 1 < b->ninflows && needed[x + 1] && queues(one, one + 1)))
            add_need(b, one->op);
    }
    b->unsupported |= sum < entry->threshold;
}

static void begin_needs(struct builder *b, int op)
{
    b->schedule->ops[op].first_need = b->schedule->nneeds;
}

static void end_needs(struct builder *b, int op)
{
    b->schedule->ops[op].nneeds = b->schedule->nneeds - b->schedule->ops[op].first_need;
}

/* The signal of a get needs its answer, and an answer its request, which precedes it. */
static void add_edges(struct builder *b, const char *needed)
{
    const struct pcoll_schedule *s = b->schedule;

    for (int i = 0; i < b->own->phases[0].count; i++) {
        const struct pcoll_entry *entry = &b->own->entries[i];

        if (b->first_op[i] != PCOLL_NONE && entry->trigger != PCOLL_NONE) {
            begin_needs(b, b->first_op[i]);
            add_needs(b, entry, needed + (size_t)i * (size_t)b->ninflows);
            end_needs(b, b->first_op[i]);
        }
    }
    for (int op = 1; op < s->nops; op++)
        if (s->ops[op].type == PCOLL_SCHEDULE_SEND && s->ops[op].tag % TAGS != TAG_FIRST) {
            begin_needs(b, op);
            add_need(b, op - 1);
            end_needs(b, op);
        }
}

static void add_all_edges(struct builder *b)
{
    const size_t n = (size_t)b->own->phases[0].count;
    char *needed = calloc(n * (size_t)b->ninflows + 1, 1);

    b->failed = needed == NULL;
    if (b->failed)
        return;
    if (b->ninflows > 0)
        qsort(b->inflows, (size_t)b->ninflows, sizeof(*b->inflows), compare_inflows);
    find_needs(b, needed);
    add_edges(b, needed);
    free(needed);
}

static bool allocate(struct builder *b)
{
    const size_t n = (size_t)b->own->phases[0].count + 1;

    b->first_op = malloc(n * sizeof(*b->first_op));
    b->fired = malloc(n);
    b->level = malloc(((size_t)b->own->ncounters + 1) * sizeof(*b->level));
    if (b->first_op == NULL || b->fired == NULL || b->level == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        b->first_op[i] = PCOLL_NONE;
    return true;
}

enum pcoll_result pcoll_schedule_create(const struct pcoll_plan *own,
                                        struct pcoll_plan *const *others, int nothers,
                                        struct pcoll_schedule *schedule)
{
    struct builder b = {.own = own, .schedule = schedule};

    memset(schedule, 0, sizeof(*schedule));
    b.failed = !allocate(&b);
    if (!b.failed)
        add_operations(&b, others, nothers);
    if (!b.failed)
        add_all_edges(&b);
    free(b.first_op);
    free(b.fired);
    free(b.level);
    free(b.inflows);
    if (!b.failed && !b.unsupported)
        return PCOLL_OK;
    pcoll_schedule_destroy(schedule);
    return b.failed ? PCOLL_ERR_NOMEM : PCOLL_UNSUPPORTED;
}

void pcoll_schedule_destroy(struct pcoll_schedule *schedule)
{
    free(schedule->ops);
    free(schedule->needs);
    memset(schedule, 0, sizeof(*schedule));
}
