/* Blocks through slots; the contract is in slots.h. */
#include "algorithms/edges/slots.h"

/* The counters are ARRIVED of each bank, then (see credit_counter) those of its credits, two with a
 * ring, and, with several segments, two more of the credits for slots that the same instance fills
 * again. */
enum { ARRIVED = 0 };

/* ---- edges in order ---- */

static int edge_at(const struct pcoll_edge_walk *walk, int i, struct pcoll_edge *edge_p)
{
    return walk->is_out ? pcoll_edge_out(walk->signature, walk->local, walk->rank, i, edge_p)
                        : pcoll_edge_in(walk->signature, walk->local, walk->rank, i, edge_p);
}

struct pcoll_edge_walk pcoll_edge_walk(const struct pcoll_plan *plan,
                                       const struct pcoll_local *local, int is_out,
                                       enum pcoll_edge_choice choice)
{
    struct pcoll_edge_walk walk = {.signature = &plan->signature,
                                   .local = local,
                                   .rank = plan->rank,
                                   .is_out = is_out,
                                   .choice = choice};
    struct pcoll_edge edge;

    for (; edge_at(&walk, walk.n, &edge); walk.n++)
        walk.first += walk.n == walk.first && edge.rank < walk.rank;
    return walk;
}

static int is_chosen(const struct pcoll_edge_walk *walk, const struct pcoll_edge *edge)
{
    return edge->bytes > 0 && edge->rank != walk->rank &&
           (walk->choice == PCOLL_EDGES_ALL ||
            (walk->choice == PCOLL_EDGES_SHARED) == (edge->pair != PCOLL_NONE));
}

int pcoll_edge_next(struct pcoll_edge_walk *walk, struct pcoll_edge *edge_p)
{
    while (walk->at < walk->n) {
        edge_at(walk, (walk->first + walk->at++) % walk->n, edge_p);
        if (!is_chosen(walk, edge_p))
            continue;
        if (walk->choice == PCOLL_EDGES_APART && !edge_p->in_cell)
            edge_p->slot = edge_p->landing / 2; /* the landing has two banks */
        return 1;
    }
    return 0;
}

/* The same walk without what it would skip at first, which are the edges of the rank to itself. */
static struct pcoll_edge_walk begin_later(struct pcoll_edge_walk walk)
{
    struct pcoll_edge_walk ahead = walk;
    struct pcoll_edge edge;

    walk.at = pcoll_edge_next(&ahead, &edge) ? ahead.at - 1 : walk.n;
    return walk;
}

void pcoll_edges_copy_own(struct pcoll_plan *plan, const struct pcoll_local *local)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct pcoll_edge edge;

    if (pcoll_is_in_place(signature, local, plan->rank))
        return;
    for (int i = 0; pcoll_edge_in(signature, local, plan->rank, i, &edge); i++)
        if (edge.rank == plan->rank && edge.bytes > 0)
            pcoll_plan_add(plan,
                           pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, edge.peer_first),
                                            pcoll_at(PCOLL_RECV, edge.first), edge.bytes));
}

/* ---- rounds ---- */

/* What the round moves of an edge: nothing, if it has fewer segments. */
static struct pcoll_segment part_of(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    const uint64_t first = s->round * s->segment;
    const uint64_t left = edge->bytes > first ? edge->bytes - first : 0;

    return (struct pcoll_segment){first, left < s->segment ? left : s->segment};
}

/* The slot of this bank is not used again for the edge in this instance. */
static int is_last(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    return edge->bytes <= (s->round + 2) * s->segment;
}

static int is_ring(const struct pcoll_edge_slots *s)
{
    return s->ring.slots > 0;
}

int pcoll_edge_slots_banks(const struct pcoll_edge_slots *s)
{
    return is_ring(s) ? s->ring.slots : s->nbanks;
}

static struct pcoll_place slot_of(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    return pcoll_edge_slot(edge, s->bank, pcoll_edge_slots_banks(s), s->slot_bytes);
}

/* Each slot is returned separately. */
static int needs_credit(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    return !is_ring(s) && (s->nrounds > 1 || !edge->is_answered);
}

/* The counter of the bank's credits, or of those for slots that the same instance fills again. */
static int credit_counter(const struct pcoll_edge_slots *s, int is_again)
{
    return ARRIVED + s->nbanks + (is_again ? s->nbanks : 0) + s->bank;
}

/* The counter with which the receiver returns the slot. */
static int credit_for(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    return credit_counter(s, !is_last(s, edge));
}

/* With a ring, the first put into a half waits for all receivers. */
static struct pcoll_entry wait_for_half(const struct pcoll_edge_slots *s, struct pcoll_entry put)
{
    const int credit = pcoll_ring_credit(&s->ring, s->use.half);

    put.trigger = s->use.opens ? credit : PCOLL_NONE;
    put.threshold = s->use.opens ? pcoll_ring_returned(&s->use, (int)s->plan->gain[credit]) : 0;
    return put;
}

static void put_to_slot(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    const struct pcoll_segment part = part_of(s, edge);
    const int is_first = s->round < 2;
    struct pcoll_entry put;

    if (part.count == 0)
        return;
    put = pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, edge->first + part.first), edge->rank,
                          slot_of(s, edge), part.count);
    if (is_ring(s))
        put = wait_for_half(s, put);
    if (needs_credit(s, edge)) {
        put.trigger = credit_counter(s, !is_first);
        put.threshold = is_first ? 0 : s->credits;
        s->plan->gain[credit_for(s, edge)]++;
    }
    pcoll_plan_add(s->plan, pcoll_entry_signal(put, edge->rank, ARRIVED + s->bank, 1));
}

