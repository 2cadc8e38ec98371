/*
 * Closed forms of cost, and rows without one, against a walk through the plans: most agree within 5
 * %, on networks whose gap is short compared with their latency, and in a node with a core for each
 * rank.
 */
#include <stdlib.h>

#include "algorithms/cost.h"
#include "algorithms/plan/levels.h"
#include "algorithms/plan/topology.h"
#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"
#include "tuning/search.h"
#include "tuning/sim/walk.h"

/* Networks like Ethernet and InfiniBand, and shared memory. */
static const struct pcoll_machine networks[] = {
    {.L = 12, .o = 2, .g = 2, .G = 0.0008, .rma = 4, .copy = 0.00008, .call = 0.2},
    {.L = 1.9, .o = 0.23, .g = 0, .G = 0.000079, .rma = 0.5, .copy = 0.00008, .call = 0.2},
    {.L = 1.3, .o = 0.15, .g = 0.3, .G = 0.000086, .copy = 0.00008, .call = 0.2},
};
static const struct pcoll_machine memory = {
    .L = 0.1, .o = 0.02, .g = 0.02, .G = 0.0001, .rma = 1.6, .copy = 0.00008, .call = 0.1};

enum { NUM_NETWORKS = sizeof(networks) / sizeof(networks[0]) };

static const int sizes[] = {2, 3, 4, 5, 7, 8, 12, 16, 27, 31, 36, 64, 100};
static const uint64_t messages[] = {8, 1024, 16384, 1 << 18, 4 << 20};

static struct pcoll_topology *spread(int nranks, int members)
{
    struct pcoll_topology *topology;
    int *nodes = malloc((size_t)nranks * sizeof(*nodes));

    for (int r = 0; nodes != NULL && r < nranks; r++)
        nodes[r] = r / members;
    if (nodes == NULL || pcoll_topology_create(nodes, NULL, nranks, &topology) != PCOLL_OK)
        abort();
    free(nodes);
    return topology;
}

struct range {
    double least, most;
};

static void compare(const struct pcoll_algorithm *row, const struct pcoll_signature *signature,
                    const struct pcoll_params *params, const struct pcoll_machine *machine,
                    struct range *range)
{
    double walked, ratio;

    /* No rank of the walk shares another's copy. */
    if (row == &pcoll_bcast_knomial_get && pcoll_cost_coop(signature) < 1)
        return;
    walked = pcoll_cost_walk(row, signature, params, machine);
    ratio = row->cost(signature, params, machine) / walked;
    if (walked < 0)
        ratio = 0;
    range->least = ratio < range->least ? ratio : range->least;
    range->most = ratio > range->most ? ratio : range->most;
}

/* What a rank does by itself takes the time of its node. */
static void compare_networks(const struct pcoll_algorithm *row,
                             const struct pcoll_signature *signature,
                             const struct pcoll_params *params, struct range *range)
{
    for (int i = 0; i < NUM_NETWORKS; i++) {
        struct pcoll_machine machine = networks[i];

        machine.node = &memory;
        compare(row, signature, params, &machine, range);
    }
}

/* All numbers of ranks and bytes, on all networks and inside a node. More than 16 ranks find no
 * other code. */
static void compare_all(const struct pcoll_algorithm *row, const struct pcoll_params *params,
                        int powers_only, int in_node, struct range *range)
{
    for (size_t n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
        const int nranks = sizes[n];
        struct pcoll_topology *topology;

        if (nranks > 16 && tap_depth() == TAP_BRIEF)
            break;
        topology = spread(nranks, 1);

        for (size_t m = 0; m < sizeof(messages) / sizeof(messages[0]); m++) {
            struct pcoll_signature signature = {.coll = row->coll, .nranks = nranks};

            if ((pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) && m > 0) ||
                (powers_only && (nranks & (nranks - 1)) != 0))
                continue;
            signature.bytes = pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : messages[m];
            signature.commutes = row->must_commute;
            if (signature.bytes * (uint64_t)nranks > UINT64_C(1) << 28)
                continue;
            if (in_node)
                compare(row, &signature, params, &memory, range);
            signature.topology = topology;
            compare_networks(row, &signature, params, range);
        }
        pcoll_topology_destroy(topology);
    }
}

