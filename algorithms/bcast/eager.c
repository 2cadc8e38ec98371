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
 * the parent waits for them).
 *
 * Cost: log_k N times (L + (k-1) (o + M copy)) + M copy, slots + 2 counters. When: small messages,
 * or any size without access to user buffers. Condition: for each use of half h, credit[h] counts
 * the same number of signals from each child, so the sum is complete only if each child's signals
 * are; a slot is returned only when everything on it, and on the earlier slots of its half, is
 * done.
 */
#include <stdlib.h>

#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/ring.h"
#include "algorithms/shape/team_tree.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

enum { GATE = 1, DATA = 2, WORK = 4 };

struct state {
    struct pcoll_plan *plan;
    struct pcoll_ring ring;
    int parent, nchildren; /* parent of the root: PCOLL_NONE */
    int *children;         /* [nchildren]: found once, as every slot names them */
};

/* One use of one slot. */
struct use {
    struct pcoll_ring_use at;
    int gated, returned; /* waits for the children's credit; gives credit to the parent */
    uint64_t base;       /* value of data[slot] before this use */
    uint64_t credit;     /* value of credit[half] that opens the gate */
};

static int radix_of(const struct pcoll_params *params)
{
    return params->radix ? params->radix : 2;
}

static int is_root(const struct state *s)
{
    return s->parent == PCOLL_NONE;
}

/* ---- slots ---- */

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return pcoll_ring_make(signature, params, DEFAULT_SEGMENT);
}

static int credit_of(const struct state *s, const struct use *use)
{
    return pcoll_ring_credit(&s->ring, use->at.half);
}

static struct use use_of(const struct state *s, int phase, uint64_t i)
{
    struct use use = {.at = pcoll_ring_use(&s->ring, s->plan->signature.bytes, phase, i)};

    use.gated = s->nchildren > 0 && use.at.opens;
    use.returned = !is_root(s) && use.at.closes;
    use.credit = use.at.credits * (uint64_t)s->nchildren;
    if (!is_root(s)) {
        uint64_t work = use.returned && s->nchildren > 0 ? (uint64_t)s->nchildren + 1 : 0;

        use.base = use.at.turn * ((use.gated ? 1u : 0u) * GATE + DATA + work * WORK);
    }
    return use;
}

static void add_puts(const struct state *s, const struct use *use, int trigger, uint64_t threshold,
                     uint64_t done)
{
    struct pcoll_place from = is_root(s) ? pcoll_at(PCOLL_SEND, use->at.part.first)
                                         : pcoll_ring_place(&s->ring, use->at.slot);

    for (int i = 0; i < s->nchildren; i++) {
        int child = s->children[i];
        struct pcoll_entry put =
            pcoll_entry_put(trigger, threshold, from, child,
                            pcoll_ring_place(&s->ring, use->at.slot), use->at.part.count);

        put = pcoll_entry_signal(put, child, use->at.slot, DATA);
        if (done)
            put = pcoll_entry_done(put, use->at.slot, done);
        pcoll_plan_add(s->plan, put);
    }
}

static void add_root_use(const struct state *s, const struct use *use)
{
    add_puts(s, use, use->gated ? credit_of(s, use) : PCOLL_NONE, use->credit, 0);
}

static void add_leaf_use(const struct state *s, const struct use *use)
{
    struct pcoll_entry copy =
        pcoll_entry_copy(use->at.slot, use->base + DATA, pcoll_ring_place(&s->ring, use->at.slot),
                         pcoll_at(PCOLL_RECV, use->at.part.first), use->at.part.count);

    if (use->returned)
        copy = pcoll_entry_signal(copy, s->parent, credit_of(s, use), 1);
    pcoll_plan_add(s->plan, copy);
    s->plan->gain[use->at.slot] += DATA;
}

static void add_inner_use(const struct state *s, const struct use *use)
{
    uint64_t ready = use->base + DATA + (use->gated ? GATE : 0);
    uint64_t done = use->returned ? WORK : 0, all = ready + done * ((uint64_t)s->nchildren + 1);
    struct pcoll_entry copy =
        pcoll_entry_copy(use->at.slot, ready, pcoll_ring_place(&s->ring, use->at.slot),
                         pcoll_at(PCOLL_RECV, use->at.part.first), use->at.part.count);

    if (use->gated) {
        struct pcoll_entry gate = pcoll_entry_add(credit_of(s, use), use->credit);

        pcoll_plan_add(s->plan, pcoll_entry_done(gate, use->at.slot, GATE));
    }
    add_puts(s, use, use->at.slot, ready, done);
    pcoll_plan_add(s->plan, done ? pcoll_entry_done(copy, use->at.slot, done) : copy);
    if (use->returned)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(use->at.slot, all), s->parent,
                                                   credit_of(s, use), 1));
    s->plan->gain[use->at.slot] += all - use->base;
}

static void add_use(const struct state *s, const struct use *use)
{
    if (is_root(s))
        add_root_use(s, use);
    else if (s->nchildren == 0)
        add_leaf_use(s, use);
    else
        add_inner_use(s, use);
}

