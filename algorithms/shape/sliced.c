/* Reductions in slices, both halves; the contract is in sliced.h. */
#include "algorithms/shape/sliced.h"

#include <stdbool.h>
#include <stdlib.h>

enum { SEQUENCE = 2 }; /* counter of what is done with results, in form temp with nsegments > 1 */

struct state {
    struct pcoll_slices slices;
    bool is_user;
};

static const struct pcoll_signature *signature_of(const struct state *s)
{
    return &s->slices.plan->signature;
}

static uint64_t nsegments_of(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    return pcoll_slices_nsegments(signature, signature->bytes, params);
}

static bool receives(const struct state *s, int rank)
{
    const struct pcoll_signature *signature = signature_of(s);

    return !pcoll_coll_has(signature->coll, PCOLL_ROOTED) || rank == signature->root;
}

static int own_rank(const struct state *s)
{
    return s->slices.plan->rank;
}

static int npeers(const struct state *s)
{
    return signature_of(s)->nranks - 1;
}

/* Where the owner of a slice reduces it: in form temp, or if it does not receive, in the place of
 * its own operand. */
static struct pcoll_place result_at(const struct state *s, int owner)
{
    return s->is_user && receives(s, owner) ? pcoll_at(PCOLL_RECV, s->slices.cut[owner].first)
                                            : pcoll_slices_at(&s->slices, owner, owner);
}

static void add_reduce(const struct state *s, uint64_t level)
{
    const struct pcoll_slices *p = &s->slices;
    const struct pcoll_entry reduce = pcoll_slices_reduce(p, level, result_at(s, own_rank(s)));

    pcoll_plan_add(p->plan, pcoll_entry_done(reduce, p->bank, p->weight));
}

/* Give my result, with weight 1, to all that receive; the others are only told. */
static void add_results_out(const struct state *s, uint64_t level)
{
    const struct pcoll_slices *p = &s->slices;
    const struct pcoll_segment own = p->cut[own_rank(s)];

    for (int i = 0; i < npeers(s); i++) {
        const int peer = pcoll_slices_peer(p, i);
        const struct pcoll_entry out =
            s->is_user && receives(s, peer)
                ? pcoll_entry_put(p->bank, level, result_at(s, own_rank(s)), peer,
                                  pcoll_at(PCOLL_RECV, own.first), own.count)
                : pcoll_entry_add(p->bank, level);

        pcoll_plan_add(p->plan, pcoll_entry_signal(out, peer, p->bank, 1));
    }
}

static struct pcoll_entry in_sequence(const struct state *s, struct pcoll_entry entry)
{
    return s->slices.nsegments > 1 ? pcoll_entry_done(entry, SEQUENCE, 1) : entry;
}

/* Form temp: get the others' results. */
static void add_results_in(const struct state *s, uint64_t level)
{
    const struct pcoll_slices *p = &s->slices;

    for (int i = 0; i < npeers(s); i++) {
        const int peer = pcoll_slices_peer(p, i);
        const struct pcoll_segment bytes = p->cut[peer];

        pcoll_plan_add(
            p->plan,
            in_sequence(s, pcoll_entry_get(p->bank, level, peer, result_at(s, peer),
                                           pcoll_at(PCOLL_RECV, bytes.first), bytes.count)));
    }
}

static void add_own_copy(const struct state *s, uint64_t level)
{
    const struct pcoll_slices *p = &s->slices;
    const struct pcoll_segment own = p->cut[own_rank(s)];

    pcoll_plan_add(p->plan,
                   in_sequence(s, pcoll_entry_copy(p->bank, level, result_at(s, own_rank(s)),
                                                   pcoll_at(PCOLL_RECV, own.first), own.count)));
}

/* Parts and what is the rank's own weigh N, so that N - 1 results cannot substitute for them. A
 * rank that has put its operands of a segment no longer needs the one before, and says so to itself
 * before it reduces this one. */
static void add_segment(struct state *s)
{
    struct pcoll_slices *p = &s->slices;
    const uint64_t nranks = (uint64_t)signature_of(s)->nranks, base = p->plan->gain[p->bank];
    const bool is_first = p->segment == 0;
    const uint64_t all_operands = base + nranks * (nranks - (is_first ? 1 : 0));
    const uint64_t reduced = all_operands + nranks, all = reduced + nranks - 1;

    pcoll_slices_put(p, PCOLL_NONE, is_first ? 0 : p->weight);
    add_reduce(s, all_operands);
    add_results_out(s, reduced);
    if (s->is_user || !receives(s, own_rank(s))) {
        p->trigger = p->bank;
        p->threshold = all;
        if (p->segment == p->nsegments - 1)
            pcoll_plan_add(p->plan, pcoll_entry_wait(p->bank, all));
    } else {
        add_own_copy(s, reduced);
        add_results_in(s, all);
        p->trigger = SEQUENCE;
        p->threshold = (p->segment + 1) * nranks;
    }
    p->plan->gain[p->bank] = all;
}

static void build_phase(struct state *s, int phase)
{
    struct pcoll_slices *p = &s->slices;

    for (pcoll_slices_open(p, phase); p->segment < p->nsegments; pcoll_slices_next(p)) {
        pcoll_slices_cut(p);
        add_segment(s);
    }
    if (p->trigger == SEQUENCE && p->nsegments > 1)
        p->plan->gain[SEQUENCE] = p->threshold;
}

static uint64_t slot_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return pcoll_slices_slot_bytes(signature, nsegments_of(signature, params));
}

uint64_t pcoll_sliced_temp_bytes(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return (uint64_t)signature->nranks * slot_bytes(signature, params);
}

enum pcoll_result pcoll_sliced_generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct state s = {
        .slices = {.plan = plan,
                   .cut = calloc((size_t)signature->nranks, sizeof(*s.slices.cut)),
                   .slot_bytes = slot_bytes(signature, params),
                   .banks = 1,
                   .nslots = signature->nranks,
                   .weight = (uint64_t)signature->nranks,
                   .nsegments = nsegments_of(signature, params)},
        .is_user = pcoll_sliced_is_user(params),
    };
    const bool is_long = s.slices.nsegments > 1;

    if (!s.slices.cut || !pcoll_plan_begin(plan, is_long && !s.is_user ? 3 : 2, is_long ? 1 : 2)) {
        free(s.slices.cut);
        return PCOLL_ERR_NOMEM;
    }
    plan->temp_bytes = pcoll_sliced_temp_bytes(signature, params);
    for (int phase = 0; phase < plan->nphases; phase++)
        build_phase(&s, phase);
    free(s.slices.cut);
    return PCOLL_OK;
}
