/*
 * Alltoall in which every rank exchanges its block with every other one directly.
 *
 * Idea: nothing is forwarded. Rank p writes to p + 1, p + 2, ... in this order, so that no rank is
 * written to by all at the same time. There are three forms:
 *
 *   cells  (path temp, N * M <= PCOLL_CELL_BYTES) put each block beside its receiver's counter;
 *          when all N - 1 have arrived, copy them out.
 *   temp   (path temp) the same through communication buffers. Long blocks go in segments through
 *          two alternating buffers; a rank sends a segment when it has copied out the previous one.
 *   user   (path user) between nodes tell every rank that my receive buffer may be written; when
 *          all have told me, put each block to its place in the receiver's user buffer. In a node
 *          receivers read: tell every rank that my send buffer may be read; when all have told me,
 *          get each block, and tell its owner that I am done with its buffer.
 *
 * Source: the spread-out algorithm of Bruck et al. (1997); counters as in document 001.
 *
 *      N = 5:   rank 0 writes to 1, 2, 3, 4; rank 1 to 2, 3, 4, 0; ...
 *
 * Cost: L + N (o + M G) + N M copy (cells, temp), 2 L + N (2 o + rma + M G) (user); two or three
 * counters. Condition (lemma A): completing k needs every rank's start of k, as a block comes from
 * each, so two banks of counters and buffers, or more, keep instances apart. user: one bank, as
 * nobody is ready for k + 1 before it has my block of k, which I put when all were ready for k; and
 * nobody puts a block of k + 1 before I am ready for it. user in a node: the same with "done" in
 * place of blocks, as nobody tells of k + 1 before all are done with its buffer of k.
 *
 * All signals to peers are 1 and every counter has one meaning, so the plan is its own lowered
 * form: each rank neighbors all others, and lowering would generate the plans of all N. Only a plan
 * that reads is not, since a deferred get cannot signal a peer.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/shape/segment.h"

#define DEFAULT_SEGMENT (UINT64_C(64) << 10)

enum form { CELLS, TEMP, USER };

struct state {
    struct pcoll_plan *plan;
    enum form form;
    uint64_t nsegments;  /* per instance: 1 or an even number */
    uint64_t bank_bytes; /* of TEMP */
};

enum { BANKS = 2 }; /* of segments */

/* Counters. Cells and temp have one for the blocks of each bank, from 0 on. */
enum {
    BLOCKS = 0,   /* user: blocks that have arrived, or that peers have read */
    READY = 1,    /* user: peers whose buffers may be written, or read */
    SEQUENCE = 2, /* temp, several segments: blocks copied out */
};

static enum form form_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    uint64_t all = signature->bytes * (uint64_t)signature->nranks;

    if (params->path == PCOLL_PATH_USER)
        return USER;
    return all <= PCOLL_CELL_BYTES ? CELLS : TEMP;
}

static uint64_t nsegments_of(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    uint64_t n = 1;

    if (form_of(signature, params) == TEMP)
        n = pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT);
    return n == 1 ? 1 : (n + 1) / 2 * 2;
}

static int nbanks_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    return pcoll_message_banks(params, form_of(signature, params) == TEMP &&
                                           nsegments_of(signature, params) == 1);
}

static int npeers(const struct state *s)
{
    return s->plan->signature.nranks - 1;
}

static int peer_of(const struct state *s, int i)
{
    return (s->plan->rank + 1 + i) % s->plan->signature.nranks;
}

/* Where block `rank` lies in SEND and RECV. */
static uint64_t block(const struct state *s, int rank)
{
    return (uint64_t)rank * s->plan->signature.bytes;
}

/* Where the segment of block `rank` arrives. */
static struct pcoll_place arrival(const struct state *s, int bank, struct pcoll_segment segment,
                                  int rank)
{
    const uint64_t at = (uint64_t)rank * segment.count;

    switch (s->form) {
        case CELLS:
            return pcoll_at(PCOLL_CELL, (uint64_t)bank * PCOLL_CELL_BYTES + at);
        case TEMP:
            return pcoll_at(PCOLL_TEMP, (uint64_t)bank * s->bank_bytes + at);
        default:
            return pcoll_at(PCOLL_RECV, block(s, rank));
    }
}

