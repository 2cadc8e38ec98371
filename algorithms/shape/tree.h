/*
 * The k-nomial tree.
 */
#ifndef PCOLL_TREE_H
#define PCOLL_TREE_H

#include "algorithms/cost.h"

/*
 * The k-nomial tree over ranks 0 .. nranks - 1, rooted at 0. In base `radix`, the parent of v is v
 * with its lowest nonzero digit set to zero. radix >= nranks gives a star. Children come in the
 * order of decreasing subtree size.
 */
struct pcoll_tree {
    int nranks, radix;
};

int pcoll_tree_parent(struct pcoll_tree tree, int v); /* PCOLL_NONE for 0 */
int pcoll_tree_nchildren(struct pcoll_tree tree, int v);
int pcoll_tree_child(struct pcoll_tree tree, int v, int i); /* 0 <= i < nchildren */
int pcoll_tree_depth(struct pcoll_tree tree);
int pcoll_tree_span(struct pcoll_tree tree, int v); /* the subtree of v: v .. v + span - 1 */

/* The time until the last rank of the tree has a message that each rank sends to its children with
 * such hops, in their order. */
double pcoll_cost_knomial(struct pcoll_tree tree, struct pcoll_hop hop);

/* The same for a message that holds `bytes` bytes for each rank: on its way down every rank passes
 * on what is for its subtrees. On its way up, where each rank adds its own, it takes as long. */
double pcoll_cost_spans(struct pcoll_tree tree, double bytes,
                        const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine);

#endif /* PCOLL_TREE_H */
