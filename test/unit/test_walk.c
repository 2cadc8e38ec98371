/*
 * Closed forms of cost, and rows without one, against a walk through the plans: most agree within 5
 * %, on networks whose gap is short compared with their latency, and in a node with a core for each
 * rank.
 */
#include <stdlib.h>

#include "algorithms/plan/levels.h"
#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"
#include "test/unit/walked.h"
#include "tuning/search.h"
#include "tuning/sim/engine.h"
#include "tuning/sim/walk.h"

static const int sizes[] = {2, 3, 4, 5, 7, 8, 12, 16, 27, 31, 36, 64, 100};

/* All numbers of ranks and bytes, on all networks and inside a node. More than 16 ranks find no
 * other code. */
static void compare_all(const struct pcoll_algorithm *row, const struct pcoll_params *params,
                        int powers_only, int in_node, struct walked_range *range)
{
    for (size_t n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
        const int nranks = sizes[n];
        struct pcoll_topology *topology;

        if (nranks > 16 && tap_depth() == TAP_BRIEF)
            break;
        topology = walked_spread(nranks, 1);

        for (size_t m = 0; m < WALKED_MESSAGES; m++) {
            struct pcoll_signature signature = {.coll = row->coll, .nranks = nranks};

            if ((pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) && m > 0) ||
                (powers_only && (nranks & (nranks - 1)) != 0))
                continue;
            signature.bytes =
                pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : walked_messages[m];
            signature.commutes = row->must_commute;
            if (signature.bytes * (uint64_t)nranks > UINT64_C(1) << 28)
                continue;
            if (in_node)
                walked_compare(row, &signature, params, &walked_memory, range);
            signature.topology = topology;
            walked_compare_networks(row, &signature, params, range);
        }
        pcoll_topology_destroy(topology);
    }
}

static void report(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                   int powers_only, int in_node, double allowed)
{
    struct walked_range range = WALKED_NOTHING;

    compare_all(pcoll_algorithm_find(coll, name), &params, powers_only, in_node, &range);
    walked_ok(&range, allowed, "%s%s%s, radix %d, segment %d, path %d, rails %d", name,
              powers_only ? " of powers of two" : "", in_node ? "" : " on networks", params.radix,
              (int)params.segment, (int)params.path, params.rails);
}

static void check(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                  int powers_only, double allowed)
{
    report(coll, name, params, powers_only, 1, allowed);
}

/* Edges in a node, where each rank has a core, and where all share two. */
static void check_in_node(enum pcoll_coll coll, const char *name, double allowed)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    const struct pcoll_params params = {.path = PCOLL_PATH_USER};
    struct pcoll_machine machine = walked_memory;
    struct walked_range range = WALKED_NOTHING;

    for (int nranks = 2; nranks <= 16; nranks *= 2)
        for (size_t m = 0; m < WALKED_MESSAGES; m++) {
            const struct pcoll_signature signature = {
                .coll = coll, .nranks = nranks, .bytes = walked_messages[m]};

            for (machine.cores = 0; machine.cores <= 2; machine.cores += 2)
                walked_compare(row, &signature, &params, &machine, &range);
        }
    walked_ok(&range, allowed, "%s %s in a node", pcoll_coll_name(coll), name);
}

/* Short messages on Ethernet, each rank on a node of its own. */
static void check_short(enum pcoll_coll coll, const char *name, struct pcoll_params params)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    struct pcoll_machine machine = walked_networks[0];
    struct walked_range range = WALKED_NOTHING;

    machine.node = &walked_memory;
    for (int nranks = 2; nranks <= 16; nranks *= 2) {
        struct pcoll_topology *topology = walked_spread(nranks, 1);

        for (int m = 0; m < 2; m++) {
            const struct pcoll_signature signature = {
                .coll = coll, .nranks = nranks, .bytes = walked_messages[m], .topology = topology};

            walked_compare(row, &signature, &params, &machine, &range);
        }
        pcoll_topology_destroy(topology);
    }
    walked_ok(&range, 0.03, "%s %s of short messages", pcoll_coll_name(coll), name);
}

/* An allgatherv: one rank has everything, or block r has r + 1 parts of the largest. */
static void check_blocks(const char *name, enum pcoll_path path, int is_ramp, double allowed)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(PCOLL_ALLGATHERV, name);
    const struct pcoll_params params = {.path = path};
    struct walked_range range = WALKED_NOTHING;

    for (int nranks = 4; nranks <= 16; nranks *= 2) {
        struct pcoll_topology *topology = walked_spread(nranks, 1);

        for (size_t m = 0; m < WALKED_MESSAGES; m++) {
            const uint64_t bytes = walked_messages[m], part = bytes / (uint64_t)nranks;
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
            walked_compare_networks(row, &signature, &params, &range);
        }
        pcoll_topology_destroy(topology);
    }
    walked_ok(&range, allowed, "allgatherv %s, path %d, %s", name, (int)path,
              is_ramp ? "growing blocks" : "one block");
}

