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
 * Cost: L + N o + N M (copy + reduce); slots + 2 or 4 counters. Condition (lemma D, low ranks run
 * ahead): each rank has a ring of slots, one for each segment. A rank waits until all higher ranks
 * have returned the half that it fills again: with one segment, when they start the other half
 * (pcoll_ring_return); with several, when they have reduced what is in it. In place, the result
 * overwrites what the puts read, so it also waits for these; and the puts of a later turn wait for
 * the results of this one, so that they cannot be taken for vectors that these wait for. One more
 * counter for each half says so.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/ring.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

/* Rank 0 copies so many segments to RECV at once, soon after it has put them. */
#define OWN_SEGMENTS 4

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
    struct pcoll_segment segment; /* in bytes */
    uint64_t level;               /* of the slot's counter when everything has arrived */
};

static int nhigher(const struct state *s)
{
    return s->plan->signature.nranks - 1 - s->plan->rank;
}

/* Where `receiver`, to which all lower ranks send, keeps the vector of `sender`. */
static struct pcoll_place vector_at(const struct state *s, const struct use *use, int receiver,
                                    int sender)
{
    return pcoll_vector_ring_place(&s->ring, use->at.slot, receiver, sender);
}

/* The result takes the place of what the puts read. */
static bool overwrites_input(const struct state *s)
{
    return s->plan->signature.in_place && s->plan->rank > 0;
}

/* The credits that all higher ranks together must have given before the slot is filled again. */
static uint64_t credit_of(const struct state *s, const struct use *use)
{
    if (!pcoll_ring_is_cut(&s->ring))
        return pcoll_ring_returned(&use->at, nhigher(s));
    return use->at.turn * (uint64_t)nhigher(s);
}

/* What the puts wait for: a counter and its threshold. */
struct wait {
    int counter;
    uint64_t threshold;
};

/* The counter of the half that says so: see wait_for_both. */
static int both_counter(const struct state *s, const struct use *use)
{
    return pcoll_ring_counters(&s->ring) + use->at.half;
}

/* The credit for the half, and the results of its last turn. The first use in a turn asks for
 * both. */
static struct wait wait_for_both(const struct state *s, const struct use *use, struct wait credit)
{
    const int both = both_counter(s, use), emptied = pcoll_ring_emptied(&s->ring, &use->at);
    const uint64_t results = s->plan->gain[emptied];

    if (use->at.slot == use->at.half * s->ring.slots / 2) {
        pcoll_plan_add(
            s->plan, pcoll_entry_done(pcoll_entry_add(credit.counter, credit.threshold), both, 1));
        pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_add(emptied, results), both, 1));
        s->plan->gain[both] += 2;
    }
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

/* In place, the result of the slot also waits for the puts. */
static void add_puts(const struct state *s, const struct use *use, struct wait wait)
{
    const int slot = use->at.slot, told = overwrites_input(s) ? slot : PCOLL_NONE;

    for (int peer = s->plan->rank + 1; peer < s->plan->signature.nranks; peer++) {
        const struct pcoll_entry put =
            pcoll_entry_put(wait.counter, wait.threshold, pcoll_at(PCOLL_SEND, use->segment.first),
                            peer, vector_at(s, use, peer, s->plan->rank), use->segment.count);

        pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_signal(put, peer, slot, 1), told,
                                                 told != PCOLL_NONE));
    }
}

/* The counter that the result of this use adds 1 to: it empties the slot, and credit waits for it
 * if the use counts. */
static int count_result(const struct state *s, const struct use *use)
{
    const int emptied = pcoll_ring_emptied(&s->ring, &use->at);

    if (!pcoll_ring_is_cut(&s->ring) || !use->at.counts)
        return PCOLL_NONE;
    s->plan->gain[emptied]++;
    return emptied;
}

static void add_result(const struct state *s, const struct use *use)
{
    const int rank = s->plan->rank, noperands = rank + s->includes_own;
    const int slot = use->at.slot, told = count_result(s, use);
    const struct pcoll_place to = pcoll_at(PCOLL_RECV, use->segment.first);

    if (noperands == 1) {
        const struct pcoll_entry copy =
            pcoll_entry_copy(slot, use->level, vector_at(s, use, rank, 0), to, use->segment.count);

        pcoll_plan_add(s->plan, pcoll_entry_done(copy, told, told != PCOLL_NONE));
        return;
    }
    for (int r = 0; r < rank; r++)
        pcoll_plan_operand(s->plan, vector_at(s, use, rank, r));
    if (s->includes_own)
        pcoll_plan_operand(s->plan, pcoll_at(PCOLL_SEND, use->segment.first));
    pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_reduce(s->plan, slot, use->level,
                                                                noperands, to, use->segment.count),
                                             told, told != PCOLL_NONE));
}

/* The result of rank 0 is its own vector; in place it is there, and an exscan has none. After the
 * puts of segment `i`, copy what is due; it waits with them, to let them go first. */
