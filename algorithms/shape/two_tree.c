/* Two trees; the contract is in two_tree.h. */
#include "algorithms/shape/two_tree.h"

#include <assert.h>
#include <stdbool.h>

#include "algorithms/number.h"

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

/* The second tree in order: its leaf 1 is missing. */
static bool lacks_first(const struct pcoll_trees *trees, int tree)
{
    return trees->in_order && tree == 1;
}

/* The positions of a tree. */
static int positions(const struct pcoll_trees *trees, int tree)
{
    return trees->count - 1 + lacks_first(trees, tree);
}

/* Between a team and its position in the tree; the root is 0. */
static int stand_of(const struct pcoll_trees *trees, int tree, int team)
{
    if (tree == 0 || team == 0)
        return team;
    if (trees->in_order)
        return team + 1;
    return team > 1 ? team - 1 : trees->count - 1;
}

static int team_at(const struct pcoll_trees *trees, int tree, int x)
{
    assert(x >= 0 && x <= positions(trees, tree));
    if (tree == 0 || x == 0)
        return x;
    if (trees->in_order)
        return x - 1;
    assert(trees->count > 1);
    return x % (trees->count - 1) + 1;
}

static int parent(const struct pcoll_trees *trees, int tree, int team)
{
    const int p = positions(trees, tree), x = stand_of(trees, tree, team);

    if (x == 0)
        return PCOLL_NONE;
    return team_at(trees, tree, x == top(p) ? 0 : above(p, x));
}

static int child(const struct pcoll_trees *trees, int tree, int team, int i)
{
    const int p = positions(trees, tree), x = stand_of(trees, tree, team);
    int to;

    if (x == 0)
        return i == 0 ? team_at(trees, tree, top(p)) : PCOLL_NONE;
    if (lacks_first(trees, tree) && x == 2)
        i++;
    to = i < 2 ? below(p, x, i) : PCOLL_NONE;
    return to == PCOLL_NONE ? PCOLL_NONE : team_at(trees, tree, to);
}

static int depth(const struct pcoll_trees *trees)
{
    const int p = positions(trees, 1);

    return trees->count > 2 ? 1 + pcoll_log2_floor(p) : 1;
}

static int hop(const struct pcoll_trees *trees)
{
    return trees->count > 3 ? 2 : 1;
}

/* Along second children, starting from the only child of the root; the last of them may be
 * missing. */
static int late(const struct pcoll_trees *trees)
{
    bool is_full = (trees->count & (trees->count - 1)) == 0;

    return depth(trees) - 1 - !is_full;
}

const struct pcoll_shape pcoll_shape_two_tree = {2, parent, child, depth, hop, late};

/* ---- over ranks ---- */

/* Without a root, team 0 of the trees is none of the teams. */
static int shift_of(const struct pcoll_two_tree *two)
{
    return two->teams.root == PCOLL_NONE;
}

struct pcoll_two_tree pcoll_two_tree_of(const struct pcoll_signature *signature,
                                        struct pcoll_teams teams)
{
    struct pcoll_two_tree two = {
        .teams = teams,
        .trees = {.in_order = true},
        .places = teams,
        .commutes = signature->commutes,
    };

    two.places.root = PCOLL_NONE;
    two.trees.count = teams.count + shift_of(&two);
    return two;
}

static bool is_leader(const struct pcoll_two_tree *two, int team, int rank)
{
    return rank == pcoll_team_rank(&two->teams, team, 0);
}

struct one_tree {
    const struct pcoll_two_tree *two;
    int number;
};

static int parent_of(const void *tree, int rank)
{
    const struct one_tree *one = tree;
    const struct pcoll_two_tree *two = one->two;
    const int team = pcoll_team_of(&two->teams, rank);
    int up;

    if (!is_leader(two, team, rank))
        return pcoll_team_rank(&two->teams, team, 0);
    up = parent(&two->trees, one->number, team + shift_of(two)) - shift_of(two);
    return up < 0 ? PCOLL_NONE : pcoll_team_rank(&two->teams, up, 0);
}

/* Child i of a team, or PCOLL_NONE. */
static int child_team(const struct pcoll_two_tree *two, int tree, int team, int i)
{
    const int to = child(&two->trees, tree, team + shift_of(two), i);

    return to == PCOLL_NONE ? PCOLL_NONE : to - shift_of(two);
}

int pcoll_two_tree_nchildren(const struct pcoll_two_tree *two, int tree, int rank)
{
    const int team = pcoll_team_of(&two->teams, rank);
    int n = 0;

    if (!is_leader(two, team, rank))
        return 0;
    while (child_team(two, tree, team, n) != PCOLL_NONE)
        n++;
    return n + pcoll_team_size(&two->teams, team) - 1;
}

static int children_of(const void *tree, int rank, int *children)
{
    const struct one_tree *one = tree;
    const struct pcoll_two_tree *two = one->two;
    const int team = pcoll_team_of(&two->teams, rank);
    const int n = pcoll_two_tree_nchildren(two, one->number, rank);
    int to, i = 0;

    for (; i < n && (to = child_team(two, one->number, team, i)) != PCOLL_NONE; i++)
        children[i] = pcoll_team_rank(&two->teams, to, 0);
    for (int member = 1; i < n; member++)
        children[i++] = pcoll_team_rank(&two->teams, team, member);
    return n;
}

/* The place of the first rank of the root's team. */
static int first_place(const struct pcoll_two_tree *two)
{
    const int root = two->teams.root;

    return root == PCOLL_NONE ? 0
                              : pcoll_team_place(&two->places, pcoll_team_of(&two->places, root));
}

static int place_of(const void *tree, int rank)
{
    const struct pcoll_two_tree *two = ((const struct one_tree *)tree)->two;
    const int n = two->teams.nranks;

    return (pcoll_teams_place(&two->places, rank) - first_place(two) + n) % n;
}

static int rank_at(const void *tree, int place)
{
    const struct pcoll_two_tree *two = ((const struct one_tree *)tree)->two;

    return pcoll_teams_rank(&two->places, (place + first_place(two)) % two->teams.nranks);
}

enum pcoll_result pcoll_two_tree_relatives(const struct pcoll_two_tree *two, int tree, int rank,
                                           struct pcoll_relatives *relatives)
{
    const struct one_tree one = {two, tree};
    const struct pcoll_relatives_tree of = {
        .tree = &one,
        .max = two->teams.nranks,
        .parent = parent_of,
        .children = children_of,
        .place = two->commutes ? place_of : NULL,
        .rank = rank_at,
    };

    return pcoll_relatives_init(relatives, &of, rank);
}

int pcoll_two_tree_depth(const struct pcoll_two_tree *two)
{
    return depth(&two->trees) - shift_of(two);
}
