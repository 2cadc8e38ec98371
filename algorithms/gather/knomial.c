/*
 * Gather up a k-nomial tree through communication buffers.
 *
 * Idea: every rank that has children owns a ring of slots, each with a counter. A slot has room for
 * a segment of every block of the rank's subtree, in the order of places (teams.h), its own first.
 * A child puts what it has gathered into its parent's slot without asking, and reuses that slot
 * when the parent has returned it ("credit"), half a ring at a time. A leaf puts its block from the
 * user buffer; the root copies the slot to the user buffer.
 *
 * Source: the k-nomial gather of every MPI; communication buffers and credits as in the broadcast
 * of document 003 (Sugiyama, Nanri), section 4.6, in the opposite direction.
 *
 *      N = 5, radix 2:   3 -> 2: 1 block    1 -> 0: 1    2 -> 0: 2    4 -> 0: 1
 *
 * Radix N is a star. If ranks share nodes, there is a tree between the leaders of nodes, and a tree
 * in each node below its leader: one message per node crosses the network. If all blocks fit a cell
 * (PCOLL_CELL_BYTES), they travel beside the counter. Blocks of several segments go through the
 * ring (ring.h) segment by segment.
 *
 * What counter data[slot] receives for one use: 1 from the gate that the parent's credit opens (if
 * there is one), 2 from each child's put, from the copy of the own block, and from each operation
 * on the slot (if the credit for the children waits for them).
 *
 * Cost: log_k N times (L + o) + N M (G + copy); slots + 2 counters. When: short blocks; few, if the
 * radix is small. Condition (lemma D, ranks that only send run ahead): a child waits for the credit
 * of the last turn of the half before it fills its slots again, and the parent gives it when it has
 * passed on all of that half.
 */
#include <stdlib.h>

#include "algorithms/cost.h"
#include "algorithms/shape/ring.h"
#include "algorithms/shape/team_tree.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

enum { GATE = 1, WORK = 2 };

struct state {
    struct pcoll_plan *plan;
    struct pcoll_team_tree tree;
    struct pcoll_ring ring;
    int place, span; /* of my subtree */
    int parent;      /* PCOLL_NONE: this is the root */
    int nchildren;
    int *children; /* [nchildren] */
};

/* One use of one slot. */
struct use {
    struct pcoll_ring_use at;
    int gated, returned; /* waits for the parent's credit; gives credit to the children */
    uint64_t base;       /* value of data[slot] before this use */
    uint64_t level;      /* the same now */
};

static int radix_of(const struct pcoll_params *params)
{
    return params->radix ? params->radix : 2;
}

/* ---- slots ---- */

/* The slot_bytes of the ring are those of one block, or 0 if all blocks fit a cell. */
static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    struct pcoll_ring ring = pcoll_ring_make(signature, params, DEFAULT_SEGMENT);
    uint64_t largest = pcoll_segment_of(signature->bytes, ring.nsegments, 0).count;

    ring.slot_bytes = largest * (uint64_t)signature->nranks <= PCOLL_CELL_BYTES ? 0 : largest;
    return ring;
}

/* The size of a slot with room for `span` blocks. */
static uint64_t room(const struct pcoll_ring *ring, int span)
{
    return (ring->slot_bytes * (uint64_t)span + 63) / 64 * 64;
}

/* Block `i` of a slot of a rank with `span` blocks. */
static struct pcoll_place block(const struct state *s, const struct pcoll_ring_use *at, int span,
                                int i)
{
    uint64_t slot = (uint64_t)at->slot, offset = (uint64_t)i * at->part.count;

    if (s->ring.slot_bytes == 0)
        return pcoll_at(PCOLL_CELL, slot * PCOLL_CELL_BYTES + offset);
    return pcoll_at(PCOLL_TEMP, slot * room(&s->ring, span) + offset);
}

static int is_root(const struct state *s)
{
    return s->parent == PCOLL_NONE;
}

static struct use use_of(const struct state *s, int phase, uint64_t i)
{
    struct use use = {.at = pcoll_ring_use(&s->ring, s->plan->signature.bytes, phase, i)};

    use.gated = !is_root(s) && use.at.opens;
    use.returned = s->nchildren > 0 && use.at.closes;
    use.base = use.level = s->plan->gain[use.at.slot];
    return use;
}

/* ---- entries ---- */

/* My subtree's blocks, from `from`, to the slot of the parent. */
static struct pcoll_entry put_up(const struct state *s, const struct use *use, int trigger,
                                 uint64_t threshold, struct pcoll_place from)
{
    const int span = pcoll_team_tree_span(&s->tree, s->parent);
    const int at = s->place - pcoll_teams_place(&s->tree.teams, s->parent);
    const struct pcoll_entry put =
        pcoll_entry_put(trigger, threshold, from, s->parent, block(s, &use->at, span, at),
                        (uint64_t)s->span * use->at.part.count);

    return pcoll_entry_signal(put, s->parent, use->at.slot, WORK);
}

