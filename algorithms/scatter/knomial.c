/*
 * Scatter down a k-nomial tree through communication buffers.
 *
 * Idea: every rank except the root owns a ring of slots, each with a counter. A slot has room for a
 * segment of every block of the rank's subtree, in the order of places (teams.h), its own first.
 * The parent puts these blocks there without asking; the rank puts each child's part to the child's
 * slot and copies its own block to the user buffer. A parent reuses a slot when its children have
 * returned it ("credit"), half a ring at a time.
 *
 * Source: the k-nomial scatter of every MPI; communication buffers and credits as in the broadcast
 * of document 003 (Sugiyama, Nanri), section 4.6.
 *
 *      N = 5, radix 2:   0 -> 4: 1 block    0 -> 2: 2 blocks    0 -> 1: 1    2 -> 3: 1
 *
 * Radix N is a star. If ranks share nodes, there is a tree between the leaders of nodes, and a tree
 * in each node below its leader: one message per node crosses the network, or one for each run of
 * consecutive ranks if the root sends it, from its user buffer. If all blocks fit a cell
 * (PCOLL_CELL_BYTES), they travel beside the counter. Blocks of several segments go through the
 * ring (ring.h) segment by segment.
 *
 * What counter data[slot] receives for one use: 1 from the gate that the children's credit opens
 * (if there is one), 2 from each put of the parent and from each operation on the slot (if the
 * credit for the parent waits for them).
 *
 * Cost: log_k N times (L + o) + N M (G + copy); slots + 2 counters. When: short blocks; few, if the
 * radix is small. Condition (lemma D, a root that runs ahead): credit[h] counts as many signals
 * from each child for each use of half h, so the sum is complete only if each child's signals are;
 * a slot is returned only when everything on it, and on the earlier slots of its half, is done.
 */
#include <stdlib.h>

#include "algorithms/cost.h"
#include "algorithms/shape/ring.h"
#include "algorithms/shape/team_tree.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

enum { GATE = 1, WORK = 2 };

struct child {
    int rank, place, span; /* of its subtree */
};

struct state {
    struct pcoll_plan *plan;
    struct pcoll_team_tree tree;
    struct pcoll_ring ring; /* slot_bytes are those of one block, or 0 if all blocks fit a cell */
    struct child self;
    int parent, nputs; /* PCOLL_NONE: this is the root; the parent's puts to one slot */
    int nchildren;
    struct child *children; /* [nchildren] */
};

/* One use of one slot. */
struct use {
    struct pcoll_ring_use at;
    int gated, returned; /* waits for the children's credit; gives credit to the parent */
    uint64_t credit;     /* value of credit[half] that opens the gate */
    uint64_t level;      /* value of data[slot] after everything so far */
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

/* The block at `place` in the slot of `owner`. */
static struct pcoll_place block(const struct state *s, const struct pcoll_ring_use *at,
                                const struct child *owner, int place)
{
    uint64_t slot = (uint64_t)at->slot, offset = (uint64_t)(place - owner->place) * at->part.count;

    if (s->ring.slot_bytes == 0)
        return pcoll_at(PCOLL_CELL, slot * PCOLL_CELL_BYTES + offset);
    return pcoll_at(PCOLL_TEMP, slot * room(&s->ring, owner->span) + offset);
}

/* The longest run of blocks from `place` to `end` that is contiguous in the root's user buffer:
 * consecutive ranks, if their blocks are not cut. */
static struct pcoll_sequence run_at(const struct state *s, int place, int end)
{
    return pcoll_teams_sequence(&s->tree.teams, place, s->ring.nsegments > 1 ? place + 1 : end);
}

static int count_runs(const struct state *s, const struct child *child)
{
    const int end = child->place + child->span;
    int count = 0;

    for (int place = child->place; place < end; count++)
        place += run_at(s, place, end).count;
    return count;
}

static struct use use_of(const struct state *s, int phase, uint64_t i)
{
    struct use use = {.at = pcoll_ring_use(&s->ring, s->plan->signature.bytes, phase, i)};

