/*
 * A rank among its relatives in a tree of ranks.
 */
#ifndef PCOLL_RELATIVES_H
#define PCOLL_RELATIVES_H

#include <stdbool.h>

#include "algorithms/plan/plan.h"

struct pcoll_relatives {
    int parent;   /* PCOLL_NONE: this is the root */
    int siblings; /* the number of the parent's children */
    int number;   /* of this rank among them */
    int nchildren;
    int *children; /* [nchildren], in the order of places */
    int left;      /* the number of children before this rank in that order */
};

/* A tree of at least 2 ranks, each of which has a place in the order in which a reduction up the
 * tree lists its operands. `children` fills its last argument, which has room for `max` ranks, in
 * any order, and returns their number. */
struct pcoll_relatives_tree {
    const void *tree;
    int max;
    int (*parent)(const void *tree, int rank); /* PCOLL_NONE: the root */
    int (*children)(const void *tree, int rank, int *children);
    int (*place)(const void *tree, int rank); /* NULL: the place is the rank */
    int (*rank)(const void *tree, int place);
};

/* Find the relatives of `rank`. After PCOLL_OK, pcoll_relatives_fini frees what `relatives` holds.
 */
enum pcoll_result pcoll_relatives_init(struct pcoll_relatives *relatives,
                                       const struct pcoll_relatives_tree *tree,
                                       int rank) PCOLL_MUST_CHECK;
void pcoll_relatives_fini(struct pcoll_relatives *relatives);

static inline bool pcoll_relatives_is_root(const struct pcoll_relatives *relatives)
{
    return relatives->parent == PCOLL_NONE;
}

#endif /* PCOLL_RELATIVES_H */
