/* Generating, accounting for and destroying plans; the contract is in plan.h. */
#include "algorithms/plan/plan.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/pool.h"
#include "algorithms/util.h"

const char *pcoll_result_text(enum pcoll_result result)
{
    static const char *const texts[] = {
        "ok", "pending", "unsupported", "out of memory", "invalid input", "refused by the system"};

    return (size_t)result < sizeof(texts) / sizeof(texts[0]) ? texts[result] : "?";
}

enum pcoll_result pcoll_plan_create(const struct pcoll_signature *signature,
                                    const struct pcoll_local *local, int rank,
                                    struct pcoll_plan **plan_p)
{
    struct pcoll_plan *plan = calloc(1, sizeof(*plan));

    if (plan == NULL)
        return PCOLL_ERR_NOMEM;
    plan->signature = *signature;
    plan->local = local;
    plan->rank = rank;
    plan->algorithm = "?";
    *plan_p = plan;
    return PCOLL_OK;
}

bool pcoll_plan_begin(struct pcoll_plan *plan, int ncounters, int nphases)
{
    assert(plan->nphases == 0 && ncounters >= 0 && nphases >= 1);
    plan->nphases = nphases;
    plan->ncounters = ncounters;
    plan->phases = calloc((size_t)nphases, sizeof(*plan->phases));
    plan->gain = calloc((size_t)ncounters + 1, sizeof(*plan->gain));
    return plan->phases != NULL && plan->gain != NULL;
}

