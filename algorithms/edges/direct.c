/*
 * Messages along the edges of each rank, written directly: the collectives whose blocks differ, and
 * those among neighbors.
 *
 * Idea: nothing is forwarded, and no rank knows more than its own edges (plan/edges.h). There are
 * two forms:
 *
 *   temp  (path temp) put each block into its slot at the receiver, which copies the blocks out
 *         when all of them have arrived. Slots of blocks that together fill at most one cell are
 *         in the cell beside the counter of arrivals.
 *   user  (path user) tell the source of each block that my receive buffer may be written; when all
 *         receivers have told me, put each block to its place in the receiver's user buffer.
 *
 * Source: the linear algorithms of every MPI, by put instead of send and receive.
 *
 *      N = 5, the second dimension of a mesh:   0 <-> 1 <-> 2 <-> 3 <-> 4
 *
 * Cost, for degree d and volume V: L + 2 d o + V (G + copy) (temp), 2 L + d (2 o + rma) + V G
 * (user). When: temp for short blocks and for data that is packed on the way, user for long ones.
 * Condition, for each edge:
 *
 * temp, answered (lemma B): two banks of counters and slots. Whoever puts k + 2 has completed k +
 * 1, for which the receiver of the put has sent a block: it has started k + 1, and so completed k.
 *
 * temp, not answered: the receiver gives a credit when it has copied k out. The sender's put of
 * k + 2 waits for all its credits of k.
 *
 * temp, with a root (lemma D): the banks are a ring. Whoever starts the first instance of one half
 * returns the other half to all its senders, and the first put into a half waits for all receivers.
 *
 * temp, several segments: they go in rounds, which take the banks in turns, and every edge has
 * credit. For an edge's last segment in a bank the receiver gives it when the bank has all segments
 * of the instance, so that none of the next instance can substitute for them. These credits gate
 * only the first segments of the next instance, and the others those of this one, so no rank waits
 * for a credit that itself waits for later segments of this rank.
 *
 * user (lemma C): one bank. A put of k waits for all "ready" of k, and a receiver tells of k + 1
 * only when all its blocks of k have arrived; so neither "ready" nor the arrivals of k + 1 can
 * substitute for those of k.
 *
 * All signals are 1 and every counter has one meaning, so the plan is its own lowered form.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/plan/edges.h"
#include "algorithms/shape/ring.h"

/* The counters are ARRIVED of each bank, then (see credit_counter) two of credits and, with several
 * segments, two more of the credits for slots that the same instance fills again. */
enum { ARRIVED = 0 };
enum { READY = 1 }; /* of the user form */

struct state {
    struct pcoll_plan *plan;
    const struct pcoll_signature *signature;
    const struct pcoll_local *local;
    int rank, bank;
    struct pcoll_ring ring; /* temp: the banks, if the edges have a root; otherwise there are two */
    struct pcoll_ring_use use;
    uint64_t segment, round, nrounds;
    uint64_t credits;     /* of the bank that the receivers have given in earlier rounds */
    uint64_t so_far, all; /* segments that arrive in the bank, until this round or the last */
};

typedef int edge_of(const struct pcoll_signature *signature, const struct pcoll_local *local,
                    int rank, int i, struct pcoll_edge *edge_p);
typedef void visit(const struct state *s, const struct pcoll_edge *edge);

/* Visit the edges to other ranks that have data, the first ones with a rank above this one: the
 * senders of a rank do not all begin with it. */
static void visit_each(const struct state *s, edge_of *edge_at, visit *visit_one)
{
    struct pcoll_edge edge;
    int n = 0, first = 0;

    while (edge_at(s->signature, s->local, s->rank, n, &edge)) {
        first += n == first && edge.rank < s->rank;
        n++;
    }
    for (int k = 0; k < n; k++) {
        edge_at(s->signature, s->local, s->rank, (first + k) % n, &edge);
        if (edge.bytes > 0 && edge.rank != s->rank)
            visit_one(s, &edge);
    }
}

