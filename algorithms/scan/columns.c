/*
 * Scan and exscan in slices: every rank makes all prefixes of one slice of all vectors.
 *
 * Idea: the vectors are cut into N slices, the columns. Each rank puts slice j of its vector into
 * the communication buffer of rank j (shape/slices.h), which makes the prefixes of its column one
 * from the other by N - 1 REDUCEs, and tells each rank when its prefix is ready. Rank r gets prefix
 * r of each column when all owners have told it. Long vectors go in segments, one after the other,
 * through alternating counters.
 *
 * Source: the linear-work prefix sums of shared memory (Blelloch 1990), on distributed columns.
 *
 *      N = 3:   0:abc 1:def 2:ghi | 0 makes a ad adg, 1 b be beh, 2 c cf cfi | r gets the r-th
 *
 * Cost: 2 L + 3 N o + M (2 copy + reduce), whatever N; two counters (in segments: one more). TEMP
 * holds one segment (of an exscan, two). Condition (lemma A): all ranks are told by all owners,
 * also rank 0, which gets nothing. Rank r is told when its slice and its prefix are not needed to
 * make others any more. So it has got its prefixes of (a segment of) k when it puts operands of k +
 * 1, and overwrites nothing that anybody reads: prefix r of a scan takes the place of slice r, and
 * that of an exscan a place of its own, which is overwritten when the next slice of rank r has
 * arrived.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "algorithms/cost.h"
#include "algorithms/shape/slices.h"

enum { SEQUENCE = 2 }; /* counter of the prefixes that the rank has got, with nsegments > 1 */

struct state {
    struct pcoll_slices slices;
    int includes_own; /* scan, not exscan */
};

static uint64_t nsegments_of(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    return pcoll_slices_nsegments(signature, signature->bytes, params);
}

static int rank_of(const struct state *s)
{
    return s->slices.plan->rank;
}

static uint64_t nranks_of(const struct state *s)
{
    return (uint64_t)s->slices.plan->signature.nranks;
}

/* The slice of rank `r` in this rank's column. */
static struct pcoll_place slice_of(const struct state *s, int r)
{
    if (r == rank_of(s))
        return pcoll_at(PCOLL_SEND, s->slices.cut[r].first);
    return pcoll_slices_at(&s->slices, rank_of(s), r);
}

/* Where the owner of any column keeps the prefix for rank `r`. */
static struct pcoll_place prefix_of(const struct state *s, int r)
{
    const uint64_t place = (uint64_t)r + (s->includes_own ? 0 : nranks_of(s));

    return pcoll_at(PCOLL_TEMP, place * s->slices.slot_bytes);
}

/* The prefix for rank `r` > 0, from the one for rank r - 1. */
static struct pcoll_entry make_prefix(const struct state *s, uint64_t level, int r)
{
    const struct pcoll_slices *p = &s->slices;
    const uint64_t bytes = p->cut[rank_of(s)].count;

    if (r == 1 && !s->includes_own)
        return pcoll_entry_copy(p->bank, level, slice_of(s, 0), prefix_of(s, 1), bytes);
    pcoll_plan_operand(p->plan, r == 1 ? slice_of(s, 0) : prefix_of(s, r - 1));
    pcoll_plan_operand(p->plan, slice_of(s, s->includes_own ? r : r - 1));
    return pcoll_entry_reduce(p->plan, p->bank, level, 2, prefix_of(s, r), bytes);
}

static struct pcoll_entry in_sequence(const struct state *s, struct pcoll_entry entry)
{
    return s->slices.nsegments > 1 ? pcoll_entry_done(entry, SEQUENCE, 1) : entry;
}

/* What the counter has reached when the prefix for rank `r` is made and neither it nor slice `r` is
 * needed to make another: rank r may get the one and overwrite the other. */
static uint64_t ready_at(const struct state *s, uint64_t all_operands, int r)
{
    const uint64_t last = nranks_of(s) - 1, next = (uint64_t)r + 1;

    return all_operands + (next < last ? next : last) * nranks_of(s);
}

/* Get the rank's prefixes when all owners have told it, and copy its own. */
static void add_results_in(const struct state *s, uint64_t ready, uint64_t told)
{
    const struct pcoll_slices *p = &s->slices;
    const struct pcoll_place from = prefix_of(s, rank_of(s));

    for (int r = 0; r < p->plan->signature.nranks; r++) {
        const struct pcoll_place to = pcoll_at(PCOLL_RECV, p->cut[r].first);
        const uint64_t bytes = p->cut[r].count;

        pcoll_plan_add(p->plan,
                       in_sequence(s, r == rank_of(s)
                                          ? pcoll_entry_copy(p->bank, ready, from, to, bytes)
                                          : pcoll_entry_get(p->bank, told, r, from, to, bytes)));
    }
}

