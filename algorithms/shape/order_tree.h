/*
 * The k-nomial tree in rank order: the subtree of every rank consists of consecutive ranks, also if
 * the root is not rank 0. So a rank that combines its subtrees from left to right keeps the order.
 *
 * To the right of the root lies a k-nomial tree, and to its left the mirror image of one. If every
 * node consists of consecutive ranks, the tree crosses the network once for each node: such a tree
 * of nodes, in which the rank nearest to the root leads, and one in each node. The same holds for
 * levels below the node (plan/topology.h): trees of the parts of each team.
 *
 *      N = 7, root 2, radix 2: the children of 2 are 0, 1, 3, 4 and 6, and that of 4 is 5
 *
 * With radix 1 it is a chain to either side, without levels. If the order does not matter (turned),
 * it is one chain of all ranks from the root on, cyclically.
 *
 *      N = 7, root 2, radix 1: 0 1 > 2 < 3 4 5 6; turned: 2 < 3 4 5 6 0 1
 */
#ifndef PCOLL_ORDER_TREE_H
#define PCOLL_ORDER_TREE_H

#include <stdbool.h>

#include "algorithms/shape/relatives.h"
#include "algorithms/shape/tree.h"

struct pcoll_order_tree {
    const struct pcoll_topology *topology; /* NULL: all ranks in one line */
    int nlevels;                           /* of the topology, from it on down */
    int nranks, root, radix;
    bool turned; /* ranks are counted from the root on */
};

/* With radix 1 it is turned if the operator commutes. */
struct pcoll_order_tree pcoll_order_tree_of(const struct pcoll_signature *signature, int radix);

enum pcoll_result pcoll_order_tree_relatives(const struct pcoll_order_tree *tree, int rank,
                                             struct pcoll_relatives *relatives) PCOLL_MUST_CHECK;

/* Upper bounds, in O(log nranks), the first of which is not for chains: the number of levels of the
 * tree that a rank has children on, in the network and in a node; and the number of a rank's
 * children. */
struct pcoll_order_depth {
    int between, within;
};
struct pcoll_order_depth pcoll_order_tree_depth(const struct pcoll_order_tree *tree);
int pcoll_order_tree_max_children(const struct pcoll_order_tree *tree);

#endif /* PCOLL_ORDER_TREE_H */
