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
 * Cost, for degree d and volume V: L + 2 d o + V (G + copy) (temp), 2 L + d (2 o + rma) + V (G +
 * put) (user), where V is what a rank sends. Condition, for each edge:
 *
 * temp, answered (lemma B): two banks of counters and slots, or more. A rank that puts k + 2 has
 * completed k + 1, for which the receiver of the put has sent a block: it has started k + 1, and so
 * completed k.
 *
 * temp, not answered: the receiver gives a credit when it has copied k out. The sender's next put
 * into the bank, k + 2 with two, waits for all its credits of k.
 *
 * temp, with a root (lemma D): the banks are a ring, if no block needs its slot several times.
 * A rank that starts the first instance of one half returns the other half to all its senders, and
 * the first put into a half waits for all receivers.
 *
 * temp, several segments: they go in rounds, which take the banks in turns, and every edge has
 * credit. For an edge's last segment in a bank the receiver gives it when the bank has all segments
 * of the instance, so that none of the next instance can substitute for them. These credits gate
 * only the first segments of the next instance, and the others those of this one, so no rank waits
 * for a credit that itself waits for later segments of this rank.
 *
 * Peers in parts: a rank with many has several counters of each kind, and each peer signals that of
 * its part, as the signals of a node's ranks to one counter follow each other. What is said above
 * of all holds for each part: a copy waits for its part's arrivals, and a put for its part's
 * credits.
 *
 * user (lemma C): one bank. A put of k waits for all "ready" of k, and a receiver tells of k + 1
 * only when all its blocks of k have arrived; so neither "ready" nor the arrivals of k + 1 can
 * substitute for those of k.
 *
 * All signals are 1 and every counter has one meaning, so the plan is its own lowered form.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/edges/crossing.h"
#include "algorithms/edges/direct.h"
#include "algorithms/edges/slots.h"
#include "algorithms/plan/caches.h"

/* ---- user ---- */

/* The counters of this form. */
enum { ARRIVED, READY, NUM_COUNTERS };

static void build_user(struct pcoll_plan *plan)
{
    const struct pcoll_local *local = plan->local;
    struct pcoll_edge_walk in = pcoll_edge_walk(plan, local, false, PCOLL_EDGES_ALL);
    struct pcoll_edge_walk out = pcoll_edge_walk(plan, local, true, PCOLL_EDGES_ALL);
    const struct pcoll_entry tell = pcoll_entry_add(PCOLL_NONE, 0);
    struct pcoll_edge edge;
    struct pcoll_entry put;

    while (pcoll_edge_next(&in, &edge)) {
        pcoll_plan_add(plan, pcoll_entry_signal(tell, edge.rank, READY, 1));
        plan->gain[ARRIVED]++;
    }
    pcoll_edges_copy_own(plan, local);
    for (struct pcoll_edge_walk all = out; pcoll_edge_next(&all, &edge);)
        plan->gain[READY]++;
    while (pcoll_edge_next(&out, &edge)) {
        put = pcoll_entry_put(READY, plan->gain[READY], pcoll_at(PCOLL_SEND, edge.first), edge.rank,
                              pcoll_at(PCOLL_RECV, edge.peer_first), edge.bytes);
        pcoll_plan_add(plan, pcoll_entry_signal(put, edge.rank, ARRIVED, 1));
    }
    if (plan->gain[ARRIVED] > 0)
        pcoll_plan_add(plan, pcoll_entry_wait(ARRIVED, plan->gain[ARRIVED]));
}

enum pcoll_result pcoll_edges_generate_user(struct pcoll_plan *plan, int ncounters,
                                            pcoll_edges_build *build)
{
    if (!pcoll_plan_begin(plan, ncounters, 1))
        return PCOLL_ERR_NOMEM;
    plan->lowered = true;
    pcoll_plan_open(plan, 0);
    build(plan);
    return PCOLL_OK;
}

/* ---- plan and cost ---- */

static bool is_user(const struct pcoll_params *params)
{
    return params->path == PCOLL_PATH_USER;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_edge_slots slots = pcoll_edge_slots_of(signature, NULL, params);

    return is_user(params) ? 0 : pcoll_edges_max_temp(signature, pcoll_edge_slots_banks(&slots));
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct pcoll_edge_slots slots;

    if (is_user(params))
        return pcoll_edges_generate_user(plan, NUM_COUNTERS, build_user);
    slots = pcoll_edge_slots_of(&plan->signature, plan->local, params);
    return pcoll_edge_slots_generate(&slots, plan);
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
    const double kept = (double)pcoll_edges_kept(signature);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double tell = pcoll_larger(machine->g, machine->o);
    const double packed = signature->typed ? 2 * crowd * volume * machine->pack : 0;
    const struct pcoll_edge_slots slots = pcoll_edge_slots_of(signature, NULL, params);
    const double rounds = is_user(params) ? 1 : (double)slots.nrounds, nputs = degree * rounds;
    struct pcoll_hop hop;
    double sent;

    if (!is_user(params))
        own.rma = 0;
    hop = pcoll_cost_hop(signature, &own, volume / nputs);
    sent = machine->call + packed + hop.first + (nputs - 1) * hop.gap;
    if (is_user(params))
        return sent + pcoll_cost_wave(signature, machine, 1, true) + (degree - 1) * tell;
    return sent + (rounds - 1) * machine->L +
           crowd * (nputs * pcoll_cost_node(machine).o + (volume + kept) * machine->copy);
}

