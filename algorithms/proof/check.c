/* The form of a set of plans, and the sequence of the whole check; the contract is in
 * proof/check.h. */
#include "algorithms/proof/private.h"

#include <stdbool.h>

/* Larger thresholds, adds and gains are treated as mistakes; this keeps sums below 2^63. */
#define LARGEST ((uint64_t)1 << 40)

static bool inside(const struct pcoll_plan *owner, struct pcoll_place place, uint64_t bytes)
{
    uint64_t size = pcoll_plan_bytes(owner, place.buffer);

    return place.offset <= size && bytes <= size - place.offset;
}

/* A cell belongs to its counter and must not reach into the next one. */
static bool inside_cell(struct pcoll_place place, uint64_t bytes)
{
    return place.offset % PCOLL_CELL_BYTES + bytes <= PCOLL_CELL_BYTES;
}

/* `what` is "from" or "to". */
static enum pcoll_result check_place(const struct pcoll_check *check, int rank, int phase, int i,
                                     int owner, struct pcoll_place place, const char *what)
{
    uint64_t bytes = check->plans[rank]->entries[i].bytes;
    const char *name = pcoll_check_buffer_name(place.buffer);

    if ((unsigned)place.buffer >= PCOLL_NUM_BUFFERS)
        return pcoll_check_fail(check, rank, phase, i, "moves %s an unknown buffer", what);
    if (!inside(check->plans[owner], place, bytes))
        return pcoll_check_fail(
            check, rank, phase, i, "moves %s bytes %llu+%llu outside %s of rank %d", what,
            (unsigned long long)place.offset, (unsigned long long)bytes, name, owner);
    if (place.buffer == PCOLL_CELL && !inside_cell(place, bytes))
        return pcoll_check_fail(check, rank, phase, i, "moves %s more than one cell", what);
    return PCOLL_OK;
}

static enum pcoll_result check_move(const struct pcoll_check *check, int rank, int phase, int i)
{
    const struct pcoll_entry *entry = &check->plans[rank]->entries[i];
    bool get = entry->op == PCOLL_OP_GET;
    int remote_owner = entry->op == PCOLL_OP_COPY ? rank : entry->peer;
    enum pcoll_result result;

    if (remote_owner == PCOLL_NONE)
        return pcoll_check_fail(check, rank, phase, i, "has no peer");
    result = check_place(check, rank, phase, i, rank, entry->local, get ? "to" : "from");
    if (result != PCOLL_OK)
        return result;
    return check_place(check, rank, phase, i, remote_owner, entry->remote, get ? "from" : "to");
}

/* Operands are whole units of some rank's memory; each is the target or does not overlap it. */
static enum pcoll_result check_operand(const struct pcoll_check *check, int rank, int phase, int i,
                                       const struct pcoll_operand *operand)
{
    const struct pcoll_entry *entry = &check->plans[rank]->entries[i];
    const struct pcoll_place to = pcoll_check_place(check, rank, entry->local);
    struct pcoll_place from;
    enum pcoll_result result;

    if (operand->rank < 0 || operand->rank >= check->nranks)
        return pcoll_check_fail(check, rank, phase, i, "reduces memory of unknown rank %d",
                                operand->rank);
    result =
        check_place(check, rank, phase, i, operand->rank, pcoll_operand_place(operand), "from");
    if (result != PCOLL_OK)
        return result;
    from = pcoll_check_place(check, operand->rank, pcoll_operand_place(operand));
    if (operand->rank == rank && from.buffer == to.buffer && from.offset != to.offset &&
        from.offset < to.offset + entry->bytes && to.offset < from.offset + entry->bytes)
        return pcoll_check_fail(check, rank, phase, i, "reduces into some bytes of an operand");
    return PCOLL_OK;
}

