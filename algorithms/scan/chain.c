/*
 * Scan and exscan along the chain of all ranks, in segments.
 *
 * Idea: each rank reduces what the rank below it has sent with its own vector and sends the prefix
 * to the rank above, while the next segment arrives. A scan makes it in RECV, from where it is sent
 * on; an exscan, whose RECV gets what has arrived, beside that.
 *
 * Source: the linear scan of every MPI, pipelined like its chains.
 *
 *      N = 4:   0: a -> 1: ab -> 2: abc -> 3: abcd
 *
 * Cost: (N - 1) (L + o + s (G + reduce)) for the first segment of s bytes, then M G, while the
 * processors reduce; if ranks share cores only what they do; slots + 2 or 4 counters. No rank does
 * more than any other, whatever N, which pays where ranks run ahead of those above them or share
 * cores.
 *
 * What counter data[slot] receives for one use: 2 from the put of the rank below, 2 from the
 * REDUCE, and 1 from the gate that the credit of the rank above opens, if there is one. So none of
 * them is taken for another.
 *
 * Condition (lemma D, low ranks run ahead): each rank has a ring of slots, one for each segment. A
 * rank waits until the rank above has returned the half that it fills again: with one segment, when
 * that starts the other half (pcoll_ring_return); with several, when it has done with all that is
 * in it. In place, a REDUCE overwrites its own operand, which nothing else reads.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/ring.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

enum { GATE = 1, WORK = 2 };

struct state {
    struct pcoll_plan *plan;
    struct pcoll_ring ring; /* slot_bytes: of one vector; its segments are counted in units */
    uint64_t unit;
    int phase;
    bool is_scan; /* not exscan */
};

/* One use of one slot. */
struct use {
    struct pcoll_ring_use at;
    struct pcoll_segment segment; /* in bytes */
    uint64_t level;               /* of the slot's counter, when all so far has happened */
};

static bool has_below(const struct state *s)
{
    return s->plan->rank > 0;
}

static bool has_above(const struct state *s)
{
    return s->plan->rank + 1 < s->plan->signature.nranks;
}

/* What has arrived, and of an exscan what is sent on. */
static int nplaces_of(const struct pcoll_signature *signature)
{
    return signature->coll == PCOLL_SCAN ? 1 : 2;
}

static struct pcoll_place place_of(const struct state *s, const struct use *use, int i)
{
    return pcoll_vector_ring_place(&s->ring, use->at.slot, nplaces_of(&s->plan->signature), i);
}

static struct pcoll_place arrived_at(const struct state *s, const struct use *use)
{
    return place_of(s, use, 0);
}

/* What goes to the rank above. */
static struct pcoll_place prefix_at(const struct state *s, const struct use *use)
{
    if (!has_below(s))
        return pcoll_at(PCOLL_SEND, use->segment.first);
    return s->is_scan ? pcoll_at(PCOLL_RECV, use->segment.first) : place_of(s, use, 1);
}

/* An entry without which the slot is not empty: the credit may wait for it. */
static void add_counted(const struct state *s, const struct use *use, struct pcoll_entry entry)
{
    const int emptied = pcoll_ring_emptied(&s->ring, &use->at);

    if (has_below(s) && pcoll_ring_is_cut(&s->ring) && use->at.counts) {
        s->plan->gain[emptied]++;
        entry = pcoll_entry_done(entry, emptied, 1);
    }
    pcoll_plan_add(s->plan, entry);
}

/* The credits that the rank above must have given before the slot is filled again. */
static uint64_t credit_of(const struct state *s, const struct use *use)
{
    return pcoll_ring_is_cut(&s->ring) ? use->at.turn : pcoll_ring_returned(&use->at, 1);
}