/* What a core of the node does for one direction of the edges: the messages and bytes of the rank
 * with the most, and of ranks as busy as the average of the others that share its core. */
struct load {
    double messages, bytes;
};

/* `all` is what all ranks do together. */
static double of_core(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                      double max, double all)
{
    const int others = signature->nranks - 1;
    const double crowd = pcoll_cost_crowd(signature, machine);

    if (others == 0)
        return max;
    return max + (crowd - 1) * (all - max) / others;
}

/* Between a root and others, the root's volume is that of all ranks. Without a root, ranks that
 * share cores move bytes for as long as if all were the busiest. */
static struct load load_of(const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine, bool is_out)
{
    const struct pcoll_pattern *pattern = pcoll_collective_of(signature)->pattern;
    const double degree = pcoll_edges_degree(signature);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double max = (double)pcoll_edges_volume_of(signature, is_out);
    const double back = (double)pcoll_edges_volume_of(signature, !is_out);
    const bool is_of_root = pattern == (is_out ? &pcoll_pattern_from_root : &pcoll_pattern_to_root);

    if (!pcoll_coll_has(signature->coll, PCOLL_ROOTED))
        return (struct load){crowd * degree, crowd > 1 ? crowd * pcoll_larger(max, back) : max};
    return (struct load){of_core(signature, machine, is_of_root ? degree : 1, degree),
                         of_core(signature, machine, max, is_of_root ? max : back)};
}

/* The time of a core for bytes that go from rank to rank: `alone`, unless all cores move as many.
 * Neighbors are often near each other, so that their bytes do not all meet. */
static double between(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                      double bytes, double alone)
{
    const bool is_to_all = pcoll_collective_of(signature)->pattern == &pcoll_pattern_complete;

    return is_to_all ? pcoll_cost_saturated(machine, signature->nranks, bytes, alone) : alone;
}

/* The bytes that each rank gives itself, or the root if there is one. */
static double cost_of_kept(const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine, double rate)
{
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double keepers = pcoll_coll_has(signature->coll, PCOLL_ROOTED) ? 1 : crowd;

    return keepers * (double)pcoll_edges_kept(signature) * rate;
}

/* What the ranks that access the root's memory do at least, or nothing if the root itself moves the
 * blocks, there is none, or ranks that share cores write (algorithms/gather/direct.c). */
static struct load load_of_root_memory(const struct pcoll_signature *signature,
                                       const struct pcoll_machine *machine, bool receivers_move)
{
    const struct pcoll_pattern *pattern = pcoll_collective_of(signature)->pattern;
    const double degree = pcoll_edges_degree(signature);
    const double bytes = (double)pcoll_edges_volume_of(signature, receivers_move);
    const double accessors = pcoll_cost_accessors(machine, degree, bytes / degree);

    if (pattern != (receivers_move ? &pcoll_pattern_from_root : &pcoll_pattern_to_root) ||
        (!receivers_move && pcoll_cost_crowd(signature, machine) > 1))
        return (struct load){0, 0};
    return (struct load){degree / accessors, bytes / accessors};
}

double pcoll_edges_cost_user(const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine, bool receivers_move)
{
    const struct load in = load_of(signature, machine, false),
                      out = load_of(signature, machine, true);
    const struct load own = receivers_move ? in : out;
    const struct load all = load_of_root_memory(signature, machine, receivers_move);
    const struct load moved = {pcoll_larger(own.messages, all.messages),
                               pcoll_larger(own.bytes, all.bytes)};
    const double degree = pcoll_edges_degree(signature);
    const double packed = signature->typed ? (in.bytes + out.bytes) * machine->pack : 0;
    const double released = receivers_move ? in.messages * machine->o : 0;
    const double rate = machine->G + (receivers_move ? 0 : machine->put);
    const double alone = moved.messages * machine->rma + moved.bytes * rate;
    const double wave = pcoll_coll_has(signature->coll, PCOLL_ROOTED)
                            ? pcoll_cost_fans(signature, machine, 1, degree) - machine->call
                            : pcoll_cost_wave(signature, machine, degree, true);

    return machine->call + 2 * wave + released + between(signature, machine, moved.bytes, alone) +
           packed + cost_of_kept(signature, machine, machine->kept);
}

/* Blocks that a rank writes to several receivers, or to several places of one, begin lines that it
 * has to fetch first, each in this part of L, unless they fit into a cell. Measured between two
 * ranks with 2 and with 6 edges. */