static enum pcoll_result check_reduce(const struct pcoll_check *check, int rank, int phase, int i)
{
    const struct pcoll_plan *plan = check->plans[rank];
    const struct pcoll_entry *entry = &plan->entries[i];
    const uint64_t unit = plan->signature.unit ? plan->signature.unit : 1;
    enum pcoll_result result;

    if (!pcoll_coll_has(plan->signature.coll, PCOLL_REDUCES))
        return pcoll_check_fail(check, rank, phase, i, "reduces, but the collective does not");
    if (entry->noperands < 2 || entry->first_operand < 0 ||
        entry->noperands > plan->noperands - entry->first_operand)
        return pcoll_check_fail(check, rank, phase, i, "has %d operands", entry->noperands);
    if (entry->peer != PCOLL_NONE)
        return pcoll_check_fail(check, rank, phase, i, "signals a peer");
    if (entry->bytes % unit != 0)
        return pcoll_check_fail(check, rank, phase, i, "cuts a unit of %llu bytes",
                                (unsigned long long)unit);
    result = check_place(check, rank, phase, i, rank, entry->local, "to");
    for (int k = 0; k < entry->noperands && result == PCOLL_OK; k++)
        result = check_operand(check, rank, phase, i, &plan->operands[entry->first_operand + k]);
    return result;
}

static enum pcoll_result check_trigger(const struct pcoll_check *check, int rank, int phase, int i)
{
    const struct pcoll_plan *plan = check->plans[rank];
    const struct pcoll_entry *entry = &plan->entries[i], *previous = entry - 1;

    if (entry->trigger < PCOLL_NONE || entry->trigger >= plan->ncounters)
        return pcoll_check_fail(check, rank, phase, i, "unknown trigger %d", entry->trigger);
    if (entry->threshold > LARGEST)
        return pcoll_check_fail(check, rank, phase, i, "threshold beyond reason");
    if (entry->trigger == PCOLL_NONE && entry->threshold != 0)
        return pcoll_check_fail(check, rank, phase, i, "threshold without trigger");
    if (i > plan->phases[phase].first &&
        (entry->trigger < previous->trigger ||
         (entry->trigger == previous->trigger && entry->threshold < previous->threshold)))
        return pcoll_check_fail(check, rank, phase, i, "not sorted by trigger and threshold");
    return PCOLL_OK;
}

/* `target` is the plan that owns the counter; NULL if the entry names none. */
static enum pcoll_result check_signal(const struct pcoll_check *check, int rank, int phase, int i,
                                      const struct pcoll_plan *target, int counter, uint64_t add)
{
    if (counter == PCOLL_NONE)
        return add == 0 ? PCOLL_OK
                        : pcoll_check_fail(check, rank, phase, i, "signals without a target");
    if (target == NULL || counter < 0 || counter >= target->ncounters)
        return pcoll_check_fail(check, rank, phase, i, "signals unknown counter %d", counter);
    if (add == 0 || add > LARGEST)
        return pcoll_check_fail(check, rank, phase, i, "signals nothing or too much on counter %d",
                                counter);
    return PCOLL_OK;
}

static enum pcoll_result check_signals(const struct pcoll_check *check, int rank, int phase, int i)
{
    const struct pcoll_plan *plan = check->plans[rank];
    const struct pcoll_entry *entry = &plan->entries[i];
    const struct pcoll_plan *peer = NULL;
    enum pcoll_result result;

    if (entry->peer < PCOLL_NONE || entry->peer >= check->nranks)
        return pcoll_check_fail(check, rank, phase, i, "unknown peer %d", entry->peer);
    if (entry->rail < 0)
        return pcoll_check_fail(check, rank, phase, i, "unknown rail %d", entry->rail);
    if (entry->peer != PCOLL_NONE)
        peer = check->plans[entry->peer];
    result = check_signal(check, rank, phase, i, plan, entry->done, entry->done_add);
    if (result != PCOLL_OK)
        return result;
    return check_signal(check, rank, phase, i, peer, entry->peer_counter, entry->peer_add);
}

