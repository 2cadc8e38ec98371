/*
 * Messages along the edges of each rank, of which those between two nodes share one message.
 *
 * Idea: from one node to another goes one message, however many edges lead there (plan/pairs.h
 * says which edges share one, who leads the pair of nodes, and where the blocks are).
 *
 *   pack      every rank puts its blocks for a node into the message, in the communication buffer
 *             of the rank of its own node that leads the pair;
 *   exchange  the leader puts the message into the communication buffer of the leader at the other
 *             end;
 *   unpack    when the messages of all pairs that it leads have arrived, a leader tells the members
 *             of its node that have blocks there, and they get them.
 *
 * Edges within a node, and one that is alone between two nodes, are written directly through slots,
 * as by direct. No block is copied more often than by direct through slots, except that it crosses
 * the network in between.
 *
 * Source: Bienz, Gropp and Olson, "Node aware sparse matrix-vector multiplication" (2019), and
 * MPI Advance, neighborhood collectives; without their removal of duplicates, for which MPI's calls
 * do not tell enough.
 *
 *      N = 5, nodes {0 1} {2 3 4}, edges 0 -> 2, 1 -> 2, 1 -> 4, 3 -> 0; 0 leads, and so does 2:
 *      1 -> 0 (twice) | 0 -> 2: three blocks | 2 tells 4 | 4 gets its own; 3 -> 0 directly
 *
 * Cost, for degree d and p pairs of a leader: 3 L, of which 2 in the node; 2 d o in the node, p o
 * and g; V (copy + s G + copy). If no edges share a message, as where every rank has a node to
 * itself, or all share one, and where some block is longer than PCOLL_EDGE_SLOT, this is direct.
 *
 * Condition: two banks of counters and buffers, and the following rules. Induction over instances
 * shows that what k + 2 adds to a counter, or writes to a buffer, comes after its use in k.
 *
 * A leader sends its messages of k when every member with blocks in its pairs has started k: who
 * packs a block says so by packing, who only unpacks tells it. So they have all used what arrived
 * in k - 1.
 *
 * A rank that unpacks from a leader has heard from it in k - 1 before it packs in k, so the leader
 * has started k - 1, and its messages of k - 2 have left. A rank that only packs hears that from it
 * as a credit, and packs in k when it has it.
 *
 * If both nodes of a pair send, a leader sends in k + 2 after it has got the message of k + 1,
 * before which the members of the other node have started k + 1, and so have used what arrived in
 * k. If one node sends, the other one's leader gives it a credit for k when all these members have
 * started k + 1.
 *
 * Edges through slots: as in direct; a block answers another one even if it is in a message.
 *
 * All signals are 1 and every counter has one meaning, so the plan is its own lowered form.
 */
#include "algorithms/algorithm.h"
#include "algorithms/edges/crossing.h"
#include "algorithms/edges/slots.h"
#include "algorithms/edges/uniform.h"

/* Counters after those of slots, each of two banks: blocks and other signs that a pair may send;
 * messages that have arrived; leaders that have told this rank; credits of leaders. */
enum { READY, ARRIVED, TOLD, CREDIT, NUM_COUNTERS };

struct state {
    struct pcoll_plan *plan;
    const struct pcoll_local *local;
    const struct pcoll_pairs *pairs;
    struct pcoll_edge_slots slots;
    int bank;
};

static int counter(const struct state *s, int which, int bank)
{
    return pcoll_edge_slots_counters(&s->slots) + 2 * which + bank;
}

static uint64_t *gain(const struct state *s, int which)
{
    return &s->plan->gain[counter(s, which, s->bank)];
}

static int other_bank(const struct state *s)
{
    return 1 - s->bank;
}

/* It has blocks in messages that leave, but in none that arrive, or the reverse. */
static bool only_packs(const struct pcoll_member *member)
{
    return member->packs > 0 && member->unpacks == 0;
}

static int only_unpacks(const struct pcoll_member *member)
{
    return member->packs == 0 && member->unpacks > 0;
}

static bool leads(const struct state *s, const struct pcoll_pair *pair)
{
    return pair->leader == s->plan->rank;
}

static const struct pcoll_pair *pair_of(const struct state *s, const struct pcoll_edge *edge)
{
    return &s->pairs->pairs[edge->pair];
}

static struct pcoll_place in_message(const struct state *s, uint64_t first, uint64_t bytes,
                                     uint64_t offset)
{
    return pcoll_at(PCOLL_TEMP, pcoll_in_bank(first, bytes, s->bank) + offset);
}

static void add_sign(const struct state *s, struct pcoll_entry add, int rank, int which, int bank)
{
    pcoll_plan_add(s->plan, pcoll_entry_signal(add, rank, counter(s, which, bank), 1));
}

/* ---- within the node ---- */

/* This rank has started: for leaders that would not see it, and for members that may use the
 * messages of the instance before again. */
