/*
 * Reduce up two trees at once, with half the vector in each, through communication buffers.
 *
 * Idea: every rank is inner in at most one of the two binary trees of shape/two_tree.h and sends
 * half a vector up each. So every port sends and receives at most one vector, as in a chain, at the
 * depth of a binary tree. In each tree a vector goes in segments (shape/up.h, which has the lemma
 * and the argument why it is safe).
 *
 *      N = 8, root 0, vectors ab:   the tops 4 and 5 give 0 the sums of a and b of ranks 1 .. 7
 *
 * Nodes with several ranks: the trees connect their leaders, whose children the other ranks are.
 *
 * Source: Sanders, Speck, Traeff 2009 (shape/two_tree.h).
 *
 * Cost: log2 N (L + o + s (2 G + 2 reduce)) for the first segment of s bytes, then M G, while the
 * processors reduce; 2 (slots + 2) counters. Condition: the teams are counted from the root's on,
 * and the second tree begins with team 2, so the operator must commute.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/two_tree.h"
#include "algorithms/shape/up.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

enum { TREES = 2 };

struct state {
    struct pcoll_two_tree two;
    struct pcoll_ring ring;
    struct pcoll_up lanes[TREES]; /* of the ranks' vectors, one for each tree */
    int nlanes;
};

static uint64_t units_of(const struct pcoll_signature *signature)
{
    return signature->bytes / pcoll_unit_of(signature);
}

/* A vector of one unit takes one tree. */
static int nlanes_of(const struct pcoll_signature *signature)
{
    return units_of(signature) < TREES ? 1 : TREES;
}

/* For the longest lane. */
static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    struct pcoll_signature lane = *signature;

    lane.bytes = pcoll_segment_of(units_of(signature), (uint64_t)nlanes_of(signature), 0).count *
                 pcoll_unit_of(signature);
    return pcoll_unit_ring_make(&lane, params, DEFAULT_SEGMENT);
}

static struct pcoll_two_tree trees_of(const struct pcoll_signature *signature)
{
    return pcoll_two_tree_of(signature, pcoll_teams_of(signature));
}

/* Of a leader, inner in one tree, where it has two children more. */
static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_two_tree two = trees_of(signature);
    const struct pcoll_ring ring = ring_of(signature, params);
    const int followers = pcoll_teams_sizes(&two.teams).max - 1;

    return pcoll_vector_ring_bytes(&ring, followers + 2) +
           (uint64_t)(nlanes_of(signature) - 1) * pcoll_vector_ring_bytes(&ring, followers);
}

/* Where the slots of a lane begin in TEMP of a rank: after those of the lane before. */
static uint64_t temp_of(const struct state *s, int lane, int rank)
{
    return lane == 0 || rank == PCOLL_NONE
               ? 0
               : pcoll_vector_ring_bytes(&s->ring, pcoll_two_tree_nchildren(&s->two, 0, rank));
}

static enum pcoll_result take_lanes(struct state *s, struct pcoll_plan *plan)
{
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < s->nlanes && result == PCOLL_OK; i++) {
        struct pcoll_up *up = &s->lanes[i];

        result = pcoll_two_tree_relatives(&s->two, i, plan->rank, &up->relatives);
        up->plan = plan;
        up->ring = s->ring;
        up->lane = pcoll_segment_of(units_of(&plan->signature), (uint64_t)s->nlanes, (uint64_t)i);
        up->counter = i * pcoll_up_counters(&s->ring);
        up->temp = temp_of(s, i, plan->rank);
        up->parent_temp = temp_of(s, i, up->relatives.parent);
        up->paced = s->ring.nsegments > 1;
    }
    return result;
}

