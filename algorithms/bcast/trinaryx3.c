/*
 * Broadcast down three ternary trees at once, with a third of the message in each (Trinaryx3), by
 * put into the user buffers.
 *
 * Idea: on a torus of a x b x c teams, three trees that share no link keep three links of every
 * team busy. With the root at (0, 0, 0), tree t names the axes d0 = t, d1 = t + 1, d2 = t + 2 (mod
 * 3), and a team gets its third from its predecessor on
 *
 *      d0  if its d0 is 0 (by the link that wraps around),   else d2  if its d2 is not 0,
 *      d1  if its d1 is not 0,                               else d0.
 *
 *      tree 0 of 2 x 2 x 2, teams as xyz:    000 -> 100 -> 110 -> 111 -> 011
 *                                                     |      '--> 010
 *                                                     '--> 101 -> 001
 *
 * The message thus travels first along the d0 axis, then d1, then d2, and finally around to the
 * teams with d0 = 0, which are leaves. No two trees enter a team by the same link, all links point
 * in one direction, and a team has three outgoing links and forwards at most three thirds. The
 * depth is (a-1) + (b-1) + (c-1) + 1.
 *
 * If N is not a product of three factors >= 2 (primes, 4, 6 ...), there is no torus. Then each of
 * the P = N - 1 teams other than the root has children in one tree only, at most three: a ternary
 * heap of P teams (position j under (j - 1) / 3) has I = ceil((P - 1) / 3) inner positions, and the
 * three heaps take them from three intervals of the teams 1 .. P, counting up, down, and up:
 *
 *      P = 10, I = 3:   tree 0:  1 2 3 | 4 ... 10      tree 1:  6 5 4 | 3 2 1 10 ... 7
 *                       tree 2:  7 8 9 | 10 1 ... 6
 *
 * If 3 I = P + 1, the first two intervals share their last team; as the last inner position of a
 * heap of that size has one child, that team has two in all. So for every N no team has more than
 * three children in all trees together, and no team forwards more than 3 ceil(M / 3) bytes, which
 * is one message up to rounding.
 *
 * Source: document 001 (Morie et al.), sections 4.1 and 5.1, which names Trinaryx3 of the K
 * computer (Matsumoto et al. 2012; Adachi et al. 2013). Its trees are not published; these have the
 * stated properties.
 *
 * Cost: as in shape/pipeline.c; finding the torus takes sqrt(N) steps. Three counters for each
 * rail.
 */
#include "algorithms/number.h"
#include "algorithms/shape/pipeline.h"

#include <assert.h>
#include <stdbool.h>

enum { TREES = 3, ARITY = 3 };

/* ---- the torus ---- */

/* The largest divisor of n that is at least `least` and at most the square root of n; 0 if there is
 * none. */
static int middle_divisor(int n, int min)
{
    int divisor = 1;

    while ((int64_t)(divisor + 1) * (divisor + 1) <= n)
        divisor++;
    while (divisor >= min && n % divisor != 0)
        divisor--;
    return divisor >= min ? divisor : 0;
}

/* The torus of n teams with the least depth, side[0] <= side[1] <= side[2]; false: n is no product
 * of three factors >= 2. Team number x + side[0] * (y + side[1] * z) is at (x, y, z). */
static bool find_torus(int n, int side[3])
{
    bool found = false;

    for (int a = 2; (int64_t)a * a * a <= n; a++) {
        int b = n % a == 0 ? middle_divisor(n / a, a) : 0;

        if (b > 0 && (!found || a + b + n / a / b < side[0] + side[1] + side[2])) {
            side[0] = a;
            side[1] = b;
            side[2] = n / a / b;
            found = true;
        }
    }
    return found;
}

/* Places are the numbers of ranks or nodes. */
struct torus {
    int side[3], origin[3];
};

static void coordinates(const int side[3], int place, int at[3])
{
    for (int axis = 0; axis < 3; axis++) {
        at[axis] = place % side[axis];
        place /= side[axis];
    }
}

static bool torus_of(const struct pcoll_trees *trees, struct torus *torus)
{
    if (!find_torus(trees->count, torus->side))
        return false;
    coordinates(torus->side, trees->origin, torus->origin);
    return true;
}

/* The place `step` (1 or -1) farther on that axis. */
static int neighbor(const struct torus *torus, int place, int axis, int step)
{
    const int *side = torus->side;
    int at[3];

    coordinates(side, place, at);
    at[axis] = (at[axis] + step + side[axis]) % side[axis];
    return at[0] + side[0] * (at[1] + side[1] * at[2]);
}

/* The axis on which a place receives its third; PCOLL_NONE for the root. */
static int axis_of(const struct torus *torus, int tree, int place)
{
    int d[3], at[3];

    assert(tree >= 0);
    coordinates(torus->side, place, at);
    for (int i = 0; i < 3; i++) {
        d[i] = (tree + i) % 3;
        at[i] = (at[i] - torus->origin[i] + torus->side[i]) % torus->side[i];
    }
    if (at[0] == 0 && at[1] == 0 && at[2] == 0)
        return PCOLL_NONE;
    if (at[d[0]] == 0)
        return d[0];
    return at[d[2]] ? d[2] : at[d[1]] ? d[1] : d[0];
}

static int torus_parent(const struct torus *torus, int tree, int place)
{
    int axis = axis_of(torus, tree, place);

    return axis == PCOLL_NONE ? PCOLL_NONE : neighbor(torus, place, axis, -1);
}

