/*
 * Allreduce in slices: every rank reduces one slice of all vectors, and gives the result to all.
 *
 * Idea: the vectors are cut into N slices. Each rank puts slice j of its vector into the
 * communication buffer of rank j, which reduces the N parts of its slice in rank order by one
 * REDUCE. There are two forms of the second half:
 *
 *   temp   the result goes into the communication buffer; its owner tells all ranks, which get it
 *          from there.
 *   user   the result goes into RECV; its owner puts it into RECV of every peer. A peer whose part
 *          has arrived has started and, in place, has no more use for that part.
 *
 * Long vectors go in segments, one after the other, through alternating counters.
 *
 * Source: reduce-scatter and allgather (Rabenseifner 2004), both by direct exchange.
 *
 *      N = 3:   0:abc 1:def 2:ghi | 0 reduces adg, 1 beh, 2 cfi | all gather
 *
 * Cost: 2 L + 2 N o + M (2 copy + reduce), whatever N; two counters (temp in segments: one more).
 * TEMP holds one segment. When: long vectors.
 * Condition: a part of (a segment of) k + 1 is put by a rank that has the results of k from all
 * ranks, so these have reduced k and its memory is free: one bank of TEMP is enough. A result
 * cannot be told or overwritten before all ranks have put their parts. A part of k + 1 may overtake
 * a result of k, which form user must not miss; a part of k + 2 cannot, so there are two counters.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/shape/segment.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)
#define LINE_BYTES UINT64_C(64)

enum { SEQUENCE = 2 }; /* counter of what is done with results, in form temp with nsegments > 1 */

struct state {
    struct pcoll_plan *plan;
    int is_user;
    uint64_t nsegments; /* per instance: 1 or an even number */
    uint64_t slot_bytes;
    uint64_t segment; /* the current one */
    int trigger;      /* what its first half waits for */
    uint64_t threshold;
    struct pcoll_segment elements; /* its units */
};

static uint64_t unit_of(const struct pcoll_signature *signature)
{
    return signature->unit ? signature->unit : 1;
}

static int is_user(const struct pcoll_params *params)
{
    return params->path == PCOLL_PATH_USER;
}

static uint64_t nsegments_of(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    const uint64_t units = signature->bytes / unit_of(signature);
    uint64_t n = pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT);

    if (n > units)
        n = units;
    return n <= 1 ? 1 : (n + 1) / 2 * 2;
}

/* Bytes of the slice of `rank` in the current segment. */
static struct pcoll_segment slice(const struct state *s, int rank)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const uint64_t unit = unit_of(signature), n = (uint64_t)signature->nranks;
    const uint64_t first = s->elements.count * (uint64_t)rank / n;
    const uint64_t end = s->elements.count * ((uint64_t)rank + 1) / n;

    return (struct pcoll_segment){(s->elements.first + first) * unit, (end - first) * unit};
}

/* Where the owner of a slice keeps the part of `sender`; its result takes its own place. */
static struct pcoll_place part(const struct state *s, int sender)
{
    return pcoll_at(PCOLL_TEMP, (uint64_t)sender * s->slot_bytes);
}

static struct pcoll_place result_at(const struct state *s, int owner)
{
    return s->is_user ? pcoll_at(PCOLL_RECV, slice(s, owner).first) : part(s, owner);
}

static int peer_of(const struct state *s, int i)
{
    return (s->plan->rank + 1 + i) % s->plan->signature.nranks;
}

static int npeers(const struct state *s)
{
    return s->plan->signature.nranks - 1;
}

static int bank_of(const struct state *s, int phase)
{
    return (phase + (int)(s->segment % 2)) % 2;
}

/* A rank that has fired these no longer needs the previous segment, and says so to itself before
 * it reduces this one. */
static void add_parts(const struct state *s, int bank, uint64_t weight)
{
    for (int i = 0; i < npeers(s); i++) {
        const int peer = peer_of(s, i);
        const struct pcoll_segment bytes = slice(s, peer);
        struct pcoll_entry put =
            pcoll_entry_put(s->trigger, s->threshold, pcoll_at(PCOLL_SEND, bytes.first), peer,
                            part(s, s->plan->rank), bytes.count);

        put = pcoll_entry_signal(put, peer, bank, weight);
        pcoll_plan_add(s->plan,
                       i == 0 && s->segment > 0 ? pcoll_entry_done(put, bank, weight) : put);
    }
}

static void add_reduce(const struct state *s, int bank, uint64_t level, uint64_t weight)
{
    const int rank = s->plan->rank, nranks = s->plan->signature.nranks;
    const struct pcoll_segment own = slice(s, rank);

    for (int r = 0; r < nranks; r++)
        pcoll_plan_operand(s->plan, r == rank ? pcoll_at(PCOLL_SEND, own.first) : part(s, r));
    pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_reduce(s->plan, bank, level, nranks,
                                                                result_at(s, rank), own.count),
                                             bank, weight));
}