/* Make all prefixes, and tell each rank when its own is ready. */
static void add_prefixes(const struct state *s, uint64_t all_operands)
{
    const struct pcoll_slices *p = &s->slices;
    const uint64_t nranks = nranks_of(s);

    for (int r = 1; r < p->plan->signature.nranks; r++) {
        const struct pcoll_entry prefix =
            make_prefix(s, all_operands + (uint64_t)(r - 1) * nranks, r);

        pcoll_plan_add(p->plan, pcoll_entry_done(prefix, p->bank, nranks));
    }
    for (int i = 0; i < p->plan->signature.nranks - 1; i++) {
        const int peer = pcoll_slices_peer(p, i);
        const struct pcoll_entry tell = pcoll_entry_add(p->bank, ready_at(s, all_operands, peer));

        pcoll_plan_add(p->plan, pcoll_entry_signal(tell, peer, p->bank, 1));
    }
}

/* Parts, and what the rank has done itself, weigh N, so that N - 1 tells cannot substitute for
 * them. A rank that has put its operands of a segment no longer needs the one before, and says so
 * to itself before it reduces this one. */
static void add_segment(struct state *s)
{
    struct pcoll_slices *p = &s->slices;
    const uint64_t nranks = nranks_of(s), base = p->plan->gain[p->bank];
    const bool is_first = p->segment == 0;
    const uint64_t all_operands = base + nranks * (nranks - (is_first ? 1 : 0));
    const uint64_t all = all_operands + (nranks - 1) * (nranks + 1);

    pcoll_slices_put(p, PCOLL_NONE, is_first ? 0 : p->weight);
    add_prefixes(s, all_operands);
    p->plan->gain[p->bank] = all;
    if (rank_of(s) > 0) {
        add_results_in(s, ready_at(s, all_operands, rank_of(s)), all);
        p->trigger = SEQUENCE;
        p->threshold = (p->segment + 1) * nranks;
    } else {
        p->trigger = p->bank;
        p->threshold = all;
        if (p->segment == p->nsegments - 1)
            pcoll_plan_add(p->plan, pcoll_entry_wait(p->bank, all));
    }
}

/* The scan of rank 0 is its own vector. */
static void add_first_scan(const struct state *s)
{
    const struct pcoll_signature *signature = &s->slices.plan->signature;

    if (rank_of(s) == 0 && s->includes_own && !signature->in_place)
        pcoll_plan_add(s->slices.plan, pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0),
                                                        pcoll_at(PCOLL_RECV, 0), signature->bytes));
}

static void build_phase(struct state *s, int phase)
{
    struct pcoll_slices *p = &s->slices;

    for (pcoll_slices_open(p, phase); p->segment < p->nsegments; pcoll_slices_next(p)) {
        pcoll_slices_cut(p);
        add_segment(s);
    }
    add_first_scan(s);
    if (p->trigger == SEQUENCE && p->nsegments > 1)
        p->plan->gain[SEQUENCE] = p->threshold;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const uint64_t slot = pcoll_slices_slot_bytes(signature, nsegments_of(signature, params));

    return (uint64_t)signature->nranks * slot * (signature->coll == PCOLL_SCAN ? 1 : 2);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    const uint64_t nsegments = nsegments_of(signature, params);
    const bool is_long = nsegments > 1;
    struct state s = {
        .slices = {.plan = plan,
                   .cut = calloc((size_t)signature->nranks, sizeof(*s.slices.cut)),
                   .slot_bytes = pcoll_slices_slot_bytes(signature, nsegments),
                   .banks = 1,
                   .nslots = signature->nranks,
                   .weight = (uint64_t)signature->nranks,
                   .nsegments = nsegments},
        .includes_own = signature->coll == PCOLL_SCAN,
    };

    if (!s.slices.cut || !pcoll_plan_begin(plan, is_long ? 3 : 2, is_long ? 1 : 2)) {
        free(s.slices.cut);
        return PCOLL_ERR_NOMEM;
    }
    plan->temp_bytes = temp_bytes(signature, params);
    for (int phase = 0; phase < plan->nphases; phase++)
        build_phase(&s, phase);
    free(s.slices.cut);
    return PCOLL_OK;
}

/* All ranks put and get (N - 1) / N of the vector, and reduce as much, step by step. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double nranks = signature->nranks, peers = nranks - 1, bytes = (double)signature->bytes;
    const double crowd = pcoll_cost_crowd(signature, machine), share = bytes * peers / nranks;
    const double segments = (double)nsegments_of(signature, params);
    const double rate = pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    const double waves = pcoll_cost_wave(signature, machine, peers, false) +
                         pcoll_cost_wave(signature, machine, peers, true);
    const double answers = pcoll_is_over_wire(signature) ? 2 * machine->L : 0;

    return machine->call + segments * (waves + answers + crowd * (2 * peers + 1) * machine->o) +
           crowd * (share * (2 * rate + machine->reduce) + bytes / nranks * machine->copy);
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_columns = {                          \
        .name = "columns",                                                                         \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "each rank makes all prefixes of a slice",                                  \
        .when = "long vectors",                                                                    \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
        .uses_segment = 1,                                                                         \
    };

ROW(SCAN, scan)
ROW(EXSCAN, exscan)