static enum pcoll_result check_entry(const struct pcoll_check *check, int rank, int phase, int i)
{
    const struct pcoll_entry *entry = &check->plans[rank]->entries[i];
    bool moves = pcoll_entry_has_data(entry);
    bool signals = entry->done != PCOLL_NONE || entry->peer_counter != PCOLL_NONE;
    enum pcoll_result result;

    if ((unsigned)entry->op >= PCOLL_NUM_OPS)
        return pcoll_check_fail(check, rank, phase, i, "unknown operation");
    if (!moves && entry->bytes != 0)
        return pcoll_check_fail(check, rank, phase, i, "does not move, but has bytes");
    if (entry->op == PCOLL_OP_ADD && !signals)
        return pcoll_check_fail(check, rank, phase, i, "signals no counter");
    if (entry->op == PCOLL_OP_WAIT && (signals || entry->trigger == PCOLL_NONE))
        return pcoll_check_fail(check, rank, phase, i, "signals, or waits for nothing");
    result = check_trigger(check, rank, phase, i);
    if (result == PCOLL_OK)
        result = check_signals(check, rank, phase, i);
    if (result == PCOLL_OK && entry->op == PCOLL_OP_REDUCE)
        result = check_reduce(check, rank, phase, i);
    else if (result == PCOLL_OK && moves && entry->bytes > 0)
        result = check_move(check, rank, phase, i);
    return result;
}

static enum pcoll_result check_head(const struct pcoll_check *check, int rank)
{
    const struct pcoll_plan *plan = check->plans[rank];
    const struct pcoll_signature *sig = &plan->signature;

    if (plan->rank != rank)
        return pcoll_check_fail(check, rank, PCOLL_NONE, PCOLL_NONE, "plan of rank %d", plan->rank);
    if (!pcoll_signature_same(sig, &check->plans[0]->signature))
        return pcoll_check_fail(check, rank, PCOLL_NONE, PCOLL_NONE,
                                "signature differs from that of rank 0");
    if (!pcoll_signature_is_valid(sig, plan->local) || sig->nranks != check->nranks)
        return pcoll_check_fail(check, rank, PCOLL_NONE, PCOLL_NONE, "bad signature");
    if (plan->nphases < 1 || plan->nphases != check->nphases)
        return pcoll_check_fail(check, rank, PCOLL_NONE, PCOLL_NONE, "%d phases, not %d as rank 0",
                                plan->nphases, check->nphases);
    return PCOLL_OK;
}

static bool has_neighbor(const struct pcoll_plan *plan, int rank)
{
    for (int i = 0; i < plan->nneighbors; i++)
        if (plan->neighbors[i] == rank)
            return true;
    return false;
}

/* If one rank touches another, the plans of both must know it. */
static enum pcoll_result check_neighbors(const struct pcoll_check *check, int rank)
{
    const struct pcoll_plan *plan = check->plans[rank];

    for (int i = 0; i < plan->nneighbors; i++) {
        int other = plan->neighbors[i];

        if (other < 0 || other >= check->nranks || !has_neighbor(check->plans[other], rank))
            return pcoll_check_fail(check, rank, PCOLL_NONE, PCOLL_NONE,
                                    "has neighbor %d, which knows nothing of it", other);
    }
    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].peer != PCOLL_NONE && !has_neighbor(plan, plan->entries[i].peer))
            return pcoll_check_fail(check, rank, PCOLL_NONE, i, "reaches %d, no neighbor",
                                    plan->entries[i].peer);
    for (int i = 0; i < plan->noperands; i++)
        if (plan->operands[i].rank != rank && !has_neighbor(plan, plan->operands[i].rank))
            return pcoll_check_fail(check, rank, PCOLL_NONE, PCOLL_NONE,
                                    "has an operand of %d, no neighbor", plan->operands[i].rank);
    return PCOLL_OK;
}