/* A segment of each tree before the next of any, so that both run at once. */
static void build(struct state *s, struct pcoll_plan *plan)
{
    for (int phase = 0; phase < plan->nphases; phase++) {
        pcoll_plan_open(plan, phase);
        for (uint64_t i = 0; i < s->ring.nsegments; i++)
            for (int lane = 0; lane < s->nlanes; lane++)
                pcoll_up_add(&s->lanes[lane], phase, i);
    }
    for (int lane = 0; lane < s->nlanes; lane++) {
        const struct pcoll_up *up = &s->lanes[lane];

        pcoll_up_end(up);
        plan->temp_bytes += pcoll_vector_ring_bytes(&s->ring, up->relatives.nchildren);
    }
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct state s = {
        .two = trees_of(&plan->signature),
        .ring = ring_of(&plan->signature, params),
        .nlanes = nlanes_of(&plan->signature),
    };
    enum pcoll_result result;

    if (!pcoll_plan_begin(plan, s.nlanes * pcoll_up_counters(&s.ring), pcoll_ring_phases(&s.ring)))
        return PCOLL_ERR_NOMEM;
    result = take_lanes(&s, plan);
    if (result == PCOLL_OK)
        build(&s, plan);
    for (int lane = 0; lane < s.nlanes; lane++)
        pcoll_relatives_fini(&s.lanes[lane].relatives);
    return result;
}

/* ---- cost ---- */

/* A level of the trees: the time from when children have a segment until their parent has reduced
 * it; until a rank can do the same with the next one; and for which a segment of the other tree may
 * keep the port, or in a node the processor. */
struct pace {
    double hop, next, meet;
};

/* Between teams a rank sends a segment up each tree, opens gates and, now and then, returns half
 * a ring to its children in one; the root reduces in both. A leader reduces what the others of its
 * node have, in both trees, while segments of other leaders wait. Where port and processors are
 * equally busy, they wait for each other at times. */
static struct pace pace_of(const struct pcoll_signature *signature,
                           const struct pcoll_two_tree *two, const struct pcoll_ring *ring,
                           const struct pcoll_machine *machine, double bytes)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const bool is_wire = pcoll_is_over_wire(signature);
    const double crowd = pcoll_cost_crowd(signature, machine), o = machine->o, g = machine->g;
    const double kids = pcoll_shape_two_tree.hop(&two->trees);
    const double returned = pcoll_two_tree_depth(two) > 1 ? kids * 2 / ring->slots : 0;
    const double followers = two->teams.topology ? pcoll_ranks_per_node(signature) - 1 : 0;
    const double one = crowd * bytes * node.reduce;
    const double put = crowd * (is_wire ? o : o + bytes * node.copy);
    const double length = is_wire ? g + bytes * machine->G : 0;
    const double port = 2 * length + (is_wire ? returned * g : 0);
    const double work =
        2 * put + crowd * ((1 + returned) * o + 2 * node.o) + (2 + 3 * followers) * one;

    return (struct pace){
        .hop = pcoll_cost_wave(signature, machine, 0, true) + put + (is_wire ? length - g : 0) +
               node.o + (kids + followers) * one,
        .next = port > work ? port + work / 4 : work + port / 4,
        .meet = is_wire ? length : put,
    };
}

/* What a rank gives to the leader of its node, or in a node what one does for the other tree. */
static double cost_within(const struct pcoll_signature *signature,
                          const struct pcoll_machine *machine, double bytes)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double work = 2 * node.o + bytes * (node.copy + node.reduce);

    return pcoll_cost_crowd(signature, machine) * work + pcoll_cost_wave(signature, &node, 0, true);
}

/* At every level of a full tree two segments arrive. At every level but the first a segment also
 * meets one of the other tree. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_two_tree two = trees_of(signature);
    const struct pcoll_ring ring = ring_of(signature, params);
    const int depth = pcoll_two_tree_depth(&two);
    const double n = (double)ring.nsegments, nlanes = nlanes_of(signature);
    const double bytes = (double)signature->bytes / nlanes / n;
    const struct pace pace = pace_of(signature, &two, &ring, machine, bytes);
    const double pairs = nlanes > 1 ? pcoll_log2_floor(two.trees.count) : 0;
    const double meet = pairs + 0.85 * (n > depth ? depth - 1 : n - 1);
    const bool is_within = two.teams.topology || !pcoll_is_over_wire(signature);
    const double within = is_within ? cost_within(signature, machine, bytes) : 0;

    return machine->call + within + depth * pace.hop + (n - 1) * pace.next + meet * pace.meet;
}

const struct pcoll_algorithm pcoll_reduce_two_tree = {
    .name = "two_tree",
    .coll = PCOLL_REDUCE,
    .description =
        "two pipelined binary trees, half the vector in each, for operators that commute",
    .when = "long vectors on many nodes",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_slots = PCOLL_RING,
    .must_commute = true,
};
