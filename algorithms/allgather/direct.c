/*
 * Allgather in which every rank reaches every other one directly.
 *
 * Idea: in shared memory all pairs are equally near, so nothing is forwarded. There are three
 * forms:
 *
 *   cells  (path temp, N * M <= PCOLL_CELL_BYTES) put my block beside every peer's counter; when
 *          all N - 1 have arrived, copy them out.
 *   temp   (path temp) copy my block to my communication buffer, tell every rank, and when all have
 *          told me, get their blocks. Long blocks go in segments through two alternating buffers.
 *   user   (path user) tell every rank that my send buffer is ready; get the others' blocks from
 *          theirs; tell them "done", as the buffer must not change before.
 *
 * Source: the spread-out algorithm of Bruck et al. (1997); counters as in document 001.
 *
 *      N = 5:   rank 0 reads from 1, 2, 3, 4; rank 1 from 2, 3, 4, 0; ...
 *
 * Cost: L + N o + N M copy (cells), L + N (o + M copy) + M copy (temp), 2 L + N (o + rma + M G)
 * (user); one counter, two banks or more (temp in segments: one more counter). Condition:
 * completing (a segment of) k needs every rank's start of it, which comes after every rank has
 * completed the previous one: alternating buffers and counters cannot collide.
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
    uint64_t slot_bytes; /* of one communication buffer */
};

enum { BANKS = 2 };    /* of segments */
enum { SEQUENCE = 2 }; /* counter of own segments done, in form TEMP with nsegments > 1 */

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
    uint64_t n = pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT);

    return n == 1 ? 1 : (n + 1) / 2 * 2;
}

static int nbanks_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    return pcoll_message_banks(params, form_of(signature, params) == TEMP &&
                                           nsegments_of(signature, params) == 1);
}

static int peer_of(const struct state *s, int i)
{
    int nranks = s->plan->signature.nranks;

    return (s->plan->rank + 1 + i) % nranks;
}

static int npeers(const struct state *s)
{
    return s->plan->signature.nranks - 1;
}

static uint64_t block(const struct state *s, int rank)
{
    return (uint64_t)rank * s->plan->signature.bytes;
}

static void add_own_copy(const struct state *s, int trigger, uint64_t threshold)
{
    if (!s->plan->signature.in_place)
        pcoll_plan_add(s->plan, pcoll_entry_copy(trigger, threshold, pcoll_at(PCOLL_SEND, 0),
                                                 pcoll_at(PCOLL_RECV, block(s, s->plan->rank)),
                                                 s->plan->signature.bytes));
}

/* Add `weight` to the tank of every peer when `trigger` reaches `threshold`. */
static void add_tell_all(const struct state *s, int trigger, uint64_t threshold, int bank,
                         uint64_t weight)
{
    for (int i = 0; i < npeers(s); i++)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(trigger, threshold),
                                                   peer_of(s, i), bank, weight));
}

static struct pcoll_place cell(const struct state *s, int bank, int rank)
{
    return pcoll_at(PCOLL_CELL, (uint64_t)bank * PCOLL_CELL_BYTES + block(s, rank));
}

static void add_cells_copy_out(const struct state *s, int bank, int first, int end)
{
    if (first < end)
        pcoll_plan_add(s->plan, pcoll_entry_copy(bank, (uint64_t)npeers(s), cell(s, bank, first),
                                                 pcoll_at(PCOLL_RECV, block(s, first)),
                                                 block(s, end - first)));
}

static void build_cells(const struct state *s, int bank)
{
    int rank = s->plan->rank;

    for (int i = 0; i < npeers(s); i++) {
        struct pcoll_entry put =
            pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0), peer_of(s, i),
                            cell(s, bank, rank), s->plan->signature.bytes);

        pcoll_plan_add(s->plan, pcoll_entry_signal(put, peer_of(s, i), bank, 1));
    }
    add_own_copy(s, PCOLL_NONE, 0);
    add_cells_copy_out(s, bank, 0, rank);
    add_cells_copy_out(s, bank, rank + 1, s->plan->signature.nranks);
    s->plan->gain[bank] += (uint64_t)npeers(s);
}