static void add_leaf_use(const struct state *s, const struct use *use)
{
    const int credit = pcoll_ring_credit(&s->ring, use->at.half);

    pcoll_plan_add(s->plan, put_up(s, use, use->gated ? credit : PCOLL_NONE,
                                   use->gated ? use->at.credits : 0,
                                   pcoll_at(PCOLL_SEND, use->at.part.first)));
}

/* The own block joins those of the children, when the slot's last content has left. */
static void add_own_block(const struct state *s, struct use *use)
{
    const struct pcoll_entry copy =
        pcoll_entry_copy(use->at.turn > 0 ? use->at.slot : PCOLL_NONE, use->base,
                         pcoll_at(PCOLL_SEND, use->at.part.first), block(s, &use->at, s->span, 0),
                         use->at.part.count);

    pcoll_plan_add(s->plan, pcoll_entry_done(copy, use->at.slot, WORK));
    use->level += WORK;
}

static void add_gate(const struct state *s, struct use *use)
{
    const struct pcoll_entry gate =
        pcoll_entry_add(pcoll_ring_credit(&s->ring, use->at.half), use->at.credits);

    pcoll_plan_add(s->plan, pcoll_entry_done(gate, use->at.slot, GATE));
    use->level += GATE;
}

static void add_inner_use(const struct state *s, struct use *use)
{
    struct pcoll_entry put;

    add_own_block(s, use);
    if (use->gated)
        add_gate(s, use);
    put = put_up(s, use, use->at.slot, use->level, block(s, &use->at, s->span, 0));
    pcoll_plan_add(s->plan, use->returned ? pcoll_entry_done(put, use->at.slot, WORK) : put);
    use->level += use->returned ? WORK : 0;
}

/* Blocks [place, place + count) of the slot, which are those of ranks [rank, rank + count). */
static void add_copy_out(const struct state *s, struct use *use, uint64_t arrived, int place,
                         int rank, int count)
{
    const struct pcoll_segment part = use->at.part;
    const struct pcoll_entry copy = pcoll_entry_copy(
        use->at.slot, arrived, block(s, &use->at, s->span, place),
        pcoll_at(PCOLL_RECV, (uint64_t)rank * s->plan->signature.bytes + part.first),
        (uint64_t)count * part.count);

    pcoll_plan_add(s->plan, use->returned ? pcoll_entry_done(copy, use->at.slot, WORK) : copy);
    use->level += use->returned ? WORK : 0;
}

/* Consecutive blocks are adjacent in both buffers only if they are not cut. */
static void add_root_use(const struct state *s, struct use *use)
{
    const int most = s->ring.nsegments > 1 ? 1 : s->span;
    const uint64_t arrived = use->level;
    struct pcoll_sequence run;

    for (int place = 1; place < s->span; place += run.count) {
        run = pcoll_teams_sequence(&s->tree.teams, place,
                                   place + most < s->span ? place + most : s->span);
        add_copy_out(s, use, arrived, place, run.rank, run.count);
    }
}

static void add_credits(const struct state *s, const struct use *use)
{
    const int credit = pcoll_ring_credit(&s->ring, use->at.half);

    for (int i = 0; i < s->nchildren; i++)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(use->at.slot, use->level),
                                                   s->children[i], credit, 1));
}

static void add_use(const struct state *s, struct use *use)
{
    if (s->nchildren == 0) {
        add_leaf_use(s, use);
        return;
    }
    use->level += (uint64_t)s->nchildren * WORK;
    if (is_root(s))
        add_root_use(s, use);
    else
        add_inner_use(s, use);
    if (use->returned)
        add_credits(s, use);
    s->plan->gain[use->at.slot] = use->level;
}

/* The root's own block does not pass through the ring. */
static void add_own_copy(const struct state *s)
{
    const struct pcoll_signature *sig = &s->plan->signature;

    if (is_root(s) && !sig->in_place)
        pcoll_plan_add(s->plan,
                       pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0),
                                        pcoll_at(PCOLL_RECV, (uint64_t)sig->root * sig->bytes),
                                        sig->bytes));
}

static void build(struct state *s)
{
    for (int phase = 0; phase < s->plan->nphases; phase++) {
        pcoll_plan_open(s->plan, phase);
        add_own_copy(s);
        for (uint64_t i = 0; i < s->ring.nsegments; i++) {
            struct use use = use_of(s, phase, i);

            add_use(s, &use);
        }
    }
    for (int half = 0; half < 2 && !is_root(s); half++)
        s->plan->gain[pcoll_ring_credit(&s->ring, half)] = pcoll_ring_credits(&s->ring);
    if (s->nchildren > 0)
        s->plan->temp_bytes = (uint64_t)s->ring.slots * room(&s->ring, s->span);
}

