/*
 * Closed forms of cost against a walk through the plans, on nodes that are filled with several
 * ranks each: they agree less closely than where each rank has a node (test_walk.c).
 */
#include <stdlib.h>

#include "test/unit/tap.h"
#include "test/unit/walked.h"

static void check(enum pcoll_coll coll, const char *name, const struct pcoll_params *params,
                  int members, double allowed)
{
    static const int nodes[] = {2, 3, 4, 8, 16};
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    const int barrier = pcoll_coll_has(coll, PCOLL_SYNCHRONIZES);
    struct walked_range range = WALKED_NOTHING;

    for (size_t n = 0; n < sizeof(nodes) / sizeof(nodes[0]); n++) {
        const int nranks = nodes[n] * members;
        struct pcoll_topology *topology = walked_spread(nranks, members);

        for (size_t m = 0; m < (barrier ? 1 : WALKED_MESSAGES); m++) {
            const struct pcoll_signature signature = {.coll = coll,
                                                      .nranks = nranks,
                                                      .bytes = barrier ? 0 : walked_messages[m],
                                                      .topology = topology,
                                                      .commutes = row->must_commute};

            walked_compare_networks(row, &signature, params, &range);
        }
        pcoll_topology_destroy(topology);
    }
    walked_ok(&range, allowed, "%s %s, radix %d, segment %d, path %d, on nodes of %d",
              pcoll_coll_name(coll), name, params->radix, (int)params->segment, (int)params->path,
              members);
}

#define USER .path = PCOLL_PATH_USER
#define TEMP .path = PCOLL_PATH_TEMP

static const struct {
    enum pcoll_coll coll;
    const char *name;
    struct pcoll_params params;
    double allowed;
} forms[] = {
    {PCOLL_BARRIER, "butterfly", {0}, 0.05},
    {PCOLL_BARRIER, "dissemination", {.radix = 4}, 0.05},
    {PCOLL_BCAST, "chain", {.segment = 8192}, 0.4},
    {PCOLL_BCAST, "two_tree", {.segment = 8192}, 0.4},
    {PCOLL_ALLGATHER, "ring", {USER}, 0.65},
    {PCOLL_ALLGATHER, "ring", {TEMP}, 0.65},
    {PCOLL_ALLTOALL, "direct", {TEMP}, 0.35},
    {PCOLL_ALLTOALL, "bruck", {.radix = 4}, 0.5},
    {PCOLL_ALLTOALL, "node_aware", {0}, 0.3},
    {PCOLL_ALLTOALLV, "direct", {USER}, 0.4},
    {PCOLL_ALLTOALLV, "direct", {TEMP}, 0.3},
    {PCOLL_ALLTOALLV, "aggregate", {TEMP}, 0.3},
    {PCOLL_NEIGHBOR_ALLTOALLV, "direct", {USER}, 0.4},
    {PCOLL_NEIGHBOR_ALLTOALLV, "direct", {TEMP}, 0.3},
    {PCOLL_NEIGHBOR_ALLTOALLV, "aggregate", {TEMP}, 0.3},
    {PCOLL_REDUCE, "two_tree", {.segment = 4096}, 0.35},
    {PCOLL_REDUCE, "two_tree", {.segment = 65536}, 0.35},
    {PCOLL_REDUCE, "two_tree", {.segment = 1 << 20}, 0.35},
    {PCOLL_ALLREDUCE, "two_tree", {.segment = 4096, USER}, 0.3},
    {PCOLL_ALLREDUCE, "two_tree", {.segment = 65536, USER}, 0.3},
    {PCOLL_ALLREDUCE, "two_tree", {.segment = 1 << 20, USER}, 0.3},
    {PCOLL_ALLREDUCE, "ring", {.segment = 4096}, 0.25},
    {PCOLL_ALLREDUCE, "ring", {.segment = 65536}, 0.25},
    {PCOLL_ALLREDUCE, "ring", {.segment = 1 << 20}, 0.25},
    {PCOLL_ALLREDUCE, "butterfly", {.radix = 2, .segment = 16384}, 0.25},
    {PCOLL_ALLREDUCE, "butterfly", {.radix = 4, .segment = 16384}, 0.25},
    {PCOLL_ALLREDUCE, "butterfly", {.radix = 8, .segment = 16384}, 0.25},
    {PCOLL_ALLREDUCE, "halving", {.segment = 262144, USER}, 0.25},
    {PCOLL_ALLREDUCE, "halving", {.segment = 262144, TEMP}, 0.25},
    {PCOLL_ALLREDUCE, "multi_leader", {.radix = 2, .segment = 16384}, 0.1},
    {PCOLL_ALLREDUCE, "multi_leader", {.radix = 4, .segment = 16384}, 0.1},
    {PCOLL_ALLREDUCE, "multi_leader", {.radix = 8, .segment = 16384}, 0.1},
    {PCOLL_ALLREDUCE, "multi_leader_halving", {.segment = 16384}, 0.25},
    {PCOLL_ALLREDUCE, "multi_leader_sliced", {.segment = 16384}, 0.3},
    {PCOLL_REDUCE_SCATTER_BLOCK, "direct", {.segment = 1 << 20}, 0.25},
    {PCOLL_REDUCE_SCATTER_BLOCK, "node_aware", {.segment = 1 << 20}, 0.3},
};

/* Where each rank has a core, those of a node follow each other to the counters and to the memory
 * of their leader. */
static void check_queues(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                         double allowed)
{
    static const int shapes[][2] = {{2, 3}, {3, 8}, {4, 16}, {16, 4}, {4, 64}}; /* nodes, members */
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    struct pcoll_machine memory = walked_memory;
    struct walked_range range = WALKED_NOTHING;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const int members = shapes[i][1], nranks = shapes[i][0] * members;
        struct pcoll_topology *topology = walked_spread(nranks, members);

        pcoll_cost_contend_in_node(members, false, &memory);
        for (size_t m = 0; m < WALKED_MESSAGES; m++)
            for (int n = 0; n < WALKED_NETWORKS; n++) {
                const struct pcoll_signature signature = {.coll = coll,
                                                          .nranks = nranks,
                                                          .bytes = walked_messages[m],
                                                          .topology = topology};
                struct pcoll_machine machine = walked_networks[n];

                machine.node = &memory;
                walked_compare(row, &signature, &params, &machine, &range);
            }
        pcoll_topology_destroy(topology);
    }
    walked_ok(&range, allowed, "%s %s, segment %d, of ranks that follow each other",
              pcoll_coll_name(coll), name, (int)params.segment);
}

int main(void)
{
    for (uint64_t segment = 4096; segment <= 1 << 20; segment *= 16)
        check_queues(PCOLL_ALLREDUCE, "two_tree", (struct pcoll_params){.segment = segment, USER},
                     0.36);
    for (int members = 2; members <= 4; members *= 2)
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
            check(forms[i].coll, forms[i].name, &forms[i].params, members, forms[i].allowed);
    return tap_done();
}
