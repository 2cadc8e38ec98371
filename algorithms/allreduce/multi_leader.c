/*
 * Allreduce with several leaders a node: each reduces a slice of the vectors of its node and of all
 * nodes (shape/leaders.h, which has the source, the lemma and the argument why it is safe).
 *
 * Idea: a vector crosses the network once for each node, not once for each rank, and with several
 * leaders all processors reduce and all send. The row `multi_leader` combines nodes by recursive
 * doubling, `multi_leader_halving` by halving and `multi_leader_sliced` in slices, both of which
 * are optimal in bytes.
 *
 *      nodes {0 1} {2 3}, vectors ab:   1.a -> 0, 0.b -> 1, 3.a -> 2, 2.b -> 3 | 0 <-> 2, 1 <-> 3 |
 *      0.b <- 1, 1.a <- 0, 2.b <- 3, 3.a <- 2
 *
 * Cost for P nodes of s ranks and L leaders, with l, o and copy of a node: in the node 2 l + (2 L +
 * s) o + M (2 copy + s / L reduce), and between nodes, with radix k, log_k P rounds of L + k o + (k
 * - 1) M (G + reduce), or 2 lg P (L + o) + 2 M G, or 2 L + 2 P L o + 2 M G; in a round or stage the
 * port of a node takes g for each message of each leader. TEMP of a leader: s + 2 (k - 1) log_k P +
 * 1 segments, or s + 5. Two counters, with several segments three.
 *
 * With levels below the nodes, the stage in the node is repeated on each, with the mates there in
 * place of s ranks and the slice of the level before in place of M.
 *
 * Condition: lemma A. Operands are in rank order if the ranks of each node are consecutive. If they
 * are not and the operator does not commute, each rank counts as a node of its own.
 */
#include "algorithms/shape/leaders.h"

const struct pcoll_algorithm pcoll_allreduce_multi_leader = {
    .name = "multi_leader",
    .coll = PCOLL_ALLREDUCE,
    .description = "leaders of each node reduce a slice each, by recursive doubling between nodes",
    .when = "several ranks a node, short vectors",
    .generate = pcoll_leaders_doubling_generate,
    .cost = pcoll_leaders_doubling_cost,
    .temp_bytes = pcoll_leaders_doubling_temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
};

const struct pcoll_algorithm pcoll_allreduce_multi_leader_halving = {
    .name = "multi_leader_halving",
    .coll = PCOLL_ALLREDUCE,
    .description = "leaders of each node reduce a slice each, by recursive halving between nodes",
    .when = "several ranks a node, long vectors on many nodes",
    .generate = pcoll_leaders_halving_generate,
    .cost = pcoll_leaders_halving_cost,
    .temp_bytes = pcoll_leaders_halving_temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
};

const struct pcoll_algorithm pcoll_allreduce_multi_leader_sliced = {
    .name = "multi_leader_sliced",
    .coll = PCOLL_ALLREDUCE,
    .description = "leaders of each node reduce a slice each, then cut it between nodes",
    .when = "several ranks a node, long vectors on few nodes",
    .generate = pcoll_leaders_sliced_generate,
    .cost = pcoll_leaders_sliced_cost,
    .temp_bytes = pcoll_leaders_sliced_temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
};