void pcoll_plan_destroy(struct pcoll_plan *plan)
{
    if (plan == NULL)
        return;
    pcoll_pool_put(plan->entries);
    free(plan->operands);
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

/* Most phases are similar: extrapolate from the closed phases to all phases, and add a few. */
static int guess_entries(const struct pcoll_plan *plan)
{
    int64_t closed = plan->open_phase, known = plan->phases[plan->open_phase].first;
    int64_t all = closed > 0 ? known * plan->nphases / closed : 0;

    all += all / 16;
    return all < INT_MAX ? (int)all : 0;
}

/* Of an array that is full; 0: an int cannot count so many. */
static int next_capacity(int capacity, int first)
{
    if (capacity > INT_MAX / 2)
        return 0;
    return capacity > 0 ? 2 * capacity : first;
}

bool pcoll_plan_grow(struct pcoll_plan *plan)
{
    const int guess = guess_entries(plan);
    const int capacity = guess > plan->capacity ? guess : next_capacity(plan->capacity, 16);
    struct pcoll_entry *entries = NULL;

    if (capacity > 0)
        entries = pcoll_pool_get((size_t)capacity * sizeof(*entries));
    if (entries == NULL) {
        plan->failed = true;
        return false;
    }
    if (plan->nentries > 0)
        memcpy(entries, plan->entries, (size_t)plan->nentries * sizeof(*entries));
    pcoll_pool_put(plan->entries);
    plan->entries = entries;
    plan->capacity = capacity;
    return true;
}

static bool continues(const struct pcoll_entry *a, const struct pcoll_entry *b)
{
    return a->op == b->op && a->trigger == b->trigger && a->threshold == b->threshold &&
           a->done == b->done && a->done_add == b->done_add && a->peer == b->peer &&
           a->rail == b->rail && a->peer_counter == b->peer_counter && a->peer_add == b->peer_add &&
           a->local.buffer == b->local.buffer && a->local.offset + a->bytes == b->local.offset &&
           a->remote.buffer == b->remote.buffer && a->remote.offset + a->bytes == b->remote.offset;
}

int pcoll_plan_join(struct pcoll_plan *plan, struct pcoll_entry entry)
{
    if (plan->phases[plan->open_phase].count > 0) {
        struct pcoll_entry *last = &plan->entries[plan->nentries - 1];

        if (continues(last, &entry)) {
            last->bytes += entry.bytes;
            return 0;
        }
    }
    pcoll_plan_add(plan, entry);
    return 1;
}

/* Most plans have one or two operands for each of a few dozen slots. */
enum { FIRST_OPERANDS = 64 };

bool pcoll_plan_grow_operands(struct pcoll_plan *plan)
{
    const int room = next_capacity(plan->operand_room, FIRST_OPERANDS);
    struct pcoll_operand *operands = NULL;

    if (room > 0)
        operands = realloc(plan->operands, (size_t)room * sizeof(*operands));
    if (operands == NULL) {
        plan->failed = true;
        return false;
    }
    plan->operands = operands;
    plan->operand_room = room;
    return true;
}

void pcoll_plan_neighbor(struct pcoll_plan *plan, int rank)
{
    int n = plan->nneighbors;

    /* The capacity is a power of two: the array is full when the number of entries is one. */
    if ((n & (n - 1)) == 0) {
        size_t room = n ? 2 * (size_t)n : 1;
        int *neighbors = realloc(plan->neighbors, room * sizeof(*neighbors));

        if (neighbors == NULL) {
            plan->failed = true;
            return;
        }
        plan->neighbors = neighbors;
    }
    plan->neighbors[plan->nneighbors++] = rank;
}

/* A long ring names the same few peers in the same order again and again: do not make the sort
 * handle all of them. *last_p is where the last peer was found. */
static bool was_just_named(const struct pcoll_plan *plan, int rank, int *last_p)
{
    int n = plan->nneighbors, next = *last_p + 1 < n ? *last_p + 1 : 0;

    if (n > 0 && plan->neighbors[next] == rank) {
        *last_p = next;
        return true;
    }
    for (int i = n - 1; i >= 0 && i >= n - 8; i--)
        if (plan->neighbors[i] == rank) {
            *last_p = i;
            return true;
        }
    return false;
}

static unsigned entry_needs(const struct pcoll_entry *entry)
{
    unsigned needs = 0;

    if (entry->peer_counter != PCOLL_NONE && entry->peer_add != 1)
        needs |= PCOLL_NEED_WEIGHTS;
    if (entry->op == PCOLL_OP_GET)
        needs |= PCOLL_NEED_GET;
    if (pcoll_entry_is_remote(entry) &&
        (entry->remote.buffer == PCOLL_SEND || entry->remote.buffer == PCOLL_RECV))
        needs |= PCOLL_NEED_USER_RMA;
    return needs;
}

static void gather_operand(struct pcoll_plan *plan, const struct pcoll_operand *operand, int *last)
{
    if (operand->rank == plan->rank)
        return;
    plan->needs |= PCOLL_NEED_MAPPED;
    if (operand->buffer <= PCOLL_RECV)
        plan->needs |= PCOLL_NEED_USER_RMA;
    if (!was_just_named(plan, operand->rank, last))
        pcoll_plan_neighbor(plan, operand->rank);
}

/* What each entry adds to the plan: a neighbor, needs; and each operand. */
static void gather(struct pcoll_plan *plan)
{
    int last = 0;

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];

        plan->needs |= entry_needs(entry);
        if (entry->peer != PCOLL_NONE && !was_just_named(plan, entry->peer, &last))
            pcoll_plan_neighbor(plan, entry->peer);
    }
    for (int i = 0; i < plan->noperands; i++)
        gather_operand(plan, &plan->operands[i], &last);
}

static void sort_neighbors(struct pcoll_plan *plan)
{
    int n = 0;

    if (plan->nneighbors == 0)
        return;
    qsort(plan->neighbors, (size_t)plan->nneighbors, sizeof(*plan->neighbors), pcoll_compare_ints);
    for (int i = 0; i < plan->nneighbors; i++)
        if (n == 0 || plan->neighbors[i] != plan->neighbors[n - 1])
            plan->neighbors[n++] = plan->neighbors[i];
    plan->nneighbors = n;
}

/* An entry's place in the order of its phase: by trigger and threshold, then as it was added.
 * Entries are six times as large, so each is moved only once. */
struct order {
    int trigger, number;
    uint64_t threshold;
};

static bool is_before(const struct order *a, const struct order *b)
{
    if (a->trigger != b->trigger)
        return a->trigger < b->trigger;
    return a->threshold < b->threshold;
}

