/*
 * Broadcast down a k-nomial tree through communication buffers.
 *
 * Idea: every rank except the root owns a ring of slots, each with a counter, into which its parent
 * puts without asking. The receiver forwards the slot to its children and copies it to the user
 * buffer. There is no "ready" message, so a rank that runs ahead does not wait; instead a parent
 * may reuse a slot only when its children have returned it. They return half a ring at a time
 * ("credit"), which costs a quarter of a message for a broadcast of one segment.
 *
 * Source: document 003 (Sugiyama, Nanri), section 4.6, communication buffer; credits as in every
 * windowed protocol.
 *
 *      N = 5, radix 2:   0 -> 4, 2, 1    2 -> 3
 *
 * If ranks share nodes, there is a tree between the leaders of nodes, and a tree in each node below
 * its leader (teams.h): one message per node crosses the network.
 *
 * A message that fits a cell (PCOLL_CELL_BYTES) travels beside its counter. A message of several
 * segments goes through the ring (ring.h) segment by segment: this is the two-copy pipeline for
 * long messages where the user buffers of peers cannot be accessed.
 *
 * What counter data[slot] receives for one use: 1 from the gate that the children's credit opens
 * (if there is one), 2 from the parent's put, 4 from each operation on the slot (if the credit for
 * the parent waits for this slot only).
 *
 * Cost: log_k N times (L + (k-1) (o + M copy)) + M copy, slots + 2 or 4 counters. Condition: for
 * each turn of half h, credit[h] counts one signal from each child, so the sum is complete only if
 * each child's signal is there; a half is returned only when everything on its slots is done.
 */
#include "algorithms/number.h"
#include "algorithms/shape/ring_tree.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

/* One rank copies out what another has just written while that one writes the next segment. Both
 * then take a part of a copy more: 1.2 to 1.5 copies were measured for each of the two to eight
 * segments of 64 KiB after the first, where one would be full overlap. */
#define HINDRANCE 0.4

enum { DATA = 2 * PCOLL_RING_GATE, WORK = 2 * DATA };

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return pcoll_ring_make(signature, params, DEFAULT_SEGMENT);
}

/* ---- entries ---- */

static void add_puts(const struct pcoll_ring_tree *t, struct pcoll_ring_tree_use *use, int trigger,
                     uint64_t threshold, struct pcoll_place from)
{
    const struct pcoll_place to = pcoll_ring_place(&t->ring, use->at.slot);

    for (int i = 0; i < t->nchildren; i++) {
        const int child = t->children[i];
        const struct pcoll_entry put =
            pcoll_entry_put(trigger, threshold, from, child, to, use->at.segment.count);

        pcoll_plan_add(
            t->plan,
            pcoll_ring_tree_work(t, use, pcoll_entry_signal(put, child, use->at.slot, DATA), WORK));
    }
}

static inline struct pcoll_entry copy_out(const struct pcoll_ring_tree *t,
                                          const struct pcoll_ring_tree_use *use, uint64_t arrived)
{
    return pcoll_entry_copy(use->at.slot, arrived, pcoll_ring_place(&t->ring, use->at.slot),
                            pcoll_at(PCOLL_RECV, use->at.segment.first), use->at.segment.count);
}

/* A leaf's only work on the slot is this copy, which can give the credit itself if no other use
 * counts. */
static void add_leaf_use(struct pcoll_ring_tree *t, struct pcoll_ring_tree_use *use)
{
    struct pcoll_entry copy;

    use->level += DATA;
    copy = copy_out(t, use, use->level);
    if (use->returned && !pcoll_ring_is_cut(&t->ring)) {
        pcoll_plan_add(t->plan, pcoll_entry_signal(copy, t->parent, use->counter, 1));
        return;
    }
    pcoll_plan_add(t->plan, pcoll_ring_tree_work(t, use, copy, WORK));
    pcoll_ring_tree_return(t, use, &t->parent, 1);
}

static void add_inner_use(struct pcoll_ring_tree *t, struct pcoll_ring_tree_use *use)
{
    uint64_t arrived;

    use->level += DATA;
    pcoll_ring_tree_gate(t, use);
    arrived = use->level;
    add_puts(t, use, use->at.slot, arrived, pcoll_ring_place(&t->ring, use->at.slot));
    pcoll_plan_add(t->plan, pcoll_ring_tree_work(t, use, copy_out(t, use, arrived), WORK));
    pcoll_ring_tree_return(t, use, &t->parent, 1);
}

static void add_use(struct pcoll_ring_tree *t, struct pcoll_ring_tree_use *use)
{
    if (pcoll_ring_tree_is_root(t))
        add_puts(t, use, use->gated ? use->counter : PCOLL_NONE, use->credit,
                 pcoll_at(PCOLL_SEND, use->at.segment.first));
    else if (t->nchildren == 0)
        add_leaf_use(t, use);
    else
        add_inner_use(t, use);
    pcoll_ring_tree_end(t, use);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct pcoll_ring_tree t;
    enum pcoll_result result = pcoll_ring_tree_init(
        &t, plan, params, ring_of(&plan->signature, params), PCOLL_RING_TREE_DOWN);

    for (int phase = 0; result == PCOLL_OK && phase < plan->nphases; phase++) {
        pcoll_plan_open(plan, phase);
        for (uint64_t i = 0; i < t.ring.nsegments; i++) {
            struct pcoll_ring_tree_use use;

            pcoll_ring_tree_begin(&t, phase, i, &use);
            add_use(&t, &use);
        }
    }
    plan->temp_bytes = pcoll_ring_tree_is_root(&t) ? 0 : pcoll_ring_bytes(&t.ring);
    pcoll_ring_tree_fini(&t);
    return result;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    struct pcoll_ring ring = ring_of(signature, params);

    return pcoll_ring_bytes(&ring);
}