static void copy_to_self(const struct state *s)
{
    struct pcoll_edge edge;

    if (pcoll_is_in_place(s->signature, s->local, s->rank))
        return;
    for (int i = 0; pcoll_edge_in(s->signature, s->local, s->rank, i, &edge); i++)
        if (edge.rank == s->rank && edge.bytes > 0)
            pcoll_plan_add(s->plan,
                           pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, edge.peer_first),
                                            pcoll_at(PCOLL_RECV, edge.first), edge.bytes));
}

/* ---- temp ---- */

/* What the round moves of an edge: nothing, if it has fewer segments. */
static struct pcoll_segment part_of(const struct state *s, const struct pcoll_edge *edge)
{
    const uint64_t first = s->round * s->segment;
    const uint64_t left = edge->bytes > first ? edge->bytes - first : 0;

    return (struct pcoll_segment){first, left < s->segment ? left : s->segment};
}

/* The slot of this bank is not used again for the edge in this instance. */
static int is_last(const struct state *s, const struct pcoll_edge *edge)
{
    return edge->bytes <= (s->round + 2) * s->segment;
}

static int is_ring(const struct state *s)
{
    return s->ring.slots > 0;
}

/* Each slot is returned separately. */
static int needs_credit(const struct state *s, const struct pcoll_edge *edge)
{
    return !is_ring(s) && (s->nrounds > 1 || !edge->is_answered);
}

/* The counter of the bank's credits, or of those for slots that the same instance fills again. */
static int credit_counter(const struct state *s, int is_again)
{
    return ARRIVED + 2 + (is_again ? 2 : 0) + s->bank;
}

/* The counter with which the receiver returns the slot. */
static int credit_for(const struct state *s, const struct pcoll_edge *edge)
{
    return credit_counter(s, !is_last(s, edge));
}

static void count_receiver(const struct state *s, const struct pcoll_edge *edge)
{
    (void)edge;
    s->plan->gain[pcoll_ring_credit(&s->ring, s->use.half)]++;
}

static void return_half(const struct state *s, const struct pcoll_edge *edge)
{
    pcoll_ring_return(s->plan, &s->ring, s->bank, edge->rank);
}

/* With a ring, the first put into a half waits for all receivers. */
static struct pcoll_entry wait_for_half(const struct state *s, struct pcoll_entry put)
{
    const int credit = pcoll_ring_credit(&s->ring, s->use.half);

    put.trigger = s->use.opens ? credit : PCOLL_NONE;
    put.threshold = s->use.opens ? pcoll_ring_returned(&s->use, (int)s->plan->gain[credit]) : 0;
    return put;
}

static void put_to_slot(const struct state *s, const struct pcoll_edge *edge)
{
    const struct pcoll_segment part = part_of(s, edge);
    const int is_first = s->round < 2;
    struct pcoll_entry put;

    if (part.count == 0)
        return;
    put = pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, edge->first + part.first), edge->rank,
                          pcoll_edge_slot(edge, s->bank), part.count);
    if (is_ring(s))
        put = wait_for_half(s, put);
    if (needs_credit(s, edge)) {
        put.trigger = credit_counter(s, !is_first);
        put.threshold = is_first ? 0 : s->credits;
        s->plan->gain[credit_for(s, edge)]++;
    }
    pcoll_plan_add(s->plan, pcoll_entry_signal(put, edge->rank, ARRIVED + s->bank, 1));
}

/* The segments that arrive in this bank up to that round of an instance. */
static uint64_t arrivals(const struct state *s, uint64_t round)
{
    const uint64_t first = s->nrounds > 1 ? (uint64_t)s->bank : 0;
    struct pcoll_edge edge;
    uint64_t n = 0;

    for (int i = 0; pcoll_edge_in(s->signature, s->local, s->rank, i, &edge); i++) {
        const uint64_t segments = (edge.bytes + s->segment - 1) / s->segment;
        const uint64_t end = segments < round + 1 ? segments : round + 1;

        if (edge.rank != s->rank && end > first)
            n += (end - first + 1) / 2;
    }
    return n;
}

