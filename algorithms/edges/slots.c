/* Blocks through slots; the contract is in slots.h. */
#include "algorithms/edges/slots.h"

#include "algorithms/cost.h"
#include "algorithms/util.h"

/* The counters are ARRIVED of each bank, then (see credit_counter) those of its credits, two with a
 * ring, and, with several segments, two more of the credits for slots that the same instance fills
 * again; and all these again for each part of the peers but the first. With slots of senders as
 * many follow as one part has: FILLED of each bank, and for each counter of credits one of the gets
 * that are done, before which no credit may leave. */
enum { ARRIVED = 0 };

/* ---- rounds ---- */

/* What the round moves of an edge: nothing, if it has fewer segments. */
static struct pcoll_segment segment_of(const struct pcoll_edge_slots *s,
                                       const struct pcoll_edge *edge)
{
    const uint64_t first = s->round * s->segment;
    const uint64_t left = edge->bytes > first ? edge->bytes - first : 0;

    return (struct pcoll_segment){first, left < s->segment ? left : s->segment};
}

/* The slot of this bank is not used again for the edge in this instance. */
static bool is_last(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    return edge->bytes <= (s->round + 2) * s->segment;
}

static bool is_ring(const struct pcoll_edge_slots *s)
{
    return s->ring.slots > 0;
}

int pcoll_edge_slots_banks(const struct pcoll_edge_slots *s)
{
    return is_ring(s) ? s->ring.slots : s->nbanks;
}

/* At the receiver, or at the sender: the same for all edges of a block. */
static struct pcoll_place slot_of(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    if (s->at_sender)
        return pcoll_at(PCOLL_TEMP,
                        (uint64_t)s->bank * pcoll_edge_room(s->slot_bytes, edge->bytes));
    return pcoll_edge_slot(edge, s->bank, pcoll_edge_slots_banks(s), s->slot_bytes);
}

/* Each slot is returned separately. */
static bool needs_credit(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    return !is_ring(s) && (s->nrounds > 1 || !edge->is_answered);
}

/* The counter of the bank's credits, or of those for slots that the same instance fills again. */
static int credit_counter(const struct pcoll_edge_slots *s, bool is_again)
{
    return ARRIVED + s->nbanks + (is_again ? s->nbanks : 0) + s->bank;
}

/* The counter with which the receiver returns the slot. */
static int credit_for(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    return credit_counter(s, !is_last(s, edge));
}

/* ARRIVED of all banks, and the counters of their credits. */
static int counters_of_banks(const struct pcoll_edge_slots *s)
{
    return is_ring(s) ? s->ring.slots + 2 : (s->nrounds > 1 ? 3 : 2) * s->nbanks;
}

/* How many parts the peers of a rank are in: only a root has many, if there is one. */
static int parts_of(const struct pcoll_edge_slots *s, int rank)
{
    const struct pcoll_signature *signature = &s->plan->signature;

    return pcoll_coll_has(signature->coll, PCOLL_ROOTED) && rank != signature->root ? 1 : s->nparts;
}

static int in_part(const struct pcoll_edge_slots *s, int counter, int rank, int peer)
{
    if (s->nparts == 1)
        return counter;
    return peer % parts_of(s, rank) * counters_of_banks(s) + counter;
}

/* ARRIVED, or a counter of credits, of this rank for the peer's part; of the peer for this rank's.
 */
static int for_peer(const struct pcoll_edge_slots *s, int counter, int peer)
{
    return in_part(s, counter, s->plan->rank, peer);
}

static int at_peer(const struct pcoll_edge_slots *s, int counter, int peer)
{
    return in_part(s, counter, peer, s->plan->rank);
}

/* The counter of arrivals along the edge. A cell lies beside that of the first part. */
static int arrived_here(const struct pcoll_edge_slots *s, const struct pcoll_edge *in)
{
    const int arrived = ARRIVED + s->bank;

    return in->in_cell ? arrived : for_peer(s, arrived, in->rank);
}

static int arrived_there(const struct pcoll_edge_slots *s, const struct pcoll_edge *out)
{
    const int arrived = ARRIVED + s->bank;

    return out->in_cell ? arrived : at_peer(s, arrived, out->rank);
}

/* With slots of senders: FILLED, or the counter of gets, that belongs to such a counter. */
static int own_counter(const struct pcoll_edge_slots *s, int counter)
{
    return parts_of(s, s->plan->rank) * counters_of_banks(s) + counter;
}