static void report(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                   int powers_only, int in_node, double allowed)
{
    struct range range = {1, 1};

    compare_all(pcoll_algorithm_find(coll, name), &params, powers_only, in_node, &range);
    tap_ok(
        range.least > 1 - allowed && range.most < 1 + allowed,
        "%s%s%s, radix %d, segment %d, path %d, rails %d: closed form is %.3f to %.3f of the walk",
        name, powers_only ? " of powers of two" : "", in_node ? "" : " on networks", params.radix,
        (int)params.segment, (int)params.path, params.rails, range.least, range.most);
}

static void check(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                  int powers_only, double allowed)
{
    report(coll, name, params, powers_only, 1, allowed);
}

/* On nodes that are filled with `members` ranks each. */
static void check_nodes(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                        int members, double allowed)
{
    static const int nodes[] = {2, 3, 4, 8, 16};
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    const int barrier = pcoll_coll_has(coll, PCOLL_SYNCHRONIZES);
    struct range range = {1, 1};

    for (size_t n = 0; n < sizeof(nodes) / sizeof(nodes[0]); n++) {
        const int nranks = nodes[n] * members;
        struct pcoll_topology *topology = spread(nranks, members);

        for (size_t m = 0; m < (barrier ? 1 : sizeof(messages) / sizeof(messages[0])); m++) {
            const struct pcoll_signature signature = {.coll = coll,
                                                      .nranks = nranks,
                                                      .bytes = barrier ? 0 : messages[m],
                                                      .topology = topology,
                                                      .commutes = row->must_commute};

            compare_networks(row, &signature, &params, &range);
        }
        pcoll_topology_destroy(topology);
    }
    tap_ok(range.least > 1 - allowed && range.most < 1 + allowed,
           "%s, path %d, on nodes of %d: closed form is %.3f to %.3f of the walk", name,
           (int)params.path, members, range.least, range.most);
}

static void check_edges(enum pcoll_coll coll, int members)
{
    check_nodes(coll, "direct", (struct pcoll_params){.path = PCOLL_PATH_USER}, members, 0.4);
    check_nodes(coll, "direct", (struct pcoll_params){.path = PCOLL_PATH_TEMP}, members, 0.3);
    check_nodes(coll, "aggregate", (struct pcoll_params){.path = PCOLL_PATH_TEMP}, members, 0.3);
}

/* Edges in a node, where each rank has a core, and where all share two. */
static void check_in_node(enum pcoll_coll coll, const char *name, double allowed)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    const struct pcoll_params params = {.path = PCOLL_PATH_USER};
    struct pcoll_machine machine = memory;
    struct range range = {1, 1};

    for (int nranks = 2; nranks <= 16; nranks *= 2)
        for (size_t m = 0; m < sizeof(messages) / sizeof(messages[0]); m++) {
            const struct pcoll_signature signature = {
                .coll = coll, .nranks = nranks, .bytes = messages[m]};

            for (machine.cores = 0; machine.cores <= 2; machine.cores += 2)
                compare(row, &signature, &params, &machine, &range);
        }
    tap_ok(range.least > 1 - allowed && range.most < 1 + allowed,
           "%s %s in a node: closed form is %.3f to %.3f of the walk", pcoll_coll_name(coll), name,
           range.least, range.most);
}

/* Short messages on Ethernet, each rank on a node of its own. */
static void check_short(enum pcoll_coll coll, const char *name, struct pcoll_params params)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    struct pcoll_machine machine = networks[0];
    struct range range = {1, 1};

    machine.node = &memory;
    for (int nranks = 2; nranks <= 16; nranks *= 2) {
        struct pcoll_topology *topology = spread(nranks, 1);

        for (int m = 0; m < 2; m++) {
            const struct pcoll_signature signature = {
                .coll = coll, .nranks = nranks, .bytes = messages[m], .topology = topology};

            compare(row, &signature, &params, &machine, &range);
        }
        pcoll_topology_destroy(topology);
    }
    tap_ok(range.least > 0.97 && range.most < 1.03,
           "%s %s of short messages: closed form is %.3f to %.3f of the walk",
           pcoll_coll_name(coll), name, range.least, range.most);
}