static void add_puts(const struct state *s, int bank, int trigger, uint64_t threshold,
                     struct pcoll_segment segment)
{
    for (int i = 0; i < npeers(s); i++) {
        const int peer = peer_of(s, i);
        const struct pcoll_entry put = pcoll_entry_put(
            trigger, threshold, pcoll_at(PCOLL_SEND, block(s, peer) + segment.first), peer,
            arrival(s, bank, segment, s->plan->rank), segment.count);

        pcoll_plan_add(s->plan, pcoll_entry_signal(put, peer, bank, 1));
    }
}

/* It waits only to let the messages go first. */
static void add_own_copy(const struct state *s, int trigger, uint64_t threshold)
{
    const uint64_t own = block(s, s->plan->rank);

    pcoll_plan_add(s->plan, pcoll_entry_copy(trigger, threshold, pcoll_at(PCOLL_SEND, own),
                                             pcoll_at(PCOLL_RECV, own), s->plan->signature.bytes));
}

/* Blocks [first, end), when the counter of the bank has its present gain. */
static void add_copy_out(const struct state *s, int bank, struct pcoll_segment segment, int first,
                         int end)
{
    struct pcoll_entry copy;

    if (first >= end)
        return;
    copy = pcoll_entry_copy(bank, s->plan->gain[bank], arrival(s, bank, segment, first),
                            pcoll_at(PCOLL_RECV, block(s, first) + segment.first),
                            (uint64_t)(end - first) * segment.count);
    pcoll_plan_add(s->plan, s->nsegments > 1 ? pcoll_entry_done(copy, SEQUENCE, 1) : copy);
}

/* The counter of the bank also waits until the previous segment has been copied out, so that
 * SEQUENCE counts the segments in order. */
static void add_gate(const struct state *s, int bank, uint64_t copied)
{
    const uint64_t weight = (uint64_t)npeers(s) + 1;

    pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_add(SEQUENCE, copied), bank, weight));
    s->plan->gain[bank] += weight;
}

/* Segment i of an instance. Consecutive blocks are adjacent in both buffers only if they are not
 * cut. */
static void add_segment(const struct state *s, int bank, uint64_t i)
{
    const struct pcoll_segment segment =
        pcoll_segment_of(s->plan->signature.bytes, s->nsegments, i);
    const int rank = s->plan->rank, nranks = s->plan->signature.nranks;
    const uint64_t copied = i * (uint64_t)npeers(s);

    add_puts(s, bank, i > 0 ? SEQUENCE : PCOLL_NONE, copied, segment);
    if (i == 0)
        add_own_copy(s, PCOLL_NONE, 0);
    else
        add_gate(s, bank, copied);
    s->plan->gain[bank] += (uint64_t)npeers(s);
    if (s->nsegments == 1) {
        add_copy_out(s, bank, segment, 0, rank);
        add_copy_out(s, bank, segment, rank + 1, nranks);
        return;
    }
    for (int j = 0; j < npeers(s); j++)
        add_copy_out(s, bank, segment, peer_of(s, j), peer_of(s, j) + 1);
}

static void build_temp(const struct state *s, int phase)
{
    for (uint64_t i = 0; i < s->nsegments; i++)
        add_segment(s, s->nsegments > 1 ? (int)(i % BANKS) : phase, i);
    if (s->nsegments > 1)
        s->plan->gain[SEQUENCE] = s->nsegments * (uint64_t)npeers(s);
}

static void tell_all(const struct state *s, int trigger, uint64_t threshold, int counter)
{
    const struct pcoll_entry tell = pcoll_entry_add(trigger, threshold);

    for (int i = 0; i < npeers(s); i++)
        pcoll_plan_add(s->plan, pcoll_entry_signal(tell, peer_of(s, i), counter, 1));
}

static void add_gets(const struct state *s)
{
    const uint64_t own = block(s, s->plan->rank), peers = (uint64_t)npeers(s);

    for (int i = 0; i < npeers(s); i++) {
        const int peer = peer_of(s, i);
        const struct pcoll_entry get =
            pcoll_entry_get(READY, peers, peer, pcoll_at(PCOLL_SEND, own),
                            pcoll_at(PCOLL_RECV, block(s, peer)), s->plan->signature.bytes);

        pcoll_plan_add(s->plan, pcoll_entry_signal(get, peer, BLOCKS, 1));
    }
}