static enum pcoll_result check_phases(const struct pcoll_check *check, int rank)
{
    const struct pcoll_plan *plan = check->plans[rank];
    int next = 0;

    for (int p = 0; p < plan->nphases; p++) {
        const struct pcoll_phase *phase = &plan->phases[p];

        if (phase->first != next || phase->count < 0 || phase->count > plan->nentries - next)
            return pcoll_check_fail(check, rank, p, PCOLL_NONE, "entries overlap or are left out");
        next += phase->count;
    }
    if (next != plan->nentries)
        return pcoll_check_fail(check, rank, PCOLL_NONE, PCOLL_NONE,
                                "entries left after the last phase");
    return PCOLL_OK;
}

static enum pcoll_result check_entries(const struct pcoll_check *check, int rank)
{
    const struct pcoll_plan *plan = check->plans[rank];

    for (int p = 0; p < plan->nphases; p++) {
        int first = plan->phases[p].first;

        for (int i = first; i < first + plan->phases[p].count; i++) {
            enum pcoll_result result = check_entry(check, rank, p, i);

            if (result != PCOLL_OK)
                return result;
        }
    }
    return PCOLL_OK;
}

/* The sum of what all entries of all ranks signal to that counter in a cycle. */
static uint64_t signaled(const struct pcoll_check *check, int rank, int counter)
{
    uint64_t sum = 0;

    for (int r = 0; r < check->nranks; r++) {
        const struct pcoll_plan *plan = check->plans[r];

        for (int i = 0; i < plan->nentries; i++) {
            const struct pcoll_entry *entry = &plan->entries[i];

            if (r == rank && entry->done == counter)
                sum += entry->done_add;
            if (entry->peer == rank && entry->peer_counter == counter)
                sum += entry->peer_add;
        }
    }
    return sum;
}

static enum pcoll_result check_gains(const struct pcoll_check *check, int rank)
{
    const struct pcoll_plan *plan = check->plans[rank];

    for (int c = 0; c < plan->ncounters; c++) {
        uint64_t sum = signaled(check, rank, c);

        if (sum != plan->gain[c] || sum > LARGEST)
            return pcoll_check_fail(check, rank, PCOLL_NONE, PCOLL_NONE,
                                    "counter %d has gain %llu, but %llu is signaled", c,
                                    (unsigned long long)plan->gain[c], (unsigned long long)sum);
    }
    return PCOLL_OK;
}

static enum pcoll_result check_form(const struct pcoll_check *check)
{
    static enum pcoll_result (*const checks[])(const struct pcoll_check *, int) = {
        check_head, check_phases, check_entries, check_gains, check_neighbors};

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        for (int rank = 0; rank < check->nranks; rank++) {
            enum pcoll_result result = checks[i](check, rank);

            if (result != PCOLL_OK)
                return result;
        }
    }
    return PCOLL_OK;
}

static enum pcoll_result check_flow(const struct pcoll_check *check, struct pcoll_order *order)
{
    struct pcoll_flow flow;
    enum pcoll_result result = pcoll_flow_init(&flow, check, order);

    if (result == PCOLL_OK)
        result = pcoll_flow_check(&flow);
    if (result == PCOLL_OK)
        result = pcoll_meaning_check(&flow);
    pcoll_flow_fini(&flow);
    return result;
}

enum pcoll_result pcoll_plan_check(struct pcoll_plan *const *plans, int nranks, FILE *why)
{
    struct pcoll_check check = {plans, nranks, plans[0]->nphases, why};
    struct pcoll_order *order;
    enum pcoll_result result = check_form(&check);

    if (result != PCOLL_OK)
        return result;
    result = pcoll_order_create(&check, &order);
    if (result != PCOLL_OK)
        return result;
    result = pcoll_order_check_live(order);
    if (result == PCOLL_OK)
        result = check_flow(&check, order);
    if (pcoll_order_failed(order))
        result = PCOLL_ERR_NOMEM;
    pcoll_order_destroy(order);
    return result;
}