/* An allgatherv: one rank has everything, or block r has r + 1 parts of the largest. */
static void check_blocks(const char *name, enum pcoll_path path, int is_ramp, double allowed)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(PCOLL_ALLGATHERV, name);
    const struct pcoll_params params = {.path = path};
    struct range range = {1, 1};

    for (int nranks = 4; nranks <= 16; nranks *= 2) {
        struct pcoll_topology *topology = spread(nranks, 1);

        for (size_t m = 0; m < sizeof(messages) / sizeof(messages[0]); m++) {
            const uint64_t bytes = messages[m], part = bytes / (uint64_t)nranks;
            struct pcoll_signature signature = {.coll = row->coll, .nranks = nranks};
            uint64_t blocks[17] = {0};

            for (int r = 0; r < nranks; r++)
                blocks[r + 1] = blocks[r] + (is_ramp  ? part * (uint64_t)(r + 1)
                                             : r == 1 ? bytes
                                                      : 0);
            signature.bytes = is_ramp ? part * (uint64_t)nranks : bytes;
            if (signature.bytes == 0)
                continue;
            signature.blocks = blocks;
            signature.topology = topology;
            compare_networks(row, &signature, &params, &range);
        }
        pcoll_topology_destroy(topology);
    }
    tap_ok(range.least > 1 - allowed && range.most < 1 + allowed,
           "allgatherv %s, path %d, %s: closed form is %.3f to %.3f of the walk", name, (int)path,
           is_ramp ? "growing blocks" : "one block", range.least, range.most);
}

/* ---- many ranks that reach one: memory, and counters ---- */

/* Ranks that access the memory of one process follow each other, except at places far apart, or if
 * it is mapped; in the walk, too. */
static void check_turns(enum pcoll_coll coll, const char *name, uint64_t bytes, double turns)
{
    const struct pcoll_signature signature = {.coll = coll, .nranks = 17, .bytes = bytes};
    const struct pcoll_params params = {.path = PCOLL_PATH_USER, .radix = 17};
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    const double one = memory.rma + (double)bytes * memory.G;
    struct pcoll_machine machine = memory;
    double cost, mapped, walked;

    pcoll_cost_contend(&signature, true, &machine);
    mapped = row->cost(&signature, &params, &machine);
    pcoll_cost_contend(&signature, false, &machine);
    cost = row->cost(&signature, &params, &machine);
    walked = pcoll_cost_walk(row, &signature, &params, &machine);
    tap_ok(cost > 0.9 * turns * one && cost < 1.25 * turns * one + 8 &&
               (turns == 1 ? mapped == cost : mapped < 2 * one + 8),
           "%s %s of %d bytes on 17 ranks takes as long as %.0f accesses (%.2f, mapped %.2f)",
           pcoll_coll_name(coll), name, (int)bytes, turns, cost / one, mapped / one);
    tap_ok(cost > 0.9 * walked && cost < 1.1 * walked,
           "%s %s of %d bytes on 17 ranks: closed form is %.3f of the walk", pcoll_coll_name(coll),
           name, (int)bytes, cost / walked);
}