/* The segments of an edge that arrive in the bank whose first round this is. */
static uint64_t segments_in_bank(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge,
                                 uint64_t first)
{
    const uint64_t segments = (edge->bytes + s->segment - 1) / s->segment;

    return segments > first ? (segments - first + 1) / 2 : 0;
}

/* All segments that arrive in each bank in an instance. */
static void count_arrivals(struct pcoll_edge_slots *s)
{
    struct pcoll_edge_walk in = s->in;
    struct pcoll_edge edge;

    for (int bank = 0; bank < 2; bank++)
        s->so_far[bank] = s->all[bank] = 0;
    while (pcoll_edge_next(&in, &edge))
        for (int bank = 0; bank < 2; bank++)
            s->all[bank] += segments_in_bank(s, &edge, (uint64_t)bank);
}

static uint64_t arrivals_of_round(const struct pcoll_edge_slots *s)
{
    struct pcoll_edge_walk in = s->in;
    struct pcoll_edge edge;
    uint64_t n = 0;

    while (pcoll_edge_next(&in, &edge))
        n += part_of(s, &edge).count > 0;
    return n;
}

static void copy_out(const struct pcoll_edge_slots *s, const struct pcoll_edge *edge)
{
    const struct pcoll_segment part = part_of(s, edge);
    const int which = (int)(s->round % 2);
    const uint64_t arrived = is_last(s, edge) ? s->all[which] : s->so_far[which];
    struct pcoll_entry copy;

    if (part.count == 0)
        return;
    copy = pcoll_entry_copy(ARRIVED + s->bank, arrived, slot_of(s, edge),
                            pcoll_at(PCOLL_RECV, edge->first + part.first), part.count);
    if (needs_credit(s, edge))
        copy = pcoll_entry_signal(copy, edge->rank, credit_for(s, edge), 1);
    pcoll_plan_add(s->plan, copy);
}

static void build_round(struct pcoll_edge_slots *s)
{
    const int which = (int)(s->round % 2);
    struct pcoll_edge_walk out = s->out, in = s->in;
    struct pcoll_edge edge;

    s->credits = s->nrounds > 1 ? s->plan->gain[credit_counter(s, 1)] : 0;
    s->so_far[which] += arrivals_of_round(s);
    s->plan->gain[ARRIVED + s->bank] = s->all[which];
    while (pcoll_edge_next(&out, &edge))
        put_to_slot(s, &edge);
    if (s->round == 0)
        pcoll_edges_copy_own(s->plan, s->local);
    while (pcoll_edge_next(&in, &edge))
        copy_out(s, &edge);
}

/* With a ring, a rank that starts the first instance of a half returns the other half. */
static void begin_ring(struct pcoll_edge_slots *s, int phase)
{
    struct pcoll_edge_walk out = s->out, in = s->in;
    struct pcoll_edge edge;

    pcoll_ring_use(&s->ring, 0, phase, 0, &s->use);
    s->bank = phase;
    if (!s->use.opens)
        return;
    while (pcoll_edge_next(&in, &edge))
        pcoll_ring_return(s->plan, &s->ring, s->bank, edge.rank);
    while (pcoll_edge_next(&out, &edge))
        s->plan->gain[pcoll_ring_credit(&s->ring, s->use.half)]++;
}

/* A single round uses the banks in turns over the instances, several rounds within each. */
void pcoll_edge_slots_build(struct pcoll_edge_slots *s, int phase)
{
    s->in = begin_later(pcoll_edge_walk(s->plan, s->local, 0, s->choice));
    s->out = begin_later(pcoll_edge_walk(s->plan, s->local, 1, s->choice));
    count_arrivals(s);
    if (is_ring(s)) {
        begin_ring(s, phase);
        build_round(s);
        return;
    }
    for (s->round = 0; s->round < s->nrounds; s->round++) {
        s->bank = (phase + (int)(s->round % 2)) % s->nbanks;
        build_round(s);
    }
}

/* ---- the whole ---- */

int pcoll_edge_slots_counters(const struct pcoll_edge_slots *s)
{
    return is_ring(s) ? s->ring.slots + 2 : (s->nrounds > 1 ? 3 : 2) * s->nbanks;
}

int pcoll_edge_slots_phases(const struct pcoll_edge_slots *s)
{
    return s->nrounds > 1 ? 1 : pcoll_edge_slots_banks(s);
}

struct pcoll_edge_slots pcoll_edge_slots_of(const struct pcoll_signature *signature,
                                            const struct pcoll_local *local,
                                            const struct pcoll_params *params)
{
    const uint64_t room = pcoll_edges_slot_bytes(signature), segment = params->segment;
    struct pcoll_edge_slots s = {
        .local = local,
        .ring = {.nsegments = 1},
        .nbanks = 2,
        .slot_bytes = room,
        .segment = segment > 0 && segment < room ? segment : room,
    };

    s.nrounds = (signature->bytes - 1) / s.segment + 1;
    if (s.nrounds > 1)
        return s;
    if (pcoll_coll_has(signature->coll, PCOLL_ROOTED))
        s.ring.slots = pcoll_edges_banks(signature, params->slots);
    else
        s.nbanks = pcoll_edges_banks(signature, params->slots);
    return s;
}
