/*
 * Broadcast down one pipelined k-ary tree, by put directly into the user buffers.
 *
 * Idea: team v gets the message from (v - 1) / k and forwards each segment to its up to k children
 * as it arrives (shape/pipeline.c). The rows of the table are chain (k = 1) and kary (any k; k = 2
 * is the binary tree).
 *
 *      N = 5, k = 2:   0 -> 1, 2    1 -> 3, 4           N = 5, k = 1:   0 -> 1 -> 2 -> 3 -> 4
 *
 * Source: document 001 section 4.1; Bar-Noy, Kipnis, "Designing broadcasting algorithms in the
 * postal model" (1994), for the tradeoff between fan-out and depth.
 *
 * Cost: a rank with children forwards k messages, at depth log_k N (chain: one message, depth N -
 * 1). One counter for each rail.
 */
#include "algorithms/shape/pipeline.h"

static int parent(const struct pcoll_trees *trees, int tree, int team)
{
    (void)tree;
    return team == 0 ? PCOLL_NONE : (team - 1) / trees->radix;
}

static int child(const struct pcoll_trees *trees, int tree, int team, int i)
{
    int64_t to = (int64_t)team * trees->radix + 1 + i;

    (void)tree;
    return i < trees->radix && to < trees->count ? (int)to : PCOLL_NONE;
}

static int depth(const struct pcoll_trees *trees)
{
    int levels = 0;

    if (trees->radix == 1)
        return trees->count - 1;
    for (int64_t all = 1, level = 1; all < trees->count; all += level) {
        level *= trees->radix;
        levels++;
    }
    return levels;
}

static int hop(const struct pcoll_trees *trees)
{
    return trees->radix < trees->count ? trees->radix : trees->count - 1;
}

/* On the path to the last team and, if that is not a first child, on the paths that branch off
 * before it and then follow last children. */
static int late(const struct pcoll_trees *trees)
{
    int max = 0, before = 0, place[32], levels = 0;

    if (trees->radix == 1)
        return 0;
    for (int team = trees->count - 1; team > 0; team = (team - 1) / trees->radix)
        place[levels++] = (team - 1) % trees->radix;
    while (levels-- > 0) {
        int turned = before + place[levels] - 1 + levels * (trees->radix - 1);

        if (place[levels] > 0 && turned > max)
            max = turned;
        before += place[levels];
    }
    return before > max ? before : max;
}

const struct pcoll_shape pcoll_shape_kary = {1, parent, child, depth, hop, late};

static enum pcoll_result generate_chain(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return pcoll_pipeline(&pcoll_shape_kary, 1, plan, params);
}

static double cost_chain(const struct pcoll_signature *signature, const struct pcoll_params *params,
                         const struct pcoll_machine *machine)
{
    return pcoll_pipeline_cost(&pcoll_shape_kary, 1, signature, params, machine);
}

static enum pcoll_result generate_kary(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return pcoll_pipeline(&pcoll_shape_kary, pcoll_radix(params), plan, params);
}

static double cost_kary(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    return pcoll_pipeline_cost(&pcoll_shape_kary, pcoll_radix(params), signature, params, machine);
}

const struct pcoll_algorithm pcoll_bcast_chain = {
    .name = "chain",
    .coll = PCOLL_BCAST,
    .description = "pipelined chain between user buffers",
    .when = "very long messages on few ranks",
    .generate = generate_chain,
    .cost = cost_chain,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_segment = 1,
};

const struct pcoll_algorithm pcoll_bcast_kary = {
    .name = "kary",
    .coll = PCOLL_BCAST,
    .description = "pipelined k-ary tree between user buffers",
    .when = "medium messages on many ranks, where the latency of the depth matters more than bytes",
    .generate = generate_kary,
    .cost = cost_kary,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_radix = 1,
    .uses_segment = 1,
};
