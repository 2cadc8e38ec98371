/*
 * Scan and exscan in which every rank gets the vectors of all lower ranks.
 *
 * Idea: put my vector into the slot of every higher rank, in its communication buffer or beside the
 * counter (cells, if all of them fit there). When the vectors of all lower ranks have arrived, one
 * REDUCE in rank order gives the result; the own vector is its last operand (of an exscan, no
 * operand). Long vectors go in segments, which are put and reduced at the same time.
 *
 * Source: the flat scan of shared-memory libraries, with puts.
 *
 *      N = 4:   0 -> 1, 2, 3   1 -> 2, 3   2 -> 3: 3 reduces 0 * 1 * 2 (* 3)
 *
 * Cost: L + N o + N M (copy + reduce); slots + 2 counters. When: a few ranks, or short vectors.
 * Condition (lemma D, low ranks run ahead): each rank has a ring of slots, one for each segment. A
 * rank waits until all higher ranks have returned the slots that it fills again: with one segment,
 * half a ring when they start the other half (pcoll_ring_return); with several, each slot when it
 * has been reduced. In place, the result overwrites what the puts read, so it also waits for these;
 * and the puts of a later turn wait for the result of this one, so that they cannot be taken for
 * vectors that it waits for. One more counter for each slot says so.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/ring.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

struct state {
    struct pcoll_plan *plan;
    struct pcoll_ring ring; /* slot_bytes: of one vector; its segments are counted in units */
    uint64_t unit;
    int phase;
    int includes_own; /* scan, not exscan */
};

/* One use of one slot. */
struct use {
    struct pcoll_ring_use at;
    struct pcoll_segment part; /* in bytes */
    uint64_t level;            /* of the slot's counter when everything has arrived */
};

static int is_long(const struct state *s)
{
    return s->ring.nsegments > 1;
}

static int nhigher(const struct state *s)
{
    return s->plan->signature.nranks - 1 - s->plan->rank;
}

/* The size of a vector's place in a slot in TEMP on `rank`; 0: they are in a cell. */
static uint64_t room(const struct pcoll_ring *ring, int rank)
{
    if ((uint64_t)rank * ring->slot_bytes <= PCOLL_CELL_BYTES)
        return 0;
    return pcoll_whole_lines(ring->slot_bytes);
}

/* Where `receiver` keeps the vector of `sender`. */
static struct pcoll_place vector_at(const struct state *s, const struct use *use, int receiver,
                                    int sender)
{
    const uint64_t slot = (uint64_t)use->at.slot, i = (uint64_t)sender;
    const uint64_t bytes = room(&s->ring, receiver);

    if (bytes == 0)
        return pcoll_at(PCOLL_CELL, slot * PCOLL_CELL_BYTES + i * s->ring.slot_bytes);
    return pcoll_at(PCOLL_TEMP, (slot * (uint64_t)receiver + i) * bytes);
}

/* The result takes the place of what the puts read. */
static int overwrites_input(const struct state *s)
{
    return s->plan->signature.in_place && s->plan->rank > 0;
}

/* The credits that all higher ranks together must have given before the slot is filled again. */
static uint64_t credit_of(const struct state *s, const struct use *use)
{
    if (!is_long(s))
        return pcoll_ring_returned(&use->at, nhigher(s));
    return use->at.credits * (uint64_t)nhigher(s);
}

/* What the puts wait for: a counter and its threshold. */
struct wait {
    int counter;
    uint64_t threshold;
};

/* The credit and the result of the turn before. */
static struct wait wait_for_both(const struct state *s, const struct use *use, struct wait credit)
{
    const int slot = use->at.slot, both = s->ring.slots + 2 + slot;

    pcoll_plan_add(s->plan,
                   pcoll_entry_done(pcoll_entry_add(credit.counter, credit.threshold), both, 1));
    pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_add(slot, s->plan->gain[slot]), both, 1));
    s->plan->gain[both] += 2;
    return (struct wait){both, s->plan->gain[both]};
}

static struct wait wait_of(const struct state *s, const struct use *use)
{
    const struct wait nothing = {PCOLL_NONE, 0};
    const struct wait credit = {pcoll_ring_credit(&s->ring, use->at.half), credit_of(s, use)};

    if (!use->at.opens || nhigher(s) == 0)
        return nothing;
    return use->at.turn > 0 && overwrites_input(s) ? wait_for_both(s, use, credit) : credit;
}

static void add_puts(const struct state *s, const struct use *use)
{
    const struct wait wait = wait_of(s, use);
    const int slot = use->at.slot;

    for (int peer = s->plan->rank + 1; peer < s->plan->signature.nranks; peer++) {
        struct pcoll_entry put =
            pcoll_entry_put(wait.counter, wait.threshold, pcoll_at(PCOLL_SEND, use->part.first),
                            peer, vector_at(s, use, peer, s->plan->rank), use->part.count);

        put = pcoll_entry_signal(put, peer, slot, 1);
        pcoll_plan_add(s->plan, overwrites_input(s) ? pcoll_entry_done(put, slot, 1) : put);
    }
}