/* The successors on the axes, those with most places behind them first. */
static int torus_child(const struct torus *torus, int tree, int place, int i)
{
    for (int turn = 0; turn < 3; turn++) {
        int axis = (tree + turn) % 3, to = neighbor(torus, place, axis, 1);

        if (axis_of(torus, tree, to) == axis && i-- == 0)
            return to;
    }
    return PCOLL_NONE;
}

/* Between a team and its place. */
static int place_of(const struct pcoll_trees *trees, int team)
{
    return pcoll_absolute(team, trees->origin, trees->count);
}

static int team_of(const struct pcoll_trees *trees, int place)
{
    return place == PCOLL_NONE ? place : pcoll_relative(place, trees->origin, trees->count);
}

/* ---- the heaps ---- */

/* Indices are team numbers minus one. */
struct heap {
    int p;
    int start, step; /* position j is index start + step * j, mod p */
};

static struct heap heap_of(const struct pcoll_trees *trees, int tree)
{
    int p = trees->count - 1, inner = (p - 1 + ARITY - 1) / ARITY;
    int middle = 2 * inner - (TREES * inner > p);
    const int start[TREES] = {0, middle - 1 + p, middle};

    return (struct heap){p, start[tree] % p, tree == 1 ? p - 1 : 1};
}

static int position_of(const struct heap *heap, int team)
{
    int ahead = (team - 1 - heap->start + heap->p) % heap->p;

    return heap->step == 1 ? ahead : (heap->p - ahead) % heap->p;
}

static int team_at(const struct heap *heap, int position)
{
    return (int)((heap->start + (int64_t)heap->step * position) % heap->p) + 1;
}

static int heap_parent(const struct pcoll_trees *trees, int tree, int team)
{
    struct heap heap = heap_of(trees, tree);
    int position = position_of(&heap, team);

    if (team == 0)
        return PCOLL_NONE;
    return position == 0 ? 0 : team_at(&heap, (position - 1) / ARITY);
}

static int heap_child(const struct pcoll_trees *trees, int tree, int team, int i)
{
    struct heap heap = heap_of(trees, tree);
    int64_t to = (int64_t)position_of(&heap, team) * ARITY + 1 + i;

    if (team == 0)
        return i == 0 ? team_at(&heap, 0) : PCOLL_NONE;
    return i < ARITY && to < heap.p ? team_at(&heap, (int)to) : PCOLL_NONE;
}

/* ---- the shape ---- */

static int parent(const struct pcoll_trees *trees, int tree, int team)
{
    struct torus torus;

    if (torus_of(trees, &torus))
        return team_of(trees, torus_parent(&torus, tree, place_of(trees, team)));
    return heap_parent(trees, tree, team);
}

static int child(const struct pcoll_trees *trees, int tree, int team, int i)
{
    struct torus torus;

    if (torus_of(trees, &torus))
        return team_of(trees, torus_child(&torus, tree, place_of(trees, team), i));
    return heap_child(trees, tree, team, i);
}

static int depth(const struct pcoll_trees *trees)
{
    int side[3], levels = 1;

    if (find_torus(trees->count, side))
        return side[0] + side[1] + side[2] - 2;
    for (int64_t all = 1, level = 1; all < trees->count - 1; all += level) {
        level *= ARITY;
        levels++;
    }
    return levels;
}

static int hop(const struct pcoll_trees *trees)
{
    int side[3];

    if (find_torus(trees->count, side))
        return 1;
    return trees->count > ARITY + 1 ? ARITY : trees->count > 2 ? trees->count - 2 : 1;
}

/* In the last level of a heap, positions are numbers in base 3 with one digit for each level below
 * the first, and each digit counts the earlier siblings: the result is the largest sum of digits of
 * 0 .. last. */
static int late_in_heap(int count)
{
    int64_t level = 1, above = 0;
    int digits = 0, max = 0, sum = 0;

    for (; above + level < count - 1; level *= ARITY, digits++)
        above += level;
    for (int64_t last = count - 2 - above, place = level / ARITY; digits > 0; place /= ARITY) {
        int digit = (int)(last / place % ARITY);

        digits--;
        if (digit > 0 && sum + digit - 1 + digits * (ARITY - 1) > max)
            max = sum + digit - 1 + digits * (ARITY - 1);
        sum += digit;
    }
    return sum > max ? sum : max;
}

/* On the torus a longer path has fewer earlier siblings; the value was determined by trial. */
static int late(const struct pcoll_trees *trees)
{
    int side[3];

    if (find_torus(trees->count, side))
        return 1 + (2 * (side[0] + side[1] + side[2] - 6) + 2) / 3;
    return trees->count > 2 ? late_in_heap(trees->count) : 0;
}

const struct pcoll_shape pcoll_shape_trinaryx3 = {TREES, parent, child, depth, hop, late};

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return pcoll_pipeline(&pcoll_shape_trinaryx3, 0, plan, params);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    return pcoll_pipeline_cost(&pcoll_shape_trinaryx3, 0, signature, params, machine);
}

const struct pcoll_algorithm pcoll_bcast_trinaryx3 = {
    .name = "trinaryx3",
    .coll = PCOLL_BCAST,
    .description = "three pipelined ternary trees, a third of the message in each",
    .when = "long messages on a torus, or with three ports a node",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_segment = 1,
};
