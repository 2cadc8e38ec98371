/*
 * The trees of the pipelined broadcasts, and the cost of their plans, for 2 to 200 ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/topology.h"
#include "algorithms/shape/pipeline.h"
#include "algorithms/shape/two_tree.h"
#include "test/unit/job.h"
#include "test/unit/tap.h"

enum { MOST = 200, BYTES = 1000 };

/* ---- the trees ---- */

/* Steps from a team to the root; PCOLL_NONE: there is no path. */
static int way_up(const struct pcoll_shape *shape, const struct pcoll_trees *trees, int tree,
                  int team)
{
    int steps = 0;

    while (team != 0 && steps <= trees->count) {
        team = shape->parent(trees, tree, team);
        if (team < 0 || team >= trees->count)
            return PCOLL_NONE;
        steps++;
    }
    return team == 0 ? steps : PCOLL_NONE;
}

static int nchildren(const struct pcoll_shape *shape, const struct pcoll_trees *trees, int tree,
                     int team)
{
    int n = 0;

    while (shape->child(trees, tree, team, n) != PCOLL_NONE)
        n++;
    return n;
}

/* True if all children name the team as their parent, and they are all its children. */
static int is_tree(const struct pcoll_shape *shape, const struct pcoll_trees *trees, int tree)
{
    int edges = 0;

    for (int team = 0; team < trees->count; team++) {
        for (int i = 0; i < nchildren(shape, trees, tree, team); i++) {
            int child = shape->child(trees, tree, team, i);

            if (shape->parent(trees, tree, child) != team)
                return 0;
            for (int j = 0; j < i; j++)
                if (shape->child(trees, tree, team, j) == child)
                    return 0;
            edges++;
        }
        if (way_up(shape, trees, tree, team) == PCOLL_NONE)
            return 0;
    }
    return edges == trees->count - 1 && shape->parent(trees, tree, 0) == PCOLL_NONE;
}

static int deepest(const struct pcoll_shape *shape, const struct pcoll_trees *trees)
{
    int most = 0;

    for (int tree = 0; tree < shape->ntrees; tree++)
        for (int team = 0; team < trees->count; team++)
            if (way_up(shape, trees, tree, team) > most)
                most = way_up(shape, trees, tree, team);
    return most;
}

/* Children of a team in all trees, and the number of trees in which it has any. */
static int all_children(const struct pcoll_shape *shape, const struct pcoll_trees *trees, int team,
                        int *inner)
{
    int sum = 0;

    *inner = 0;
    for (int tree = 0; tree < shape->ntrees; tree++) {
        sum += nchildren(shape, trees, tree, team);
        *inner += nchildren(shape, trees, tree, team) > 0;
    }
    return sum;
}

static int are_trees(const struct pcoll_shape *shape, const struct pcoll_trees *trees)
{
    for (int tree = 0; tree < shape->ntrees; tree++)
        if (!is_tree(shape, trees, tree))
            return 0;
    return deepest(shape, trees) <= shape->depth(trees);
}

static int log_floor(int base, int value)
{
    int n = 0;

    while (value >= base) {
        value /= base;
        n++;
    }
    return n;
}

static int kary_is_right(const struct pcoll_trees *trees)
{
    return are_trees(&pcoll_shape_kary, trees) &&
           deepest(&pcoll_shape_kary, trees) == pcoll_shape_kary.depth(trees);
}

/* Each rank is an inner rank in one tree and a leaf in the other; the depth is about log2. */
static int two_tree_is_right(const struct pcoll_trees *trees)
{
    int inner;

    if (!are_trees(&pcoll_shape_two_tree, trees) ||
        deepest(&pcoll_shape_two_tree, trees) > 1 + log_floor(2, trees->count - 1))
        return 0;
    for (int team = 1; team < trees->count; team++)
        if (all_children(&pcoll_shape_two_tree, trees, team, &inner) > 2 || inner > 1)
            return 0;
    return all_children(&pcoll_shape_two_tree, trees, 0, &inner) == 2;
}