static void add_own_copy(const struct state *s, const struct use *use, uint64_t i, struct wait wait)
{
    const bool copies = s->includes_own && !s->plan->signature.in_place;
    const uint64_t units = s->plan->signature.bytes / s->unit, n = s->ring.nsegments;
    const uint64_t end = use->segment.first + use->segment.count;
    uint64_t first;

    if (!copies || (i + 1 < n && (i + 1) % OWN_SEGMENTS > 0))
        return;
    first = s->unit * pcoll_segment_of(units, n, i / OWN_SEGMENTS * OWN_SEGMENTS).first;
    pcoll_plan_add(s->plan,
                   pcoll_entry_copy(wait.counter, wait.threshold, pcoll_at(PCOLL_SEND, first),
                                    pcoll_at(PCOLL_RECV, first), end - first));
}

/* Return the half, which has been reduced. */
static void add_credits(const struct state *s, const struct use *use)
{
    const int credit = pcoll_ring_credit(&s->ring, use->at.half);
    const int emptied = pcoll_ring_emptied(&s->ring, &use->at);
    const struct pcoll_entry all = pcoll_entry_add(emptied, s->plan->gain[emptied]);

    for (int peer = 0; peer < s->plan->rank; peer++)
        pcoll_plan_add(s->plan, pcoll_entry_signal(all, peer, credit, 1));
}

static void add_use(const struct state *s, uint64_t i)
{
    const uint64_t own = (uint64_t)(overwrites_input(s) ? nhigher(s) : 0);
    const int rank = s->plan->rank;
    struct wait wait;
    struct use use;

    pcoll_ring_use(&s->ring, s->plan->signature.bytes / s->unit, s->phase, i, &use.at);
    use.segment =
        (struct pcoll_segment){use.at.segment.first * s->unit, use.at.segment.count * s->unit};
    use.level = s->plan->gain[use.at.slot] + (uint64_t)rank + own;
    wait = wait_of(s, &use);
    add_puts(s, &use, wait);
    if (rank == 0)
        add_own_copy(s, &use, i, wait);
    else
        add_result(s, &use);
    if (pcoll_ring_is_cut(&s->ring) && use.at.closes)
        add_credits(s, &use);
    s->plan->gain[use.at.slot] = use.level;
}

static void build(struct state *s)
{
    for (s->phase = 0; s->phase < s->plan->nphases; s->phase++) {
        pcoll_plan_open(s->plan, s->phase);
        for (int r = 0; !pcoll_ring_is_cut(&s->ring) && r < s->plan->rank; r++)
            pcoll_ring_return(s->plan, &s->ring, s->phase, r);
        for (uint64_t i = 0; i < s->ring.nsegments; i++)
            add_use(s, i);
    }
    for (int half = 0; half < 2; half++)
        s->plan->gain[pcoll_ring_credit(&s->ring, half)] =
            pcoll_ring_turns(&s->ring) * (uint64_t)nhigher(s);
}

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return pcoll_unit_ring_make(signature, params, DEFAULT_SEGMENT);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_ring ring = ring_of(signature, params);

    return pcoll_vector_ring_bytes(&ring, signature->nranks - 1);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct state s = {.plan = plan,
                      .ring = ring_of(signature, params),
                      .unit = pcoll_unit_of(signature),
                      .includes_own = signature->coll == PCOLL_SCAN};
    const int both = signature->in_place && pcoll_ring_turns(&s.ring) > 1 ? 2 : 0;

    if (!pcoll_plan_begin(plan, pcoll_ring_counters(&s.ring) + both, pcoll_ring_phases(&s.ring)))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = pcoll_vector_ring_bytes(&s.ring, plan->rank);
    build(&s);
    return PCOLL_OK;
}

/* Rank 0 puts to all others while the last rank reduces all vectors, segment by segment; if ranks
 * share cores, either gets only its share of one while the others wait. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_ring ring = ring_of(signature, params);
    const struct pcoll_machine own = pcoll_ring_machine(&ring, machine);
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double segments = (double)ring.nsegments;
    const double segment = (double)signature->bytes / segments;
    const double put =
        peers * segment * crowd * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    const double reduce = crowd * peers * (pcoll_cost_node(machine).o + segment * machine->reduce);
    const double both = put + reduce;

    return pcoll_cost_waves(signature, &own, 1, peers) + both +
           (segments - 1) * (crowd > 1 ? both : peers * machine->o + pcoll_larger(put, reduce));
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_direct = {                           \
        .name = "direct",                                                                          \
        .alias = "linear",                                                                         \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "everybody reduces the vectors of all lower ranks",                         \
        .when = "few ranks",                                                                       \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
        .uses_segment = 1,                                                                         \
        .uses_slots = PCOLL_RING,                                                                  \
    };

ROW(SCAN, scan)
ROW(EXSCAN, exscan)