    use.gated = s->nchildren > 0 && use.at.opens;
    use.returned = !is_root(s) && use.at.closes;
    use.credit = use.at.credits * (uint64_t)s->nchildren;
    use.level = s->plan->gain[use.at.slot];
    return use;
}

static int credit_of(const struct state *s, const struct use *use)
{
    return pcoll_ring_credit(&s->ring, use->at.half);
}

/* ---- entries ---- */

/* `count` blocks from `place` on, from `from`, to the slot of the child. */
static struct pcoll_entry put_down(const struct state *s, const struct use *use, int trigger,
                                   uint64_t threshold, struct pcoll_place from,
                                   const struct child *child, int place, int count)
{
    const struct pcoll_entry put =
        pcoll_entry_put(trigger, threshold, from, child->rank, block(s, &use->at, child, place),
                        (uint64_t)count * use->at.part.count);

    return pcoll_entry_signal(put, child->rank, use->at.slot, WORK);
}

static void add_root_puts(const struct state *s, const struct use *use, const struct child *child)
{
    const int end = child->place + child->span;
    struct pcoll_sequence run;

    for (int place = child->place; place < end; place += run.count) {
        run = run_at(s, place, end);
        pcoll_plan_add(s->plan,
                       put_down(s, use, use->gated ? credit_of(s, use) : PCOLL_NONE,
                                use->gated ? use->credit : 0,
                                pcoll_at(PCOLL_SEND, (uint64_t)run.rank * s->plan->signature.bytes +
                                                         use->at.part.first),
                                child, place, run.count));
    }
}

static void add_gate(const struct state *s, struct use *use)
{
    const struct pcoll_entry gate = pcoll_entry_add(credit_of(s, use), use->credit);

    pcoll_plan_add(s->plan, pcoll_entry_done(gate, use->at.slot, GATE));
    use->level += GATE;
}

static struct pcoll_entry copy_out(const struct state *s, const struct use *use, uint64_t arrived)
{
    return pcoll_entry_copy(use->at.slot, arrived, block(s, &use->at, &s->self, s->self.place),
                            pcoll_at(PCOLL_RECV, use->at.part.first), use->at.part.count);
}

static void add_leaf_use(const struct state *s, struct use *use)
{
    struct pcoll_entry copy;

    use->level += (uint64_t)s->nputs * WORK;
    copy = copy_out(s, use, use->level);
    if (use->returned)
        copy = pcoll_entry_signal(copy, s->parent, credit_of(s, use), 1);
    pcoll_plan_add(s->plan, copy);
}

static void add_inner_use(const struct state *s, struct use *use)
{
    const uint64_t done = use->returned ? WORK : 0;
    struct pcoll_entry entry;
    uint64_t arrived;

    use->level += (uint64_t)s->nputs * WORK;
    if (use->gated)
        add_gate(s, use);
    arrived = use->level;
    for (int i = 0; i < s->nchildren; i++) {
        const struct child *child = &s->children[i];

        entry = put_down(s, use, use->at.slot, arrived, block(s, &use->at, &s->self, child->place),
                         child, child->place, child->span);
        pcoll_plan_add(s->plan, done ? pcoll_entry_done(entry, use->at.slot, done) : entry);
    }
    entry = copy_out(s, use, arrived);
    pcoll_plan_add(s->plan, done ? pcoll_entry_done(entry, use->at.slot, done) : entry);
    use->level += ((uint64_t)s->nchildren + 1) * done;
    if (done)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(use->at.slot, use->level),
                                                   s->parent, credit_of(s, use), 1));
}

static void add_use(const struct state *s, struct use *use)
{
    if (is_root(s))
        for (int i = 0; i < s->nchildren; i++)
            add_root_puts(s, use, &s->children[i]);
    else if (s->nchildren == 0)
        add_leaf_use(s, use);
    else
        add_inner_use(s, use);
    s->plan->gain[use->at.slot] = use->level;
}

/* The root's own block does not pass through a ring. It follows the last put. */
static void add_own_copy(const struct state *s, const struct use *last)
{
    const struct pcoll_signature *sig = &s->plan->signature;

    if (is_root(s) && !sig->in_place)
        pcoll_plan_add(s->plan,
                       pcoll_entry_copy(last->gated ? credit_of(s, last) : PCOLL_NONE,
                                        last->gated ? last->credit : 0,
                                        pcoll_at(PCOLL_SEND, (uint64_t)sig->root * sig->bytes),
                                        pcoll_at(PCOLL_RECV, 0), sig->bytes));
}