/* Whether `other` is in the subtree of `team`. */
static int is_below(const struct pcoll_trees *trees, int tree, int team, int other)
{
    while (other != team && other != 0)
        other = pcoll_shape_two_tree.parent(trees, tree, other);
    return other == team;
}

/* Of two children, one is to the left of the team and one to its right. */
static int children_enclose(const struct pcoll_trees *trees, int tree, int team)
{
    if (nchildren(&pcoll_shape_two_tree, trees, tree, team) < 2)
        return 1;
    return pcoll_shape_two_tree.child(trees, tree, team, 0) < team &&
           team < pcoll_shape_two_tree.child(trees, tree, team, 1);
}

/* The teams of each subtree, and the root of it, are consecutive. Without team 0, as many teams are
 * inner in at most one tree, and both have at most one level more than a single tree needs. */
static int two_tree_is_in_order(int nteams)
{
    const struct pcoll_trees trees = {nteams + 1, 0, 0, 1};
    int inner;

    if (!are_trees(&pcoll_shape_two_tree, &trees) ||
        deepest(&pcoll_shape_two_tree, &trees) > 1 + log_floor(2, nteams + 1))
        return 0;
    for (int tree = 0; tree < 2; tree++)
        for (int team = 1; team <= nteams; team++) {
            int first = nteams + 1, last = 0, size = 0;

            for (int other = 1; other <= nteams; other++)
                if (is_below(&trees, tree, team, other)) {
                    first = other < first ? other : first;
                    last = other;
                    size++;
                }
            if (last - first + 1 != size || !children_enclose(&trees, tree, team))
                return 0;
        }
    for (int team = 1; team <= nteams; team++)
        if (all_children(&pcoll_shape_two_tree, &trees, team, &inner) > 2 || inner > 1)
            return 0;
    return 1;
}

/* The axis of the link from one place to the next; PCOLL_NONE: there is no such link. */
static int link_axis(const int side[3], int from, int to)
{
    int stride = 1;

    for (int axis = 0; axis < 3; axis++) {
        int at = from / stride % side[axis];

        if (to == from + ((at + 1) % side[axis] - at) * stride)
            return axis;
        stride *= side[axis];
    }
    return PCOLL_NONE;
}

/* All three trees use links of the torus, and no link twice. */
static int links_are_disjoint(const struct pcoll_trees *trees, const int side[3])
{
    char used[MOST][3];

    memset(used, 0, sizeof(used));
    for (int tree = 0; tree < 3; tree++) {
        for (int team = 1; team < trees->count; team++) {
            int up = pcoll_shape_trinaryx3.parent(trees, tree, team);
            int from = (up + trees->origin) % trees->count;
            int axis = link_axis(side, from, (team + trees->origin) % trees->count);

            if (axis == PCOLL_NONE || used[from][axis])
                return 0;
            used[from][axis] = 1;
        }
    }
    return 1;
}

/* The torus of n places that trinaryx3 must see: of all a <= b <= c with a b c = n, no side 1, that
 * of least depth, and of equals that with the shortest side; 0: there is none. */
static int torus_of(int n, int side[3])
{
    int found = 0;

    for (int a = 2; a * a * a <= n; a++)
        for (int b = a; a * b * b <= n; b++) {
            const int c = n / a / b;

            if (n % (a * b) != 0 || (found && a + b + c >= side[0] + side[1] + side[2]))
                continue;
            side[0] = a;
            side[1] = b;
            side[2] = c;
            found = 1;
        }
    return found;
}

