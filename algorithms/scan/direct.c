/*
 * Scan and exscan in which every rank gets the vectors of all lower ranks.
 *
 * Idea: short vectors cost next to nothing to reduce. Put my vector into the slot of every higher
 * rank, in its communication buffer or beside the counter (cells, if all of them fit there). When
 * the vectors of all lower ranks have arrived, one REDUCE in rank order gives the result; the own
 * vector is its last operand (of an exscan, no operand).
 *
 * Source: the flat scan of shared-memory libraries, with puts.
 *
 *      N = 4:   0 -> 1, 2, 3   1 -> 2, 3   2 -> 3: 3 reduces 0 * 1 * 2 (* 3)
 *
 * Cost: L + N o + N M (copy + reduce); slots + 2 counters. When: a few ranks and short vectors.
 * Condition (lemma D, low ranks run ahead): each rank has a ring of slots, one for each instance. A
 * rank that has filled half of the rings waits until all higher ranks have returned that half (see
 * pcoll_ring_return). In place, the result overwrites what the puts read, so it also waits for
 * these.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/parts.h"
#include "algorithms/shape/ring.h"

#define DEFAULT_SLOTS 8

struct state {
    struct pcoll_plan *plan;
    struct pcoll_ring ring; /* slot_bytes: of one vector in TEMP */
    int phase;
    int includes_own; /* scan, not exscan */
};

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return (struct pcoll_ring){
        .slots = params->slots ? params->slots : DEFAULT_SLOTS,
        .nsegments = 1,
        .slot_bytes = pcoll_whole_lines(signature->bytes),
    };
}

static int fits_cell(const struct pcoll_signature *signature, int rank)
{
    return signature->bytes * (uint64_t)rank <= PCOLL_CELL_BYTES;
}

/* Where `receiver` keeps the vector of `sender`. */
static struct pcoll_place vector_at(const struct state *s, int receiver, int sender)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const uint64_t slot = (uint64_t)s->phase, i = (uint64_t)sender;

    if (fits_cell(signature, receiver))
        return pcoll_at(PCOLL_CELL, slot * PCOLL_CELL_BYTES + i * signature->bytes);
    return pcoll_at(PCOLL_TEMP, (slot * (uint64_t)receiver + i) * s->ring.slot_bytes);
}

static int nhigher(const struct state *s)
{
    return s->plan->signature.nranks - 1 - s->plan->rank;
}

/* The result takes the place of what the puts read. */
static int overwrites_input(const struct state *s)
{
    return s->plan->signature.in_place && s->plan->rank > 0;
}

static void add_puts(const struct state *s)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const struct pcoll_ring_use use = pcoll_ring_use(&s->ring, signature->bytes, s->phase, 0);
    const int trigger = use.opens ? pcoll_ring_credit(&s->ring, use.half) : PCOLL_NONE;
    const uint64_t threshold = use.opens ? pcoll_ring_returned(&use, nhigher(s)) : 0;

    for (int peer = s->plan->rank + 1; peer < signature->nranks; peer++) {
        struct pcoll_entry put =
            pcoll_entry_put(trigger, threshold, pcoll_at(PCOLL_SEND, 0), peer,
                            vector_at(s, peer, s->plan->rank), signature->bytes);

        put = pcoll_entry_signal(put, peer, s->phase, 1);
        pcoll_plan_add(s->plan, overwrites_input(s) ? pcoll_entry_done(put, s->phase, 1) : put);
    }
}

static void add_result(const struct state *s, int trigger, uint64_t level)
{
    const uint64_t bytes = s->plan->signature.bytes;
    const int rank = s->plan->rank, noperands = rank + s->includes_own;
    const struct pcoll_place own = pcoll_at(PCOLL_SEND, 0), to = pcoll_at(PCOLL_RECV, 0);

    if (noperands == 0 || (rank == 0 && s->plan->signature.in_place))
        return;
    if (noperands == 1) {
        const struct pcoll_place from = rank == 0 ? own : vector_at(s, rank, 0);

        pcoll_plan_add(s->plan, pcoll_entry_copy(trigger, level, from, to, bytes));
        return;
    }
    for (int r = 0; r < noperands; r++)
        pcoll_plan_operand(s->plan, r == rank ? own : vector_at(s, rank, r));
    pcoll_plan_add(s->plan, pcoll_entry_reduce(s->plan, trigger, level, noperands, to, bytes));
}

static void build_phase(const struct state *s)
{
    const int rank = s->plan->rank;
    const uint64_t level = (uint64_t)(rank + (overwrites_input(s) ? nhigher(s) : 0));

    pcoll_plan_open(s->plan, s->phase);
    for (int r = 0; r < rank; r++)
        pcoll_ring_return(s->plan, &s->ring, s->phase, r);
    add_puts(s);
    add_result(s, rank > 0 ? s->phase : PCOLL_NONE, level);
    s->plan->gain[s->phase] = level;
}

static uint64_t temp_of(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                        int rank)
{
    return fits_cell(signature, rank) ? 0 : pcoll_ring_bytes(ring) * (uint64_t)rank;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_ring ring = ring_of(signature, params);

    return temp_of(signature, &ring, signature->nranks - 1);
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct state s = {.ring = ring_of(signature, params),
                      .includes_own = signature->coll == PCOLL_SCAN};
    enum pcoll_result result =
        pcoll_plan_create(signature, rank, "direct", s.ring.slots + 2, s.ring.slots, &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    s.plan->temp_bytes = temp_of(signature, &s.ring, rank);
    for (s.phase = 0; s.phase < s.ring.slots; s.phase++)
        build_phase(&s);
    for (int half = 0; half < 2; half++)
        s.plan->gain[pcoll_ring_credit(&s.ring, half)] = (uint64_t)nhigher(&s);
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

/* Rank 0 puts to all others, and the last rank reduces all vectors; if ranks share cores, what all
 * of them do counts. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_ring ring = ring_of(signature, params);
    const struct pcoll_machine own = pcoll_ring_machine(&ring, machine);
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double shared = crowd > 1 ? crowd / 2 : 1, vectors = peers * (double)signature->bytes;

    return pcoll_cost_waves(signature, &own, 1, peers) +
           vectors * shared * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP) +
           shared * (machine->o + vectors * machine->reduce);
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
    .uses_slots = 1,
};