/* With a ring, the first put into a half waits for all receivers of a part. */
static struct pcoll_entry wait_for_half(const struct pcoll_edge_slots *s, struct pcoll_entry put)
{
    const int credit = for_peer(s, pcoll_ring_credit(&s->ring, s->use.half), put.peer);

    put.trigger = s->use.opens ? credit : PCOLL_NONE;
    put.threshold = s->use.opens ? pcoll_ring_returned(&s->use, (int)s->plan->gain[credit]) : 0;
    return put;
}

static void put_to_slot(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    const struct pcoll_segment segment = segment_of(s, edge);
    const bool is_first = s->round < 2;
    struct pcoll_entry put;

    if (segment.count == 0)
        return;
    put = pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, edge->first + segment.first),
                          edge->rank, slot_of(s, edge), segment.count);
    if (is_ring(s))
        put = wait_for_half(s, put);
    if (needs_credit(s, edge)) {
        put.trigger = for_peer(s, credit_counter(s, !is_first), edge->rank);
        put.threshold = is_first ? 0 : s->credits;
        s->plan->gain[for_peer(s, credit_for(s, edge), edge->rank)]++;
    }
    pcoll_plan_add(s->plan, pcoll_entry_signal(put, edge->rank, arrived_there(s, edge), 1));
}

/* A rank with slots of its own fills one for all its edges, whose block is the same, and tells
 * their receivers. */
static void fill_slot(const struct pcoll_edge_slots *s)
{
    const int filled = own_counter(s, ARRIVED + s->bank);
    const bool is_first = s->round < 2;
    struct pcoll_edge_walk out = s->out;
    struct pcoll_edge edge, any = {0};
    struct pcoll_segment segment;
    struct pcoll_entry copy;
    bool needs = false;

    while (pcoll_edge_next(&out, &edge)) {
        any = edge;
        if (segment_of(s, &edge).count > 0 && needs_credit(s, &edge)) {
            s->plan->gain[credit_for(s, &edge)]++;
            needs = true;
        }
    }
    segment = segment_of(s, &any);
    if (segment.count == 0)
        return;
    copy = pcoll_entry_copy(
        needs ? credit_counter(s, !is_first) : PCOLL_NONE, is_first ? 0 : s->credits,
        pcoll_at(PCOLL_SEND, any.first + segment.first), slot_of(s, &any), segment.count);
    pcoll_plan_add(s->plan, pcoll_entry_done(copy, filled, 1));
    s->plan->gain[filled]++;
    for (out = s->out; pcoll_edge_next(&out, &edge);)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(filled, s->plan->gain[filled]),
                                                   edge.rank, arrived_there(s, &edge), 1));
}

/* The segments of an edge that arrive in the bank whose first round this is. */
static uint64_t segments_in_bank(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge,
                                 uint64_t first)
{
    const uint64_t segments = pcoll_quotient_up(edge->bytes, s->segment);

    return segments > first ? (segments - first + 1) / 2 : 0;
}

static uint64_t arrivals_of_round(const struct pcoll_edge_slots *s)
{
    struct pcoll_edge_walk in = s->in;
    struct pcoll_edge edge;
    uint64_t n = 0;

    while (pcoll_edge_next(&in, &edge))
        n += segment_of(s, &edge).count > 0;
    return n;
}

/* What ARRIVED of the bank must have reached when the segment of an edge is taken out. */
static uint64_t arrived_before(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    return is_last(s, edge) ? s->plan->gain[arrived_here(s, edge)] : s->so_far[s->round % 2];
}

static void copy_out(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    const struct pcoll_segment segment = segment_of(s, edge);
    struct pcoll_entry copy;

    if (segment.count == 0)
        return;
    copy = pcoll_entry_copy(arrived_here(s, edge), arrived_before(s, edge), slot_of(s, edge),
                            pcoll_at(PCOLL_RECV, edge->first + segment.first), segment.count);
    if (needs_credit(s, edge))
        copy = pcoll_entry_signal(copy, edge->rank, at_peer(s, credit_for(s, edge), edge->rank), 1);
    pcoll_plan_add(s->plan, copy);
}