/* The root of a scatter writes to some ranks while others read. */
static void check_written(int radix, uint64_t bytes)
{
    const struct pcoll_signature signature = {.coll = PCOLL_SCATTER, .nranks = 17, .bytes = bytes};
    const struct pcoll_params params = {.path = PCOLL_PATH_USER, .radix = radix};
    const struct pcoll_params all = {.path = PCOLL_PATH_USER, .radix = 17};
    const struct pcoll_algorithm *row = pcoll_algorithm_find(PCOLL_SCATTER, "direct_get");
    struct pcoll_machine machine = memory;
    double cost, reading, walked;

    pcoll_cost_contend(&signature, false, &machine);
    cost = row->cost(&signature, &params, &machine);
    reading = row->cost(&signature, &all, &machine);
    walked = pcoll_cost_walk(row, &signature, &params, &machine);
    tap_ok(
        cost > 0.9 * walked && cost < 1.1 * walked && cost < 0.8 * reading,
        "scatter of %d bytes, whose root writes to 1 rank of %d: closed form is %.3f of the walk, "
        "%.2f of reading alone",
        (int)bytes, radix, cost / walked, cost / reading);
}

/* Where a counter gets the signals of several ranks, one after the other. */
static void check_arrivals(enum pcoll_coll coll, const char *name, struct pcoll_params params)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    struct pcoll_machine machine = memory;
    struct range range = {1, 1};

    machine.arrival = 0.3; /* nobody contends on 2 ranks */
    for (int nranks = 2; nranks <= 16; nranks *= 2) {
        const struct pcoll_signature signature = {
            .coll = coll, .nranks = nranks, .bytes = coll == PCOLL_BARRIER ? 0 : 8};

        compare(row, &signature, &params, &machine, &range);
    }
    tap_ok(range.least > 0.9 && range.most < 1.1,
           "%s %s, radix %d, of slow counters: closed form is %.3f to %.3f of the walk",
           pcoll_coll_name(coll), name, params.radix, range.least, range.most);
}

/* All ranks put their slices of the result into the memory of the root. */
static void check_slices(int nranks, uint64_t bytes)
{
    const struct pcoll_signature signature = {
        .coll = PCOLL_REDUCE, .nranks = nranks, .bytes = bytes};
    const struct pcoll_params params = {.path = PCOLL_PATH_USER, .segment = bytes};
    const struct pcoll_algorithm *row = pcoll_algorithm_find(PCOLL_REDUCE, "sliced");
    struct pcoll_machine machine = memory;
    struct range range = {1, 1};

    pcoll_cost_contend(&signature, false, &machine);
    compare(row, &signature, &params, &machine, &range);
    tap_ok(range.least > 0.75 && range.most < 1.25,
           "reduce sliced of %d bytes on %d ranks: closed form is %.3f to %.3f of the walk",
           (int)bytes, nranks, range.least, range.most);
}

static void check_many_to_one(void)
{
    check_slices(17, 16384);
    check_slices(64, 1 << 18);

    for (uint64_t bytes = 16384; bytes <= 262144; bytes *= 16) {
        check_turns(PCOLL_BCAST, "knomial_get", bytes, 16);
        check_turns(PCOLL_SCATTER, "direct_get", bytes, bytes > 65536 ? 8 : 16);
        check_turns(PCOLL_SCATTERV, "direct_get", bytes, bytes > 65536 ? 8 : 16);
        check_turns(PCOLL_GATHERV, "direct", bytes, bytes > 65536 ? 8 : 16);
    }
    check_written(2, 65536);
    check_written(3, 65536);
    check_written(4, 1 << 18);
    check_turns(PCOLL_SCATTER, "direct_get", 4 << 20, 1);
    check_turns(PCOLL_SCATTERV, "direct_get", 4 << 20, 1);
    for (int radix = 2; radix <= 16; radix *= 2)
        check_arrivals(PCOLL_BARRIER, "dissemination", (struct pcoll_params){.radix = radix});
    check_arrivals(PCOLL_ALLREDUCE, "direct", (struct pcoll_params){0});
    check_arrivals(PCOLL_ALLGATHER, "direct", (struct pcoll_params){.path = PCOLL_PATH_TEMP});
    check_arrivals(PCOLL_ALLGATHER, "bruck", (struct pcoll_params){0});
    check_arrivals(PCOLL_ALLGATHER, "ring", (struct pcoll_params){.path = PCOLL_PATH_TEMP});
    check_arrivals(PCOLL_ALLTOALL, "direct", (struct pcoll_params){.path = PCOLL_PATH_TEMP});
}

