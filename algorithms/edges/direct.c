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
#include "algorithms/edges/crossing.h"
#include "algorithms/edges/slots.h"

/* ---- user ---- */

/* The counters of this form. */
enum { ARRIVED, READY, NUM_COUNTERS };

static void build_user(struct pcoll_plan *plan, const struct pcoll_local *local)
{
    struct pcoll_edge_walk in = pcoll_edge_walk(plan, local, 0, PCOLL_EDGES_ALL);
    struct pcoll_edge_walk out = pcoll_edge_walk(plan, local, 1, PCOLL_EDGES_ALL);
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

static enum pcoll_result generate_user(const struct pcoll_signature *signature,
                                       const struct pcoll_local *local, int rank,
                                       struct pcoll_plan **plan_p)
{
    enum pcoll_result result =
        pcoll_plan_create(signature, rank, "direct", NUM_COUNTERS, 1, plan_p);

    if (result != PCOLL_OK)
        return result;
    (*plan_p)->lowered = 1;
    pcoll_plan_open(*plan_p, 0);
    build_user(*plan_p, local);
    return pcoll_plan_seal(plan_p);
}

/* ---- temp ---- */

static enum pcoll_result generate_temp(const struct pcoll_signature *signature,
                                       const struct pcoll_local *local, int rank,
                                       const struct pcoll_params *params,
                                       struct pcoll_plan **plan_p)
{
    struct pcoll_edge_slots slots = pcoll_edge_slots_of(signature, local, params);
    enum pcoll_result result =
        pcoll_plan_create(signature, rank, "direct", pcoll_edge_slots_counters(&slots),
                          pcoll_edge_slots_phases(&slots), plan_p);

    if (result != PCOLL_OK)
        return result;
    slots.plan = *plan_p;
    slots.plan->lowered = 1;
    slots.plan->temp_bytes = pcoll_edges_temp(signature, local, rank);
    for (int phase = 0; phase < slots.plan->nphases; phase++) {
        pcoll_plan_open(slots.plan, phase);
        pcoll_edge_slots_build(&slots, phase);
    }
    return pcoll_plan_seal(plan_p);
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

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    return is_user(params) ? generate_user(signature, local, rank, plan_p)
                           : generate_temp(signature, local, rank, params, plan_p);
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
    const struct pcoll_edge_slots slots = pcoll_edge_slots_of(signature, NULL, params);
    const double rounds = is_user(params) ? 1 : (double)slots.nrounds, nputs = degree * rounds;
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
    const struct pcoll_edge_slots slots = pcoll_edge_slots_of(signature, NULL, params);
    const int is_ring = !is_user(params) && slots.ring.slots > 0;
    const struct pcoll_machine own = is_ring ? pcoll_ring_machine(&slots.ring, machine) : *machine;
    const double wave = machine->call + pcoll_cost_wave(signature, &own, degree, 1);
    const double segments = pcoll_larger(degree, volume / (double)slots.segment);
    double packed = 2 * volume * pcoll_edges_per_byte(signature, machine);
    const double kept = (double)pcoll_edges_kept(signature) * machine->copy;
    if (pcoll_crossing_of(signature).degree > 0)
        return pcoll_crossing_direct(signature, params, machine);
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
