/*
 * Scan and exscan by doubling the distance.
 *
 * Idea: in round j a rank gives what it has reduced so far, the sum of the 2^j ranks up to itself,
 * to the rank 2^j above, and reduces it with what arrives from 2^j below, which stands left. After
 * ceil(log2 N) rounds that is the scan. For an exscan everything that has arrived is reduced once
 * more, without the own vector, at the end; sums that nobody waits for are left out.
 *
 * Source: Hillis and Steele 1986; the tank of document 001, section 4.2.3.
 *
 *      N = 5:   0 -> 1 -> 2 -> 3 -> 4 | 0 -> 2, 1 -> 3, 2 -> 4 | 0 -> 4
 *
 * Cost: ceil(log2 N) (L + o + M (copy + reduce)); slots + 2 counters. Condition (lemma D, low ranks
 * run ahead): each rank has a ring of slots, one for each instance, with a place for what arrives
 * in each round. A rank that has filled half of the rings waits until all receivers have returned
 * that half (see pcoll_ring_return). In place, the result overwrites what the first put reads, so
 * everything waits for that.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/slices.h"
#include "algorithms/shape/ring.h"

#define DEFAULT_SLOTS 8

struct state {
    struct pcoll_plan *plan;
    struct pcoll_ring ring; /* slot_bytes: of one vector */
    int rounds;
    int nplaces;      /* for vectors in a slot */
    int includes_own; /* scan, not exscan */
    int phase;
    uint64_t level;         /* of the slot's tank, when everything so far has happened */
    struct pcoll_place sum; /* what I have reduced so far */
};

static int rounds_of(const struct pcoll_signature *signature)
{
    return pcoll_log_ceil(signature->nranks, 2);
}

/* For what arrives in each round; of an exscan, which needs that once more, also for sums. */
static int nplaces_of(const struct pcoll_signature *signature)
{
    return rounds_of(signature) * (signature->coll == PCOLL_SCAN ? 1 : 2);
}

/* The slot_bytes are those of one vector, or 0 if all of a slot fit a cell. */
static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    const uint64_t all = signature->bytes * (uint64_t)nplaces_of(signature);

    return (struct pcoll_ring){
        .slots = params->slots ? params->slots : DEFAULT_SLOTS,
        .nsegments = 1,
        .slot_bytes = all <= PCOLL_CELL_BYTES ? 0 : pcoll_whole_lines(signature->bytes),
    };
}

/* Place i of the slot. */
static struct pcoll_place vector_at(const struct state *s, int i)
{
    const uint64_t slot = (uint64_t)s->phase;

    if (s->ring.slot_bytes == 0)
        return pcoll_at(PCOLL_CELL,
                        slot * PCOLL_CELL_BYTES + (uint64_t)i * s->plan->signature.bytes);
    return pcoll_at(PCOLL_TEMP, (slot * (uint64_t)s->nplaces + (uint64_t)i) * s->ring.slot_bytes);
}

static bool sends(const struct state *s, int round)
{
    return s->plan->rank + (1 << round) < s->plan->signature.nranks;
}

static bool receives(const struct state *s, int round)
{
    return round < s->rounds && s->plan->rank >= 1 << round;
}

static int nreceivers(const struct state *s)
{
    int n = 0;

    while (n < s->rounds && sends(s, n))
        n++;
    return n;
}

/* What arrives in a round, and the REDUCE of that round, each outweigh all that arrives in later
 * rounds; later REDUCEs do not come early. The credit, and the put that everything waits for,
 * outweigh all arrivals. */
static uint64_t weight_of(const struct state *s, int round)
{
    return (uint64_t)1 << (s->rounds - 1 - round);
}

static uint64_t heavy(const struct state *s)
{
    return 2 * weight_of(s, 0);
}

static int trigger_of(const struct state *s)
{
    return s->level > 0 ? s->phase : PCOLL_NONE;
}

/* If this instance opens a half of the receivers' rings, everything waits for their credit. */
static void add_gate(struct state *s)
{
    struct pcoll_ring_use use;
    struct pcoll_entry gate;

    pcoll_ring_use(&s->ring, s->plan->signature.bytes, s->phase, 0, &use);
    if (!use.opens || nreceivers(s) == 0)
        return;
    gate = pcoll_entry_add(pcoll_ring_credit(&s->ring, use.half),
                           pcoll_ring_returned(&use, nreceivers(s)));
    pcoll_plan_add(s->plan, pcoll_entry_done(gate, s->phase, heavy(s)));
    s->level += heavy(s);
}

static void add_put(struct state *s, int round)
{
    const int peer = s->plan->rank + (1 << round);
    const bool is_overwritten = s->plan->signature.in_place && s->plan->rank > 0 && round == 0;
    struct pcoll_entry put = pcoll_entry_put(trigger_of(s), s->level, s->sum, peer,
                                             vector_at(s, round), s->plan->signature.bytes);

    put = pcoll_entry_signal(put, peer, s->phase, weight_of(s, round));
    pcoll_plan_add(s->plan, is_overwritten ? pcoll_entry_done(put, s->phase, heavy(s)) : put);
    s->level += is_overwritten ? heavy(s) : 0;
}