/* ---- trees of a node whose ranks have a core each ---- */

enum { MEMBERS = 64 };

/* Without levels, with the teams of 16 ranks and their parts of 4, and with these parts alone. */
static void check_tree(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                       size_t first_message, double allowed)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    struct pcoll_machine machines[3] = {memory, memory, memory};
    int teams[2][MEMBERS];
    const struct pcoll_division divisions[] = {{teams[0], PCOLL_LEVEL_OTHER_CACHE},
                                               {teams[1], PCOLL_LEVEL_SAME_CACHE}};
    struct range range = {1, 1};
    struct pcoll_topology levels;

    for (int r = 0; r < MEMBERS; r++) {
        teams[0][r] = r / 16;
        teams[1][r] = r / 4;
    }
    if (pcoll_topology_divide(NULL, MEMBERS, divisions, 2, &levels) != PCOLL_OK)
        abort();
    for (int i = 0; i < 3; i++)
        machines[i].reduce = memory.copy;
    machines[0].node = &machines[1];
    machines[1].node = &machines[2];
    for (size_t m = first_message; m < 4; m++)
        for (params.teams = 0; params.teams < 3; params.teams++) {
            const struct pcoll_signature signature = {
                .coll = coll, .nranks = MEMBERS, .bytes = messages[m], .levels = &levels};
            const struct pcoll_machine *machine = &machines[params.teams == 0 ? 2 : 0];
            const double walked = pcoll_cost_walk(row, &signature, &params, machine);
            const double ratio = pcoll_cost_of(row, &signature, &params, machine) / walked;

            range.least = ratio < range.least ? ratio : range.least;
            range.most = ratio > range.most ? ratio : range.most;
        }
    pcoll_topology_fini(&levels);
    tap_ok(range.least > 1 - allowed && range.most < 1 + allowed,
           "%s %s, radix %d, in a node with levels: closed form is %.3f to %.3f of the walk",
           pcoll_coll_name(coll), name, params.radix, range.least, range.most);
}

/* The pace of many segments, and what a rank reduces that has children on several levels. */
static void check_trees(void)
{
    for (int radix = 2; radix <= 4; radix *= 2) {
        const struct pcoll_params params = {.radix = radix, .segment = 16384, .slots = 64};

        check_tree(PCOLL_BCAST, "eager", params, 3, 0.1);
        check_tree(PCOLL_REDUCE, "knomial", params, 1, 0.35);
    }
}

/* ---- rows without a cost function ---- */

/* The best candidate of the row alone. */
static struct pcoll_choice best_of(const struct pcoll_table *table,
                                   const struct pcoll_algorithm *row,
                                   const struct pcoll_signature *signature)
{
    const struct question q = question_of(table, row->coll, signature->nranks, signature->bytes);
    struct pcoll_search search = {.signature = signature,
                                  .caps = &q.caps,
                                  .table = table,
                                  .machine = memory,
                                  .cached = memory,
                                  .direct = memory,
                                  .about = {.medium = "shm"}};

    pcoll_search_algorithm(&search, row);
    return search.best;
}

/* The choice among its parameters is that by the time of a run, and predicts that time. */
static void check_costless(const struct pcoll_table *table, enum pcoll_coll coll, const char *name,
                           uint64_t bytes)
{
    const struct pcoll_signature few = {.coll = coll, .nranks = 8, .bytes = bytes, .commutes = 1},
                                 many = {.coll = coll,
                                         .nranks = PCOLL_WALK_RANKS + 1,
                                         .bytes = bytes,
                                         .commutes = 1};
    struct pcoll_algorithm row = *pcoll_algorithm_find(coll, name);
    const struct pcoll_choice closed = best_of(table, &row, &few);
    struct pcoll_choice walked;

    row.cost = NULL;
    walked = best_of(table, &row, &few);
    tap_ok(walked.algorithm == &row &&
               walked.predicted_us == pcoll_cost_walk(&row, &few, &walked.params, &memory) &&
               walked.predicted_us <= pcoll_cost_walk(&row, &few, &closed.params, &memory) * 1.001,
           "%s %s without a cost function: %.2f us", pcoll_coll_name(coll), name,
           walked.predicted_us);
    walked = best_of(table, &row, &many);
    tap_ok(walked.algorithm == &row && walked.predicted_us == PCOLL_COST_UNKNOWN,
           "%s %s without a cost function on %d ranks: the last resort", pcoll_coll_name(coll),
           name, many.nranks);
}