static void build_user(const struct state *s, int bank)
{
    uint64_t nranks = (uint64_t)s->plan->signature.nranks, ready = nranks * (nranks - 1);

    add_tell_all(s, PCOLL_NONE, 0, bank, nranks);
    add_own_copy(s, PCOLL_NONE, 0);
    for (int i = 0; i < npeers(s); i++) {
        int peer = peer_of(s, i);
        struct pcoll_entry get =
            pcoll_entry_get(bank, ready, peer, pcoll_at(PCOLL_SEND, 0),
                            pcoll_at(PCOLL_RECV, block(s, peer)), s->plan->signature.bytes);

        pcoll_plan_add(s->plan, pcoll_entry_signal(get, peer, bank, 1));
    }
    pcoll_plan_add(s->plan, pcoll_entry_wait(bank, ready + nranks - 1));
    s->plan->gain[bank] += ready + nranks - 1;
}

/* Segment i of an instance, through communication buffer and tank `bank`. My own copy weighs N, so
 * that the N - 1 signals of the peers cannot substitute for it. */
static void add_temp_segment(const struct state *s, int bank, uint64_t i)
{
    uint64_t base = s->plan->gain[bank], own = base + (uint64_t)npeers(s) + 1;
    struct pcoll_segment segment = pcoll_segment_of(s->plan->signature.bytes, s->nsegments, i);
    struct pcoll_place temp = pcoll_at(PCOLL_TEMP, (uint64_t)bank * s->slot_bytes);
    struct pcoll_entry copy =
        pcoll_entry_copy(i ? SEQUENCE : PCOLL_NONE, i * (uint64_t)npeers(s),
                         pcoll_at(PCOLL_SEND, segment.first), temp, segment.count);

    pcoll_plan_add(s->plan, pcoll_entry_done(copy, bank, own - base));
    add_tell_all(s, bank, own, bank, 1);
    if (i == 0)
        add_own_copy(s, bank, own);
    s->plan->gain[bank] = own + (uint64_t)npeers(s);
    for (int j = 0; j < npeers(s); j++) {
        int peer = peer_of(s, j);
        struct pcoll_place to = pcoll_at(PCOLL_RECV, block(s, peer) + segment.first);
        struct pcoll_entry get =
            pcoll_entry_get(bank, s->plan->gain[bank], peer, temp, to, segment.count);

        pcoll_plan_add(s->plan, s->nsegments > 1 ? pcoll_entry_done(get, SEQUENCE, 1) : get);
    }
}

static void build_temp(const struct state *s, int phase)
{
    for (uint64_t i = 0; i < s->nsegments; i++)
        add_temp_segment(s, s->nsegments > 1 ? (int)(i % BANKS) : phase, i);
    if (s->nsegments > 1)
        s->plan->gain[SEQUENCE] = s->nsegments * (uint64_t)npeers(s);
}

static void build_phase(const struct state *s, int phase)
{
    pcoll_plan_open(s->plan, phase);
    if (s->form == CELLS)
        build_cells(s, phase);
    else if (s->form == USER)
        build_user(s, phase);
    else
        build_temp(s, phase);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    uint64_t largest;

    if (form_of(signature, params) != TEMP)
        return 0;
    largest = (signature->bytes - 1) / nsegments_of(signature, params) + 1;
    return (uint64_t)nbanks_of(signature, params) * pcoll_whole_lines(largest);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    const int nbanks = nbanks_of(signature, params);
    struct state s = {.plan = plan, .form = form_of(signature, params), .nsegments = 1};

    if (s.form == TEMP)
        s.nsegments = nsegments_of(signature, params);
    if (!pcoll_plan_begin(plan, s.nsegments > 1 ? SEQUENCE + 1 : nbanks,
                          s.nsegments > 1 ? 1 : nbanks))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = temp_bytes(signature, params);
    s.slot_bytes = plan->temp_bytes / (uint64_t)nbanks;
    for (int phase = 0; phase < plan->nphases; phase++)
        build_phase(&s, phase);
    return PCOLL_OK;
}

