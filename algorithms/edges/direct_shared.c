/*
 * Messages along the edges of each rank, where a rank sends the same block along all of them: each
 * block is copied once, into a buffer of its owner, which all its receivers read.
 *
 * Idea: copy my block to my communication buffer, tell the receivers; when all my sources have told
 * me, get their blocks. A block of several segments takes two buffers in turns.
 *
 * Source: the form temp of an allgather's direct, along edges.
 *
 *      N = 5, a ring of neighbors:   0 -> TEMP of 0     1 <- TEMP of 0 and of 2     4 <- ...
 *
 * Cost, for degree d and block M: L + (2 d + 1) o + (d + 1) M copy, where direct takes 2 d M copy.
 * Condition, for each edge: that of direct's form temp, where a rank that tells of k + 2 has filled
 * the bank again. The credit of an edge that is not answered, and with several segments of every
 * edge, says that the get is done. The next fill of the bank waits for the credits of all
 * receivers, so none of them can substitute for another.
 *
 * All signals are 1 and every counter has one meaning, so the plan is its own lowered form: a fill
 * and a get raise own counters, and the messages follow.
 */
#include "algorithms/cost.h"
#include "algorithms/edges/direct.h"

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_edge_slots slots = pcoll_edge_sender_slots_of(signature, NULL, params);

    return (uint64_t)slots.nbanks * pcoll_edge_room(slots.slot_bytes, signature->bytes);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct pcoll_edge_slots slots =
        pcoll_edge_sender_slots_of(&plan->signature, plan->local, params);

    return pcoll_edge_slots_generate(&slots, plan);
}

/* Over a network as direct_get: roughly, which suffices, as put is no slower. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_edge_slots slots = pcoll_edge_sender_slots_of(signature, NULL, params);

    if (!pcoll_is_over_wire(signature))
        return pcoll_edges_cost_slots(signature, &slots, machine);
    return pcoll_edges_cost_direct(signature, params, machine) + 2 * machine->L;
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_direct_shared = {                    \
        .name = "direct_shared",                                                                   \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "every block is read from a buffer of its owner",                           \
        .when = "blocks for several receivers in a node that do not fit into cells, copied once",  \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
        .uses_segment = 1,                                                                         \
        .uses_slots = PCOLL_BANKS,                                                                 \
    };

ROW(ALLGATHERV, allgatherv)
ROW(NEIGHBOR_ALLGATHER, neighbor_allgather)
ROW(NEIGHBOR_ALLGATHERV, neighbor_allgatherv)
