/* Plans for several nodes: their resources as ranks grow, which ranks communicate, whether they are
 * right for members in parts of any number and size, and their cost. */
#include <stdlib.h>

#include "algorithms/plan/levels.h"
#include "algorithms/proof/check.h"
#include "algorithms/teams.h"
#include "test/unit/job.h"
#include "test/unit/tap.h"

/* Ranks 0 .. n - 1 are on node 0, n .. 2 n - 1 on node 1 and so on. */
static struct pcoll_topology *blocks(int nranks, int n)
{
    struct pcoll_topology *topology;
    int *ids = malloc((size_t)nranks * sizeof(*ids));

    if (!ids)
        abort();
    for (int r = 0; r < nranks; r++)
        ids[r] = r / n;
    if (pcoll_topology_create(ids, NULL, nranks, &topology) != PCOLL_OK)
        abort();
    free(ids);
    return topology;
}

static int log2_ceil(int value)
{
    int n = 0;

    while (1 << n < value)
        n++;
    return n;
}

/* --- resources --- */

static const struct {
    enum pcoll_coll coll;
    const char *name;
} small[] = {
    {PCOLL_BARRIER, "butterfly"}, {PCOLL_BARRIER, "dissemination"}, {PCOLL_ALLGATHER, "bruck"}};

/* Per phase, a round is at most one entry and two neighbors of a leader, or n + 2 of them for the
 * butterfly; a member adds one entry and one neighbor; own copies and results are at most six
 * entries. */
static int is_small(const struct pcoll_plan *plan, int nnodes, int per_node)
{
    const int rounds = log2_ceil(nnodes) + 2;

    return plan->ncounters == 2 && plan->nphases == 2 &&
           plan->nentries <= 2 * (rounds + per_node + 6) &&
           plan->nneighbors <= 2 * rounds + per_node;
}

static void check_small(int row, int nranks, int per_node)
{
    struct pcoll_topology *topology = blocks(nranks, per_node);
    const struct pcoll_signature signature = {
        .coll = small[row].coll, .nranks = nranks, .bytes = 8, .topology = topology};
    const struct pcoll_params params = {0};
    int step = nranks > 1000 ? 997 : 1, most = 0, good = 1, neighbors = 0;

    for (int rank = 0; rank < nranks; rank += step) {
        struct pcoll_plan *plan;

        if (pcoll_generate(pcoll_algorithm_find(small[row].coll, small[row].name), &signature, NULL,
                           rank, &params, &plan) != PCOLL_OK)
            abort();
        good = good && is_small(plan, topology->nnodes, per_node);
        most = plan->nentries > most ? plan->nentries : most;
        neighbors = plan->nneighbors > neighbors ? plan->nneighbors : neighbors;
        pcoll_plan_destroy(plan);
    }
    tap_ok(good,
           "%s %s of %d ranks on %d nodes: 1 counter in each of 2 banks, %d entries, %d neighbors",
           pcoll_coll_name(small[row].coll), small[row].name, nranks, topology->nnodes, most,
           neighbors);
    pcoll_topology_destroy(topology);
}

static void check_resources(void)
{
    for (int row = 0; row < 3; row++) {
        check_small(row, 8, 1);
        check_small(row, 8, 4);
        check_small(row, 64, 1);
        check_small(row, 64, 8);
        check_small(row, 512, 1);
        check_small(row, 512, 16);
        check_small(row, 82944, 1);
        check_small(row, 82944, 48);
    }
}

/* --- who talks to whom --- */

/* Only leaders communicate between nodes; inside a node leaders write nothing for their members. */
static int goes_through_leaders(const struct job *job)
{
    const struct pcoll_teams teams = pcoll_teams_of(&job->signature);

    for (int r = 0; r < job->signature.nranks; r++)
        for (int i = 0; i < job->plans[r]->nentries; i++) {
            const struct pcoll_entry *entry = &job->plans[r]->entries[i];
            int crosses = entry->peer != PCOLL_NONE &&
                          pcoll_team_of(&teams, entry->peer) != pcoll_team_of(&teams, r);

            if (crosses && (pcoll_team_member(&teams, r) || pcoll_team_member(&teams, entry->peer)))
                return 0;
            if (entry->op == PCOLL_OP_PUT && !crosses && !pcoll_team_member(&teams, r))
                return 0;
        }
    return 1;
}

static void check_leaders(void)
{
    static const char *const names[] = {"butterfly", "dissemination", "bruck", "ring", "ring"};

    for (int i = 0; i < 5; i++) {
        const enum pcoll_coll coll = i < 2 ? PCOLL_BARRIER : PCOLL_ALLGATHER;
        int good = 1;

        for (enum job_map map = JOB_PAIRS; map < JOB_APART; map++) {
            struct job job = {
                .algorithm = pcoll_algorithm_find(coll, names[i]),
                .signature = {coll, 14, 0, pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? 0 : 9, 0},
                .params = {.path = i == 4 ? PCOLL_PATH_USER : PCOLL_PATH_TEMP}};

            job.signature.topology = job_topology(map, 14);
            if (job_make(&job) != PCOLL_OK)
                abort();
            good = good && goes_through_leaders(&job);
            job_destroy(&job);
        }
        tap_ok(good, "%s %s: only leaders between nodes, and they write nothing for members",
               pcoll_coll_name(coll), names[i]);
    }
}

static void check_flat(void)
{
    int good = 1;

    PCOLL_EACH_ALGORITHM (row)
        for (int nranks = 1; nranks <= 9; nranks++)
            good = good && !job_map_matters(row, JOB_APART, nranks);
    tap_ok(good, "with one rank per node, plans are those without nodes");
}

/* --- members of parts of parts --- */

/* Nodes of sockets of caches. */
struct grid {
    int nodes, sockets, caches, members;
};