/* ---- many ranks that reach one: memory, and counters ---- */

/* Ranks that access the memory of one process wait for each other, so that together they take as
 * long as some accesses one after the other, except at places far apart, or if it is mapped; in the
 * walk, too. */
static void check_turns(enum pcoll_coll coll, const char *name, uint64_t bytes, double exclusive,
                        double turns)
{
    const struct pcoll_signature signature = {.coll = coll, .nranks = 17, .bytes = bytes};
    const struct pcoll_params params = {.path = PCOLL_PATH_USER, .radix = 17};
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    const double one = walked_memory.rma + (double)bytes * walked_memory.G;
    const double all = 1 + (turns - 1) * exclusive;
    struct pcoll_machine machine = walked_memory;
    double cost, mapped, walked;

    machine.exclusive = exclusive;
    pcoll_cost_contend(&signature, true, &machine);
    mapped = row->cost(&signature, &params, &machine);
    pcoll_cost_contend(&signature, false, &machine);
    cost = row->cost(&signature, &params, &machine);
    walked = pcoll_cost_walk(row, &signature, &params, &machine);
    tap_ok(cost > 0.9 * all * one && cost < 1.25 * all * one + 8 &&
               (turns == 1 ? mapped == cost : mapped < 2 * one + 8),
           "%s %s of %d bytes on 17 ranks takes as long as %.3g accesses (%.2f, mapped %.2f)",
           pcoll_coll_name(coll), name, (int)bytes, all, cost / one, mapped / one);
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
    struct pcoll_machine machine = walked_memory;
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
    struct pcoll_machine machine = walked_memory;
    struct walked_range range = WALKED_NOTHING;

    machine.arrival = 0.3; /* nobody contends on 2 ranks */
    for (int nranks = 2; nranks <= 16; nranks *= 2) {
        const struct pcoll_signature signature = {
            .coll = coll, .nranks = nranks, .bytes = coll == PCOLL_BARRIER ? 0 : 8};

        walked_compare(row, &signature, &params, &machine, &range);
    }
    walked_ok(&range, 0.1, "%s %s, radix %d, of slow counters", pcoll_coll_name(coll), name,
              params.radix);
}

/* All ranks put their slices of the result into the memory of the root. */
static void check_slices(int nranks, uint64_t bytes)
{
    const struct pcoll_signature signature = {
        .coll = PCOLL_REDUCE, .nranks = nranks, .bytes = bytes};
    const struct pcoll_params params = {.path = PCOLL_PATH_USER, .segment = bytes};
    const struct pcoll_algorithm *row = pcoll_algorithm_find(PCOLL_REDUCE, "sliced");
    struct pcoll_machine machine = walked_memory;
    struct walked_range range = WALKED_NOTHING;

    pcoll_cost_contend(&signature, false, &machine);
    walked_compare(row, &signature, &params, &machine, &range);
    walked_ok(&range, 0.25, "reduce sliced of %d bytes on %d ranks", (int)bytes, nranks);
}

