/*
 * Allreduce with several leaders a node: each reduces a slice of the vectors of its node and of all
 * nodes (shape/leaders.h, which has the source, the lemma and the argument why it is safe).
 *
 * Idea: a vector crosses the network once for each node, not once for each rank, and with several
 * leaders all processors reduce and all send. The row `multi_leader` combines nodes by recursive
 * doubling, the row `multi_leader_sliced` in shares, which is optimal in bytes.
 *
 *      nodes {0 1} {2 3}, vectors ab:   1.a -> 0, 0.b -> 1, 3.a -> 2, 2.b -> 3 | 0 <-> 2, 1 <-> 3 |
 *      0.b <- 1, 1.a <- 0, 2.b <- 3, 3.a <- 2
 *
 * Cost for P nodes of s ranks and L leaders, with l, o and copy of a node: in the node
 * 2 l + (2 L + s) o + M (2 copy + s / L reduce), and between nodes lg P (L + 2 o + M (G + reduce))
 * or 2 L + 2 P L o + 2 M G. TEMP of a leader: s + 2 lg P + 1 segments, or s + 5. Two counters, with
 * several passes three. When: several ranks a node; short vectors, or long ones.
 *
 * Condition: lemma A. Operands are in rank order if the ranks of each node are consecutive. If they
 * are not and the operator does not commute, each rank counts as a node of its own.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/leaders.h"

/* ---- plans ---- */

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return pcoll_leaders_temp_bytes(signature, params, PCOLL_BETWEEN_DOUBLING);
}

static uint64_t temp_bytes_sliced(const struct pcoll_signature *signature,
                                  const struct pcoll_params *params)
{
    return pcoll_leaders_temp_bytes(signature, params, PCOLL_BETWEEN_SHARES);
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    (void)local;
    return pcoll_leaders_generate(signature, rank, params, PCOLL_BETWEEN_DOUBLING, "multi_leader",
                                  plan_p);
}

static enum pcoll_result generate_sliced(const struct pcoll_signature *signature,
                                         const struct pcoll_local *local, int rank,
                                         const struct pcoll_params *params,
                                         struct pcoll_plan **plan_p)
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
                              pcoll_leaders_doubling_cost(&by, signature, machine));
}

static double cost_sliced(const struct pcoll_signature *signature,
                          const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return pcoll_leaders_cost(&by, signature, machine,
                              pcoll_leaders_sliced_cost(&by, signature, machine));
}

const struct pcoll_algorithm pcoll_allreduce_multi_leader = {
    .name = "multi_leader",
    .coll = PCOLL_ALLREDUCE,
    .description = "leaders of each node reduce a slice each, by recursive doubling between nodes",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
};

const struct pcoll_algorithm pcoll_allreduce_multi_leader_sliced = {
    .name = "multi_leader_sliced",
    .coll = PCOLL_ALLREDUCE,
    .description = "leaders of each node reduce a slice each, in shares between nodes",
    .generate = generate_sliced,
    .cost = cost_sliced,
    .temp_bytes = temp_bytes_sliced,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
};
