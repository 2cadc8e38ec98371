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

/* ---- nodes ---- */

static int node_of(const struct pcoll_order_tree *tree, int rank)
{
    return pcoll_topology_node(tree->topology, rank);
}

/* The first rank of a node. */
static int first_of(const struct pcoll_order_tree *tree, int node)
{
    return tree->topology ? pcoll_topology_first(tree->topology, node) : 0;
}

static struct line within(const struct pcoll_order_tree *tree, int node)
{
    const int home = node_of(tree, tree->root), first = first_of(tree, node);
    const int end = tree->topology ? first_of(tree, node + 1) : tree->nranks;
    const int root = tree->turned ? 0 : tree->root;
    const int head = node < home ? end - 1 : node > home ? first : root;

    return (struct line){end - first, head - first, tree->radix};
}

static struct line between(const struct pcoll_order_tree *tree)
{
    return (struct line){tree->topology ? tree->topology->nnodes : 1, node_of(tree, tree->root),
                         tree->radix};
}

static int leader_of(const struct pcoll_order_tree *tree, int node)
{
    return first_of(tree, node) + within(tree, node).head;
}

struct pcoll_order_tree pcoll_order_tree_of(const struct pcoll_signature *signature, int radix)
{
    const struct pcoll_topology *topology = signature->topology;
    const bool has_levels = radix > 1 && topology && topology->nnodes > 1 &&
                            topology->nnodes < signature->nranks &&
                            pcoll_topology_is_consecutive(topology);

    return (struct pcoll_order_tree){
        .topology = has_levels ? topology : NULL,
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
    const int node = node_of(tree, rank), first = first_of(tree, node);

    if (rank == tree->root)
        return PCOLL_NONE;
    if (rank == leader_of(tree, node))
        return leader_of(tree, parent_on(between(tree), node));
    return rank_at(tree, first + parent_on(within(tree, node), position_of(tree, rank) - first));
}

static int children_of(const void *whole, int rank, int *children)
{
    const struct pcoll_order_tree *tree = whole;
    const int node = node_of(tree, rank), first = first_of(tree, node);
    int outside = 0, n;

    if (rank == leader_of(tree, node))
        outside = children_on(between(tree), node, children);
    for (int i = 0; i < outside; i++)
        children[i] = leader_of(tree, children[i]);
    n = outside +
        children_on(within(tree, node), position_of(tree, rank) - first, children + outside);
    for (int i = outside; i < n; i++)
        children[i] = rank_at(tree, children[i] + first);
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
    return max < tree->nranks - 1 ? (int)max : tree->nranks - 1;
}