/* The same from a slot of the sender. */
static void get_out(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    const int got = own_counter(s, credit_for(s, edge));
    const struct pcoll_segment segment = segment_of(s, edge);
    struct pcoll_entry get;

    if (segment.count == 0)
        return;
    get = pcoll_entry_get(arrived_here(s, edge), arrived_before(s, edge), edge->rank,
                          slot_of(s, edge), pcoll_at(PCOLL_RECV, edge->first + segment.first),
                          segment.count);
    if (needs_credit(s, edge)) {
        get = pcoll_entry_done(get, got, 1);
        s->plan->gain[got]++;
    }
    pcoll_plan_add(s->plan, get);
}

/* When all gets of this bank are done that give such credits, give them along the edges that have
 * a segment in this round. */
static void give_credits(const struct pcoll_edge_slots *s, bool is_again)
{
    const int credit = credit_counter(s, is_again), got = own_counter(s, credit);
    const struct pcoll_entry done = pcoll_entry_add(got, s->plan->gain[got]);
    struct pcoll_edge_walk in = s->in;
    struct pcoll_edge edge;

    while (pcoll_edge_next(&in, &edge))
        if (segment_of(s, &edge).count > 0 && needs_credit(s, &edge) &&
            !(is_again && is_last(s, &edge)))
            pcoll_plan_add(s->plan, pcoll_entry_signal(done, edge.rank, credit, 1));
}

static void build_round(struct pcoll_edge_slots *s)
{
    struct pcoll_edge_walk out = s->out, in = s->in;
    struct pcoll_edge edge;

    s->credits = s->nrounds > 1 ? s->plan->gain[credit_counter(s, true)] : 0;
    s->so_far[s->round % 2] += arrivals_of_round(s);
    if (s->at_sender)
        fill_slot(s);
    while (!s->at_sender && pcoll_edge_next(&out, &edge))
        put_to_slot(s, &edge);
    if (s->round == 0)
        pcoll_edges_copy_own(s->plan, s->local);
    while (pcoll_edge_next(&in, &edge))
        if (s->at_sender)
            get_out(s, &edge);
        else
            copy_out(s, &edge);
    if (s->at_sender && s->nrounds > 1)
        give_credits(s, true);
}

/* With a ring, a rank that starts the first instance of a half returns the other half. */
static void begin_ring(struct pcoll_edge_slots *s, int phase)
{
    const struct pcoll_entry give = pcoll_entry_add(PCOLL_NONE, 0);
    struct pcoll_edge_walk out = s->out, in = s->in;
    struct pcoll_edge edge;
    int credit, other;

    pcoll_ring_use(&s->ring, 0, phase, 0, &s->use);
    s->bank = phase;
    if (!s->use.opens)
        return;
    credit = pcoll_ring_credit(&s->ring, s->use.half);
    other = pcoll_ring_credit(&s->ring, !s->use.half);
    while (pcoll_edge_next(&in, &edge))
        pcoll_plan_add(s->plan,
                       pcoll_entry_signal(give, edge.rank, at_peer(s, other, edge.rank), 1));
    while (pcoll_edge_next(&out, &edge))
        s->plan->gain[for_peer(s, credit, edge.rank)]++;
}

/* As above, starting after the rank's edges to itself. */
static struct pcoll_edge_walk begin_later(struct pcoll_edge_walk walk)
{
    struct pcoll_edge_walk ahead = walk;
    struct pcoll_edge edge;

    walk.at = pcoll_edge_next(&ahead, &edge) ? ahead.at - 1 : walk.n;
    return walk;
}

static void begin_round(struct pcoll_edge_slots *s, int phase, uint64_t round)
{
    s->round = round;
    s->bank = (phase + (int)(round % 2)) % s->nbanks;
}

/* What arrives of the instance in the bank of this round, and of all later ones in this bank. */
static void count_arrivals(const struct pcoll_edge_slots *s)
{
    struct pcoll_edge_walk in = s->in;
    struct pcoll_edge edge;

    while (pcoll_edge_next(&in, &edge))
        s->plan->gain[arrived_here(s, &edge)] += segments_in_bank(s, &edge, s->round);
}

/* A single round uses the banks in turns over the instances, several rounds within each. All gets
 * after which a slot is not filled again wait for the same arrivals, and so end in any order. */