#define FETCH 0.35

static double fetched(const struct pcoll_signature *signature, const struct pcoll_edge_slots *slots)
{
    return slots->at_sender || pcoll_coll_has(signature->coll, PCOLL_ROOTED) ||
                   pcoll_edges_volume(signature) <= PCOLL_CELL_BYTES
               ? 0
               : pcoll_edges_degree(signature) - 1;
}

/* The time to copy a byte. Ranks that share a core find blocks of each other in its cache if all
 * their data and slots fit. */
static double rate_of(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                      double bytes)
{
    const bool fits =
        pcoll_cost_crowd(signature, machine) > 1 && pcoll_is_own_data(machine, (uint64_t)bytes);
    const struct pcoll_machine own = fits ? pcoll_cost_cached(signature, machine) : *machine;

    return pcoll_edges_per_byte(signature, &own);
}

/* A root copies all blocks, and meanwhile each other rank its own, unless they share its core. A
 * rank with slots of its own copies its block once, and then tells its receivers. Each round more
 * takes the latency of a signal or a credit that nothing hides. Arrivals of peers in parts overlap;
 * where these read one slot at the same time, so much is unknown that they count in full. */
double pcoll_edges_cost_slots(const struct pcoll_signature *signature,
                              const struct pcoll_edge_slots *slots,
                              const struct pcoll_machine *machine)
{
    const struct load in = load_of(signature, machine, false),
                      out = load_of(signature, machine, true);
    const double degree = pcoll_edges_degree(signature);
    struct pcoll_machine own =
        slots->ring.slots > 0 ? pcoll_ring_machine(&slots->ring, machine) : *machine;
    const double sent = slots->at_sender ? out.bytes / degree : out.bytes;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double rate = rate_of(signature, machine, 3 * in.bytes + out.bytes);
    const double copied = crowd == 1 && pcoll_coll_has(signature->coll, PCOLL_ROOTED)
                              ? pcoll_larger(in.bytes, out.bytes) * rate
                              : in.bytes * rate + between(signature, machine, sent, sent * rate);
    const double segments =
        pcoll_larger(degree, (double)pcoll_edges_volume(signature) / (double)slots->segment);
    const double rounds = (double)slots->nrounds, filled = slots->at_sender ? rounds : 0;

    own.arrival /= slots->at_sender ? 1 : slots->nparts;
    return machine->call + pcoll_cost_wave(signature, &own, degree, true) +
           (rounds - 1 + FETCH * fetched(signature, slots)) * machine->L +
           crowd * (2 * segments + filled) * machine->o + copied +
           cost_of_kept(signature, machine, machine->copy);
}

double pcoll_edges_cost_direct(const struct pcoll_signature *signature,
                               const struct pcoll_params *params,
                               const struct pcoll_machine *machine)
{
    struct pcoll_edge_slots slots;

    if (pcoll_crossing_of(signature).degree > 0)
        return pcoll_crossing_direct(signature, params, machine);
    if (pcoll_is_over_wire(signature))
        return cost_over_wire(signature, params, machine);
    if (is_user(params))
        return pcoll_edges_cost_user(signature, machine, false);
    slots = pcoll_edge_slots_of(signature, NULL, params);
    return pcoll_edges_cost_slots(signature, &slots, machine);
}

#define ROW(NAME, name_of_collective, slots)                                                       \
    const struct pcoll_algorithm pcoll_##name_of_collective##_direct = {                           \
        .name = "direct",                                                                          \
        .alias = "linear",                                                                         \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "every block is written directly to its receiver",                          \
        .when = "short blocks, data that is packed on the way, and long blocks over a network",    \
        .generate = generate,                                                                      \
        .cost = pcoll_edges_cost_direct,                                                           \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,                                        \
        .uses_segment = 1,                                                                         \
        .whole_paths = PCOLL_PATH_BIT_USER,                                                        \
        .uses_slots = slots,                                                                       \
    };

ROW(ALLGATHERV, allgatherv, PCOLL_BANKS)
ROW(GATHERV, gatherv, PCOLL_BANKS)
ROW(SCATTERV, scatterv, PCOLL_RING) /* long blocks are read instead (doc/notes/who-copies.md) */
ROW(ALLTOALLV, alltoallv, PCOLL_BANKS)
ROW(ALLTOALLW, alltoallw, PCOLL_BANKS)
ROW(NEIGHBOR_ALLGATHER, neighbor_allgather, PCOLL_BANKS)
ROW(NEIGHBOR_ALLGATHERV, neighbor_allgatherv, PCOLL_BANKS)
ROW(NEIGHBOR_ALLTOALL, neighbor_alltoall, PCOLL_BANKS)
ROW(NEIGHBOR_ALLTOALLV, neighbor_alltoallv, PCOLL_BANKS)
ROW(NEIGHBOR_ALLTOALLW, neighbor_alltoallw, PCOLL_BANKS)
