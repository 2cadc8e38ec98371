/*
 * Allreduce around a ring through communication buffers, for operators that commute.
 *
 * Idea: the vector has a block for each of N ranks. In steps t = 0 .. N-2 block b travels from rank
 * b on around the ring, and each rank reduces what arrives with its own operand; so rank b - 1 has
 * the result of block b, which in steps N-1 .. 2N-3 travels around the ring once more. In every
 * step each link carries one block, whatever the number of ranks, and while a rank reduces a
 * segment of a block the next one arrives.
 *
 * Ranks follow each other node by node, so each node sends to one other and receives from one.
 *
 *      N = 3, vectors abc:   0.a -> 1, 1.b -> 2, 2.c -> 0 | 01.a -> 2, 12.b -> 0, 20.c -> 1 |
 *      2 has a, 0 b, 1 c | a -> 0, b -> 1, c -> 2 | a -> 1, b -> 2, c -> 0
 *
 * A block travels in up to 4 segments of at most params->segment bytes. If it is longer, the vector
 * has several chunks, each of which has N blocks and goes around the ring after the one before,
 * without waiting for its end. What arrives goes into a ring of four slots for each segment of a
 * block (shape/ring.h): item (chunk, step, segment) is number n = (chunk * 2 (N-1) + step) *
 * nsegments + segment and takes slot n mod nslots. A rank returns a slot when it has passed on what
 * is in it.
 *
 * Source: Chan et al., "Collective communication: theory, practice, and experience" (2007), bucket
 * algorithms; Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms" (2009). The slots are
 * ours.
 *
 * What counter slot n receives for one use: 2 from what arrives, from the REDUCE or the copy, and
 * from the put to the next rank if that reads the slot; 1 from the gate that the next rank's credit
 * opens. The gate of the next use is not opened before the put of this one has left.
 *
 * Cost: 2 (N - 1) (L + o) + 2 M G, while the processors reduce; nslots + 2 counters. Condition:
 * completing takes no other rank's consent, so the slots have credits (lemma D). Item n waits for
 * credit of no item after n - nslots / 2 - 1, which is given when item n - nsegments - 1 has left
 * at the latest: so the ring never stops. Block b is reduced in the order b, b + 1, .. N-1, 0, .. b
 * - 1, the same at each start, by one chain of REDUCEs whose result all ranks get: bits are equal,
 * but the operator must commute. In place, the result of a block depends on what the rank has given
 * of it, which therefore is no longer needed.
 */
#include <math.h>
#include <stdbool.h>

#include "algorithms/cost.h"
#include "algorithms/util.h"
#include "algorithms/shape/ring.h"
#include "algorithms/teams.h"

#define DEFAULT_SEGMENT (UINT64_C(64) << 10)

enum { MAX_SEGMENTS = 4, SLOTS = 4 }; /* of a block; for each of its segments */
enum { GATE = 1, WORK = 2 };

/* How a vector is cut. */
struct cut {
    uint64_t nchunks, nsegments; /* of the vector; of a block */
    uint64_t bytes;              /* of the longest segment */
    uint64_t nslots;
};

struct state {
    struct pcoll_plan *plan;
    struct cut cut;
    struct pcoll_ring ring;
    struct pcoll_teams teams;
    int place, next, previous; /* of this rank; the ranks beside it */
};

/* What arrives in a step. */
struct item {
    uint64_t number;
    struct pcoll_segment segment; /* of the vector */
    int step;
};