static void tell_of_start(const struct state *s)
{
    const struct pcoll_entry start = pcoll_entry_add(PCOLL_NONE, 0);
    const struct pcoll_pairs *pairs = s->pairs;

    for (int i = 0; i < pairs->nleaders; i++) {
        if (only_unpacks(&pairs->leaders[i]))
            add_sign(s, start, pairs->leaders[i].rank, READY, s->bank);
        *gain(s, CREDIT) += (uint64_t)only_packs(&pairs->leaders[i]);
    }
    for (int i = 0; i < pairs->nmembers; i++)
        if (only_packs(&pairs->members[i]))
            add_sign(s, start, pairs->members[i].rank, CREDIT, other_bank(s));
}

static bool needs_credit(const struct state *s, int leader)
{
    for (int i = 0; i < s->pairs->nleaders; i++)
        if (s->pairs->leaders[i].rank == leader)
            return only_packs(&s->pairs->leaders[i]);
    return false;
}

/* The credits of the first cycle that an entry of this bank waits for: in bank 0 those that are
 * given in bank 1 have not been given yet. */
static uint64_t credits_in(const struct state *s, uint64_t credits)
{
    return s->bank == 1 ? credits : 0;
}

static void pack(const struct state *s, const struct pcoll_edge *edge)
{
    const struct pcoll_pair *pair = pair_of(s, edge);
    struct pcoll_entry put =
        pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, edge->first), pair->leader,
                        in_message(s, pair->leaving, pair->sent, edge->landing), edge->bytes);

    if (leads(s, pair)) {
        put.op = PCOLL_OP_COPY;
        put.peer = PCOLL_NONE;
        put = pcoll_entry_done(put, counter(s, READY, s->bank), 1);
        *gain(s, READY) += 1;
    } else {
        if (needs_credit(s, pair->leader)) {
            put.trigger = counter(s, CREDIT, s->bank);
            put.threshold = credits_in(s, *gain(s, CREDIT));
        }
        put = pcoll_entry_signal(put, pair->leader, counter(s, READY, s->bank), 1);
    }
    pcoll_plan_add(s->plan, put);
}

static void unpack(const struct state *s, const struct pcoll_edge *edge)
{
    const struct pcoll_pair *pair = pair_of(s, edge);
    const struct pcoll_place from = in_message(s, pair->arriving, pair->received, edge->landing);
    const struct pcoll_place to = pcoll_at(PCOLL_RECV, edge->first);
    const int which = leads(s, pair) ? ARRIVED : TOLD, trigger = counter(s, which, s->bank);

    pcoll_plan_join(s->plan, leads(s, pair)
                                 ? pcoll_entry_copy(trigger, *gain(s, which), from, to, edge->bytes)
                                 : pcoll_entry_get(trigger, *gain(s, which), pair->leader, from, to,
                                                   edge->bytes));
}

/* ---- between nodes ---- */

/* What this rank waits for as a leader before it sends: all members have started. */
static uint64_t count_ready(const struct state *s)
{
    uint64_t credits = 0;

    for (int i = 0; i < s->pairs->nmembers; i++) {
        const struct pcoll_member *member = &s->pairs->members[i];

        *gain(s, READY) += (uint64_t)(member->packs + only_unpacks(member));
    }
    for (int i = 0; i < s->pairs->count; i++) {
        const struct pcoll_pair *pair = &s->pairs->pairs[i];

        credits += leads(s, pair) && pair->received == 0;
        *gain(s, ARRIVED) += leads(s, pair) && pair->received > 0;
    }
    *gain(s, READY) += credits;
    return *gain(s, READY) - credits + credits_in(s, credits);
}

/* The message, or a credit for the one that arrived in the instance before. */
static void exchange(const struct state *s, const struct pcoll_pair *pair, uint64_t ready)
{
    const int trigger = counter(s, READY, s->bank);

    if (pair->sent > 0) {
        const struct pcoll_entry put =
            pcoll_entry_put(trigger, ready, in_message(s, pair->leaving, pair->sent, 0), pair->peer,
                            in_message(s, pair->peer_arriving, pair->sent, 0), pair->sent);

        add_sign(s, put, pair->peer, ARRIVED, s->bank);
    } else {
        add_sign(s, pcoll_entry_add(trigger, ready), pair->peer, READY, other_bank(s));
    }
}

/* The pairs that this rank leads send in the order of nodes after its own: they do not all begin
 * with the same node. */
static void exchange_all(const struct state *s, uint64_t ready)
{
    const struct pcoll_topology *topology = s->plan->signature.topology;
    const int own = pcoll_topology_node(topology, s->plan->rank), count = s->pairs->count;
    int first = 0;

    while (first < count && s->pairs->pairs[first].node < own)
        first++;
    for (int i = 0; i < count; i++) {
        const struct pcoll_pair *pair = &s->pairs->pairs[(first + i) % count];

        if (leads(s, pair))
            exchange(s, pair, ready);
    }
}