static int trinaryx3_is_right(const struct pcoll_trees *trees)
{
    const struct pcoll_shape *shape = &pcoll_shape_trinaryx3;
    const int n = trees->count;
    int side[3], inner, has_torus = torus_of(n, side);

    if (!are_trees(shape, trees))
        return 0;
    for (int team = 0; team < n; team++)
        if (all_children(shape, trees, team, &inner) > 3)
            return 0;
    if (all_children(shape, trees, 0, &inner) != 3)
        return 0;
    if (!has_torus)
        return deepest(shape, trees) <= 1 + log_floor(3, 2 * (n - 1));
    return side[0] * side[1] * side[2] == n &&
           deepest(shape, trees) == side[0] + side[1] + side[2] - 2 &&
           links_are_disjoint(trees, side);
}

static void test_trees(void)
{
    static const int radices[] = {1, 2, 3, 7, MOST};
    int bad[4] = {0}, toruses = 0, side[3];

    for (int n = 2; n <= MOST; n++) {
        for (int i = 0; i < 5; i++)
            bad[0] += !kary_is_right(&(struct pcoll_trees){n, 0, radices[i], 0});
        bad[1] += !two_tree_is_right(&(struct pcoll_trees){n, 0, 0, 0});
        bad[3] += !two_tree_is_in_order(n);
        for (int origin = 0; origin < n; origin += n / 4 + 1)
            bad[2] += !trinaryx3_is_right(&(struct pcoll_trees){n, origin, 0, 0});
        toruses += torus_of(n, side);
    }
    tap_ok(bad[0] == 0, "kary: trees of the stated depth, for 2 to %d", MOST);
    tap_ok(bad[1] == 0,
           "two_tree: two trees, inner in at most one, depth <= 1 + log2(N - 1), for 2 to %d",
           MOST);
    tap_ok(bad[3] == 0, "two_tree in order: subtrees of consecutive teams, for 2 to %d", MOST);
    tap_ok(
        bad[2] == 0 && toruses > 0,
        "trinaryx3: three trees, at most 3 children in all, for 2 to %d; no link shared on the %d "
        "toruses",
        MOST, toruses);
}

/* ---- the plans ---- */

struct load {
    uint64_t bytes; /* the most that one rank puts */
    int counters, entries, neighbors;
};

static struct load load_of(const char *name, int nranks, uint64_t segment)
{
    const struct pcoll_algorithm *algorithm = pcoll_algorithm_find(PCOLL_BCAST, name);
    struct pcoll_signature signature = {PCOLL_BCAST, nranks, nranks / 2, BYTES, 0};
    struct pcoll_params params = {.segment = segment};
    struct load most = {0};

    for (int rank = 0; rank < nranks; rank++) {
        struct pcoll_plan *plan;
        struct pcoll_account account;

        if (pcoll_generate(algorithm, &signature, NULL, rank, &params, &plan) != PCOLL_OK)
            abort();
        account = pcoll_plan_account(plan);
        most.bytes = account.bytes_moved > most.bytes ? account.bytes_moved : most.bytes;
        most.counters = account.counters > most.counters ? account.counters : most.counters;
        most.entries = account.entries > most.entries ? account.entries : most.entries;
        most.neighbors = plan->nneighbors > most.neighbors ? plan->nneighbors : most.neighbors;
        pcoll_plan_destroy(plan);
    }
    return most;
}

/* A rank forwards at most `trees` shares of ceil(BYTES / trees). Each of its children, and each
 * share that it receives, costs per segment an entry, a "ready" and a wait. */
static int load_is_right(const char *name, int nranks, uint64_t segment, int trees)
{
    const struct load load = load_of(name, nranks, segment);
    const int share = (BYTES - 1) / trees + 1, nsegments = (share - 1) / (int)segment + 1;

    return load.bytes <= (uint64_t)(trees * share) && load.counters == trees &&
           load.entries <= trees * (nsegments + 2) && load.neighbors <= 2 * trees;
}

static void test_loads(void)
{
    static const char *const names[] = {"chain", "two_tree", "trinaryx3"};

    for (int trees = 1; trees <= 3; trees++) {
        int bad = 0;

        for (int n = 2; n <= MOST; n++)
            for (uint64_t segment = 10; segment <= BYTES; segment *= 10)
                bad += !load_is_right(names[trees - 1], n, segment, trees);
        tap_ok(bad == 0,
               "%s: %d counters whatever the segments, no rank puts more than one message, O(1) "
               "neighbors, for 2 to %d",
               names[trees - 1], trees, MOST);
    }
}