static void build(struct state *s)
{
    for (int phase = 0; phase < s->plan->nphases; phase++) {
        struct use use = use_of(s, phase, 0);

        pcoll_plan_open(s->plan, phase);
        for (uint64_t i = 0; i < s->ring.nsegments; i++) {
            use = use_of(s, phase, i);
            add_use(s, &use);
        }
        add_own_copy(s, &use);
    }
    for (int half = 0; half < 2; half++)
        s->plan->gain[pcoll_ring_credit(&s->ring, half)] =
            pcoll_ring_credits(&s->ring) * (uint64_t)s->nchildren;
    if (!is_root(s))
        s->plan->temp_bytes = (uint64_t)s->ring.slots * room(&s->ring, s->self.span);
}

static struct child child_of(const struct state *s, int rank)
{
    return (struct child){rank, pcoll_teams_place(&s->tree.teams, rank),
                          pcoll_team_tree_span(&s->tree, rank)};
}

static enum pcoll_result find_family(struct state *s)
{
    const int rank = s->plan->rank;

    s->self = child_of(s, rank);
    s->parent = pcoll_team_tree_parent(&s->tree, rank);
    s->nputs = s->parent == s->plan->signature.root ? count_runs(s, &s->self) : 1;
    s->nchildren = pcoll_team_tree_nchildren(&s->tree, rank);
    s->children = malloc((size_t)(s->nchildren + 1) * sizeof(*s->children));
    for (int i = 0; s->children && i < s->nchildren; i++)
        s->children[i] = child_of(s, pcoll_team_tree_child(&s->tree, rank, i));
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
    result = find_family(&s);
    if (result != PCOLL_OK) {
        pcoll_plan_destroy(s.plan);
        return result;
    }
    build(&s);
    free(s.children);
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

/* A subtree of the root has at most N - 1 ranks. */
static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    struct pcoll_ring ring = ring_of(signature, params);

    return (uint64_t)ring.slots * room(&ring, signature->nranks - 1);
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

/* The last rank copies its block out; or the root is the last, which puts all others before it
 * copies its own. */
static double cost_in_node(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           int radix, const struct pcoll_machine *node)
{
    struct pcoll_machine own = pcoll_ring_machine(ring, node);
    struct pcoll_tree tree = {pcoll_ranks_per_node(signature), radix};
    const double segments = (double)ring->nsegments, peers = tree.nranks - 1;
    const double part = (double)signature->bytes / segments, one = part * node->copy + node->o;
    const double puts =
        segments * (peers * part * node->copy + pcoll_tree_nchildren(tree, 0) * node->o);

    if (pcoll_cost_crowd(signature, node) > 1)
        return cost_crowded(signature, ring, tree, node);
    own.G = own.copy;
    own.rma = 0;
    return pcoll_larger(pcoll_cost_spans(tree, part, signature, &own) +
                            (segments - 1) * (peers * one + own.L) + one,
                        puts + (double)signature->bytes * node->copy + node->o);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    struct pcoll_machine leaders = pcoll_cost_leaders(signature, machine);
    struct pcoll_ring ring = ring_of(signature, params);
    struct pcoll_teams teams = pcoll_teams_of(signature);
    struct pcoll_tree tree = {teams.count, radix_of(params)};
    const double segments = (double)ring.nsegments, bytes = (double)signature->bytes;
    const double part = pcoll_ranks_per_node(signature) * bytes / segments;
    double last, root;

    if (!pcoll_is_over_wire(signature))
        return machine->call + cost_in_node(signature, &ring, radix_of(params), machine);
    leaders.rma = 0;
    last = pcoll_cost_spans(tree, part, signature, &leaders) + node.o +
           bytes / segments * node.copy +
           (segments - 1) * (teams.count - 1) * (leaders.g + part * leaders.G);
    root = (segments * pcoll_tree_nchildren(tree, 0) + 1) * leaders.o + bytes * node.copy;
    return machine->call + pcoll_larger(last, root) +
           (teams.topology ? cost_in_node(signature, &ring, radix_of(params), &node) : 0);
}

const struct pcoll_algorithm pcoll_scatter_knomial = {
    .name = "knomial",
    .alias = "binomial",
    .coll = PCOLL_SCATTER,
    .description = "k-nomial tree through communication buffers, no rendezvous",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_slots = 1,
};