static void build_user(const struct state *s)
{
    const struct pcoll_segment whole = {0, s->plan->signature.bytes};
    const uint64_t peers = (uint64_t)npeers(s);

    tell_all(s, PCOLL_NONE, 0, READY);
    if (pcoll_is_over_wire(&s->plan->signature))
        add_puts(s, BLOCKS, READY, peers, whole);
    else
        add_gets(s);
    add_own_copy(s, READY, peers);
    pcoll_plan_add(s->plan, pcoll_entry_wait(BLOCKS, peers));
    s->plan->gain[BLOCKS] = s->plan->gain[READY] = peers;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    uint64_t largest;

    if (form_of(signature, params) != TEMP)
        return 0;
    largest = (signature->bytes - 1) / nsegments_of(signature, params) + 1;
    return (uint64_t)nbanks_of(signature, params) *
           pcoll_whole_lines((uint64_t)signature->nranks * largest);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    const int nbanks = nbanks_of(signature, params);
    struct state s = {
        .plan = plan,
        .form = form_of(signature, params),
        .nsegments = nsegments_of(signature, params),
        .bank_bytes = temp_bytes(signature, params) / (uint64_t)nbanks,
    };
    const bool is_long = s.nsegments > 1, is_user = s.form == USER;

    if (!pcoll_plan_begin(plan, is_long ? 3 : nbanks, is_long || is_user ? 1 : nbanks))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = (uint64_t)nbanks * s.bank_bytes;
    plan->lowered = !is_user || pcoll_is_over_wire(signature);
    for (int phase = 0; phase < plan->nphases; phase++) {
        pcoll_plan_open(plan, phase);
        if (is_user)
            build_user(&s);
        else
            build_temp(&s, phase);
    }
    return PCOLL_OK;
}

/* What a rank does to the blocks of a segment that has arrived. */
static double cost_of_copies(const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine, double segments)
{
    const double peers = signature->nranks - 1;
    const double copies = segments > 1 ? peers : peers > 1 ? 2 : 1;

    return pcoll_cost_crowd(signature, machine) *
           (copies * pcoll_cost_node(machine).o +
            peers * (double)signature->bytes / segments * machine->copy);
}

/* Over a network the blocks of a node's ranks leave its port one after the other. */
static double cost_over_wire(const struct pcoll_signature *signature, enum form form,
                             const struct pcoll_machine *machine, double segments)
{
    struct pcoll_machine own = *machine;
    const double peers = signature->nranks - 1;
    const double copy =
        pcoll_cost_crowd(signature, machine) * (double)signature->bytes * machine->copy;
    double sent, tell;
    struct pcoll_hop hop;

    own.g *= pcoll_cost_port_load(signature);
    tell = pcoll_larger(own.g, machine->o);
    if (form != USER)
        own.rma = 0;
    hop = pcoll_cost_hop(signature, &own, (double)signature->bytes / segments);
    sent = hop.first + (peers - 1) * hop.gap;
    if (form == USER)
        return machine->call + pcoll_cost_wave(signature, &own, 1, true) + (peers - 1) * tell +
               pcoll_larger(sent, peers * (machine->o + machine->rma) + copy);
    return machine->call + segments * (sent + cost_of_copies(signature, machine, segments)) +
           pcoll_larger(0, copy - machine->L);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const enum form form = form_of(signature, params);
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double bytes = (double)signature->bytes, own = crowd * bytes * machine->copy;
    const double segments = (double)nsegments_of(signature, params);
    const double wave = pcoll_cost_wave(signature, machine, peers, true);
    const double alone = form == USER ? machine->rma + bytes * machine->G : bytes * machine->copy;
    const double moved =
        crowd * peers * pcoll_cost_saturated(machine, signature->nranks, bytes, alone);

    if (pcoll_is_over_wire(signature))
        return cost_over_wire(signature, form, machine, segments);
    if (form == USER)
        return machine->call + 2 * wave + moved + crowd * bytes * machine->kept;
    return machine->call + segments * (wave + cost_of_copies(signature, machine, segments)) +
           moved + own;
}

const struct pcoll_algorithm pcoll_alltoall_direct = {
    .name = "direct",
    .alias = "scattered",
    .coll = PCOLL_ALLTOALL,
    .description = "every pair of ranks exchanges its blocks directly",
    .when = "through communication buffers for short blocks, between user buffers for long ones",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .whole_paths = PCOLL_PATH_BIT_USER,
    .uses_slots = PCOLL_BANKS,
};