static void check_limits(void)
{
    const struct pcoll_params params = {.segment = 1024};
    struct pcoll_signature signature = {.coll = PCOLL_BCAST, .nranks = 8, .bytes = 8 << 20};
    struct pcoll_algorithm row = *pcoll_algorithm_find(PCOLL_BCAST, "chain");

    row.cost = NULL;
    tap_ok(pcoll_cost_of(&row, &signature, &params, &memory) == PCOLL_COST_UNKNOWN,
           "a plan with too many entries is not walked");
    tap_ok(pcoll_cost_of(&row, &signature, &(struct pcoll_params){.slots = 3}, &memory) < 0,
           "parameters that do not suit have no cost");
    signature.nranks = 1000;
    tap_ok(pcoll_cost_of(&row, &signature, &(struct pcoll_params){.slots = 3}, &memory) < 0,
           "nor on many ranks");
}

static void check_costless_rows(void)
{
    struct pcoll_table *table = tables_default();

    check_costless(table, PCOLL_BARRIER, "dissemination", 0);
    check_costless(table, PCOLL_BCAST, "two_tree", 1 << 20);
    check_costless(table, PCOLL_ALLREDUCE, "butterfly", 1024);
    check_costless(table, PCOLL_ALLTOALL, "bruck", 64);
    check_limits();
    pcoll_table_destroy(table);
}