/* ---- rails ---- */

/* True if every rank puts the same number of bytes on each rail. */
static int lanes_are_spread(const char *name, int rails, int counters)
{
    const struct pcoll_algorithm *algorithm = pcoll_algorithm_find(PCOLL_BCAST, name);
    struct pcoll_signature signature = {PCOLL_BCAST, 7, 0, 720, 0};
    struct pcoll_params params = {.rails = rails, .segment = 10};
    int most = 0, even = 1;

    for (int rank = 0; rank < 7; rank++) {
        struct pcoll_plan *plan;
        uint64_t bytes[8] = {0};

        if (pcoll_generate(algorithm, &signature, NULL, rank, &params, &plan) != PCOLL_OK)
            abort();
        for (int i = 0; i < plan->nentries; i++)
            bytes[plan->entries[i].rail % rails] += plan->entries[i].bytes;
        for (int rail = 1; rail < rails; rail++)
            even = even && bytes[rail] == bytes[0];
        most = plan->ncounters > most ? plan->ncounters : most;
        pcoll_plan_destroy(plan);
    }
    return even && most == counters;
}

static void test_rails(void)
{
    tap_ok(lanes_are_spread("chain", 2, 2) && lanes_are_spread("chain", 3, 3),
           "chain: a counter per rail, and every rank puts equally on each");
    tap_ok(lanes_are_spread("two_tree", 2, 4) && lanes_are_spread("two_tree", 3, 6),
           "two_tree: 2 counters per rail, and every rank puts equally on each");
    tap_ok(lanes_are_spread("trinaryx3", 2, 6) && lanes_are_spread("trinaryx3", 3, 9),
           "trinaryx3: 3 counters per rail, and every rank puts equally on each");
    tap_ok(lanes_are_spread("scatter_ring", 3, 6), "scatter_ring: 2 counters a rail");
}

/* ---- nodes ---- */

/* Bytes that cross node boundaries. */
static uint64_t bytes_outside(const struct job *job)
{
    const struct pcoll_topology *t = job->signature.topology;
    uint64_t bytes = 0;

    for (int rank = 0; rank < job->signature.nranks; rank++)
        for (int i = 0; i < job->plans[rank]->nentries; i++) {
            const struct pcoll_entry *entry = &job->plans[rank]->entries[i];

            if ((entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET) &&
                pcoll_topology_node(t, entry->peer) != pcoll_topology_node(t, rank))
                bytes += entry->bytes;
        }
    return bytes;
}

static int crosses_once(const char *name, int nranks, enum job_map map, int root)
{
    struct job job = {
        .algorithm = pcoll_algorithm_find(PCOLL_BCAST, name),
        .signature = {PCOLL_BCAST, nranks, root, BYTES, 0, job_topology(map, nranks)},
        .params = {.segment = BYTES},
    };
    uint64_t bytes;

    if (job_make(&job) != PCOLL_OK)
        abort();
    bytes = bytes_outside(&job) / (uint64_t)job.plans[0]->nphases;
    job_destroy(&job);
    return bytes == (uint64_t)(job.signature.topology->nnodes - 1) * BYTES;
}

static void test_nodes(void)
{
    static const char *const names[] = {"eager", "chain",    "binary",
                                        "kary",  "two_tree", "trinaryx3"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int bad = 0;

        for (enum job_map map = JOB_PAIRS; map < JOB_NUM_MAPS; map++)
            for (int n = 3; n < 60; n++)
                bad += !crosses_once(names[i], n, map, n / 3);
        tap_ok(bad == 0, "%s: the message arrives once at each node", names[i]);
    }
}

int main(void)
{
    test_trees();
    test_loads();
    test_rails();
    test_nodes();
    return tap_done();
}
