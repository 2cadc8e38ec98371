/*
 * Reduce up a k-nomial tree in rank order, through communication buffers.
 *
 * Idea: each rank reduces what its subtrees give with its own vector (shape/up.h, which has the
 * lemma and the argument why it is safe). Subtrees are consecutive ranks (shape/order_tree.h), so
 * the order is kept for any root.
 *
 * Source: the k-nomial reduce of every MPI. The mirrored left side is our own: others rotate ranks,
 * and send the result of operators that do not commute from rank 0 to the root.
 *
 *      N = 6, root 1, radix 2:   4 -> 3: 3 * 4    0, 2, 3, 5 -> 1: 0 * 1 * 2 * (3 * 4) * 5
 *
 * Radix N is the star: the root reduces everything, in each node its leader.
 *
 * Cost: log_k N (L + o + M copy), and log^2 N k / 2 M reduce; slots + 2 or 4 counters. Condition:
 * see there.
 */
#include "algorithms/reduce/knomial.h"

#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/order_tree.h"
#include "algorithms/shape/up.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

struct pcoll_ring pcoll_reduce_tree_ring(const struct pcoll_signature *signature,
                                         const struct pcoll_params *params)
{
    return pcoll_unit_ring_make(signature, params, DEFAULT_SEGMENT);
}

static void build(struct pcoll_up *up)
{
    up->plan->temp_bytes = pcoll_vector_ring_bytes(&up->ring, up->relatives.nchildren);
    for (int phase = 0; phase < up->plan->nphases; phase++) {
        pcoll_plan_open(up->plan, phase);
        for (uint64_t i = 0; i < up->ring.nsegments; i++)
            pcoll_up_add(up, phase, i);
    }
    pcoll_up_end(up);
}

enum pcoll_result pcoll_reduce_tree_generate(struct pcoll_plan *plan, int radix,
                                             const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    const struct pcoll_order_tree tree = pcoll_order_tree_of(signature, radix);
    struct pcoll_up up = {
        .plan = plan,
        .ring = pcoll_reduce_tree_ring(signature, params),
        .lane = {0, signature->bytes / pcoll_unit_of(signature)},
    };
    enum pcoll_result result;

    if (!pcoll_plan_begin(plan, pcoll_up_counters(&up.ring), pcoll_ring_phases(&up.ring)))
        return PCOLL_ERR_NOMEM;
    result = pcoll_order_tree_relatives(&tree, plan->rank, &up.relatives);
    if (result == PCOLL_OK)
        build(&up);
    pcoll_relatives_fini(&up.relatives);
    return result;
}

/* ---- cost ---- */

uint64_t pcoll_reduce_tree_temp_bytes(const struct pcoll_signature *signature, int radix,
                                      const struct pcoll_params *params)
{
    const struct pcoll_ring ring = pcoll_reduce_tree_ring(signature, params);
    const struct pcoll_order_tree tree = pcoll_order_tree_of(signature, radix);

    return pcoll_vector_ring_bytes(&ring, pcoll_order_tree_max_children(&tree));
}

/* A tree of so many levels, each of which has a rank with `more` children; `one` is the time from
 * the REDUCE of a child to that of its parent, `port` that between the arrivals of two children,
 * and `reduce` that to reduce what one child has sent. A rank on level i has i * more children, and
 * more on each of `below` levels that are nearer. */
struct levels {
    double count, more, below, one, port, reduce;
};

static double cost_of_levels(struct levels l, double segments)
{
    const double first = l.count * (l.one + (l.more - 1) * l.port) +
                         l.more * l.reduce * l.count * ((l.count + 1) / 2 + l.below);
    const double next = l.count * l.more * pcoll_larger(l.port, l.reduce);

    return first + (segments - 1) * next;
}

