/*
 * Scatter down a k-nomial tree through communication buffers.
 *
 * Idea: every rank except the root owns a ring of slots, each with a counter. A slot has room for a
 * segment of every block of the rank's subtree, in the order of places (teams.h), its own first.
 * The parent puts these blocks there without asking; the rank puts each child's blocks to the
 * child's slot and copies its own block to the user buffer. A parent reuses a slot when its
 * children have returned it ("credit"), half a ring at a time.
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
 * credit for the parent waits for this slot only).
 *
 * Cost: log_k N times (L + o) + N M (G + copy); slots + 2 or 4 counters. Condition (lemma D, a root
 * that runs ahead): credit[h] counts one signal from each child for each turn of half h, so the sum
 * is complete only if each child's signal is there; a half is returned only when everything on its
 * slots is done.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "algorithms/shape/ring_tree.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

enum { WORK = 2 * PCOLL_RING_GATE };

/* A rank and its subtree. */
struct family {
    int rank, place, span;
};

struct state {
    struct pcoll_ring_tree t;
    struct family self, *children; /* [nchildren] */
    int nputs;                     /* the parent's puts to one slot */
};

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return pcoll_block_ring_make(signature, params, DEFAULT_SEGMENT);
}

/* The block at `place` in the slot of `owner`. */
static struct pcoll_place block(const struct state *s, const struct pcoll_ring_tree_use *use,
                                const struct family *owner, int place)
{
    return pcoll_block_ring_place(&s->t.ring, &use->at, owner->span, place - owner->place);
}

/* The longest run of blocks from `place` to `end` that is contiguous in the root's user buffer:
 * consecutive ranks, if their blocks are not cut. */
static struct pcoll_sequence run_at(const struct state *s, int place, int end)
{
    return pcoll_teams_sequence(&s->t.tree.teams, place, s->t.ring.nsegments > 1 ? place + 1 : end);
}

static int count_runs(const struct state *s, const struct family *child)
{
    const int end = child->place + child->span;
    int count = 0;

    for (int place = child->place; place < end; count++)
        place += run_at(s, place, end).count;
    return count;
}

/* ---- entries ---- */

/* `count` blocks from `place` on, from `from`, to the slot of the child. */
static inline struct pcoll_entry put_down(const struct state *s,
                                          const struct pcoll_ring_tree_use *use, int trigger,
                                          uint64_t threshold, struct pcoll_place from,
                                          const struct family *child, int place, int count)
{
    const struct pcoll_entry put =
        pcoll_entry_put(trigger, threshold, from, child->rank, block(s, use, child, place),
                        (uint64_t)count * use->at.segment.count);

    return pcoll_entry_signal(put, child->rank, use->at.slot, WORK);
}

static void add_root_puts(const struct state *s, const struct pcoll_ring_tree_use *use,
                          const struct family *child)
{
    const int end = child->place + child->span;
    struct pcoll_sequence run;

    for (int place = child->place; place < end; place += run.count) {
        run = run_at(s, place, end);
        pcoll_plan_add(
            s->t.plan,
            put_down(s, use, use->gated ? use->counter : PCOLL_NONE, use->gated ? use->credit : 0,
                     pcoll_at(PCOLL_SEND, (uint64_t)run.rank * s->t.plan->signature.bytes +
                                              use->at.segment.first),
                     child, place, run.count));
    }
}

static inline struct pcoll_entry copy_out(const struct state *s,
                                          const struct pcoll_ring_tree_use *use, uint64_t arrived)
{
    return pcoll_entry_copy(use->at.slot, arrived, block(s, use, &s->self, s->self.place),
                            pcoll_at(PCOLL_RECV, use->at.segment.first), use->at.segment.count);
}

/* A leaf's only work on the slot is this copy, which can give the credit itself if no other use
 * counts. */