int main(void)
{
    check_costless_rows();
    check_many_to_one();
    check_trees();
    for (int radix = 2; radix <= 8; radix *= 2) {
        struct pcoll_params params = {.radix = radix};

        check(PCOLL_BARRIER, "dissemination", params, 0, 0.05);
        check(PCOLL_BCAST, "knomial_put", params, 0, 0.05);
        check(PCOLL_BCAST, "knomial_get", params, 0, 0.05);
        check(PCOLL_ALLREDUCE, "butterfly", params, 1, 0.05);
        check(PCOLL_ALLREDUCE, "butterfly", params, 0, 0.1);
        params.segment = 16384;
        check(PCOLL_BCAST, "kary", params, 0, 0.05);
    }
    check(PCOLL_BARRIER, "butterfly", (struct pcoll_params){0}, 1, 0.05);
    check(PCOLL_BARRIER, "butterfly", (struct pcoll_params){0}, 0, 0.05);
    check(PCOLL_BCAST, "chain", (struct pcoll_params){.segment = 8192}, 0, 0.05);
    check(PCOLL_BCAST, "chain", (struct pcoll_params){.segment = 65536}, 0, 0.05);
    check(PCOLL_BCAST, "chain", (struct pcoll_params){.segment = 8192, .rails = 3}, 0, 0.05);
    /* Inside a node some closed forms account for caches, which the walk does not. */
    report(PCOLL_BCAST, "eager", (struct pcoll_params){.radix = 2, .slots = 64}, 0, 0, 0.05);
    report(PCOLL_BCAST, "eager", (struct pcoll_params){.radix = 4, .slots = 64}, 0, 0, 0.05);
    check(PCOLL_ALLGATHER, "bruck", (struct pcoll_params){0}, 0, 0.05);
    check(PCOLL_ALLGATHER, "direct", (struct pcoll_params){.path = PCOLL_PATH_TEMP}, 0, 0.05);
    check(PCOLL_ALLGATHER, "direct", (struct pcoll_params){.path = PCOLL_PATH_USER}, 0, 0.05);
    check(PCOLL_ALLGATHER, "ring", (struct pcoll_params){.path = PCOLL_PATH_TEMP}, 0, 0.05);
    report(PCOLL_ALLGATHER, "ring", (struct pcoll_params){.path = PCOLL_PATH_USER}, 0, 0, 0.05);
    for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
        check_blocks("ring", (enum pcoll_path)path, 0, 0.05);
        check_blocks("ring", (enum pcoll_path)path, 1, 0.2);
    }
    check_blocks("bruck", PCOLL_PATH_TEMP, 0, 0.25);
    check_blocks("bruck", PCOLL_PATH_TEMP, 1, 0.15);
    check(PCOLL_BCAST, "two_tree", (struct pcoll_params){.segment = 8192}, 0, 0.08);
    check(PCOLL_BCAST, "trinaryx3", (struct pcoll_params){.segment = 8192}, 0, 0.08);
    check(PCOLL_ALLGATHER, "butterfly", (struct pcoll_params){.path = PCOLL_PATH_USER}, 1, 0.05);
    check(PCOLL_ALLGATHER, "butterfly", (struct pcoll_params){.path = PCOLL_PATH_USER}, 0, 0.15);
    check(PCOLL_ALLGATHER, "butterfly", (struct pcoll_params){.path = PCOLL_PATH_TEMP}, 0, 0.15);
    check(PCOLL_ALLGATHER, "butterfly", (struct pcoll_params){.path = PCOLL_PATH_TEMP}, 1, 0.05);
    check(PCOLL_GATHER, "direct", (struct pcoll_params){0}, 0, 0.05);
    check(PCOLL_SCATTER, "direct_get", (struct pcoll_params){0}, 0, 0.05);
    check(PCOLL_SCATTER, "direct_put", (struct pcoll_params){0}, 0, 0.05);
    check(PCOLL_ALLTOALL, "direct", (struct pcoll_params){.path = PCOLL_PATH_USER}, 0, 0.05);
    check(PCOLL_ALLTOALL, "direct", (struct pcoll_params){.path = PCOLL_PATH_TEMP}, 0, 0.25);
    for (int radix = 2; radix <= 8; radix *= 2)
        check(PCOLL_ALLTOALL, "bruck", (struct pcoll_params){.radix = radix}, 0, 0.45);
    for (int radix = 2; radix <= 128; radix *= 8) {
        const struct pcoll_params params = {.radix = radix, .slots = 64};

        check(PCOLL_GATHER, "knomial", params, 0, 0.35);
        check(PCOLL_SCATTER, "knomial", params, 0, 0.35);
    }
    check_short(PCOLL_ALLREDUCE, "direct", (struct pcoll_params){0});
    check_short(PCOLL_ALLREDUCE, "butterfly", (struct pcoll_params){.radix = 2});
    check_short(PCOLL_ALLREDUCE, "sliced", (struct pcoll_params){.path = PCOLL_PATH_USER});
    check_short(PCOLL_REDUCE, "sliced", (struct pcoll_params){.path = PCOLL_PATH_USER});
    check_short(PCOLL_REDUCE_SCATTER_BLOCK, "direct", (struct pcoll_params){.segment = 4096});
    for (uint64_t segment = 16384; segment <= 4 << 20; segment *= 16)
        for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++)
            check(PCOLL_ALLREDUCE, "halving",
                  (struct pcoll_params){.path = (enum pcoll_path)path, .segment = segment}, 0, 0.1);
    for (uint64_t segment = 4096; segment <= 1 << 20; segment *= 16)
        check(PCOLL_REDUCE, "chain", (struct pcoll_params){.segment = segment, .slots = 64}, 0,
              segment > 4096 ? 0.1 : 0.5);
    for (uint64_t segment = 4096; segment <= 1 << 20; segment *= 16) {
        const struct pcoll_params params = {.segment = segment};
        const struct pcoll_params user = {.segment = segment, .path = PCOLL_PATH_USER};

        check(PCOLL_ALLREDUCE, "ring", params, 0, 0.25);
        report(PCOLL_REDUCE, "two_tree", params, 0, 0, 0.35);
        report(PCOLL_ALLREDUCE, "two_tree", user, 0, 0, 0.3);
    }
    check_in_node(PCOLL_GATHERV, "direct", 0.35);
    check_in_node(PCOLL_SCATTERV, "direct_get", 0.35);
    check_in_node(PCOLL_ALLGATHERV, "direct", 0.05);
    check_in_node(PCOLL_ALLGATHERV, "direct_get", 0.05);
    check_in_node(PCOLL_NEIGHBOR_ALLTOALLV, "direct", 0.05);
    check_in_node(PCOLL_NEIGHBOR_ALLTOALLV, "direct_get", 0.05);
    for (int members = 2; members <= 4; members *= 2) {
        for (uint64_t segment = 4096; segment <= 1 << 20; segment *= 16) {
            const struct pcoll_params params = {.segment = segment};
            const struct pcoll_params user = {.segment = segment, .path = PCOLL_PATH_USER};

            check_nodes(PCOLL_ALLREDUCE, "ring", params, members, 0.25);
            check_nodes(PCOLL_REDUCE, "two_tree", params, members, 0.35);
            check_nodes(PCOLL_ALLREDUCE, "two_tree", user, members, 0.3);
        }
        check_nodes(PCOLL_BARRIER, "butterfly", (struct pcoll_params){0}, members, 0.05);
        check_nodes(PCOLL_BARRIER, "dissemination", (struct pcoll_params){.radix = 4}, members,
                    0.05);
        check_nodes(PCOLL_BCAST, "chain", (struct pcoll_params){.segment = 8192}, members, 0.4);
        check_nodes(PCOLL_BCAST, "two_tree", (struct pcoll_params){.segment = 8192}, members, 0.4);
        check_nodes(PCOLL_ALLTOALL, "direct", (struct pcoll_params){.path = PCOLL_PATH_TEMP},
                    members, 0.35);
        check_nodes(PCOLL_ALLTOALL, "bruck", (struct pcoll_params){.radix = 4}, members, 0.5);
        check_nodes(PCOLL_ALLTOALL, "node_aware", (struct pcoll_params){0}, members, 0.3);
        check_nodes(PCOLL_REDUCE_SCATTER_BLOCK, "direct", (struct pcoll_params){.segment = 1 << 20},
                    members, 0.25);
        check_nodes(PCOLL_REDUCE_SCATTER_BLOCK, "node_aware",
                    (struct pcoll_params){.segment = 1 << 20}, members, 0.3);
        check_edges(PCOLL_ALLTOALLV, members);
        check_edges(PCOLL_NEIGHBOR_ALLTOALLV, members);
        check_nodes(PCOLL_ALLGATHER, "ring", (struct pcoll_params){.path = PCOLL_PATH_USER},
                    members, 0.65);
        check_nodes(PCOLL_ALLGATHER, "ring", (struct pcoll_params){.path = PCOLL_PATH_TEMP},
                    members, 0.65);
        for (int radix = 2; radix <= 8; radix *= 2) {
            const struct pcoll_params params = {.radix = radix, .segment = 16384};

            check_nodes(PCOLL_ALLREDUCE, "butterfly", params, members, 0.25);
            check_nodes(PCOLL_ALLREDUCE, "multi_leader", params, members, 0.1);
        }
        for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++)
            check_nodes(PCOLL_ALLREDUCE, "halving",
                        (struct pcoll_params){.path = (enum pcoll_path)path, .segment = 262144},
                        members, 0.25);
        check_nodes(PCOLL_ALLREDUCE, "multi_leader_halving",
                    (struct pcoll_params){.segment = 16384}, members, 0.25);
        check_nodes(PCOLL_ALLREDUCE, "multi_leader_sliced", (struct pcoll_params){.segment = 16384},
                    members, 0.3);
    }
    return tap_done();
}
