/*
 * Broadcast down two trees at once, with half the message in each, by put into the user buffers.
 *
 * Every rank is inner in at most one of the two binary trees of shape/two_tree.h and forwards at
 * most one message, as in a chain, at the depth of a binary tree.
 *
 * Cost: as in shape/pipeline.c, with depth <= 1 + log2 P and at most one message forwarded. Two
 * counters for each rail.
 */
#include "algorithms/shape/pipeline.h"
#include "algorithms/shape/two_tree.h"

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return pcoll_pipeline(&pcoll_shape_two_tree, 0, plan, params);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    return pcoll_pipeline_cost(&pcoll_shape_two_tree, 0, signature, params, machine);
}

const struct pcoll_algorithm pcoll_bcast_two_tree = {
    .name = "two_tree",
    .coll = PCOLL_BCAST,
    .description = "two pipelined binary trees, half the message in each",
    .when = "long messages on any network other than a torus",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_segment = 1,
};