/* The same for `ranks` ranks whose processors move vectors of `bytes` bytes in segments. */
static double cost_of_cores(int ranks, int radix, double below, const struct pcoll_ring *ring,
                            uint64_t bytes, const struct pcoll_machine *m)
{
    const double segments = (double)ring->nsegments, segment = (double)bytes / segments;
    const struct levels levels = {pcoll_log_ceil(ranks, radix),
                                  pcoll_lesser(radix, ranks) - 1,
                                  below,
                                  m->L + m->o + segment * m->copy,
                                  pcoll_ring_arrival(ring, m),
                                  m->o + segment * m->reduce};

    return cost_of_levels(levels, segments);
}

/* The parts of a team, on that level of the tree's. */
static int parts_of(const struct pcoll_order_tree *tree, int i, const struct pcoll_topology *level)
{
    return i + 1 < tree->nlevels ? level->most_parts
                                 : (level->nranks + level->nnodes - 1) / level->nnodes;
}

/* The levels of all trees in teams. */
static int depth_in_teams(const struct pcoll_order_tree *tree)
{
    const struct pcoll_topology *level = tree->topology;
    int depth = 0;

    for (int i = 0; i < tree->nlevels; i++, level = level->below)
        depth += pcoll_log_ceil(parts_of(tree, i, level), tree->radix);
    return depth;
}

/* In teams, from each level to the next. */
static double cost_in_teams(const struct pcoll_order_tree *tree, const struct pcoll_ring *ring,
                            uint64_t bytes, const struct pcoll_machine *machine)
{
    const struct pcoll_topology *level = tree->topology;
    struct pcoll_machine node = *machine;
    double cost = 0, below = depth_in_teams(tree);

    for (int i = 0; i < tree->nlevels; i++, level = level->below) {
        const int parts = parts_of(tree, i, level);

        node = pcoll_cost_node(&node);
        below -= pcoll_log_ceil(parts, tree->radix);
        cost += cost_of_cores(parts, tree->radix, below, ring, bytes, &node);
    }
    return cost;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const int radix = pcoll_radix(params);
    const struct pcoll_ring ring = pcoll_reduce_tree_ring(signature, params);
    const struct pcoll_order_tree tree = pcoll_order_tree_of(signature, radix);
    const struct pcoll_order_depth depth = pcoll_order_tree_depth(&tree);
    const struct pcoll_machine all = pcoll_ring_machine(&ring, machine), in = pcoll_cost_node(&all);
    const double segments = (double)ring.nsegments, segment = (double)signature->bytes / segments;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double more = radix - 1 < signature->nranks - 1 ? radix - 1 : signature->nranks - 1;
    const double work = in.o + segment * in.reduce, turn = crowd > 1 ? crowd * in.turn : 0;
    const bool wire = pcoll_is_over_wire(signature), is_flat = wire && !tree.topology;
    const bool has_teams = tree.topology && (!wire || tree.nlevels > 1);
    const double below = has_teams ? depth_in_teams(&tree) : is_flat ? 0 : depth.within;
    const struct levels outside = {is_flat ? depth.within : depth.between,
                                   more,
                                   below,
                                   all.L + all.o + segment * all.G + turn,
                                   all.g + segment * all.G,
                                   work};
    const struct levels inside = {below,
                                  more,
                                  0,
                                  in.L + in.o + crowd * segment * in.copy + turn,
                                  crowd > 1 ? 0 : pcoll_ring_arrival(&ring, &in),
                                  crowd * work};
    double cost = machine->call + in.o;

    if (wire)
        cost += cost_of_levels(outside, segments);
    else if (has_teams)
        cost += cost_of_cores(tree.topology->nnodes, radix, below, &ring, signature->bytes, &all);
    return cost + (has_teams ? cost_in_teams(&tree, &ring, signature->bytes, &all)
                             : cost_of_levels(inside, segments));
}

/* ---- the row ---- */

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return pcoll_reduce_tree_generate(plan, pcoll_radix(params), params);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return pcoll_reduce_tree_temp_bytes(signature, pcoll_radix(params), params);
}

const struct pcoll_algorithm pcoll_reduce_knomial = {
    .name = "knomial",
    .alias = "binomial",
    .coll = PCOLL_REDUCE,
    .description = "k-nomial tree in rank order through communication buffers",
    .when = "short vectors, and long ones in segments",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
    .uses_slots = PCOLL_RING,
};