static struct cut cut_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    const uint64_t unit = pcoll_unit_of(signature), units = signature->bytes / unit;
    const uint64_t nranks = (uint64_t)signature->nranks, block = pcoll_quotient_up(units, nranks);
    const uint64_t max = PCOLL_MAX_SEGMENTS / nranks + MAX_SEGMENTS;
    uint64_t n = pcoll_segment_count(block * unit, params->segment, DEFAULT_SEGMENT);
    struct cut cut;

    n = n < max ? n : max;
    n = n < block ? n : block;
    cut.nsegments = n < MAX_SEGMENTS ? n : MAX_SEGMENTS;
    cut.nslots = SLOTS * cut.nsegments;
    cut.nchunks = pcoll_quotient_up(n, cut.nsegments);
    cut.bytes = pcoll_quotient_up(pcoll_quotient_up(pcoll_quotient_up(units, cut.nchunks), nranks),
                                  cut.nsegments) *
                unit;
    return cut;
}

static int nsteps_of(int nranks)
{
    return 2 * (nranks - 1);
}

static struct pcoll_ring ring_of(const struct pcoll_signature *signature, const struct cut *cut)
{
    const uint64_t items = cut->nchunks * (uint64_t)nsteps_of(signature->nranks) * cut->nsegments;

    return (struct pcoll_ring){
        .slots = (int)cut->nslots,
        .nsegments =
            pcoll_quotient_up(items, cut->nslots) * cut->nslots, /* the last ones are not used */
        .slot_bytes = pcoll_whole_lines(cut->bytes),
    };
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct cut cut = cut_of(signature, params);
    const struct pcoll_ring ring = ring_of(signature, &cut);

    return pcoll_ring_bytes(&ring);
}

/* ---- what is where ---- */

static int count_of(const struct state *s)
{
    return s->plan->signature.nranks;
}

/* A segment of the block that arrives in that step, or that the next rank gets in the next one. */
static struct pcoll_segment segment_of(const struct state *s, uint64_t chunk, int step, uint64_t i)
{
    const int n = count_of(s);
    const uint64_t unit = pcoll_unit_of(&s->plan->signature);
    const uint64_t block = (uint64_t)((s->place - 1 - step + 2 * n) % n);
    struct pcoll_segment all =
        pcoll_segment_of(s->plan->signature.bytes / unit, s->cut.nchunks, chunk);
    const struct pcoll_segment of_all = pcoll_segment_of(all.count, (uint64_t)n, block);
    const struct pcoll_segment segment = pcoll_segment_of(of_all.count, s->cut.nsegments, i);

    return (struct pcoll_segment){(all.first + of_all.first + segment.first) * unit,
                                  segment.count * unit};
}

static struct pcoll_ring_use use_of(const struct state *s, uint64_t number)
{
    struct pcoll_ring_use use;

    pcoll_ring_use(&s->ring, s->ring.nsegments, 0, number, &use);
    return use;
}

/* The credits for the half of that use that were given in earlier turns: one for each item. */
static uint64_t credits_before(const struct state *s, const struct pcoll_ring_use *use)
{
    return use->turn * (uint64_t)(s->ring.slots / 2);
}

/* ---- entries ---- */

/* Put item `number` to the next rank, or only signal it. */
static struct pcoll_entry put_on(const struct state *s, uint64_t number, int trigger,
                                 uint64_t threshold, struct pcoll_place from, uint64_t bytes)
{
    const int slot = use_of(s, number).slot;
    struct pcoll_entry put = pcoll_entry_add(trigger, threshold);

    if (bytes > 0)
        put = pcoll_entry_put(trigger, threshold, from, s->next, pcoll_ring_place(&s->ring, slot),
                              bytes);
    return pcoll_entry_signal(put, s->next, slot, WORK);
}

/* The own operand of item `number`, in step 0. */
static void add_first(const struct state *s, uint64_t number, struct pcoll_segment segment)
{
    const struct pcoll_ring_use use = use_of(s, number);

    pcoll_plan_add(s->plan,
                   put_on(s, number, pcoll_ring_credit(&s->ring, use.half), credits_before(s, &use),
                          pcoll_at(PCOLL_SEND, segment.first), segment.count));
}

static void add_work(const struct state *s, struct pcoll_entry entry, int slot, uint64_t *level)
{
    pcoll_plan_add(s->plan, pcoll_entry_done(entry, slot, WORK));
    *level += WORK;
}