/* Rank 0 sends its own vector, which is its scan, too. */
static void add_first(const struct state *s, const struct use *use)
{
    const bool waits = use->at.opens;
    const int trigger = waits ? pcoll_ring_credit(&s->ring, use->at.half) : PCOLL_NONE;
    const uint64_t threshold = waits ? credit_of(s, use) : 0;
    const struct pcoll_place own = prefix_at(s, use);
    const struct pcoll_entry put =
        pcoll_entry_put(trigger, threshold, own, 1, arrived_at(s, use), use->segment.count);

    pcoll_plan_add(s->plan, pcoll_entry_signal(put, 1, use->at.slot, WORK));
    if (s->is_scan && !s->plan->signature.in_place)
        pcoll_plan_add(s->plan, pcoll_entry_copy(trigger, threshold, own,
                                                 pcoll_at(PCOLL_RECV, use->segment.first),
                                                 use->segment.count));
}

/* The prefix of a rank that has one below. */
static void add_prefix(const struct state *s, struct use *use)
{
    struct pcoll_entry reduce;

    pcoll_plan_operand(s->plan, arrived_at(s, use));
    pcoll_plan_operand(s->plan, pcoll_at(PCOLL_SEND, use->segment.first));
    reduce = pcoll_entry_reduce(s->plan, use->at.slot, use->level, 2, prefix_at(s, use),
                                use->segment.count);
    if (!has_above(s)) {
        add_counted(s, use, reduce);
        return;
    }
    pcoll_plan_add(s->plan, pcoll_entry_done(reduce, use->at.slot, WORK));
    use->level += WORK;
}

static void add_put(const struct state *s, struct use *use)
{
    const int above = s->plan->rank + 1;
    struct pcoll_entry put;

    if (use->at.opens) {
        const struct pcoll_entry gate =
            pcoll_entry_add(pcoll_ring_credit(&s->ring, use->at.half), credit_of(s, use));

        pcoll_plan_add(s->plan, pcoll_entry_done(gate, use->at.slot, GATE));
        use->level += GATE;
    }
    put = pcoll_entry_put(use->at.slot, use->level, prefix_at(s, use), above, arrived_at(s, use),
                          use->segment.count);
    add_counted(s, use, pcoll_entry_signal(put, above, use->at.slot, WORK));
}

/* An exscan's result is what has arrived when the slot's counter has reached `level`. */
static void add_arrived(const struct state *s, const struct use *use, uint64_t level)
{
    add_counted(s, use,
                pcoll_entry_copy(use->at.slot, level, arrived_at(s, use),
                                 pcoll_at(PCOLL_RECV, use->segment.first), use->segment.count));
}

static void add_use(const struct state *s, uint64_t i)
{
    struct use use;
    uint64_t arrived;

    pcoll_ring_use(&s->ring, s->plan->signature.bytes / s->unit, s->phase, i, &use.at);
    use.segment =
        (struct pcoll_segment){use.at.segment.first * s->unit, use.at.segment.count * s->unit};
    use.level = s->plan->gain[use.at.slot];
    if (!has_below(s)) {
        add_first(s, &use);
        return;
    }
    use.level += WORK;
    arrived = use.level;
    if (s->is_scan || has_above(s))
        add_prefix(s, &use);
    if (s->plan->signature.in_place)
        arrived = use.level; /* an exscan's result overwrites an operand */
    if (has_above(s))
        add_put(s, &use);
    if (!s->is_scan)
        add_arrived(s, &use, arrived);
    s->plan->gain[use.at.slot] = use.level;
}

/* Return the half, with which this rank has done. */
static void add_credit(const struct state *s, uint64_t i)
{
    struct pcoll_ring_use at;
    int emptied;

    pcoll_ring_use(&s->ring, 0, s->phase, i, &at);
    emptied = pcoll_ring_emptied(&s->ring, &at);
    if (at.closes)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(emptied, s->plan->gain[emptied]),
                                                   s->plan->rank - 1,
                                                   pcoll_ring_credit(&s->ring, at.half), 1));
}