/* Reduce what has arrived and the sum so far. */
static void add_sum(struct state *s, int round, struct pcoll_place to)
{
    const bool is_needed = sends(s, round + 1) || receives(s, round + 1);
    struct pcoll_entry reduce;

    pcoll_plan_operand(s->plan, vector_at(s, round));
    pcoll_plan_operand(s->plan, s->sum);
    reduce = pcoll_entry_reduce(s->plan, s->phase, s->level, 2, to, s->plan->signature.bytes);
    pcoll_plan_add(s->plan,
                   is_needed ? pcoll_entry_done(reduce, s->phase, weight_of(s, round)) : reduce);
    s->level += is_needed ? weight_of(s, round) : 0;
    s->sum = to;
}

static void add_round(struct state *s, int round)
{
    if (sends(s, round))
        add_put(s, round);
    if (!receives(s, round))
        return;
    s->level += weight_of(s, round);
    if (s->includes_own)
        add_sum(s, round, receives(s, round + 1) ? vector_at(s, round) : pcoll_at(PCOLL_RECV, 0));
    else if (sends(s, round + 1))
        add_sum(s, round, vector_at(s, s->rounds + round));
}

/* The exscan: what has arrived last is from the lowest ranks. */
static void add_exscan(const struct state *s)
{
    const uint64_t bytes = s->plan->signature.bytes;
    const struct pcoll_place to = pcoll_at(PCOLL_RECV, 0);
    int n = 0;

    while (receives(s, n))
        n++;
    for (int round = n - 1; round >= 0 && n > 1; round--)
        pcoll_plan_operand(s->plan, vector_at(s, round));
    if (n > 1)
        pcoll_plan_add(s->plan, pcoll_entry_reduce(s->plan, s->phase, s->level, n, to, bytes));
    else if (n == 1)
        pcoll_plan_add(s->plan, pcoll_entry_copy(s->phase, s->level, vector_at(s, 0), to, bytes));
}

static void build_phase(struct state *s)
{
    const int rank = s->plan->rank;

    pcoll_plan_open(s->plan, s->phase);
    s->level = 0;
    s->sum = pcoll_at(PCOLL_SEND, 0);
    for (int round = 0; receives(s, round); round++)
        pcoll_ring_return(s->plan, &s->ring, s->phase, rank - (1 << round));
    add_gate(s);
    for (int round = 0; round < s->rounds; round++)
        add_round(s, round);
    if (!s->includes_own)
        add_exscan(s);
    else if (rank == 0 && !s->plan->signature.in_place)
        pcoll_plan_add(s->plan, pcoll_entry_copy(PCOLL_NONE, 0, s->sum, pcoll_at(PCOLL_RECV, 0),
                                                 s->plan->signature.bytes));
    s->plan->gain[s->phase] = s->level;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_ring ring = ring_of(signature, params);

    return pcoll_ring_bytes(&ring) * (uint64_t)nplaces_of(signature);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct state s = {
        .plan = plan,
        .ring = ring_of(signature, params),
        .rounds = rounds_of(signature),
        .nplaces = nplaces_of(signature),
        .includes_own = signature->coll == PCOLL_SCAN,
    };

    if (!pcoll_plan_begin(plan, s.ring.slots + 2, s.ring.slots))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = temp_bytes(signature, params);
    for (s.phase = 0; s.phase < s.ring.slots; s.phase++)
        build_phase(&s);
    for (int half = 0; half < 2; half++)
        plan->gain[pcoll_ring_credit(&s.ring, half)] = (uint64_t)nreceivers(&s);
    return PCOLL_OK;
}

/* In round j the highest 2^j ranks send nothing. Where ranks share cores, the mean of all ranks
 * counts. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_ring ring = ring_of(signature, params);
    const struct pcoll_machine own = pcoll_ring_machine(&ring, machine);
    const int rounds = rounds_of(signature);
    const double crowd = pcoll_cost_crowd(signature, machine), bytes = (double)signature->bytes;
    const double rate = pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    const double silent = (double)(UINT64_C(1) << rounds) - 1;
    const double sent = crowd > 1 ? rounds - silent / signature->nranks : rounds;

    return pcoll_cost_waves(signature, &own, rounds, 1) +
           sent * crowd * (pcoll_cost_node(machine).o + bytes * (rate + machine->reduce));
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_doubling = {                         \
        .name = "doubling",                                                                        \
        .alias = "recursive_doubling",                                                             \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "distances 1, 2, 4, ... in rank order",                                     \
        .when = "short vectors on many ranks",                                                     \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
        .uses_slots = PCOLL_RING,                                                                  \
    };

ROW(SCAN, scan)
ROW(EXSCAN, exscan)