/* Reduce what has arrived with the own operand. Returns where the sum is. */
static struct pcoll_place add_reduce(const struct state *s, const struct item *item, int slot,
                                     uint64_t *level)
{
    const struct pcoll_place arrived = pcoll_ring_place(&s->ring, slot);
    const struct pcoll_place to =
        item->step == count_of(s) - 2 ? pcoll_at(PCOLL_RECV, item->segment.first) : arrived;

    pcoll_plan_operand(s->plan, arrived);
    pcoll_plan_operand(s->plan, pcoll_at(PCOLL_SEND, item->segment.first));
    add_work(s, pcoll_entry_reduce(s->plan, slot, *level, 2, to, item->segment.count), slot, level);
    return to;
}

static void add_gate(const struct state *s, uint64_t number, int slot, uint64_t *level)
{
    const struct pcoll_ring_use use = use_of(s, number);
    const struct pcoll_entry gate =
        pcoll_entry_add(pcoll_ring_credit(&s->ring, use.half), credits_before(s, &use));

    pcoll_plan_add(s->plan, pcoll_entry_done(gate, slot, GATE));
    *level += GATE;
}

/* A rank that gets the result of a block knows that all ranks have begun this instance, so they
 * have passed on everything of the one before. */
static bool has_gate(const struct state *s, const struct item *item)
{
    return item->step < count_of(s) - 2 || use_of(s, item->number + s->cut.nsegments).turn > 0;
}

static void add_item(const struct state *s, const struct item *item)
{
    const struct pcoll_ring_use use = use_of(s, item->number);
    const uint64_t next = item->number + s->cut.nsegments;
    const bool is_empty = item->segment.count == 0;
    const bool is_sum = item->step < count_of(s) - 1;
    const bool is_last = item->step == nsteps_of(count_of(s)) - 1;
    uint64_t level = s->plan->gain[use.slot] + WORK, now;
    struct pcoll_place from = pcoll_ring_place(&s->ring, use.slot);
    struct pcoll_entry put;

    if (is_sum && !is_empty)
        from = add_reduce(s, item, use.slot, &level);
    if (!is_last && has_gate(s, item))
        add_gate(s, next, use.slot, &level);
    now = level;
    put = put_on(s, next, use.slot, now, from, item->segment.count);
    if (!is_last && from.buffer == PCOLL_TEMP && !is_empty)
        add_work(s, put, use.slot, &level);
    else if (!is_last)
        pcoll_plan_add(s->plan, put);
    if (!is_sum && !is_empty)
        add_work(s,
                 pcoll_entry_copy(use.slot, now, from, pcoll_at(PCOLL_RECV, item->segment.first),
                                  item->segment.count),
                 use.slot, &level);
    pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(use.slot, level), s->previous,
                                               pcoll_ring_credit(&s->ring, use.half), 1));
    s->plan->gain[use.slot] = level;
    s->plan->gain[pcoll_ring_credit(&s->ring, use.half)]++;
}

/* ---- the plan ---- */

static void build(const struct state *s)
{
    struct item item = {0};

    pcoll_plan_open(s->plan, 0);
    for (uint64_t chunk = 0; chunk < s->cut.nchunks; chunk++)
        for (item.step = 0; item.step < nsteps_of(count_of(s)); item.step++)
            for (uint64_t i = 0; i < s->cut.nsegments; i++) {
                if (item.step == 0)
                    add_first(s, item.number, segment_of(s, chunk, -1, i));
                item.segment = segment_of(s, chunk, item.step, i);
                add_item(s, &item);
                item.number++;
            }
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    const int nranks = signature->nranks;
    struct state s = {
        .plan = plan, .cut = cut_of(signature, params), .teams = pcoll_teams_to_reduce(signature)};

    s.ring = ring_of(signature, &s.cut);
    s.place = pcoll_teams_place(&s.teams, plan->rank);
    s.next = pcoll_teams_rank(&s.teams, (s.place + 1) % nranks);
    s.previous = pcoll_teams_rank(&s.teams, (s.place + nranks - 1) % nranks);
    if (!pcoll_plan_begin(plan, s.ring.slots + 2, 1))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = temp_bytes(signature, params);
    build(&s);
    return PCOLL_OK;
}