/* Give my result to all, which has weight 1. */
static void add_results_out(const struct state *s, int bank, uint64_t level)
{
    const struct pcoll_segment own = slice(s, s->plan->rank);
    const struct pcoll_place at = result_at(s, s->plan->rank);

    for (int i = 0; i < npeers(s); i++) {
        const int peer = peer_of(s, i);
        const struct pcoll_entry out = s->is_user
                                           ? pcoll_entry_put(bank, level, at, peer, at, own.count)
                                           : pcoll_entry_add(bank, level);

        pcoll_plan_add(s->plan, pcoll_entry_signal(out, peer, bank, 1));
    }
}

static struct pcoll_entry in_sequence(const struct state *s, struct pcoll_entry entry)
{
    return s->nsegments > 1 ? pcoll_entry_done(entry, SEQUENCE, 1) : entry;
}

/* Form temp: get the others' results. */
static void add_results_in(const struct state *s, int bank, uint64_t level)
{
    for (int i = 0; i < npeers(s); i++) {
        const int peer = peer_of(s, i);
        const struct pcoll_segment bytes = slice(s, peer);

        pcoll_plan_add(
            s->plan,
            in_sequence(s, pcoll_entry_get(bank, level, peer, result_at(s, peer),
                                           pcoll_at(PCOLL_RECV, bytes.first), bytes.count)));
    }
}

static void add_own_copy(const struct state *s, int bank, uint64_t level)
{
    const struct pcoll_segment own = slice(s, s->plan->rank);

    pcoll_plan_add(s->plan,
                   in_sequence(s, pcoll_entry_copy(bank, level, result_at(s, s->plan->rank),
                                                   pcoll_at(PCOLL_RECV, own.first), own.count)));
}

/* Parts and what is the rank's own weigh N, so that N - 1 results cannot substitute for them. */
static void add_segment(struct state *s, int bank)
{
    const uint64_t nranks = (uint64_t)s->plan->signature.nranks, base = s->plan->gain[bank];
    const uint64_t all_parts = base + nranks * (nranks - (s->segment > 0 ? 0 : 1));
    const uint64_t reduced = all_parts + nranks, all = reduced + nranks - 1;

    add_parts(s, bank, nranks);
    add_reduce(s, bank, all_parts, nranks);
    add_results_out(s, bank, reduced);
    if (s->is_user) {
        s->trigger = bank;
        s->threshold = all;
        if (s->segment == s->nsegments - 1)
            pcoll_plan_add(s->plan, pcoll_entry_wait(bank, all));
    } else {
        add_own_copy(s, bank, reduced);
        add_results_in(s, bank, all);
        s->trigger = SEQUENCE;
        s->threshold = (s->segment + 1) * nranks;
    }
    s->plan->gain[bank] = all;
}

static void build_phase(struct state *s, int phase)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const uint64_t units = signature->bytes / unit_of(signature);

    pcoll_plan_open(s->plan, phase);
    s->trigger = PCOLL_NONE;
    s->threshold = 0;
    for (s->segment = 0; s->segment < s->nsegments; s->segment++) {
        s->elements = pcoll_segment_of(units, s->nsegments, s->segment);
        add_segment(s, bank_of(s, phase));
    }
    if (s->nsegments > 1 && !s->is_user)
        s->plan->gain[SEQUENCE] = s->nsegments * (uint64_t)signature->nranks;
}

/* Of a slice of the longest segment. */
static uint64_t slot_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const uint64_t unit = unit_of(signature), units = signature->bytes / unit;
    const uint64_t n = nsegments_of(signature, params), segment = (units + n - 1) / n;
    const uint64_t bytes =
        (segment + (uint64_t)signature->nranks - 1) / (uint64_t)signature->nranks * unit;

    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return (uint64_t)signature->nranks * slot_bytes(signature, params);
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct state s = {
        .is_user = is_user(params),
        .nsegments = nsegments_of(signature, params),
        .slot_bytes = slot_bytes(signature, params),
    };
    const int is_long = s.nsegments > 1;
    enum pcoll_result result = pcoll_plan_create(
        signature, rank, "sliced", is_long && !s.is_user ? 3 : 2, is_long ? 1 : 2, &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    s.plan->temp_bytes = temp_bytes(signature, params);
    for (int phase = 0; phase < s.plan->nphases; phase++)
        build_phase(&s, phase);
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

/* All ranks put and get (N - 1) / N of the vector, and reduce as much. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double nranks = signature->nranks, peers = nranks - 1;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double segments = (double)nsegments_of(signature, params);
    const double share = (double)signature->bytes * peers / nranks;
    const int wire = pcoll_is_over_wire(signature), user = is_user(params);
    const double out = pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    const double in = user ? pcoll_cost_rate(signature, machine, PCOLL_PATH_USER) : out;
    const double own = user ? 0 : (double)signature->bytes / nranks * machine->copy;
    const double waves = pcoll_cost_wave(signature, machine, peers, 0) +
                         pcoll_cost_wave(signature, machine, peers, 1);
    const double work = user ? peers * machine->rma + machine->o : (peers + 2) * machine->o;
    const double answers = wire && !user ? 2 * machine->L : 0;

    return machine->call + segments * (waves + answers + crowd * work) +
           crowd * (share * (out + in + machine->reduce) + own);
}

const struct pcoll_algorithm pcoll_allreduce_sliced = {
    .name = "sliced",
    .alias = "reduce_scatter_allgather",
    .coll = PCOLL_ALLREDUCE,
    .description = "each rank reduces a slice and gives it to all",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
};