static void check_many_to_one(void)
{
    static const double exclusive[] = {0, 0.25, 1, 1.5};

    check_slices(17, 16384);
    check_slices(64, 1 << 18);

    for (uint64_t bytes = 16384; bytes <= 262144; bytes *= 16)
        for (size_t i = 0; i < sizeof(exclusive) / sizeof(exclusive[0]); i++) {
            const bool is_long = bytes > 65536;
            const double turns = is_long ? 8 : 16;

            if (exclusive[i] == 0 && !is_long) /* then the signals of their ends take longer */
                continue;
            check_turns(PCOLL_BCAST, "knomial_get", bytes, exclusive[i], 16);
            check_turns(PCOLL_SCATTER, "direct_get", bytes, exclusive[i], turns);
            check_turns(PCOLL_SCATTERV, "direct_get", bytes, exclusive[i], turns);
            check_turns(PCOLL_GATHER, "direct", bytes, exclusive[i], turns);
            check_turns(PCOLL_GATHERV, "direct", bytes, exclusive[i], turns);
        }
    check_written(2, 65536);
    check_written(3, 65536);
    check_written(4, 1 << 18);
    check_turns(PCOLL_SCATTER, "direct_get", 4 << 20, 1, 1);
    check_turns(PCOLL_SCATTERV, "direct_get", 4 << 20, 1, 1);
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

/* Teams of 16 ranks, and their parts of 4. */
static struct pcoll_topology make_levels(void)
{
    int teams[2][MEMBERS];
    const struct pcoll_division divisions[] = {{teams[0], PCOLL_LEVEL_OTHER_CACHE},
                                               {teams[1], PCOLL_LEVEL_SAME_CACHE}};
    struct pcoll_topology levels;

    for (int r = 0; r < MEMBERS; r++) {
        teams[0][r] = r / 16;
        teams[1][r] = r / 4;
    }
    if (pcoll_topology_divide(NULL, MEMBERS, divisions, 2, &levels) != PCOLL_OK)
        abort();
    return levels;
}

/* Without levels, with the teams and their parts, and with these parts alone. */
static void check_tree(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                       size_t first_message, double allowed)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    struct pcoll_machine machines[3] = {walked_memory, walked_memory, walked_memory};
    struct pcoll_topology levels = make_levels();
    struct walked_range range = WALKED_NOTHING;

    for (int i = 0; i < 3; i++)
        machines[i].reduce = walked_memory.copy;
    machines[0].node = &machines[1];
    machines[1].node = &machines[2];
    for (size_t m = first_message; m < 4; m++)
        for (params.teams = 0; params.teams < 3; params.teams++) {
            const struct pcoll_signature signature = {
                .coll = coll, .nranks = MEMBERS, .bytes = walked_messages[m], .levels = &levels};
            const struct pcoll_machine *machine = &machines[params.teams == 0 ? 2 : 0];
            walked_compare(row, &signature, &params, machine, &range);
        }
    pcoll_topology_fini(&levels);
    walked_ok(&range, allowed, "%s %s, radix %d, in a node with levels", pcoll_coll_name(coll),
              name, params.radix);
}

/* Members in parts of parts, whose signals follow each other: in a node, and on several ones. */
static void check_parts(enum pcoll_coll coll, uint64_t segment, double allowed)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, "node_aware");
    const struct pcoll_params params = {.teams = 1, .segment = segment};
    struct pcoll_machine machines[4] = {walked_networks[2], walked_memory, walked_memory,
                                        walked_memory};
    struct pcoll_topology levels = make_levels(), nested;
    struct walked_range range = WALKED_NOTHING;

    for (int i = 0; i < 4; i++) {
        machines[i].reduce = walked_memory.copy;
        machines[i].L /= i > 1 ? 2 * (i - 1) : 1;
        machines[i].arrival = i > 0 ? pcoll_cost_arrival(&machines[i], MEMBERS) : 0;
        machines[i].node = i < 3 ? &machines[i + 1] : NULL;
    }
    for (size_t m = 0; m < 3; m++)
        for (int nodes = 1; nodes <= 4; nodes *= 2) {
            const int nranks = nodes * MEMBERS;
            const struct pcoll_topology far = {.nranks = nranks, .nnodes = nodes, .run = MEMBERS};
            struct pcoll_signature signature = {
                .coll = coll, .nranks = nranks, .bytes = walked_messages[m], .levels = &levels};

            if (nodes > 1 && pcoll_topology_repeat(&far, &levels, &nested) != PCOLL_OK)
                abort();
            if (nodes > 1) {
                signature.topology = &far;
                signature.levels = &nested;
            }
            walked_compare(row, &signature, &params, &machines[nodes == 1], &range);
            if (nodes > 1)
                pcoll_topology_fini(&nested);
        }
    pcoll_topology_fini(&levels);
    walked_ok(&range, allowed, "%s node_aware, segment %d, in parts", pcoll_coll_name(coll),
              (int)segment);
}

/* The pace of many segments, and what a rank reduces that has children on several levels. */
static void check_trees(void)
{
    for (int radix = 2; radix <= 4; radix *= 2) {
        const struct pcoll_params params = {.radix = radix, .segment = 16384, .slots = 64};

        check_tree(PCOLL_BCAST, "eager", params, 3, 0.1);
        check_tree(PCOLL_REDUCE, "knomial", params, 1, 0.35);
        check_tree(PCOLL_GATHER, "knomial", params, 0, 0.2);
        check_tree(PCOLL_SCATTER, "knomial", params, 0, 0.05);
    }
    check_parts(PCOLL_ALLTOALL, 0, 0.1);
    check_parts(PCOLL_REDUCE_SCATTER_BLOCK, 0, 0.1);
    check_parts(PCOLL_REDUCE_SCATTER_BLOCK, 8192, 0.1);
}