/* The result of this use, which a rank that returns the slot tells itself. */
static void add_result(const struct state *s, const struct use *use)
{
    const int rank = s->plan->rank, noperands = rank + s->includes_own;
    const int trigger = rank > 0 ? use->at.slot : PCOLL_NONE;
    const struct pcoll_place own = pcoll_at(PCOLL_SEND, use->part.first);
    const struct pcoll_place to = pcoll_at(PCOLL_RECV, use->part.first);
    struct pcoll_entry result;

    if (noperands == 0 || (rank == 0 && s->plan->signature.in_place))
        return;
    for (int r = 0; noperands > 1 && r < noperands; r++)
        pcoll_plan_operand(s->plan, r == rank ? own : vector_at(s, use, rank, r));
    if (noperands > 1)
        result = pcoll_entry_reduce(s->plan, trigger, use->level, noperands, to, use->part.count);
    else
        result = pcoll_entry_copy(trigger, use->level, rank == 0 ? own : vector_at(s, use, rank, 0),
                                  to, use->part.count);
    pcoll_plan_add(s->plan,
                   is_long(s) && rank > 0 ? pcoll_entry_done(result, use->at.slot, 1) : result);
}

/* Return the slot, which has been reduced. */
static void add_credits(const struct state *s, const struct use *use)
{
    const int credit = pcoll_ring_credit(&s->ring, use->at.half);

    for (int peer = 0; peer < s->plan->rank; peer++)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(use->at.slot, use->level + 1),
                                                   peer, credit, 1));
}

static void add_use(const struct state *s, uint64_t i)
{
    const uint64_t own = (uint64_t)(overwrites_input(s) ? nhigher(s) : 0);
    const int rank = s->plan->rank;
    struct use use;

    pcoll_ring_use(&s->ring, s->plan->signature.bytes / s->unit, s->phase, i, &use.at);
    use.part = (struct pcoll_segment){use.at.part.first * s->unit, use.at.part.count * s->unit};
    use.level = s->plan->gain[use.at.slot] + (uint64_t)rank + own;
    add_puts(s, &use);
    add_result(s, &use);
    if (is_long(s))
        add_credits(s, &use);
    s->plan->gain[use.at.slot] = use.level + (is_long(s) && rank > 0);
}

static void build(struct state *s)
{
    const uint64_t credits = is_long(s) ? pcoll_ring_credits(&s->ring) : 1;

    for (s->phase = 0; s->phase < s->plan->nphases; s->phase++) {
        pcoll_plan_open(s->plan, s->phase);
        for (int r = 0; !is_long(s) && r < s->plan->rank; r++)
            pcoll_ring_return(s->plan, &s->ring, s->phase, r);
        for (uint64_t i = 0; i < s->ring.nsegments; i++)
            add_use(s, i);
    }
    for (int half = 0; half < 2; half++)
        s->plan->gain[pcoll_ring_credit(&s->ring, half)] = credits * (uint64_t)nhigher(s);
}

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return pcoll_unit_ring_make(signature, params, DEFAULT_SEGMENT);
}

static uint64_t temp_of(const struct pcoll_ring *ring, int rank)
{
    return (uint64_t)ring->slots * (uint64_t)rank * room(ring, rank);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_ring ring = ring_of(signature, params);

    return temp_of(&ring, signature->nranks - 1);
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct state s = {.ring = ring_of(signature, params),
                      .unit = pcoll_unit_of(signature),
                      .includes_own = signature->coll == PCOLL_SCAN};
    const int both = signature->in_place && pcoll_ring_turns(&s.ring) > 1 ? s.ring.slots : 0;
    enum pcoll_result result = pcoll_plan_create(signature, rank, "direct", s.ring.slots + 2 + both,
                                                 pcoll_ring_phases(&s.ring), &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    s.plan->temp_bytes = temp_of(&s.ring, rank);
    build(&s);
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

/* Rank 0 puts to all others while the last rank reduces all vectors, segment by segment; if ranks
 * share cores, what all of them do counts. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_ring ring = ring_of(signature, params);
    const struct pcoll_machine own = pcoll_ring_machine(&ring, machine);
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double shared = crowd > 1 ? crowd / 2 : 1, segments = (double)ring.nsegments;
    const double part = (double)signature->bytes / segments;
    const double put = peers * part * shared * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    const double reduce = shared * (pcoll_cost_node(machine).o + peers * part * machine->reduce);
    const double both = put + reduce;

    return pcoll_cost_waves(signature, &own, 1, peers) + both +
           (segments - 1) * (crowd > 1 ? both : peers * machine->o + pcoll_larger(put, reduce));
}

const struct pcoll_algorithm pcoll_scan_direct = {
    .name = "direct",
    .alias = "linear",
    .coll = PCOLL_SCAN,
    .description = "everybody reduces the vectors of all lower ranks",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_slots = 1,
};

const struct pcoll_algorithm pcoll_exscan_direct = {
    .name = "direct",
    .alias = "linear",
    .coll = PCOLL_EXSCAN,
    .description = "everybody reduces the vectors of all lower ranks",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_slots = 1,
};