static void add_leaf_use(struct state *s, struct pcoll_ring_tree_use *use)
{
    struct pcoll_entry copy;

    use->level += (uint64_t)s->nputs * WORK;
    copy = copy_out(s, use, use->level);
    if (use->returned && !pcoll_ring_is_cut(&s->t.ring)) {
        pcoll_plan_add(s->t.plan, pcoll_entry_signal(copy, s->t.parent, use->counter, 1));
        return;
    }
    pcoll_plan_add(s->t.plan, pcoll_ring_tree_work(&s->t, use, copy, WORK));
    pcoll_ring_tree_return(&s->t, use, &s->t.parent, 1);
}

static void add_inner_use(struct state *s, struct pcoll_ring_tree_use *use)
{
    uint64_t arrived;

    use->level += (uint64_t)s->nputs * WORK;
    pcoll_ring_tree_gate(&s->t, use);
    arrived = use->level;
    for (int i = 0; i < s->t.nchildren; i++) {
        const struct family *child = &s->children[i];
        const struct pcoll_entry put =
            put_down(s, use, use->at.slot, arrived, block(s, use, &s->self, child->place), child,
                     child->place, child->span);

        pcoll_plan_add(s->t.plan, pcoll_ring_tree_work(&s->t, use, put, WORK));
    }
    pcoll_plan_add(s->t.plan, pcoll_ring_tree_work(&s->t, use, copy_out(s, use, arrived), WORK));
    pcoll_ring_tree_return(&s->t, use, &s->t.parent, 1);
}

static void add_use(struct state *s, struct pcoll_ring_tree_use *use)
{
    if (pcoll_ring_tree_is_root(&s->t))
        for (int i = 0; i < s->t.nchildren; i++)
            add_root_puts(s, use, &s->children[i]);
    else if (s->t.nchildren == 0)
        add_leaf_use(s, use);
    else
        add_inner_use(s, use);
    pcoll_ring_tree_end(&s->t, use);
}

/* The root's own block does not pass through a ring. It follows the last put. */
static void add_own_copy(const struct state *s, const struct pcoll_ring_tree_use *last)
{
    const struct pcoll_signature *sig = &s->t.plan->signature;

    if (pcoll_ring_tree_is_root(&s->t) && !sig->in_place)
        pcoll_plan_add(s->t.plan,
                       pcoll_entry_copy(last->gated ? last->counter : PCOLL_NONE,
                                        last->gated ? last->credit : 0,
                                        pcoll_at(PCOLL_SEND, (uint64_t)sig->root * sig->bytes),
                                        pcoll_at(PCOLL_RECV, 0), sig->bytes));
}

static void build(struct state *s)
{
    for (int phase = 0; phase < s->t.plan->nphases; phase++) {
        struct pcoll_ring_tree_use use = {.gated = false};

        pcoll_plan_open(s->t.plan, phase);
        for (uint64_t i = 0; i < s->t.ring.nsegments; i++) {
            pcoll_ring_tree_begin(&s->t, phase, i, &use);
            add_use(s, &use);
        }
        add_own_copy(s, &use);
    }
    if (!pcoll_ring_tree_is_root(&s->t))
        s->t.plan->temp_bytes = pcoll_block_ring_bytes(&s->t.ring, s->self.span);
}

static struct family family_of(const struct state *s, int rank)
{
    return (struct family){rank, pcoll_teams_place(&s->t.tree.teams, rank),
                           pcoll_team_tree_span(&s->t.tree, rank)};
}

static enum pcoll_result find_families(struct state *s)
{
    s->self = family_of(s, s->t.plan->rank);
    s->nputs = s->t.parent == s->t.plan->signature.root ? count_runs(s, &s->self) : 1;
    s->children = malloc((size_t)(s->t.nchildren + 1) * sizeof(*s->children));
    for (int i = 0; s->children && i < s->t.nchildren; i++)
        s->children[i] = family_of(s, s->t.children[i]);
    return s->children ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct state s;
    enum pcoll_result result = pcoll_ring_tree_init(
        &s.t, plan, params, ring_of(&plan->signature, params), PCOLL_RING_TREE_DOWN);

