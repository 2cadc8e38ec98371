/* Making, weighing and ending plans; the contract is in plan.h. */
#include "algorithms/plan/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *pcoll_result_text(enum pcoll_result result)
{
    static const char *const texts[] = {
        "ok", "pending", "unsupported", "out of memory", "invalid input", "refused by the system"};

    return (size_t)result < sizeof(texts) / sizeof(texts[0]) ? texts[result] : "?";
}

enum pcoll_result pcoll_plan_create(const struct pcoll_signature *signature, int rank,
                                    const char *algorithm, int ncounters, int nphases,
                                    struct pcoll_plan **plan_p)
{
    struct pcoll_plan *plan = calloc(1, sizeof(*plan));

    assert(ncounters >= 0 && nphases >= 1);
    if (plan == NULL)
        return PCOLL_ERR_NOMEM;
    plan->signature = *signature;
    plan->rank = rank;
    plan->algorithm = algorithm;
    plan->nphases = nphases;
    plan->ncounters = ncounters;
    plan->phases = calloc((size_t)nphases, sizeof(*plan->phases));
    plan->gain = calloc((size_t)ncounters + 1, sizeof(*plan->gain));
    if (plan->phases == NULL || plan->gain == NULL) {
        pcoll_plan_destroy(plan);
        return PCOLL_ERR_NOMEM;
    }
    *plan_p = plan;
    return PCOLL_OK;
}

void pcoll_plan_destroy(struct pcoll_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->entries);
    free(plan->neighbors);
    free(plan->gain);
    free(plan->phases);
    free(plan);
}

uint64_t pcoll_plan_bytes(const struct pcoll_plan *plan, enum pcoll_buffer buffer)
{
    const struct pcoll_collective *row = pcoll_collective_of(&plan->signature);

    switch (buffer) {
        case PCOLL_SEND:
            return row->send_bytes(&plan->signature, plan->local, plan->rank);
        case PCOLL_RECV:
            return row->recv_bytes(&plan->signature, plan->local, plan->rank);
        case PCOLL_TEMP:
            return plan->temp_bytes;
        case PCOLL_CELL:
            return (uint64_t)plan->ncounters * PCOLL_CELL_BYTES;
        case PCOLL_NUM_BUFFERS:
            break;
    }
    assert(0 && "no such buffer");
    return 0;
}

void pcoll_plan_open(struct pcoll_plan *plan, int phase)
{
    assert(phase >= 0 && phase < plan->nphases);
    plan->phases[phase].first = plan->nentries;
    plan->phases[phase].count = 0;
    plan->open_phase = phase;
}

static int plan_grow(struct pcoll_plan *plan)
{
    int capacity = plan->capacity ? 2 * plan->capacity : 16;
    struct pcoll_entry *entries = realloc(plan->entries, (size_t)capacity * sizeof(*entries));

    if (entries == NULL) {
        plan->failed = 1;
        return 0;
    }
    plan->entries = entries;
    plan->capacity = capacity;
    return 1;
}

void pcoll_plan_add(struct pcoll_plan *plan, struct pcoll_entry entry)
{
    if (plan->nentries == plan->capacity && !plan_grow(plan))
        return;
    plan->entries[plan->nentries++] = entry;
    plan->phases[plan->open_phase].count++;
}

void pcoll_plan_neighbor(struct pcoll_plan *plan, int rank)
{
    int n = plan->nneighbors;

    /* The room is a power of two: full when their number is one. */
    if ((n & (n - 1)) == 0) {
        size_t room = n ? 2 * (size_t)n : 1;
        int *neighbors = realloc(plan->neighbors, room * sizeof(*neighbors));

        if (neighbors == NULL) {
            plan->failed = 1;
            return;
        }
        plan->neighbors = neighbors;
    }
    plan->neighbors[plan->nneighbors++] = rank;
}

static int compare_ranks(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* A long ring names the same few peers again and again: spare the sort most of them. */
static int was_just_named(const struct pcoll_plan *plan, int rank)
{
    for (int i = plan->nneighbors - 1; i >= 0 && i >= plan->nneighbors - 8; i--)
        if (plan->neighbors[i] == rank)
            return 1;
    return 0;
}

static void collect_neighbors(struct pcoll_plan *plan)
{
    int n = 0;

    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].peer != PCOLL_NONE && !was_just_named(plan, plan->entries[i].peer))
            pcoll_plan_neighbor(plan, plan->entries[i].peer);
    if (plan->nneighbors == 0)
        return;
    qsort(plan->neighbors, (size_t)plan->nneighbors, sizeof(*plan->neighbors), compare_ranks);
    for (int i = 0; i < plan->nneighbors; i++)
        if (n == 0 || plan->neighbors[i] != plan->neighbors[n - 1])
            plan->neighbors[n++] = plan->neighbors[i];
    plan->nneighbors = n;
}

static unsigned entry_needs(const struct pcoll_entry *entry)
{
    unsigned needs = 0;

    if (entry->peer_counter != PCOLL_NONE && entry->peer_add != 1)
        needs |= PCOLL_NEED_WEIGHTS;
    if (entry->op == PCOLL_OP_GET)
        needs |= PCOLL_NEED_GET;
    if ((entry->op == PCOLL_OP_GET || entry->op == PCOLL_OP_PUT) &&
        (entry->remote.buffer == PCOLL_SEND || entry->remote.buffer == PCOLL_RECV))
        needs |= PCOLL_NEED_USER_RMA;
    return needs;
}