/* Over a network, after telling each other, each rank gets one block after the other, with a
 * request and an answer. If there are few, a rank waits for its own gets; if there are many, its
 * port is also busy with the gets of other ranks. Between user buffers a get costs `rma`, and its
 * acknowledgment `o`. */
static double cost_of_gets(const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine, bool is_user, double bytes)
{
    double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    double o = crowd * machine->o, rma = is_user ? crowd * machine->rma : 0;
    double length = bytes * pcoll_cost_rate(signature, machine, PCOLL_PATH_USER);
    double copying = is_user ? 0 : crowd * bytes * machine->copy;
    double g = machine->g * pcoll_cost_port_load(signature);
    double L = pcoll_cost_wave(signature, machine, 0, true); /* of a rank that fires nothing */
    double copy = is_user ? o : crowd * pcoll_cost_node(machine).o; /* to fire one */
    double first = (is_user ? 4 : 3) * L + 2 * o + copy + rma + length;
    double few = pcoll_larger(2 * o + rma, pcoll_larger(o, 2 * g) + length);
    double sent = pcoll_larger(o, (is_user ? 4 : 3) * g) + rma + length; /* time at the port */
    double many = pcoll_larger((is_user ? 3 : 2) * o + rma, sent);
    double ahead = 2 + L / (o + rma); /* requests that leave before an answer for another rank is in
                                       * their way */
    double late = rma > 0 && peers > ahead && sent > few ? (peers - ahead) * (sent - few) : 0;

    return copying + pcoll_larger(first + (peers - 1) * few + late, 2 * L + copy + peers * many);
}

static double cost_over_wire(const struct pcoll_signature *signature, enum form form,
                             const struct pcoll_machine *machine, double segments)
{
    double own = pcoll_cost_crowd(signature, machine) * (double)signature->bytes * machine->copy;
    double waiting = pcoll_larger(0, own + pcoll_cost_node(machine).o - machine->L);

    return machine->call + waiting +
           segments *
               cost_of_gets(signature, machine, form == USER, (double)signature->bytes / segments);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    int peers = signature->nranks - 1;
    enum form form = form_of(signature, params);
    double own = (double)signature->bytes * machine->copy;
    double crowd = pcoll_cost_crowd(signature, machine);
    double segments = form == TEMP ? (double)nsegments_of(signature, params) : 1;
    double others =
        peers * (double)signature->bytes *
        pcoll_cost_rate(signature, machine, form == USER ? PCOLL_PATH_USER : PCOLL_PATH_TEMP);
    double idle = pcoll_larger(0, machine->L - machine->o); /* until the other ranks have told */

    if (form == CELLS)
        return pcoll_cost_waves(signature, machine, 1, peers) +
               crowd * (others + own + (peers > 1 ? 2 : 1) * pcoll_cost_node(machine).o);
    if (pcoll_is_over_wire(signature))
        return cost_over_wire(signature, form, machine, segments);
    if (form == USER)
        return pcoll_cost_waves(signature, machine, 2, peers) +
               crowd * (peers * machine->rma + others + (double)signature->bytes * machine->kept);
    return pcoll_cost_waves(signature, machine, (int)segments, peers) +
           crowd * (others + 2 * own + segments * signature->nranks * machine->o) -
           (own < idle ? own : idle);
}

const struct pcoll_algorithm pcoll_allgather_direct = {
    .name = "direct",
    .coll = PCOLL_ALLGATHER,
    .description = "everybody reaches everybody",
    .when = "blocks of any size in a node, and short ones of few ranks",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .whole_paths = PCOLL_PATH_BIT_USER,
    .uses_slots = PCOLL_BANKS,
};