static void tell_members(const struct state *s)
{
    const struct pcoll_entry arrived =
        pcoll_entry_add(counter(s, ARRIVED, s->bank), *gain(s, ARRIVED));

    for (int i = 0; i < s->pairs->nmembers; i++)
        if (s->pairs->members[i].unpacks > 0)
            add_sign(s, arrived, s->pairs->members[i].rank, TOLD, s->bank);
    for (int i = 0; i < s->pairs->nleaders; i++)
        *gain(s, TOLD) += s->pairs->leaders[i].unpacks > 0;
}

static void build_phase(struct state *s)
{
    struct pcoll_edge_walk out = pcoll_edge_walk(s->plan, s->local, true, PCOLL_EDGES_SHARED);
    struct pcoll_edge_walk in = pcoll_edge_walk(s->plan, s->local, false, PCOLL_EDGES_SHARED);
    struct pcoll_edge edge;
    uint64_t ready;

    pcoll_plan_open(s->plan, s->bank);
    tell_of_start(s);
    while (pcoll_edge_next(&out, &edge))
        pack(s, &edge);
    pcoll_edge_slots_build(&s->slots, s->bank);
    ready = count_ready(s);
    exchange_all(s, ready);
    tell_members(s);
    while (pcoll_edge_next(&in, &edge))
        unpack(s, &edge);
}

/* A rank that writes to a slot here may get the answer in a message, and so from another rank. */
static void declare_senders(const struct state *s)
{
    struct pcoll_edge_walk in = pcoll_edge_walk(s->plan, s->local, false, PCOLL_EDGES_APART);
    struct pcoll_edge edge;

    while (pcoll_edge_next(&in, &edge))
        pcoll_plan_neighbor(s->plan, edge.rank);
}

/* ---- the row ---- */

/* Where no edges share a message, this is direct through slots; blocks that need a slot several
 * times are too long to gain from it. */
static bool is_direct(const struct pcoll_signature *signature)
{
    return signature->bytes > PCOLL_EDGE_SLOT || !pcoll_can_have_pairs(signature) ||
           (signature->degree > 0 && signature->crossing.led == 0);
}

static const struct pcoll_params direct = {.path = PCOLL_PATH_TEMP};

static enum pcoll_result generate_pairs(struct pcoll_plan *plan, const struct pcoll_local *local)
{
    const struct pcoll_params whole = {.path = PCOLL_PATH_TEMP};
    struct state s = {.plan = plan, .local = local, .pairs = local->pairs};

    s.slots = pcoll_edge_slots_of(&plan->signature, local, &whole);
    s.slots.choice = PCOLL_EDGES_APART;
    s.slots.plan = plan;
    if (!pcoll_plan_begin(plan, counter(&s, NUM_COUNTERS, 0), 2))
        return PCOLL_ERR_NOMEM;
    plan->lowered = true;
    plan->temp_bytes = s.pairs->temp_bytes;
    for (s.bank = 0; s.bank < 2; s.bank++)
        build_phase(&s);
    declare_senders(&s);
    return PCOLL_OK;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct pcoll_local *uniform;
    enum pcoll_result result;

    (void)params;
    if (is_direct(&plan->signature))
        return pcoll_alltoallv_direct.generate(plan, &direct);
    if (plan->local)
        return generate_pairs(plan, plan->local);
    result = pcoll_uniform_create(&plan->signature, plan->rank, &uniform);
    if (result != PCOLL_OK)
        return result;
    result = generate_pairs(plan, uniform);
    pcoll_uniform_destroy(uniform);
    return result;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const uint64_t slots = pcoll_edges_max_temp(signature, 2);
    uint64_t members = 0;

    (void)params;
    if (is_direct(signature))
        return slots;
    if (signature->degree > 0)
        return signature->crossing.temp;
    for (int node = 0; node < signature->topology->nnodes; node++) {
        const uint64_t size = (uint64_t)pcoll_topology_size(signature->topology, node);

        members = size > members ? size : members;
    }
    return slots * (2 * members + 1);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    (void)params;
    return is_direct(signature) ? pcoll_alltoallv_direct.cost(signature, &direct, machine)
                                : pcoll_crossing_shared(signature, machine);
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_aggregate = {                        \
        .name = "aggregate",                                                                       \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "one message for each pair of nodes",                                       \
        .when = "short blocks, several messages between two nodes",                                \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
    };

ROW(ALLTOALLV, alltoallv)
ROW(ALLTOALLW, alltoallw)
ROW(NEIGHBOR_ALLGATHER, neighbor_allgather)
ROW(NEIGHBOR_ALLGATHERV, neighbor_allgatherv)
ROW(NEIGHBOR_ALLTOALL, neighbor_alltoall)
ROW(NEIGHBOR_ALLTOALLV, neighbor_alltoallv)
ROW(NEIGHBOR_ALLTOALLW, neighbor_alltoallw)