/* ---- what ranks saturate that copy at the same time ---- */

/* 16 ranks with a core each, which copy four times as slowly as one, and the same ranks on 4 cores.
 */
static void check_saturated(enum pcoll_coll coll, const char *name, struct pcoll_params params,
                            double allowed)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);
    struct pcoll_machine machine = walked_memory;
    struct walked_range range = WALKED_NOTHING;

    machine.saturated = 4 * machine.G / 16;
    for (size_t m = 2; m < 4; m++)
        for (machine.cores = 0; machine.cores <= 4; machine.cores += 4) {
            const struct pcoll_signature signature = {
                .coll = coll, .nranks = 16, .bytes = walked_messages[m]};

            walked_compare(row, &signature, &params, &machine, &range);
        }
    walked_ok(&range, allowed, "%s %s, path %d, of a saturated node", pcoll_coll_name(coll), name,
              (int)params.path);
}

/* The ranks of a part, and all ranks, share what they copy through. What crosses the border of a
 * part goes through two of them. */
static void check_saturated_levels(void)
{
    static const int cores[] = {4, MEMBERS};
    static const double slower[] = {1.5, 4};
    const struct pcoll_algorithm *row = pcoll_algorithm_find(PCOLL_ALLTOALL, "node_aware");
    const struct pcoll_params params = {.teams = 2};
    struct pcoll_topology levels = make_levels();
    const struct pcoll_job job = {
        .algorithm = row,
        .params = params,
        .signature = {
            .coll = PCOLL_ALLTOALL, .nranks = MEMBERS, .bytes = 16384, .levels = &levels}};
    struct pcoll_machine machines[2]; /* between parts, and in one */
    struct pcoll_engine_options options = {.inside = {.nlevels = 2}};
    struct walked_range range = WALKED_NOTHING;
    struct pcoll_engine_result run;

    for (int i = 0; i < 2; i++) {
        struct pcoll_machine *machine = &machines[1 - i];

        *machine = walked_memory;
        machine->saturated = slower[i] * machine->copy / cores[i];
        machine->node = i > 0 ? machine + 1 : NULL;
        options.inside.levels[i].cores = cores[i];
        options.inside.levels[i].machine = *machine;
    }
    options.machine = machines[1];
    if (pcoll_engine_run(&job, &options, &run) != PCOLL_OK)
        abort();
    range.least = range.most =
        pcoll_cost_of(row, &job.signature, &params, &machines[0]) / run.first;
    walked_ok(&range, 0.2, "alltoall node_aware of 64 ranks that saturate levels");
    pcoll_topology_fini(&levels);
}

static void check_all_saturated(void)
{
    for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
        const struct pcoll_params params = {.path = (enum pcoll_path)path};

        check_saturated(PCOLL_ALLTOALL, "direct", params, 0.1);
        check_saturated(PCOLL_ALLTOALLV, "direct", params, 0.1);
    }
    check_saturated(PCOLL_ALLGATHER, "butterfly", (struct pcoll_params){.path = PCOLL_PATH_TEMP},
                    0.01);
    check_saturated(PCOLL_ALLGATHER, "bruck", (struct pcoll_params){0}, 0.01);
    check_saturated(PCOLL_ALLTOALLW, "direct_get", (struct pcoll_params){.path = PCOLL_PATH_USER},
                    0.1);
    check_saturated(PCOLL_ALLTOALL, "bruck", (struct pcoll_params){.radix = 4}, 0.1);
    check_saturated(PCOLL_ALLTOALL, "bruck", (struct pcoll_params){.radix = 16}, 0.1);
    check_saturated_levels();
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
                                  .machine = walked_memory,
                                  .cached = walked_memory,
                                  .direct = walked_memory,
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
               walked.predicted_us == pcoll_cost_walk(&row, &few, &walked.params, &walked_memory) &&
               walked.predicted_us <=
                   pcoll_cost_walk(&row, &few, &closed.params, &walked_memory) * 1.001,
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
    tap_ok(pcoll_cost_of(&row, &signature, &params, &walked_memory) == PCOLL_COST_UNKNOWN,
           "a plan with too many entries is not walked");
    tap_ok(pcoll_cost_of(&row, &signature, &(struct pcoll_params){.slots = 3}, &walked_memory) < 0,
           "parameters that do not suit have no cost");
    signature.nranks = 1000;
    tap_ok(pcoll_cost_of(&row, &signature, &(struct pcoll_params){.slots = 3}, &walked_memory) < 0,
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
    check_all_saturated();
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
    return tap_done();
}