void pcoll_edge_slots_build(struct pcoll_edge_slots *s, int phase)
{
    s->in = begin_later(pcoll_edge_walk(s->plan, s->local, false, s->choice));
    s->out = begin_later(pcoll_edge_walk(s->plan, s->local, true, s->choice));
    s->so_far[0] = s->so_far[1] = 0;
    if (is_ring(s)) {
        begin_ring(s, phase);
        count_arrivals(s);
        build_round(s);
        return;
    }
    for (uint64_t round = 0; round < s->nrounds && round < 2; round++) {
        begin_round(s, phase, round);
        count_arrivals(s);
    }
    for (uint64_t round = 0; round < s->nrounds; round++) {
        begin_round(s, phase, round);
        build_round(s);
    }
    for (uint64_t round = 0; s->at_sender && round < s->nrounds && round < 2; round++) {
        begin_round(s, phase, round);
        give_credits(s, false);
    }
}

/* ---- the whole ---- */

int pcoll_edge_slots_counters(const struct pcoll_edge_slots *s)
{
    return (parts_of(s, s->plan->rank) + s->at_sender) * counters_of_banks(s);
}

int pcoll_edge_slots_phases(const struct pcoll_edge_slots *s)
{
    return s->nrounds > 1 ? 1 : pcoll_edge_slots_banks(s);
}

/* Long enough that PCOLL_MAX_SEGMENTS suffice, as far as slots have room. */
static uint64_t segment_bytes(uint64_t bytes, uint64_t requested, uint64_t room)
{
    const uint64_t least = (bytes - 1) / PCOLL_MAX_SEGMENTS + 1;
    const uint64_t segment = requested > least ? requested : least;

    return requested > 0 && segment < room ? segment : room;
}

/* So many that FEW peers signal one counter: those of a node do so one after the other. */
static int find_parts(const struct pcoll_signature *signature)
{
    enum { FEW = 16 };

    return pcoll_is_over_wire(signature) ? 1 : (pcoll_edges_degree(signature) - 1) / FEW + 1;
}

struct pcoll_edge_slots pcoll_edge_slots_of(const struct pcoll_signature *signature,
                                            const struct pcoll_local *local,
                                            const struct pcoll_params *params)
{
    const uint64_t room = pcoll_edges_slot_bytes(signature);
    struct pcoll_edge_slots s = {
        .local = local,
        .ring = {.nsegments = 1},
        .nbanks = 2,
        .nparts = 1,
        .slot_bytes = room,
        .segment = segment_bytes(signature->bytes, params->segment, room),
    };

    s.nrounds = (signature->bytes - 1) / s.segment + 1;
    if (s.nrounds > 1)
        return s;
    s.nparts = find_parts(signature);
    if (pcoll_coll_has(signature->coll, PCOLL_ROOTED))
        s.ring.slots = pcoll_edges_banks(signature, params->slots);
    else
        s.nbanks = pcoll_edges_banks(signature, params->slots);
    return s;
}

struct pcoll_edge_slots pcoll_edge_sender_slots_of(const struct pcoll_signature *signature,
                                                   const struct pcoll_local *local,
                                                   const struct pcoll_params *params)
{
    const uint64_t n = pcoll_segment_count(signature->bytes, params->segment, PCOLL_EDGE_SLOT);
    const uint64_t segment = (signature->bytes - 1) / n + 1;

    return (struct pcoll_edge_slots){
        .local = local,
        .ring = {.nsegments = 1},
        .nbanks = pcoll_message_banks(params, n == 1),
        .nparts = n == 1 ? find_parts(signature) : 1,
        .at_sender = true,
        .slot_bytes = segment,
        .segment = segment,
        .nrounds = n,
    };
}

static uint64_t temp_of(const struct pcoll_edge_slots *s)
{
    struct pcoll_edge_walk out = pcoll_edge_walk(s->plan, s->local, true, s->choice);
    struct pcoll_edge edge;

    if (!s->at_sender)
        return pcoll_edges_temp(&s->plan->signature, s->local, s->plan->rank,
                                pcoll_edge_slots_banks(s));
    return pcoll_edge_next(&out, &edge)
               ? (uint64_t)s->nbanks * pcoll_edge_room(s->slot_bytes, edge.bytes)
               : 0;
}

enum pcoll_result pcoll_edge_slots_generate(struct pcoll_edge_slots *s, struct pcoll_plan *plan)
{
    s->plan = plan;
    if (!pcoll_plan_begin(plan, pcoll_edge_slots_counters(s), pcoll_edge_slots_phases(s)))
        return PCOLL_ERR_NOMEM;
    plan->lowered = true;
    plan->temp_bytes = temp_of(s);
    for (int phase = 0; phase < plan->nphases; phase++) {
        pcoll_plan_open(plan, phase);
        pcoll_edge_slots_build(s, phase);
    }
    return PCOLL_OK;
}