static void build(struct state *s)
{
    const bool is_cut = pcoll_ring_is_cut(&s->ring);

    for (s->phase = 0; s->phase < s->plan->nphases; s->phase++) {
        pcoll_plan_open(s->plan, s->phase);
        if (has_below(s) && !is_cut)
            pcoll_ring_return(s->plan, &s->ring, s->phase, s->plan->rank - 1);
        for (uint64_t i = 0; i < s->ring.nsegments; i++) {
            add_use(s, i);
            if (has_below(s) && is_cut)
                add_credit(s, i);
        }
    }
    for (int half = 0; half < 2 && has_above(s); half++)
        s->plan->gain[pcoll_ring_credit(&s->ring, half)] = pcoll_ring_turns(&s->ring);
}

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return pcoll_unit_ring_make(signature, params, DEFAULT_SEGMENT);
}

/* The most that a rank needs; rank 0 receives nothing and needs none. */
static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_ring ring = ring_of(signature, params);

    return pcoll_vector_ring_bytes(&ring, nplaces_of(signature));
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct state s = {.plan = plan,
                      .ring = ring_of(signature, params),
                      .unit = pcoll_unit_of(signature),
                      .is_scan = signature->coll == PCOLL_SCAN};

    if (!pcoll_plan_begin(plan, pcoll_ring_counters(&s.ring), pcoll_ring_phases(&s.ring)))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = has_below(&s) ? temp_bytes(signature, params) : 0;
    build(&s);
    return PCOLL_OK;
}

/* What the copies of an exscan add. While a network moves a segment, processors copy the one
 * before; otherwise all but rank 0 copy, while the last rank reduces nothing, and where ranks share
 * cores, the mean of all ranks counts. */
static double cost_of_copies(const struct pcoll_signature *signature,
                             const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const double crowd = pcoll_cost_crowd(signature, machine), nranks = signature->nranks;
    const double bytes = (double)signature->bytes;

    if (pcoll_is_over_wire(signature))
        return bytes / (double)ring_of(signature, params).nsegments * machine->copy;
    if (crowd <= 1)
        return bytes * machine->copy;
    return crowd * bytes / nranks * ((nranks - 1) * machine->copy - machine->reduce);
}

/* What of the first segment's way along the chain counts: back to back nothing, as ranks that share
 * cores run ahead of those above them, after a barrier all. */
#define WAY 0.25

/* With shared cores: what all ranks do, divided among the cores, and the start's part of a turn. */
static double cost_of_crowd(const struct pcoll_signature *signature,
                            const struct pcoll_params *params, const struct pcoll_machine *machine,
                            double crowd)
{
    const struct pcoll_ring ring = ring_of(signature, params);
    const struct pcoll_machine own = pcoll_ring_machine(&ring, machine);
    const double segments = (double)ring.nsegments;
    const double work = (double)signature->bytes * (own.copy + own.reduce);

    return machine->call + pcoll_cost_wave(signature, &own, 0, true) +
           crowd * (3 * segments * own.o + work) + WAY * (signature->nranks - 1) * work / segments;
}

/* As that of the reduction along the same chain, to the last rank. */
static double cost_of_links(const struct pcoll_signature *signature,
                            const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    struct pcoll_signature reduction = *signature;

    reduction.coll = PCOLL_REDUCE;
    reduction.root = signature->nranks - 1;
    return pcoll_reduce_chain.cost(&reduction, params, machine);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double crowd = pcoll_cost_crowd(signature, machine);

    return (crowd > 1 && !pcoll_is_over_wire(signature)
                ? cost_of_crowd(signature, params, machine, crowd)
                : cost_of_links(signature, params, machine)) +
           (signature->coll == PCOLL_SCAN ? 0 : cost_of_copies(signature, params, machine));
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_chain = {                            \
        .name = "chain",                                                                           \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "each rank sends its prefix to the next one, in segments",                  \
        .when = "ranks that share cores, and long vectors between nodes",                          \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
        .uses_segment = 1,                                                                         \
        .uses_slots = PCOLL_RING,                                                                  \
    };

ROW(SCAN, scan)
ROW(EXSCAN, exscan)
