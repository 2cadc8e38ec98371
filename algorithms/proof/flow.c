/*
 * Hazards: two accesses to the same bytes, at least one of them a write, must come in a definite
 * order.
 *
 * Within an instance either order will do; an access of a later instance must come later. It
 * suffices to look one cycle ahead: an entry that writes is compared with itself in the next cycle,
 * so all its writes are ordered, and what follows the next one follows this one. User buffers need
 * no look ahead: they are touched only between start and completion of their owner.
 */
#include "algorithms/plan/user.h"
#include "algorithms/proof/private.h"

#include <stdbool.h>
#include <stdlib.h>

static struct pcoll_order_event fire_of(const struct pcoll_access *access)
{
    return (struct pcoll_order_event){PCOLL_FIRE, access->rank, access->phase, access->entry};
}

static void add_access(struct pcoll_flow *flow, struct pcoll_access access,
                       struct pcoll_place place)
{
    const struct pcoll_entry *entry = &flow->check->plans[access.rank]->entries[access.entry];

    place = pcoll_check_place(flow->check, access.owner, place);
    access.buffer = place.buffer;
    access.first = place.offset;
    access.end = place.offset + entry->bytes;
    access.begins = access.ends = fire_of(&access);
    if (entry->op == PCOLL_OP_PUT && access.is_write)
        access.ends.kind = PCOLL_ARRIVE;
    flow->accesses[flow->naccesses++] = access;
}

static void add_accesses(struct pcoll_flow *flow, int rank, int phase, int i)
{
    const struct pcoll_plan *plan = flow->check->plans[rank];
    const struct pcoll_entry *entry = &plan->entries[i];
    struct pcoll_access access = {.owner = rank, .rank = rank, .phase = phase, .entry = i};

    access.is_write = entry->op == PCOLL_OP_GET || entry->op == PCOLL_OP_REDUCE;
    add_access(flow, access, entry->local);
    access.is_write = !access.is_write;
    if (pcoll_entry_is_remote(entry))
        access.owner = entry->peer;
    if (entry->op != PCOLL_OP_REDUCE)
        add_access(flow, access, entry->remote);
    for (int k = 0; k < entry->noperands; k++) {
        const struct pcoll_operand *operand = &plan->operands[entry->first_operand + k];

        access.owner = operand->rank;
        add_access(flow, access, pcoll_operand_place(operand));
    }
}

