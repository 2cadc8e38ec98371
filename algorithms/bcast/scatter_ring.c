/*
 * Broadcast by scatter and ring allgather, directly between user buffers.
 *
 * Idea: the message is cut into N parts. Down a binomial tree each rank v gets from its parent the
 * parts of its subtree: v and those after it. Then the parts travel around a ring: v sends v + 1
 * its own part, and then those that arrive from v - 1, which are v - 1, v - 2 and so on around the
 * ring. The last of these belong to the subtree of v + 1, which already has them, so they are left
 * out. Rank v is the v-th in the order of the nodes, so that each link between nodes is used once
 * per step.
 *
 * Source: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts, "Interprocessor collective
 * communication library (InterCom)" (1994); document 001 section 4.1.2 for the tank of the ring.
 *
 *      N = 5:   0 -> 4 (part 4), 2 (2, 3), 1 (1)   2 -> 3 (3)   |   0 -> 1 -> 2 -> 3 -> 4
 *
 * Rails: the message is cut into that many lanes, each of which does the same on counters of its
 * own.
 *
 * What the tank of a rank receives, if A parts reach it around the ring: A + 1 with the parts of
 * its subtree; A + 1 from the gate that opens when all its children have said "ready", which
 * another counter counts; 1 with each part, in order. Rank v need not hear from v + 1: the parent
 * of v + 1 is v or has v in its subtree, and v receives nothing before that parent has heard from v
 * + 1.
 *
 * Cost: (log2 N + N - 1) (L + rma) + 2 M G, 2 counters (for each rail), one bank. When: long
 * messages, few ranks. Condition: parts from one sender arrive in order (PCOLL_NEED_ORDER). A rank
 * completes k only after its parent has received all "ready" of k, so none of k + 1 can substitute
 * for a missing one.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/segment.h"
#include "algorithms/shape/tree.h"
#include "algorithms/teams.h"

enum { TANK, READY, NCOUNTERS };

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    struct pcoll_tree tree;
    struct pcoll_segment lane; /* of the message */
    int tank, ready;           /* its counters */
    int v, trigger; /* `trigger` reaches `base`: the parts of my subtree have arrived and the gate
                     * is open */
    uint64_t base;
};

/* Parts [v, subtree_end) are those of the subtree of v. */
static int subtree_end(struct pcoll_tree tree, int v)
{
    int64_t end = (int64_t)v + (v & -v);

    return v == 0 || end > tree.nranks ? tree.nranks : (int)end;
}

/* The number of parts that reach v around the ring. */
static int arrivals_of(struct pcoll_tree tree, int v)
{
    return v == 0 ? 0 : tree.nranks - (subtree_end(tree, v) - v);
}

static uint64_t subtree_weight(struct pcoll_tree tree, int v)
{
    return (uint64_t)arrivals_of(tree, v) + 1;
}

/* Put parts [first, end) to the same offsets of rank `to`. Short messages have empty parts. */
static void add_parts(const struct state *s, uint64_t threshold, int first, int end, int to,
                      uint64_t add)
{
    uint64_t bytes = s->lane.count, n = (uint64_t)s->tree.nranks;
    uint64_t from = pcoll_segment_of(bytes, n, (uint64_t)first).first, at = s->lane.first + from;
    struct pcoll_segment last = pcoll_segment_of(bytes, n, (uint64_t)end - 1);
    struct pcoll_place source = pcoll_at(s->v == 0 ? PCOLL_SEND : PCOLL_RECV, at);
    struct pcoll_entry entry = pcoll_entry_add(s->trigger, threshold);
    int peer = pcoll_teams_rank(&s->teams, to);

    if (last.first + last.count > from)
        entry = pcoll_entry_put(s->trigger, threshold, source, peer, pcoll_at(PCOLL_RECV, at),
                                last.first + last.count - from);
    pcoll_plan_add(s->plan, pcoll_entry_signal(entry, peer, s->tank, add));
}

static void add_scatter(const struct state *s)
{
    for (int i = 0; i < pcoll_tree_nchildren(s->tree, s->v); i++) {
        int child = pcoll_tree_child(s->tree, s->v, i);

        add_parts(s, s->base, child, subtree_end(s->tree, child), child,
                  subtree_weight(s->tree, child));
    }
}

/* Part v - i is the i-th to arrive around the ring, or is in my subtree: then all have arrived. */
static void add_ring(const struct state *s)
{
    int n = s->tree.nranks, arrivals = arrivals_of(s->tree, s->v);

    for (int i = 0; s->v + 1 < n && i < arrivals_of(s->tree, s->v + 1); i++) {
        int part = (s->v - i + n) % n;

        add_parts(s, s->base + (uint64_t)(i < arrivals ? i : arrivals), part, part + 1, s->v + 1,
                  1);
    }
}