    if (result == PCOLL_OK)
        result = find_families(&s);
    if (result == PCOLL_OK) {
        build(&s);
        free(s.children);
    }
    pcoll_ring_tree_fini(&s.t);
    return result;
}

/* A subtree of the root has at most N - 1 ranks. */
static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    struct pcoll_ring ring = ring_of(signature, params);

    return pcoll_block_ring_bytes(&ring, signature->nranks - 1);
}

/* Until the last rank has its blocks, of a tree between leaders of `members` ranks each. */
static double cost_down(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                        struct pcoll_tree tree, double members, const struct pcoll_machine *machine)
{
    struct pcoll_machine own = pcoll_ring_machine(ring, machine);

    own.G = own.copy;
    own.rma = own.put = 0;
    return pcoll_cost_spans(tree, members * (double)signature->bytes / (double)ring->nsegments,
                            signature, &own);
}

/* The last rank, which has its first segment after `first`, copies its block out; or the root is
 * the last, which puts all others, in `puts` pieces, before it copies its own. */
static double cost_in_node(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           struct pcoll_tree tree, double puts, double first,
                           const struct pcoll_machine *node)
{
    const double segments = (double)ring->nsegments, peers = tree.nranks - 1;
    const double segment = (double)signature->bytes / segments,
                 one = segment * node->copy + node->o;
    const double all = segments * (peers * segment * node->copy + puts * node->o);

    if (pcoll_cost_crowd(signature, node) > 1)
        return pcoll_ring_tree_cost_crowded(signature, ring, tree, pcoll_tree_depth(tree) + 1,
                                            peers, node);
    return pcoll_larger(first + (segments - 1) * (peers * one + pcoll_ring_machine(ring, node).L) +
                            one,
                        all + (double)signature->bytes * node->copy + node->o);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    struct pcoll_machine leaders = pcoll_cost_leaders(signature, machine);
    struct pcoll_ring ring = ring_of(signature, params);
    const struct pcoll_team_tree whole = {pcoll_teams_of(signature), pcoll_radix(params)};
    const struct pcoll_tree tree = {whole.teams.count, whole.radix},
                            all = {signature->nranks, whole.radix},
                            in = {pcoll_ranks_per_node(signature), whole.radix};
    const double segments = (double)ring.nsegments, bytes = (double)signature->bytes;
    const double members = (double)signature->nranks / tree.nranks;
    const double segment = members * bytes / segments;
    const double below =
        pcoll_ring_tree_cost_in_teams(signature, &ring, tree.radix, machine, cost_down);
    double last, root;

    if (!pcoll_is_over_wire(signature))
        return machine->call +
               cost_in_node(
                   signature, &ring, all,
                   pcoll_block_ring_pieces(&ring, signature,
                                           pcoll_team_tree_nchildren(&whole, signature->root)),
                   cost_down(signature, &ring, tree, members, machine) + below, machine);
    leaders.rma = 0;
    last = pcoll_cost_spans(tree, segment, signature, &leaders) + node.o +
           bytes / segments * node.copy +
           (segments - 1) * (tree.nranks - 1) * (leaders.g + segment * leaders.G);
    root = (segments * pcoll_tree_nchildren(tree, 0) + 1) * leaders.o + bytes * node.copy;
    return machine->call + pcoll_larger(last, root) +
           pcoll_ring_tree_cost_credit(&ring, tree, machine) +
           (whole.teams.topology
                ? cost_in_node(signature, &ring, in, pcoll_tree_nchildren(in, 0), below, &node)
                : 0);
}

const struct pcoll_algorithm pcoll_scatter_knomial = {
    .name = "knomial",
    .alias = "binomial",
    .coll = PCOLL_SCATTER,
    .description = "k-nomial tree through communication buffers, no rendezvous",
    .when = "short blocks for many ranks",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
    .uses_slots = PCOLL_RING,
};
