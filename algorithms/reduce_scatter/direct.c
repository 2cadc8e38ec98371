/*
 * Reduce_scatter in which every rank reduces its block of all vectors.
 *
 * Idea: put block j of the own vector into the communication buffer of rank j, or beside its
 * counter (cells, if all N - 1 blocks fit there); when all operands have arrived, one REDUCE of N
 * operands, in rank order, gives the result (shape/slices.h). Long blocks go in segments, which
 * take turns with two counters and two banks of TEMP; blocks in one piece may have more banks.
 *
 * Source: the pairwise exchange of every MPI (Thakur et al. 2005, section 4.4), with puts.
 *
 *      N = 3:   0:abc 1:def 2:ghi | 0 reduces adg, 1 beh, 2 cfi
 *
 * Cost: L + N o + (N - 1) B (copy + reduce) for each rank; two counters. Condition (lemma A): every
 * rank puts an operand to every other, also an empty one to a rank with an empty block, and is done
 * when it has all operands. The operands of (a segment of) k + 2 are put by a rank that has all
 * operands of k + 1. Their senders have reduced k, so two banks are enough. In place, the result
 * takes the place of block 0, or of a part of it, which must have left before. Except for that, the
 * plan is its own lowered form.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "algorithms/cost.h"
#include "algorithms/util.h"
#include "algorithms/shape/slices.h"

struct state {
    struct pcoll_slices slices;
    struct pcoll_segment *blocks; /* [nranks]: of SEND, in units */
};

static uint64_t nsegments_of(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    return pcoll_slices_nsegments(signature, signature->bytes, params);
}

static void find_blocks(const struct state *s)
{
    const struct pcoll_signature *signature = &s->slices.plan->signature;
    const uint64_t unit = pcoll_unit_of(signature);
    uint64_t first = 0;

    for (int r = 0; r < signature->nranks; r++) {
        s->blocks[r] = (struct pcoll_segment){first, pcoll_block_bytes(signature, r) / unit};
        first += s->blocks[r].count;
    }
}

static void cut_segment(const struct state *s)
{
    const struct pcoll_signature *signature = &s->slices.plan->signature;
    const uint64_t unit = pcoll_unit_of(signature);

    for (int r = 0; r < signature->nranks; r++) {
        const struct pcoll_segment cut =
            pcoll_segment_of(s->blocks[r].count, s->slices.nsegments, s->slices.segment);

        s->slices.cut[r] =
            (struct pcoll_segment){(s->blocks[r].first + cut.first) * unit, cut.count * unit};
    }
}

/* The rank says to itself that it has reduced the segment; the operands of the next one wait for
 * it.
 */
static void add_segment(struct state *s)
{
    struct pcoll_slices *p = &s->slices;
    const int rank = p->plan->rank, nranks = p->plan->signature.nranks;
    const int waits = p->plan->signature.in_place && rank > 0;
    const bool is_last = p->segment == p->nsegments - 1;
    const uint64_t all = p->plan->gain[p->bank] + (uint64_t)(nranks - 1 + waits);
    const uint64_t first =
        p->cut[rank].first - s->blocks[rank].first * pcoll_unit_of(&p->plan->signature);
    const struct pcoll_entry reduce = pcoll_slices_reduce(p, all, pcoll_at(PCOLL_RECV, first));

    pcoll_slices_put(p, 0, (uint64_t)waits);
    pcoll_plan_add(p->plan, is_last ? reduce : pcoll_entry_done(reduce, p->bank, 1));
    p->trigger = p->bank;
    p->threshold = p->plan->gain[p->bank] = all + !is_last;
}

static void build_phase(struct state *s, int phase)
{
    struct pcoll_slices *p = &s->slices;

    for (pcoll_slices_open(p, phase); p->segment < p->nsegments; pcoll_slices_next(p)) {
        cut_segment(s);
        add_segment(s);
    }
}

/* Of the longest segment; 0: cells. */
static uint64_t slot_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const uint64_t unit = pcoll_unit_of(signature), units = signature->bytes / unit;
    const uint64_t n = nsegments_of(signature, params),
                   segment = pcoll_quotient_up(units, n) * unit;

    if (n == 1 && segment <= PCOLL_CELL_BYTES / ((uint64_t)signature->nranks - 1))
        return 0;
    return pcoll_whole_lines(segment);
}

static int nbanks_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    return pcoll_message_banks(params, nsegments_of(signature, params) == 1 &&
                                           slot_bytes(signature, params) > 0);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return (uint64_t)nbanks_of(signature, params) * ((uint64_t)signature->nranks - 1) *
           slot_bytes(signature, params);
}

static void build(struct state *s, const struct pcoll_params *params)
{
    struct pcoll_plan *plan = s->slices.plan;

    plan->temp_bytes = temp_bytes(&plan->signature, params);
    plan->lowered = !plan->signature.in_place;
    find_blocks(s);
    for (int phase = 0; phase < plan->nphases; phase++)
        build_phase(s, phase);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    const size_t nranks = (size_t)signature->nranks;
    const int nbanks = nbanks_of(signature, params);
    struct state s = {
        .slices = {.plan = plan,
                   .cut = calloc(nranks, sizeof(*s.slices.cut)),
                   .slot_bytes = slot_bytes(signature, params),
                   .banks = nbanks,
                   .nslots = signature->nranks - 1,
                   .weight = 1,
                   .nsegments = nsegments_of(signature, params)},
        .blocks = calloc(nranks, sizeof(*s.blocks)),
    };
    const bool has_memory = s.slices.cut && s.blocks &&
                            pcoll_plan_begin(plan, nbanks, s.slices.nsegments > 1 ? 1 : nbanks);

    if (has_memory)
        build(&s, params);
    free(s.blocks);
    free(s.slices.cut);
    return has_memory ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

/* All ranks of a node put a segment through one port. */
static double cost_of_puts(const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine, double segments)
{
    struct pcoll_machine own = *machine;
    struct pcoll_hop hop;

    own.g *= pcoll_cost_port_load(signature);
    own.rma = 0;
    hop = pcoll_cost_hop(signature, &own, (double)signature->bytes / segments);
    return hop.first + (signature->nranks - 2) * hop.gap;
}

/* Each rank puts N - 1 blocks, and reduces as many, which its peers have put. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double segments = (double)nsegments_of(signature, params);
    const double bytes = peers * (double)signature->bytes;
    const double reduced =
        crowd * (segments * pcoll_cost_node(machine).o + bytes * pcoll_cost_node(machine).reduce);

    if (pcoll_is_over_wire(signature))
        return machine->call + segments * cost_of_puts(signature, machine, segments) + reduced;
    return machine->call + segments * pcoll_cost_wave(signature, machine, peers, true) +
           bytes * crowd * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP) + reduced;
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_direct = {                           \
        .name = "direct",                                                                          \
        .alias = "pairwise",                                                                       \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "everybody reduces its own block",                                          \
        .when = "every call",                                                                      \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
        .uses_segment = 1,                                                                         \
        .uses_slots = PCOLL_BANKS,                                                                 \
    };

ROW(REDUCE_SCATTER_BLOCK, reduce_scatter_block)
ROW(REDUCE_SCATTER, reduce_scatter)