/* Say "ready"; open the gate when all children have said "ready" to me. */
static void add_start(struct state *s)
{
    int parent = pcoll_teams_rank(&s->teams, pcoll_tree_parent(s->tree, s->v));
    uint64_t weight = subtree_weight(s->tree, s->v), nready = s->plan->gain[s->ready];

    s->base = weight;
    pcoll_plan_add(s->plan,
                   pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), parent, s->ready, 1));
    pcoll_plan_neighbor(s->plan, pcoll_teams_rank(&s->teams, s->v - 1));
    if (nready > 0) {
        pcoll_plan_add(s->plan,
                       pcoll_entry_done(pcoll_entry_add(s->ready, nready), s->tank, weight));
        s->base += weight;
    }
    s->plan->gain[s->tank] = s->base + (uint64_t)arrivals_of(s->tree, s->v);
    pcoll_plan_add(s->plan, pcoll_entry_wait(s->tank, s->plan->gain[s->tank]));
}

static void build(struct state *s, int lane, int nlanes)
{
    int first = s->plan->nentries;

    s->lane = pcoll_segment_of(s->plan->signature.bytes, (uint64_t)nlanes, (uint64_t)lane);
    s->tank = lane * NCOUNTERS + TANK;
    s->ready = lane * NCOUNTERS + READY;
    s->plan->gain[s->ready] = (uint64_t)pcoll_tree_nchildren(s->tree, s->v);
    if (s->v == 0) {
        s->trigger = s->ready;
        s->base = s->plan->gain[s->ready];
    } else {
        s->trigger = s->tank;
        add_start(s);
    }
    add_scatter(s);
    add_ring(s);
    pcoll_lane_rail(s->plan, first, lane);
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct state s = {.teams = pcoll_teams_of(signature), .tree = {signature->nranks, 2}};
    int nlanes = pcoll_lanes(params, signature->bytes);
    enum pcoll_result result =
        pcoll_plan_create(signature, rank, "scatter_ring", NCOUNTERS * nlanes, 1, &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    s.v = pcoll_teams_place(&s.teams, rank);
    s.plan->ordered = 1;
    pcoll_plan_open(s.plan, 0);
    for (int lane = 0; lane < nlanes; lane++)
        build(&s, lane, nlanes);
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

/* One link after the other: `steps` around the ring, and `depth` down the tree, where a signal is
 * fired for each lane. */
static double cost_of_links(const struct pcoll_signature *signature,
                            const struct pcoll_machine *machine, int nlanes, int steps, int depth)
{
    double rma = machine->rma * nlanes;
    double firing = pcoll_larger(machine->o + rma, machine->g);

    return steps * (pcoll_cost_wave(signature, machine, 1, 1) +
                    pcoll_cost_crowd(signature, machine) * rma) +
           depth * firing;
}

/* The ranks of a node are adjacent, in the tree as in the ring. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    int n = signature->nranks, is_wire = pcoll_is_over_wire(signature);
    int far = is_wire ? signature->topology->nnodes : n; /* ranks, or nodes */
    int nparts = signature->bytes < (uint64_t)n ? (int)signature->bytes : n;
    int depth = pcoll_log_ceil(nparts, 2); /* of the ranks that get something */
    int above = pcoll_log_ceil(far < nparts ? far : nparts, 2);
    int nlanes = pcoll_lanes(params, signature->bytes);
    double lane = (double)signature->bytes / nlanes;
    double between = lane * machine->G * (far - 1) / far; /* in either half of the algorithm */
    double inside = lane * (node.G + node.put) * (n - 1) / n;

    return machine->call + pcoll_cost_wave(signature, machine, 1, 1) +
           cost_of_links(signature, machine, nlanes, far - 1, above) +
           cost_of_links(signature, &node, nlanes, n - far, depth - above) +
           (is_wire && above > 1 ? (above - 1) * machine->g : 0) + between +
           lane * (node.G + node.put) * (n - far) / n / far +
           pcoll_cost_crowd(signature, machine) *
               (far < n ? pcoll_larger(between, inside) : between);
}

const struct pcoll_algorithm pcoll_bcast_scatter_ring = {
    .name = "scatter_ring",
    .alias = "scatter_ring_allgather",
    .coll = PCOLL_BCAST,
    .description = "parts scattered, then passed round a ring",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
};