/* Stable merge of the sorted halves [0, half) and [half, n). */
static void merge(struct order *orders, int half, int n, struct order *scratch)
{
    int left = 0, right = half, out = half;

    memcpy(scratch, orders, (size_t)half * sizeof(*orders));
    for (out = 0; left < half; out++) {
        if (right < n && is_before(&orders[right], &scratch[left]))
            orders[out] = orders[right++];
        else
            orders[out] = scratch[left++];
    }
}

/* Entries come in few sorted runs, so most short stretches are sorted already. */
enum { FEW = 16 };

/* Insert each where it belongs among those before it. */
static void sort_few(struct order *orders, int n)
{
    for (int i = 1; i < n; i++) {
        const struct order order = orders[i];
        int at = i;

        for (; at > 0 && is_before(&order, &orders[at - 1]); at--)
            orders[at] = orders[at - 1];
        orders[at] = order;
    }
}

static void sort_orders(struct order *orders, int n, struct order *scratch)
{
    const int half = n / 2;

    if (n <= FEW) {
        sort_few(orders, n);
        return;
    }
    sort_orders(orders, half, scratch);
    sort_orders(orders + half, n - half, scratch);
    if (is_before(&orders[half], &orders[half - 1]))
        merge(orders, half, n, scratch);
}

static struct order order_of(const struct pcoll_entry *entry, int number)
{
    return (struct order){entry->trigger, number, entry->threshold};
}

static bool is_sorted(const struct pcoll_plan *plan)
{
    for (int p = 0; p < plan->nphases; p++) {
        const struct pcoll_entry *entries = plan->entries + plan->phases[p].first;

        for (int i = 1; i < plan->phases[p].count; i++) {
            const struct order before = order_of(&entries[i - 1], 0),
                               after = order_of(&entries[i], 0);

            if (is_before(&after, &before))
                return false;
        }
    }
    return true;
}

/* Most generators add entries in order, so other memory is seldom needed. */
static void sort_phases(struct pcoll_plan *plan)
{
    const size_t n = (size_t)plan->nentries;
    struct pcoll_entry *sorted;
    struct order *orders;

    if (is_sorted(plan))
        return;
    sorted = pcoll_pool_get(n * sizeof(*sorted));
    orders = pcoll_pool_get(2 * n * sizeof(*orders));
    plan->failed = sorted == NULL || orders == NULL;
    for (int p = 0; p < plan->nphases && !plan->failed; p++) {
        const int first = plan->phases[p].first, count = plan->phases[p].count;

        for (int i = 0; i < count; i++)
            orders[i] = order_of(&plan->entries[first + i], first + i);
        sort_orders(orders, count, orders + n);
        for (int i = 0; i < count; i++)
            sorted[first + i] = plan->entries[orders[i].number];
    }
    pcoll_pool_put(orders);
    pcoll_pool_put(plan->failed ? sorted : plan->entries);
    if (!plan->failed) {
        plan->entries = sorted;
        plan->capacity = plan->nentries;
    }
}

enum pcoll_result pcoll_plan_seal(struct pcoll_plan *plan)
{
    plan->needs = plan->ordered ? PCOLL_NEED_ORDER : 0;
    gather(plan);
    sort_neighbors(plan);
    if (plan->nentries > 0 && !plan->failed)
        sort_phases(plan);
    return plan->failed ? PCOLL_ERR_NOMEM : PCOLL_OK;
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
                       (uint64_t)plan->noperands * sizeof(*plan->operands) +
                       (uint64_t)plan->ncounters * (sizeof(*plan->gain) + 64) + plan->temp_bytes,
    };

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];

        account.messages += entry->peer != PCOLL_NONE;
        if (entry->rail >= account.rails)
            account.rails = entry->rail + 1;
        if (pcoll_entry_is_remote(entry))
            account.bytes_moved += entry->bytes;
        else if (entry->op == PCOLL_OP_COPY)
            account.bytes_copied += entry->bytes;
        else if (entry->op == PCOLL_OP_REDUCE)
            account.bytes_reduced += (uint64_t)(entry->noperands - 1) * entry->bytes;
    }
    return account;
}