static void build(struct state *s)
{
    for (int phase = 0; phase < s->plan->nphases; phase++) {
        pcoll_plan_open(s->plan, phase);
        for (uint64_t i = 0; i < s->ring.nsegments; i++) {
            struct use use = use_of(s, phase, i);

            add_use(s, &use);
        }
    }
    for (int half = 0; half < 2; half++)
        s->plan->gain[pcoll_ring_credit(&s->ring, half)] =
            pcoll_ring_credits(&s->ring) * (uint64_t)s->nchildren;
    s->plan->temp_bytes = is_root(s) ? 0 : pcoll_ring_bytes(&s->ring);
}

static enum pcoll_result find_children(struct state *s, const struct pcoll_team_tree *tree)
{
    int rank = s->plan->rank;

    s->nchildren = pcoll_team_tree_nchildren(tree, rank);
    s->children = malloc((size_t)(s->nchildren + 1) * sizeof(*s->children));
    for (int i = 0; s->children && i < s->nchildren; i++)
        s->children[i] = pcoll_team_tree_child(tree, rank, i);
    return s->children ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    const struct pcoll_team_tree tree = {pcoll_teams_of(signature), radix_of(params)};
    struct state s = {
        .ring = ring_of(signature, params),
        .parent = pcoll_team_tree_parent(&tree, rank),
    };
    enum pcoll_result result = pcoll_plan_create(signature, rank, "eager", s.ring.slots + 2,
                                                 pcoll_ring_phases(&s.ring), &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    result = find_children(&s, &tree);
    if (result != PCOLL_OK) {
        pcoll_plan_destroy(s.plan);
        return result;
    }
    build(&s);
    free(s.children);
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
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
    double segments = (double)ring->nsegments, part = (double)signature->bytes / segments;
    double copying = machine->o + part * copy, sending, credit;
    struct pcoll_hop hop;

    own.rma = 0;
    hop = pcoll_cost_hop(signature, &own, part);
    sending = pcoll_tree_nchildren(tree, 0) * hop.gap;
    credit = machine->L - (double)ring->slots / 2 * sending;
    return (segments - 1) * (sending > copying ? sending : copying) +
           pcoll_cost_knomial(tree, hop) + copying +
           (tree.nranks > 1 && credit > 0 ? 2 * segments / ring->slots * credit : 0);
}

/* Where each rank has a core, a rank that copies a segment out fetches what another core has just
 * written: the two operations hardly overlap, so segments gain less than the walk predicts. */
static double cost_of_cores(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                            struct pcoll_tree tree, const struct pcoll_machine *machine)
{
    struct pcoll_machine own = pcoll_ring_machine(ring, machine);
    int radix = tree.radix < tree.nranks ? tree.radix : tree.nranks;
    int depth = pcoll_log_ceil(tree.nranks, radix);
    double segments = (double)ring->nsegments, steps = depth + segments - 1;
    double one = (double)signature->bytes / segments * machine->copy + machine->o;

    own.call = 0;
    return pcoll_cost_waves(signature, &own, depth, radix - 1) +
           steps * (radix * one + (segments > 1 ? machine->L : 0));
}

/* Ranks that share cores run ahead instead of waiting for each other: the cost is the total work of
 * all ranks, to send and to copy out. Only forwarding needs another rank's turn, once for each
 * level of the tree, so a star is best. */
static double cost_crowded(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           struct pcoll_tree tree, const struct pcoll_machine *machine)
{
    struct pcoll_machine own = pcoll_ring_machine(ring, machine);
    double segments = (double)ring->nsegments, part = (double)signature->bytes / segments;

    return pcoll_cost_crowd(signature, machine) * own.turn * pcoll_tree_depth(tree) +
           2 * (tree.nranks - 1) * segments * (machine->o + part * machine->copy) / machine->cores;
}

static double cost_in_node(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           int radix, const struct pcoll_machine *node)
{
    struct pcoll_tree tree = {pcoll_ranks_per_node(signature), radix};

    return pcoll_cost_crowd(signature, node) > 1 ? cost_crowded(signature, ring, tree, node)
                                                 : cost_of_cores(signature, ring, tree, node);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    struct pcoll_ring ring = ring_of(signature, params);
    struct pcoll_teams teams = pcoll_teams_of(signature);
    struct pcoll_tree tree = {teams.count, radix_of(params)};
    double cost = machine->call;

    if (!pcoll_is_over_wire(signature))
        return cost + cost_in_node(signature, &ring, radix_of(params), machine);
    cost += cost_between(signature, &ring, tree, machine, node.copy);
    return teams.topology ? cost + cost_in_node(signature, &ring, radix_of(params), &node) : cost;
}

const struct pcoll_algorithm pcoll_bcast_eager = {
    .name = "eager",
    .coll = PCOLL_BCAST,
    .description = "k-nomial tree through communication buffers, no rendezvous",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_slots = 1,
};