/* Between nodes: the root sends one segment after the other to each child, then the last segment
 * travels down the tree and is copied out. A root that runs ahead waits for credit for half a ring
 * if that takes longer than filling the other half. */
static double cost_between(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           struct pcoll_tree tree, const struct pcoll_machine *machine, double copy)
{
    struct pcoll_machine own = pcoll_cost_leaders(signature, machine);
    double segments = (double)ring->nsegments, segment = (double)signature->bytes / segments;
    double copying = pcoll_cost_node(machine).o + segment * copy, sending, credit;
    struct pcoll_hop hop;

    own.rma = 0;
    hop = pcoll_cost_hop(signature, &own, segment);
    sending = pcoll_tree_nchildren(tree, 0) * hop.gap;
    credit = machine->L - (double)ring->slots / 2 * sending;
    return (segments - 1) * (sending > copying ? sending : copying) +
           pcoll_cost_knomial(tree, hop) + copying +
           pcoll_ring_tree_cost_credit(ring, tree, machine) +
           (tree.nranks > 1 && credit > 0 ? 2 * segments / ring->slots * credit : 0);
}

/* Where each rank has a core. An inner rank forwards a segment and copies it out, one after the
 * other; without inner ranks, sender and receivers overlap. `followers` segments follow the first,
 * as fast as the root, which has `more` children on other levels, puts them to all of its children.
 */
static double cost_of_cores(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                            struct pcoll_tree tree, double followers, int more,
                            const struct pcoll_machine *machine)
{
    struct pcoll_machine own = pcoll_ring_machine(ring, machine);
    int radix = tree.radix < tree.nranks ? tree.radix : tree.nranks;
    int depth = pcoll_log_ceil(tree.nranks, radix);
    double segments = (double)ring->nsegments, signal = segments > 1 ? machine->L : 0;
    double one = (double)signature->bytes / segments * machine->copy + machine->o;
    double children = pcoll_tree_nchildren(tree, 0) + more;
    double pace = depth > 1 || more > 0 ? children : children + HINDRANCE;

    own.call = 0;
    return pcoll_cost_fans(signature, &own, depth, radix - 1) + depth * (radix * one + signal) +
           followers * (pace * one + signal);
}

static struct pcoll_tree tree_of_parts(const struct pcoll_topology *teams, int radix)
{
    return (struct pcoll_tree){pcoll_cost_mates(teams), radix};
}

/* Those of a rank that leads teams of this level and of all below. */
static int children_in_teams(const struct pcoll_topology *teams, int radix)
{
    int children = 0;

    for (; teams != NULL; teams = teams->below)
        children += pcoll_tree_nchildren(tree_of_parts(teams, radix), 0);
    return children;
}

/* Below the leaders of teams, in their parts, and so on. The first segment goes down all levels,
 * and `followers` others follow it at the pace of the first level, whose ranks are farthest apart.
 */
static double cost_of_levels(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                             int radix, double followers, const struct pcoll_machine *machine)
{
    struct pcoll_machine node = *machine;
    double cost = 0;

    for (const struct pcoll_topology *t = signature->topology; t != NULL; t = t->below) {
        node = pcoll_cost_node(&node);
        cost += cost_of_cores(signature, ring, tree_of_parts(t, radix), followers,
                              children_in_teams(t->below, radix), &node);
        followers = 0;
    }
    return cost;
}

/* The work of ranks that share cores is to send and to copy out, so a star is best. */
static double cost_in_node(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           int radix, const struct pcoll_machine *node)
{
    struct pcoll_tree tree = {pcoll_ranks_per_node(signature), radix};

    return pcoll_cost_crowd(signature, node) > 1
               ? pcoll_ring_tree_cost_crowded(signature, ring, tree, 2, 0, node)
               : cost_of_cores(signature, ring, tree, (double)ring->nsegments - 1, 0, node);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    struct pcoll_ring ring = ring_of(signature, params);
    struct pcoll_teams teams = pcoll_teams_of(signature);
    struct pcoll_tree tree = {teams.count, pcoll_radix(params)};
    const double followers = (double)ring.nsegments - 1;
    double cost = machine->call;

    if (!pcoll_is_over_wire(signature) && teams.topology)
        return cost +
               cost_of_cores(signature, &ring, tree, followers,
                             children_in_teams(signature->topology, tree.radix), machine) +
               cost_of_levels(signature, &ring, tree.radix, 0, machine);
    if (!pcoll_is_over_wire(signature))
        return cost + cost_in_node(signature, &ring, tree.radix, machine);
    cost += cost_between(signature, &ring, tree, machine, node.copy);
    if (teams.topology && teams.topology->below)
        return cost + cost_of_levels(signature, &ring, tree.radix, followers, machine);
    return teams.topology ? cost + cost_in_node(signature, &ring, tree.radix, &node) : cost;
}

const struct pcoll_algorithm pcoll_bcast_eager = {
    .name = "eager",
    .coll = PCOLL_BCAST,
    .description = "k-nomial tree through communication buffers, no rendezvous",
    .when = "short messages, and any size without access to user buffers",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
    .uses_slots = PCOLL_RING,
};
