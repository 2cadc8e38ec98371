/*
 * Broadcast down two trees at once, with half the message in each, by put into the user buffers.
 *
 * Idea: in a binary tree half of the ranks forward twice what they receive, and the others forward
 * nothing. Two trees in which no rank has children in both balance this: every rank forwards at
 * most two halves, one message, as in a chain, at the depth of a binary tree.
 *
 * Number the P = N - 1 teams other than the root 1 .. P. The first tree is the binary search tree
 * over them: x, with l zeros at its low end, is the parent of x - 2^(l-1) and x + 2^(l-1), so odd
 * teams are leaves. The second tree is shifted by one: team x stands where x - 1 stands in the
 * first (team 1 where P does), so even teams are leaves. The root sends to the top of each.
 *
 *      N = 8:        4               5           0 -> 4, 5
 *                 2     6         3     7
 *                1 3   5 7       2 4   6 1
 *
 * Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan" (2009). Their edge coloring gives every rank one send and one receive in each step of a
 * lock-step schedule. Here there are no steps: a put fires when its segment has arrived, and a link
 * that has something to send never waits for its turn, so no schedule is needed.
 *
 * Cost: as in shape/pipeline.c, with depth <= 1 + log2 P and at most one message forwarded. When:
 * long messages on any network other than a torus. Two counters for each rail.
 */
#include "algorithms/number.h"
#include "algorithms/shape/pipeline.h"

#include <assert.h>

/* ---- the binary search tree over 1 .. p ---- */

static int lowest_bit(int x)
{
    return x & -x;
}

static int top(int p)
{
    return 1 << pcoll_log2_floor(p);
}

/* The parent of x, which is not the top. If the computed parent is beyond p, its own parent takes
 * its place. */
static int above(int p, int x)
{
    do {
        int bit = lowest_bit(x);

        x = (x ^ bit) | 2 * bit;
    } while (x > p);
    return x;
}

/* The left (side 0) or the right child of x; PCOLL_NONE: there is none. */
static int below(int p, int x, int side)
{
    int half = lowest_bit(x) / 2, to = side ? x + half : x - half;

    if (half == 0)
        return PCOLL_NONE;
    while (to > p && half > 1) {
        half /= 2;
        to -= half;
    }
    return to > p ? PCOLL_NONE : to;
}

/* ---- the two trees ---- */

/* Between a team and its position in the tree; the root is 0. */
static int stand_of(const struct pcoll_trees *trees, int tree, int team)
{
    if (tree == 0 || team == 0)
        return team;
    return team > 1 ? team - 1 : trees->count - 1;
}

static int team_at(const struct pcoll_trees *trees, int tree, int x)
{
    assert(x >= 0 && x < trees->count);
    return tree == 0 || x == 0 ? x : x % (trees->count - 1) + 1;
}

static int parent(const struct pcoll_trees *trees, int tree, int team)
{
    int p = trees->count - 1, x = stand_of(trees, tree, team);

    if (x == 0)
        return PCOLL_NONE;
    return team_at(trees, tree, x == top(p) ? 0 : above(p, x));
}

static int child(const struct pcoll_trees *trees, int tree, int team, int i)
{
    int p = trees->count - 1, x = stand_of(trees, tree, team), to;

    if (x == 0)
        return i == 0 ? team_at(trees, tree, top(p)) : PCOLL_NONE;
    to = i < 2 ? below(p, x, i) : PCOLL_NONE;
    return to == PCOLL_NONE ? PCOLL_NONE : team_at(trees, tree, to);
}

static int depth(const struct pcoll_trees *trees)
{
    return 1 + pcoll_log2_floor(trees->count - 1);
}

static int hop(const struct pcoll_trees *trees)
{
    return trees->count > 3 ? 2 : 1;
}

/* Along second children, starting from the only child of the root; the last of them may be
 * missing. */
static int late(const struct pcoll_trees *trees)
{
    int is_full = (trees->count & (trees->count - 1)) == 0;

    return depth(trees) - 1 - !is_full;
}

const struct pcoll_shape pcoll_shape_two_tree = {2, parent, child, depth, hop, late};

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    (void)local;
    return pcoll_pipeline(&pcoll_shape_two_tree, 0, signature, rank, params, plan_p);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    return pcoll_pipeline_cost(&pcoll_shape_two_tree, 0, signature, params, machine);
}

const struct pcoll_algorithm pcoll_bcast_two_tree = {
    .name = "two_tree",
    .coll = PCOLL_BCAST,
    .description = "two pipelined binary trees, half the message in each",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_segment = 1,
};
