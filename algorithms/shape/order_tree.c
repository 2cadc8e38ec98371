/* The k-nomial tree in rank order; the contract is in order_tree.h. */
#include "algorithms/shape/order_tree.h"

#include "algorithms/number.h"

/* Positions 0 .. count - 1, of which `head` is the root. */
struct line {
    int count, head, radix;
};

static struct pcoll_tree left_of(struct line line)
{
    return (struct pcoll_tree){line.head + 1, line.radix};
}

static struct pcoll_tree right_of(struct line line)
{
    return (struct pcoll_tree){line.count - line.head, line.radix};
}

static int parent_on(struct line line, int at)
{
    if (line.radix == 1)
        return at < line.head ? at + 1 : at - 1;
    if (at < line.head)
        return line.head - pcoll_tree_parent(left_of(line), line.head - at);
    return line.head + pcoll_tree_parent(right_of(line), at - line.head);
}

static int children_on(struct line line, int at, int *children)
{
    int n = 0, count;

    if (line.radix == 1) {
        if (at <= line.head && at > 0)
            children[n++] = at - 1;
        if (at >= line.head && at < line.count - 1)
            children[n++] = at + 1;
        return n;
    }
    count = at <= line.head ? pcoll_tree_nchildren(left_of(line), line.head - at) : 0;
    for (int i = 0; i < count; i++)
        children[n++] = line.head - pcoll_tree_child(left_of(line), line.head - at, i);
    count = at >= line.head ? pcoll_tree_nchildren(right_of(line), at - line.head) : 0;
    for (int i = 0; i < count; i++)
        children[n++] = line.head + pcoll_tree_child(right_of(line), at - line.head, i);
    return n;
}

/* ---- levels: 0 is all ranks, the last one is of single ranks, and between them are teams ---- */

/* Positions [first, end). */
struct team {
    int first, end;
};

static int root_of(const struct pcoll_order_tree *tree)
{
    return tree->turned ? 0 : tree->root;
}

static const struct pcoll_topology *topology_of(const struct pcoll_order_tree *tree, int level)
{
    const struct pcoll_topology *topology = tree->topology;

    while (--level > 0)
        topology = topology->below;
    return topology;
}

/* The number of the team on a level, 0 < level. */
static int number_of(const struct pcoll_order_tree *tree, int level, int position)
{
    return level > tree->nlevels ? position
                                 : pcoll_topology_node(topology_of(tree, level), position);
}

static struct team numbered(const struct pcoll_order_tree *tree, int level, int number)
{
    const struct pcoll_topology *topology;

    if (level > tree->nlevels)
        return (struct team){number, number + 1};
    topology = topology_of(tree, level);
    return (struct team){pcoll_topology_first(topology, number),
                         pcoll_topology_first(topology, number + 1)};
}

static struct team team_of(const struct pcoll_order_tree *tree, int level, int position)
{
    if (level == 0)
        return (struct team){0, tree->nranks};
    return numbered(tree, level, number_of(tree, level, position));
}

/* The one that is nearest to the root. */
static int leader_of(const struct pcoll_order_tree *tree, struct team team)
{
    const int root = root_of(tree);

    return team.end <= root ? team.end - 1 : team.first > root ? team.first : root;
}

/* The teams of the next level in the team of `position` on this one; *number_p: of the first. */
static struct line line_of(const struct pcoll_order_tree *tree, int level, int position,
                           int *number_p)
{
    const struct team team = team_of(tree, level, position);
    const int first = number_of(tree, level + 1, team.first);
    const int last = number_of(tree, level + 1, team.end - 1);
    const int head = number_of(tree, level + 1, leader_of(tree, team));

    *number_p = first;
    return (struct line){last - first + 1, head - first, tree->radix};
}

struct pcoll_order_tree pcoll_order_tree_of(const struct pcoll_signature *signature, int radix)
{
    const struct pcoll_topology *topology = signature->topology, *level = topology;
    int nlevels = 0;

    if (radix > 1 && topology && topology->nnodes > 1 && topology->nnodes < signature->nranks)
        for (; level && pcoll_topology_is_consecutive(level); level = level->below)
            nlevels++;
    return (struct pcoll_order_tree){
        .topology = nlevels > 0 ? topology : NULL,
        .nlevels = nlevels,
        .nranks = signature->nranks,
        .root = signature->root,
        .radix = radix,
        .turned = radix == 1 && signature->commutes,
    };
}

/* ---- the tree ---- */

/* Between ranks and their positions, which differ only if the tree is turned. */
static int position_of(const struct pcoll_order_tree *tree, int rank)
{
    return tree->turned ? (rank - tree->root + tree->nranks) % tree->nranks : rank;
}

static int rank_at(const struct pcoll_order_tree *tree, int position)
{
    return tree->turned ? (position + tree->root) % tree->nranks : position;
}

static int parent_of(const void *whole, int rank)
{
    const struct pcoll_order_tree *tree = whole;
    const int position = position_of(tree, rank);
    int level = tree->nlevels, number, to;
    struct line line;

    if (rank == tree->root)
        return PCOLL_NONE;
    while (position == leader_of(tree, team_of(tree, level, position)))
        level--;
    line = line_of(tree, level, position, &number);
    to = number + parent_on(line, number_of(tree, level + 1, position) - number);
    return rank_at(tree, leader_of(tree, numbered(tree, level + 1, to)));
}

static int children_of(const void *whole, int rank, int *children)
{
    const struct pcoll_order_tree *tree = whole;
    const int position = position_of(tree, rank);
    int n = 0;

    for (int level = tree->nlevels; level >= 0; level--) {
        int number, end;
        const struct line line = line_of(tree, level, position, &number);

        end = n + children_on(line, number_of(tree, level + 1, position) - number, children + n);
        for (; n < end; n++)
            children[n] =
                rank_at(tree, leader_of(tree, numbered(tree, level + 1, number + children[n])));
        if (position != leader_of(tree, team_of(tree, level, position)))
            break;
    }
    return n;
}

enum pcoll_result pcoll_order_tree_relatives(const struct pcoll_order_tree *tree, int rank,
                                             struct pcoll_relatives *relatives)
{
    const struct pcoll_relatives_tree shape = {
        .tree = tree, .max = tree->nranks, .parent = parent_of, .children = children_of};

    return pcoll_relatives_init(relatives, &shape, rank);
}

struct pcoll_order_depth pcoll_order_tree_depth(const struct pcoll_order_tree *tree)
{
    const int nnodes = tree->topology ? tree->topology->nnodes : 1;
    const int members = (tree->nranks + nnodes - 1) / nnodes;

    return (struct pcoll_order_depth){pcoll_log_ceil(nnodes, tree->radix),
                                      pcoll_log_ceil(members, tree->radix)};
}

int pcoll_order_tree_max_children(const struct pcoll_order_tree *tree)
{
    const int nnodes = tree->topology ? tree->topology->nnodes : 1;
    int64_t max;

    if (tree->radix == 1)
        return tree->turned || tree->root == 0 || tree->root == tree->nranks - 1 ? 1 : 2;
    max = ((int64_t)tree->radix - 1) * 2 *
          (pcoll_log_ceil(nnodes, tree->radix) + pcoll_log_ceil(tree->nranks, tree->radix));
    for (int level = 1; level < tree->nlevels; level++)
        max += ((int64_t)tree->radix - 1) * 2 *
               pcoll_log_ceil(topology_of(tree, level)->most_parts, tree->radix);
    return max < tree->nranks - 1 ? (int)max : tree->nranks - 1;
}
