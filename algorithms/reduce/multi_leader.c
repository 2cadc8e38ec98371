/*
 * Reduce with several leaders a node: each reduces a slice of the vectors of its node and, in
 * slices, of all nodes; the root gets the slices from the leaders of its node (shape/leaders.h,
 * which has the source, the lemma and the argument why it is safe).
 *
 *      nodes {0 1} {2 3}, root 0, vectors ab:   1.a -> 0, 0.b -> 1, 3.a -> 2, 2.b -> 3 |
 *      0 <-> 2, 1 <-> 3 | 0.b <- 1
 *
 * Cost: as that of the allreduce, with M copy less in all members but the root. Condition: lemma A,
 * since members who receive nothing are told.
 */
#include "algorithms/shape/leaders.h"

const struct pcoll_algorithm pcoll_reduce_multi_leader_sliced = {
    .name = "multi_leader_sliced",
    .coll = PCOLL_REDUCE,
    .description = "leaders of each node reduce a slice each, then cut it between nodes",
    .when = "several ranks a node, long vectors",
    .generate = pcoll_leaders_sliced_generate,
    .cost = pcoll_leaders_sliced_cost,
    .temp_bytes = pcoll_leaders_sliced_temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
};