static int entry_before(const struct pcoll_entry *a, const struct pcoll_entry *b)
{
    if (a->trigger != b->trigger)
        return a->trigger < b->trigger;
    return a->threshold < b->threshold;
}

/* Stable merge of the sorted halves [0, half) and [half, n). */
static void merge_entries(struct pcoll_entry *entries, int half, int n, struct pcoll_entry *scratch)
{
    int left = 0, right = half, out = half;

    memcpy(scratch, entries, (size_t)half * sizeof(*entries));
    for (out = 0; left < half; out++) {
        if (right < n && entry_before(&entries[right], &scratch[left]))
            entries[out] = entries[right++];
        else
            entries[out] = scratch[left++];
    }
}

static void sort_entries(struct pcoll_entry *entries, int n, struct pcoll_entry *scratch)
{
    int half = n / 2;

    if (n < 2)
        return;
    sort_entries(entries, half, scratch);
    sort_entries(entries + half, n - half, scratch);
    if (entry_before(&entries[half], &entries[half - 1]))
        merge_entries(entries, half, n, scratch);
}

enum pcoll_result pcoll_plan_seal(struct pcoll_plan **plan_p)
{
    struct pcoll_plan *plan = *plan_p;
    struct pcoll_entry *scratch = malloc(((size_t)plan->nentries + 1) * sizeof(*scratch));

    collect_neighbors(plan);
    if (plan->failed || scratch == NULL) {
        free(scratch);
        pcoll_plan_destroy(plan);
        *plan_p = NULL;
        return PCOLL_ERR_NOMEM;
    }
    for (int p = 0; plan->nentries > 0 && p < plan->nphases; p++)
        sort_entries(plan->entries + plan->phases[p].first, plan->phases[p].count, scratch);
    free(scratch);
    plan->needs = plan->ordered ? PCOLL_NEED_ORDER : 0;
    for (int i = 0; i < plan->nentries; i++)
        plan->needs |= entry_needs(&plan->entries[i]);
    return PCOLL_OK;
}

static struct pcoll_entry entry_make(enum pcoll_op op, int trigger, uint64_t threshold)
{
    return (struct pcoll_entry){
        .op = op,
        .trigger = trigger,
        .threshold = threshold,
        .done = PCOLL_NONE,
        .peer = PCOLL_NONE,
        .peer_counter = PCOLL_NONE,
    };
}

struct pcoll_entry pcoll_entry_add(int trigger, uint64_t threshold)
{
    return entry_make(PCOLL_OP_ADD, trigger, threshold);
}

struct pcoll_entry pcoll_entry_wait(int trigger, uint64_t threshold)
{
    return entry_make(PCOLL_OP_WAIT, trigger, threshold);
}

static struct pcoll_entry entry_move(enum pcoll_op op, int trigger, uint64_t threshold,
                                     struct pcoll_place local, struct pcoll_place remote,
                                     uint64_t bytes)
{
    struct pcoll_entry entry = entry_make(op, trigger, threshold);

    entry.local = local;
    entry.remote = remote;
    entry.bytes = bytes;
    return entry;
}

struct pcoll_entry pcoll_entry_put(int trigger, uint64_t threshold, struct pcoll_place from,
                                   int peer, struct pcoll_place to, uint64_t bytes)
{
    struct pcoll_entry entry = entry_move(PCOLL_OP_PUT, trigger, threshold, from, to, bytes);

    entry.peer = peer;
    return entry;
}

struct pcoll_entry pcoll_entry_get(int trigger, uint64_t threshold, int peer,
                                   struct pcoll_place from, struct pcoll_place to, uint64_t bytes)
{
    struct pcoll_entry entry = entry_move(PCOLL_OP_GET, trigger, threshold, to, from, bytes);

    entry.peer = peer;
    return entry;
}

struct pcoll_entry pcoll_entry_copy(int trigger, uint64_t threshold, struct pcoll_place from,
                                    struct pcoll_place to, uint64_t bytes)
{
    return entry_move(PCOLL_OP_COPY, trigger, threshold, from, to, bytes);
}

struct pcoll_entry pcoll_entry_signal(struct pcoll_entry entry, int peer, int counter, uint64_t add)
{
    assert(entry.peer == PCOLL_NONE || entry.peer == peer);
    entry.peer = peer;
    entry.peer_counter = counter;
    entry.peer_add = add;
    return entry;
}

struct pcoll_entry pcoll_entry_done(struct pcoll_entry entry, int counter, uint64_t add)
{
    entry.done = counter;
    entry.done_add = add;
    return entry;
}

struct pcoll_account pcoll_plan_account(const struct pcoll_plan *plan)
{
    struct pcoll_account account = {
        .counters = plan->ncounters,
        .entries = plan->nentries,
        .phases = plan->nphases,
        .rails = 1,
        .temp_bytes = plan->temp_bytes,
        .state_bytes = sizeof(*plan) + (uint64_t)plan->nentries * sizeof(*plan->entries) +
                       (uint64_t)plan->nphases * sizeof(*plan->phases) +
                       (uint64_t)plan->nneighbors * sizeof(*plan->neighbors) +
                       (uint64_t)plan->ncounters * (sizeof(*plan->gain) + 64) + plan->temp_bytes,
    };

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];

        account.messages += entry->peer != PCOLL_NONE;
        if (entry->rail >= account.rails)
            account.rails = entry->rail + 1;
        if (entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET)
            account.bytes_moved += entry->bytes;
        else if (entry->op == PCOLL_OP_COPY)
            account.bytes_copied += entry->bytes;
    }
    return account;
}