static void copy_out(const struct state *s, const struct pcoll_edge *edge)
{
    const struct pcoll_segment part = part_of(s, edge);
    const uint64_t arrived = is_last(s, edge) ? s->all : s->so_far;
    struct pcoll_entry copy;

    if (part.count == 0)
        return;
    copy = pcoll_entry_copy(ARRIVED + s->bank, arrived, pcoll_edge_slot(edge, s->bank),
                            pcoll_at(PCOLL_RECV, edge->first + part.first), part.count);
    if (needs_credit(s, edge))
        copy = pcoll_entry_signal(copy, edge->rank, credit_for(s, edge), 1);
    pcoll_plan_add(s->plan, copy);
}

static void build_round(struct state *s)
{
    s->credits = s->nrounds > 1 ? s->plan->gain[credit_counter(s, 1)] : 0;
    s->so_far = arrivals(s, s->round);
    s->all = arrivals(s, s->nrounds - 1);
    s->plan->gain[ARRIVED + s->bank] = s->all;
    visit_each(s, pcoll_edge_out, put_to_slot);
    if (s->round == 0)
        copy_to_self(s);
    visit_each(s, pcoll_edge_in, copy_out);
}

/* With a ring, a rank that starts the first instance of a half returns the other half. */
static void begin_ring(struct state *s, int phase)
{
    pcoll_ring_use(&s->ring, 0, phase, 0, &s->use);
    s->bank = phase;
    if (s->use.opens) {
        visit_each(s, pcoll_edge_in, return_half);
        visit_each(s, pcoll_edge_out, count_receiver);
    }
}

/* A single round uses the banks in turns over the instances, several rounds within each. */
static void build_temp(struct state *s, int phase)
{
    if (is_ring(s)) {
        begin_ring(s, phase);
        build_round(s);
        return;
    }
    for (s->round = 0; s->round < s->nrounds; s->round++) {
        s->bank = (phase + (int)(s->round % 2)) % 2;
        build_round(s);
    }
}

/* ---- user ---- */

static void tell(const struct state *s, const struct pcoll_edge *edge)
{
    pcoll_plan_add(s->plan,
                   pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), edge->rank, READY, 1));
    s->plan->gain[ARRIVED + s->bank]++;
}

static void count_ready(const struct state *s, const struct pcoll_edge *edge)
{
    (void)edge;
    s->plan->gain[READY]++;
}

static void put_to_user(const struct state *s, const struct pcoll_edge *edge)
{
    const struct pcoll_entry put =
        pcoll_entry_put(READY, s->plan->gain[READY], pcoll_at(PCOLL_SEND, edge->first), edge->rank,
                        pcoll_at(PCOLL_RECV, edge->peer_first), edge->bytes);

    pcoll_plan_add(s->plan, pcoll_entry_signal(put, edge->rank, ARRIVED + s->bank, 1));
}

static void build_user(const struct state *s)
{
    visit_each(s, pcoll_edge_in, tell);
    copy_to_self(s);
    visit_each(s, pcoll_edge_out, count_ready);
    visit_each(s, pcoll_edge_out, put_to_user);
    if (s->plan->gain[ARRIVED + s->bank] > 0)
        pcoll_plan_add(s->plan,
                       pcoll_entry_wait(ARRIVED + s->bank, s->plan->gain[ARRIVED + s->bank]));
}

/* ---- plan and cost ---- */

static int is_user(const struct pcoll_params *params)
{
    return params->path == PCOLL_PATH_USER;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return is_user(params) ? 0 : pcoll_edges_most_temp(signature);
}

static uint64_t segment_of(const struct pcoll_params *params)
{
    const uint64_t segment = params->segment;

    return segment > 0 && segment < PCOLL_EDGE_SLOT ? segment : PCOLL_EDGE_SLOT;
}

static uint64_t nrounds_of(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return is_user(params) ? 1 : (signature->bytes - 1) / segment_of(params) + 1;
}