/* ---- cost ---- */

/* Of an item: the time from when a rank has it until the next one has it and has reduced it, and
 * the time until the rank can send the next item. */
struct pace {
    double hop, next;
};

/* What a rank itself does with an item. */
static double work_of(const struct pcoll_machine *node, double bytes, bool is_sum)
{
    return node->o + bytes * (is_sum ? node->reduce : node->copy);
}

/* To another node. The port also sends the credits, which come back after twice the latency. */
static struct pace pace_far(const struct pcoll_signature *signature,
                            const struct pcoll_machine *machine, double bytes, bool is_sum)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double work = crowd * work_of(&node, bytes, is_sum), o = crowd * machine->o;
    const double latency = pcoll_cost_wave(signature, machine, 0, true) + o;
    const double hop = latency + bytes * machine->G + (is_sum ? work : 0);

    return (struct pace){
        hop, pcoll_larger(2 * machine->g + bytes * machine->G, 2 * o + crowd * node.o + work)};
}

static struct pace pace_near(const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine, double bytes, bool is_sum)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double work = crowd * work_of(&node, bytes, is_sum);
    const double put = crowd * (node.o + bytes * node.copy);

    return (struct pace){pcoll_cost_wave(signature, &node, 0, true) + put + (is_sum ? work : 0),
                         put + crowd * 2 * node.o + work};
}

/* The fraction of ranks whose next rank is on another node. */
static double fraction_of(const struct pcoll_signature *signature)
{
    return pcoll_is_over_wire(signature) ? (double)signature->topology->nnodes / signature->nranks
                                         : 0;
}

/* A rank cannot send faster than the slots of the next one return. */
static struct pace pace_of(const struct pcoll_signature *signature, const struct cut *cut,
                           const struct pcoll_machine *machine, bool is_sum)
{
    const double bytes = (double)cut->bytes, fraction = fraction_of(signature);
    const struct pace near = pace_near(signature, machine, bytes, is_sum);
    const struct pace far = pace_far(signature, machine, bytes, is_sum);
    struct pace pace = near;

    if (fraction > 0) {
        const double back =
            far.hop + machine->L + 2 * machine->o + (fraction < 1 ? near.hop : far.hop);

        pace.hop = fraction * far.hop + (1 - fraction) * near.hop;
        pace.next = pcoll_larger(far.next, back / (double)cut->nslots);
        pace.next = fraction < 1 ? pcoll_larger(pace.next, near.next) : pace.next;
    }
    return pace;
}

/* In a step a rank sends all of a block, and a segment goes to the next rank. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct cut cut = cut_of(signature, params);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double n = (double)cut.nsegments, steps = (double)cut.nchunks * (signature->nranks - 1);
    const double last = work_of(&node, (double)cut.bytes, false);
    double time = machine->call + pcoll_cost_crowd(signature, machine) * last;

    for (int is_sum = 0; is_sum < 2; is_sum++) {
        const struct pace pace = pace_of(signature, &cut, machine, is_sum);

        time += steps * pcoll_larger(n * pace.next, pace.hop);
        if (!is_sum && pace.hop < n * pace.next)
            time += pace.hop - pace.next;
        else if (!is_sum)
            time += (n - 1) * pace.next;
    }
    return time;
}

const struct pcoll_algorithm pcoll_allreduce_ring = {
    .name = "ring",
    .coll = PCOLL_ALLREDUCE,
    .description = "blocks reduced and passed round a ring, for operators that commute",
    .when = "long vectors between nodes, with an operator that commutes",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .must_commute = true,
};
