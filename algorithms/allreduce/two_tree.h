/*
 * What the parts of the allreduce by two trees share.
 */
#ifndef PCOLL_ALLREDUCE_TWO_TREE_H
#define PCOLL_ALLREDUCE_TWO_TREE_H

#include "algorithms/shape/segment.h"
#include "algorithms/shape/two_tree.h"

enum { PCOLL_TWO_TREES = 2 };

/* How vectors are cut: a lane for each tree, and each lane into segments, none of which is empty.
 */
struct pcoll_two_tree_cut {
    int nlanes, slots;
    uint64_t nsegments;
    uint64_t room; /* in a slot, for a segment of one child */
};
struct pcoll_two_tree_cut pcoll_two_tree_cut_of(const struct pcoll_signature *signature,
                                                const struct pcoll_params *params);

/* As in struct pcoll_algorithm. */
double pcoll_allreduce_two_tree_cost(const struct pcoll_signature *signature,
                                     const struct pcoll_params *params,
                                     const struct pcoll_machine *machine);

#endif /* PCOLL_ALLREDUCE_TWO_TREE_H */