static int ranks_of(struct grid grid)
{
    return grid.nodes * grid.sockets * grid.caches * grid.members;
}

static void make_grid(struct grid grid, struct pcoll_topology *levels)
{
    int sockets[JOB_MOST_RANKS], caches[JOB_MOST_RANKS];
    const struct pcoll_division divisions[] = {{sockets, PCOLL_LEVEL_OTHER_CACHE},
                                               {caches, PCOLL_LEVEL_SAME_CACHE}};
    struct pcoll_topology *nodes = blocks(ranks_of(grid), ranks_of(grid) / grid.nodes);

    for (int r = 0; r < ranks_of(grid); r++) {
        caches[r] = r / grid.members;
        sockets[r] = caches[r] / grid.caches;
    }
    if (pcoll_topology_divide(nodes, ranks_of(grid), divisions, 2, levels) != PCOLL_OK)
        abort();
    pcoll_topology_destroy(nodes);
}

static void check_grid(enum pcoll_coll coll, const char *name, struct grid grid)
{
    struct job job = {
        .algorithm = pcoll_algorithm_find(coll, name),
        .signature = {.coll = coll, .nranks = ranks_of(grid), .bytes = 24},
        .params = {.segment = coll == PCOLL_ALLREDUCE ? 1 : 20},
    };
    struct pcoll_topology levels;

    make_grid(grid, &levels);
    job.signature.topology = &levels;
    if (job_make(&job) != PCOLL_OK)
        abort();
    tap_ok(pcoll_plan_check(job.plans, job.signature.nranks, stdout) == PCOLL_OK,
           "%s %s: right on %d nodes of %d sockets, which have %d caches of %d ranks each",
           pcoll_coll_name(coll), name, grid.nodes, grid.sockets, grid.caches, grid.members);
    job_destroy(&job);
    pcoll_topology_fini(&levels);
}

static void check_grids(void)
{
    static const struct grid grids[] = {{2, 1, 2, 4}, {2, 1, 4, 2}, {3, 2, 1, 3}, {7, 1, 3, 2},
                                        {2, 2, 2, 2}, {3, 2, 3, 2}, {9, 1, 2, 2}, {5, 1, 2, 3}};

    for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
        check_grid(PCOLL_ALLTOALL, "node_aware", grids[i]);
        check_grid(PCOLL_REDUCE_SCATTER_BLOCK, "node_aware", grids[i]);
        check_grid(PCOLL_ALLREDUCE, "multi_leader", grids[i]);
    }
}

/* --- cost --- */

static const struct pcoll_machine node = {.L = 0.1,
                                          .o = 0.02,
                                          .g = 0.02,
                                          .G = 1e-4,
                                          .rma = 1.6,
                                          .copy = 8e-5,
                                          .kept = 8e-5,
                                          .call = 0.1,
                                          .turn = 1.5};
static const struct pcoll_machine network = {.L = 2,
                                             .o = 0.2,
                                             .g = 0.3,
                                             .G = 1e-3,
                                             .rma = 0.5,
                                             .copy = 8e-5,
                                             .kept = 8e-5,
                                             .call = 0.1,
                                             .turn = 1.5,
                                             .node = &node};

static double cost(enum pcoll_coll coll, const char *name, enum pcoll_path path, uint64_t bytes,
                   const struct pcoll_topology *topology)
{
    const struct pcoll_signature signature = {
        .coll = coll, .nranks = 48, .bytes = bytes, .topology = topology};
    const struct pcoll_params params = {.path = path};

    return pcoll_algorithm_find(coll, name)->cost(&signature, &params, &network);
}

static void check_costs(void)
{
    struct pcoll_topology *apart = blocks(48, 1), *six = blocks(48, 8);
    const enum pcoll_path temp = PCOLL_PATH_TEMP, user = PCOLL_PATH_USER;

    tap_ok(cost(PCOLL_BARRIER, "butterfly", temp, 0, six) <
               cost(PCOLL_BARRIER, "butterfly", temp, 0, apart),
           "a barrier of 6 nodes is cheaper than one of 48");
    tap_ok(cost(PCOLL_BARRIER, "dissemination", temp, 0, six) <
               cost(PCOLL_BARRIER, "butterfly", temp, 0, six),
           "between 6 nodes dissemination is cheaper: one round less");
    tap_ok(cost(PCOLL_ALLGATHER, "bruck", temp, 8, six) <
                   cost(PCOLL_ALLGATHER, "ring", temp, 8, six) &&
               cost(PCOLL_ALLGATHER, "bruck", temp, 8, six) <
                   cost(PCOLL_ALLGATHER, "direct", temp, 8, six),
           "short blocks: Bruck is the cheapest between nodes");
    tap_ok(cost(PCOLL_ALLGATHER, "ring", user, 1 << 20, six) <
                   cost(PCOLL_ALLGATHER, "bruck", temp, 1 << 20, six) &&
               cost(PCOLL_ALLGATHER, "ring", user, 1 << 20, six) <
                   cost(PCOLL_ALLGATHER, "direct", temp, 1 << 20, six) &&
               4 * cost(PCOLL_ALLGATHER, "ring", user, 1 << 20, six) <
                   cost(PCOLL_ALLGATHER, "direct", user, 1 << 20, six),
           "long blocks: the ring is the cheapest between nodes");
    tap_ok(cost(PCOLL_ALLGATHER, "ring", user, 1 << 20, six) < 1.3 * 40 * (1 << 20) * network.G,
           "the ring's stages inside nodes overlap the transfer of 40 blocks between them");
    pcoll_topology_destroy(apart);
    pcoll_topology_destroy(six);
}

int main(void)
{
    check_resources();
    check_leaders();
    check_flat();
    check_grids();
    check_costs();
    return tap_done();
}