static int compare(const void *left, const void *right)
{
    const struct pcoll_access *a = left, *b = right;

    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static void collect(struct pcoll_flow *flow)
{
    const struct pcoll_check *check = flow->check;
    int at = 0;

    for (int rank = 0; rank < check->nranks; rank++) {
        const struct pcoll_plan *plan = check->plans[rank];

        for (int phase = 0; phase < plan->nphases; phase++) {
            int first = plan->phases[phase].first;

            for (int i = first; i < first + plan->phases[phase].count; i++)
                if (plan->entries[i].bytes > 0)
                    add_accesses(flow, rank, phase, i);
        }
    }
    qsort(flow->accesses, (size_t)flow->naccesses, sizeof(*flow->accesses), compare);
    for (int group = 0; group <= check->nranks * PCOLL_NUM_BUFFERS; group++) {
        while (at < flow->naccesses &&
               flow->accesses[at].owner * PCOLL_NUM_BUFFERS + (int)flow->accesses[at].buffer <
                   group)
            at++;
        flow->first[group] = at;
    }
}

int pcoll_flow_buffer(const struct pcoll_flow *flow, int owner, enum pcoll_buffer buffer,
                      const struct pcoll_access **accesses_p)
{
    const int *first = &flow->first[owner * PCOLL_NUM_BUFFERS + (int)buffer];

    *accesses_p = flow->accesses + first[0];
    return first[1] - first[0];
}

bool pcoll_flow_before(const struct pcoll_flow *flow, const struct pcoll_access *a,
                       const struct pcoll_access *b)
{
    return pcoll_order_before(flow->order, a->ends, b->begins);
}

/* Returns whether a ends before b begins in the next instance that has b. */
static bool before_next(const struct pcoll_flow *flow, const struct pcoll_access *a,
                        const struct pcoll_access *b)
{
    struct pcoll_order_event begins = b->begins;

    if (b->phase <= a->phase)
        begins.instance += flow->check->nphases;
    return pcoll_order_before(flow->order, a->ends, begins);
}

static const char *verb(const struct pcoll_access *access)
{
    return access->is_write ? "writes" : "reads";
}

/* `relation` says how `other` relates to `access`. */
static enum pcoll_result fail(const struct pcoll_flow *flow, const struct pcoll_access *access,
                              const char *relation, const struct pcoll_access *other)
{
    return pcoll_check_fail(flow->check, access->rank, access->phase, access->entry,
                            "%s %s of rank %d from %llu on, but %s rank %d phase %d entry %d, "
                            "which %s there",
                            verb(access), pcoll_check_buffer_name(access->buffer), access->owner,
                            (unsigned long long)access->first, relation, other->rank, other->phase,
                            other->entry, verb(other));
}

static bool is_user(enum pcoll_buffer buffer)
{
    return buffer == PCOLL_SEND || buffer == PCOLL_RECV;
}

/* In place, what is reduced takes the place of the input; its readers come before. */
static bool may_write_input(const struct pcoll_flow *flow)
{
    return pcoll_coll_has(flow->check->plans[0]->signature.coll, PCOLL_REDUCES);
}

/* The owner's plan says what peers do with its user buffers. */
static bool is_known_to_owner(const struct pcoll_flow *flow, const struct pcoll_access *a)
{
    const unsigned use = a->is_write ? PCOLL_PEERS_WRITE : PCOLL_PEERS_READ;

    return a->rank == a->owner || pcoll_plan_peers_use(flow->check->plans[a->owner], a->buffer,
                                                       a->first, a->end - a->first) &
                                      use;
}

/* The plan may use a user buffer between start and completion of its owner. */
static enum pcoll_result check_owner(const struct pcoll_flow *flow, const struct pcoll_access *a)
{
    const char *name = pcoll_check_buffer_name(a->buffer);
    struct pcoll_order_event start = {PCOLL_START, a->owner, a->phase, 0};
    struct pcoll_order_event end = {PCOLL_COMPLETE, a->owner, a->phase, 0};

    if (!is_user(a->buffer))
        return PCOLL_OK;
    if (!is_known_to_owner(flow, a))
        return pcoll_check_fail(flow->check, a->rank, a->phase, a->entry,
                                "%s %s of rank %d from %llu on, whose plan knows nothing of it",
                                verb(a), name, a->owner, (unsigned long long)a->first);
    if (a->is_write && !may_write_input(flow) &&
        (pcoll_check_is_input(flow->check, a->owner, a->buffer, a->first) ||
         pcoll_check_is_input(flow->check, a->owner, a->buffer, a->end - 1)))
        return pcoll_check_fail(flow->check, a->rank, a->phase, a->entry,
                                "writes input in %s of rank %d", name, a->owner);
    if (!pcoll_order_before(flow->order, start, a->begins))
        return pcoll_check_fail(flow->check, a->rank, a->phase, a->entry,
                                "%s %s of rank %d perhaps before its start", verb(a), name,
                                a->owner);
    if (!pcoll_order_before(flow->order, a->ends, end))
        return pcoll_check_fail(flow->check, a->rank, a->phase, a->entry,
                                "%s %s of rank %d perhaps after its completion", verb(a), name,
                                a->owner);
    return PCOLL_OK;
}

/* A REDUCE may write where it has read, in memory of its rank. */
static bool is_own_operand(const struct pcoll_flow *flow, const struct pcoll_access *a,
                           const struct pcoll_access *b)
{
    return a->rank == b->rank && a->entry == b->entry &&
           flow->check->plans[a->rank]->entries[a->entry].op == PCOLL_OP_REDUCE;
}

/* Two accesses in one instance. */
static enum pcoll_result check_together(const struct pcoll_flow *flow, const struct pcoll_access *a,
                                        const struct pcoll_access *b)
{
    if (a == b || a->phase != b->phase || is_own_operand(flow, a, b))
        return PCOLL_OK;
    if (a->buffer == PCOLL_RECV && a->is_write && b->is_write)
        return fail(flow, a, "in the same instance as", b);
    if ((a->rank == b->rank && a->entry == b->entry) ||
        (!pcoll_flow_before(flow, a, b) && !pcoll_flow_before(flow, b, a)))
        return fail(flow, a, "in no certain order with", b);
    return PCOLL_OK;
}

/* Two accesses, or an access and itself, in different instances. */
static enum pcoll_result check_apart(const struct pcoll_flow *flow, const struct pcoll_access *a,
                                     const struct pcoll_access *b)
{
    if (is_user(a->buffer))
        return PCOLL_OK;
    if (!before_next(flow, a, b))
        return fail(flow, a, "perhaps not before a later instance of", b);
    if (!before_next(flow, b, a))
        return fail(flow, b, "perhaps not before a later instance of", a);
    return PCOLL_OK;
}

typedef enum pcoll_result check_fn(const struct pcoll_flow *flow, const struct pcoll_access *a,
                                   const struct pcoll_access *b);

/* All pairs within one buffer that share a byte and include a write. */
static enum pcoll_result check_pairs(const struct pcoll_flow *flow, check_fn *check, int first,
                                     int end)
{
    const struct pcoll_access *accesses = flow->accesses;

    for (int i = first; i < end; i++) {
        for (int j = i; j < end && accesses[j].first < accesses[i].end; j++) {
            enum pcoll_result result = PCOLL_OK;

            if (accesses[i].is_write || accesses[j].is_write)
                result = check(flow, &accesses[i], &accesses[j]);
            if (result != PCOLL_OK)
                return result;
        }
    }
    return PCOLL_OK;
}

static enum pcoll_result check_all_pairs(const struct pcoll_flow *flow, check_fn *check)
{
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < flow->check->nranks * PCOLL_NUM_BUFFERS && result == PCOLL_OK; i++)
        result = check_pairs(flow, check, flow->first[i], flow->first[i + 1]);
    return result;
}

enum pcoll_result pcoll_flow_check(const struct pcoll_flow *flow)
{
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < flow->naccesses && result == PCOLL_OK; i++)
        result = check_owner(flow, &flow->accesses[i]);
    if (result == PCOLL_OK)
        result = check_all_pairs(flow, check_together);
    if (result == PCOLL_OK)
        result = check_all_pairs(flow, check_apart);
    return result;
}

enum pcoll_result pcoll_flow_init(struct pcoll_flow *flow, const struct pcoll_check *check,
                                  struct pcoll_order *order)
{
    size_t nentries = 0;

    *flow = (struct pcoll_flow){.check = check, .order = order};
    for (int rank = 0; rank < check->nranks; rank++)
        nentries += (size_t)(check->plans[rank]->nentries + check->plans[rank]->noperands);
    flow->accesses = malloc((2 * nentries + 1) * sizeof(*flow->accesses));
    flow->first = malloc(((size_t)check->nranks * PCOLL_NUM_BUFFERS + 1) * sizeof(*flow->first));
    if (!flow->accesses || !flow->first)
        return PCOLL_ERR_NOMEM;
    collect(flow);
    return PCOLL_OK;
}

void pcoll_flow_fini(struct pcoll_flow *flow)
{
    free(flow->first);
    free(flow->accesses);
}