static enum pcoll_result find_children(struct state *s)
{
    const int rank = s->plan->rank;

    s->nchildren = pcoll_team_tree_nchildren(&s->tree, rank);
    s->children = malloc((size_t)(s->nchildren + 1) * sizeof(*s->children));
    for (int i = 0; s->children && i < s->nchildren; i++)
        s->children[i] = pcoll_team_tree_child(&s->tree, rank, i);
    return s->children ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct state s = {
        .ring = ring_of(signature, params),
        .tree = {pcoll_teams_of(signature), radix_of(params)},
    };
    enum pcoll_result result = pcoll_plan_create(signature, rank, "knomial", s.ring.slots + 2,
                                                 pcoll_ring_phases(&s.ring), &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    s.place = pcoll_teams_place(&s.tree.teams, rank);
    s.span = pcoll_team_tree_span(&s.tree, rank);
    s.parent = pcoll_team_tree_parent(&s.tree, rank);
    result = find_children(&s);
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

    return (uint64_t)ring.slots * room(&ring, signature->nranks);
}

/* The time until the root has copied out all segments. The first needs `arrive`, and each of the
 * others `follow` more if the root is not busy. Its own block comes first. */
static double cost_at_root(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           const struct pcoll_machine *node, double arrive, double follow)
{
    const double segments = (double)ring->nsegments, own = (double)signature->bytes * node->copy;
    const double peers = signature->nranks - 1, copies = segments > 1 ? peers : 1;
    const double out = peers * (double)signature->bytes / segments * node->copy + copies * node->o;

    return pcoll_larger(arrive, own) + out + (segments - 1) * pcoll_larger(follow, out);
}

/* Ranks that share cores run ahead instead of waiting for each other: the cost is the total work,
 * and a turn for each level of the tree, as only forwarding needs another rank. */
static double cost_crowded(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           struct pcoll_tree tree, const struct pcoll_machine *node)
{
    const struct pcoll_machine own = pcoll_ring_machine(ring, node);
    const double depth = pcoll_tree_depth(tree), segments = (double)ring->nsegments;
    const double one = (double)signature->bytes / segments * node->copy + node->o;

    return pcoll_cost_crowd(signature, node) * own.turn * depth +
           (depth + 1) * (tree.nranks - 1) * segments * one / node->cores;
}

static double cost_in_node(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           int radix, const struct pcoll_machine *node)
{
    struct pcoll_machine own = pcoll_ring_machine(ring, node);
    struct pcoll_tree tree = {pcoll_ranks_per_node(signature), radix};
    const double part = (double)signature->bytes / (double)ring->nsegments;
    const double forwarded = pcoll_larger(0, tree.nranks - radix - 1) / (radix - 1); /* blocks */

    if (pcoll_cost_crowd(signature, node) > 1)
        return cost_crowded(signature, ring, tree, node);
    own.L += own.o + part * own.copy; /* all children put at the same time */
    own.g = own.G = own.rma = own.o = 0;
    return cost_at_root(signature, ring, node,
                        pcoll_cost_spans(tree, 0, signature, &own) + forwarded * part * node->copy,
                        0);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    struct pcoll_machine leaders = pcoll_cost_leaders(signature, machine);
    struct pcoll_ring ring = ring_of(signature, params);
    struct pcoll_teams teams = pcoll_teams_of(signature);
    struct pcoll_tree tree = {teams.count, radix_of(params)};
    const double members = pcoll_ranks_per_node(signature);
    const double part = members * (double)signature->bytes / (double)ring.nsegments;
    double arrive, follow = (teams.count - 1) * (leaders.g + part * leaders.G);

    if (!pcoll_is_over_wire(signature))
        return machine->call + cost_in_node(signature, &ring, radix_of(params), machine);
    leaders.L += leaders.o; /* all children put at the same time */
    leaders.rma = leaders.o = 0;
    arrive = pcoll_cost_spans(tree, part, signature, &leaders);
    if (teams.topology)
        arrive += cost_in_node(signature, &ring, radix_of(params), &node);
    return machine->call + cost_at_root(signature, &ring, &node, arrive, follow);
}

const struct pcoll_algorithm pcoll_gather_knomial = {
    .name = "knomial",
    .alias = "binomial",
    .coll = PCOLL_GATHER,
    .description = "k-nomial tree through communication buffers, no rendezvous",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_slots = 1,
};