/* The ring of the form temp with a root; otherwise it has no slots. */
static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    struct pcoll_ring ring = {.nsegments = 1};

    if (pcoll_coll_has(signature->coll, PCOLL_ROOTED) && !is_user(params) &&
        nrounds_of(signature, params) == 1)
        ring.slots = pcoll_edges_banks(signature);
    return ring;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct state s = {
        .signature = signature,
        .local = local,
        .rank = rank,
        .ring = ring_of(signature, params),
        .segment = segment_of(params),
        .nrounds = nrounds_of(signature, params),
    };
    const int nbanks = is_ring(&s) ? s.ring.slots : 2;
    const int nphases = is_user(params) || s.nrounds > 1 ? 1 : nbanks;
    const int ncounters = is_user(params) ? READY + 1 : nbanks + (s.nrounds > 1 ? 4 : 2);
    enum pcoll_result result =
        pcoll_plan_create(signature, rank, "direct", ncounters, nphases, &s.plan);

    if (result != PCOLL_OK)
        return result;
    s.plan->lowered = 1;
    if (!is_user(params))
        s.plan->temp_bytes = pcoll_edges_temp(signature, local, rank);
    for (int phase = 0; phase < nphases; phase++) {
        pcoll_plan_open(s.plan, phase);
        if (is_user(params))
            build_user(&s);
        else
            build_temp(&s, phase);
    }
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

/* The time for each byte that a rank reads from SEND or writes to RECV itself. */
static double per_byte(const struct pcoll_signature *signature, const struct pcoll_machine *machine)
{
    return signature->typed ? machine->pack : machine->copy;
}

/* Over a network a rank's blocks leave its node's port one after the other; a slot is filled again
 * when the credit for it has come back, every other round. Data that is not contiguous is packed at
 * start and unpacked at completion. */
static double cost_over_wire(const struct pcoll_signature *signature,
                             const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    struct pcoll_machine own = *machine;
    const double degree = pcoll_edges_degree(signature);
    const double volume = (double)pcoll_edges_volume(signature);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double tell = pcoll_larger(machine->g, machine->o);
    const double packed = signature->typed ? 2 * crowd * volume * machine->pack : 0;
    const double rounds = (double)nrounds_of(signature, params), nputs = degree * rounds;
    struct pcoll_hop hop;
    double sent;

    if (!is_user(params))
        own.rma = 0;
    hop = pcoll_cost_hop(signature, &own, volume / nputs);
    sent = machine->call + packed + hop.first + (nputs - 1) * hop.gap;
    if (is_user(params))
        return sent + pcoll_cost_wave(signature, machine, 1, 1) + (degree - 1) * tell;
    return sent + (rounds - 1) * machine->L +
           crowd * (nputs * pcoll_cost_node(machine).o + volume * machine->copy);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double degree = pcoll_edges_degree(signature);
    const double volume = (double)pcoll_edges_volume(signature);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const struct pcoll_ring ring = ring_of(signature, params);
    const struct pcoll_machine own = ring.slots ? pcoll_ring_machine(&ring, machine) : *machine;
    const double wave = machine->call + pcoll_cost_wave(signature, &own, degree, 1);
    const double segments = pcoll_larger(degree, volume / (double)segment_of(params));
    double packed = 2 * volume * per_byte(signature, machine);
    const double kept = (double)pcoll_edges_kept(signature) * machine->copy;

    if (pcoll_is_over_wire(signature))
        return cost_over_wire(signature, params, machine);
    if (!is_user(params))
        return wave + crowd * (2 * segments * machine->o + packed + kept);
    packed = (signature->typed ? packed : 0) + kept;
    return wave + pcoll_cost_wave(signature, machine, degree, 1) +
           crowd * (degree * machine->rma + volume * machine->G + packed);
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_direct = {                           \
        .name = "direct",                                                                          \
        .alias = "linear",                                                                         \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "every block is written directly to its receiver",                          \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,                                        \
        .uses_segment = 1,                                                                         \
    };

ROW(ALLGATHERV, allgatherv)
ROW(GATHERV, gatherv)
ROW(SCATTERV, scatterv)
ROW(ALLTOALLV, alltoallv)
ROW(ALLTOALLW, alltoallw)
ROW(NEIGHBOR_ALLGATHER, neighbor_allgather)
ROW(NEIGHBOR_ALLGATHERV, neighbor_allgatherv)
ROW(NEIGHBOR_ALLTOALL, neighbor_alltoall)
ROW(NEIGHBOR_ALLTOALLV, neighbor_alltoallv)
ROW(NEIGHBOR_ALLTOALLW, neighbor_alltoallw)
