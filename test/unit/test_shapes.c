/*
 * The trees of the pipelined broadcasts, for 2 to 200 ranks.
 */
#include <string.h>

#include "algorithms/shape/pipeline.h"
#include "algorithms/shape/two_tree.h"
#include "test/unit/tap.h"

enum { MOST = 200 };

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

int main(void)
{
    test_trees();
    return tap_done();
}
