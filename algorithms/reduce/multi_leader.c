/*
 * Reduce with several leaders a node: each reduces a slice of the vectors of its node and, in
 * shares, of all nodes; the root gets the slices from the leaders of its node (shape/leaders.h,
 * which has the source, the lemma and the argument why it is safe).
 *
 *      nodes {0 1} {2 3}, root 0, vectors ab:   1.a -> 0, 0.b -> 1, 3.a -> 2, 2.b -> 3 |
 *      0 <-> 2, 1 <-> 3 | 0.b <- 1
 *
 * Cost: as that of the allreduce, with M copy less in all members but the root. When: several ranks
 * a node, long vectors. Condition: lemma A, since members who receive nothing are told.
 */
#include "algorithms/shape/leaders.h"

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return pcoll_leaders_temp_bytes(signature, params, PCOLL_BETWEEN_SHARES);
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    (void)local;
    return pcoll_leaders_generate(signature, rank, params, PCOLL_BETWEEN_SHARES,
                                  "multi_leader_sliced", plan_p);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return pcoll_leaders_cost(&by, signature, machine,
                              pcoll_leaders_sliced_cost(&by, signature, machine));
}

const struct pcoll_algorithm pcoll_reduce_multi_leader_sliced = {
    .name = "multi_leader_sliced",
    .coll = PCOLL_REDUCE,
    .description = "leaders of each node reduce a slice each, in shares between nodes",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
};
