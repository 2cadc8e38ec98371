/*
 * Gather up a k-nomial tree through communication buffers.
 *
 * Idea: every rank that has children owns a ring of slots, each with a counter. A slot has room for
 * a segment of every block of the rank's subtree, in the order of places (teams.h), its own first;
 * the root's own block does not pass through its ring.
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
 * on the slot (if the credit for the children waits for this slot only).
 *
 * Cost: log_k N times (L + o) + N M (G + copy); slots + 2 or 4 counters. Condition (lemma D, ranks
 * that only send run ahead): a child waits for the credit of the last turn of the half before it
 * fills its slots again, and the parent gives it when it has passed on all of that half.
 */
#include "algorithms/shape/ring_tree.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

enum { WORK = 2 * PCOLL_RING_GATE };

/* The blocks of a rank's subtree that pass through its ring: those of `span` places from `place`
 * on. */
struct family {
    int place, span;
};

struct state {
    struct pcoll_ring_tree t;
    struct family self, parent;
};

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return pcoll_block_ring_make(signature, params, DEFAULT_SEGMENT);
}

static struct family family_of(const struct state *s, int rank)
{
    const int absent = rank == s->t.plan->signature.root;

    return (struct family){pcoll_teams_place(&s->t.tree.teams, rank) + absent,
                           pcoll_team_tree_span(&s->t.tree, rank) - absent};
}

/* The block at `place` in the slot of `owner`. */
static struct pcoll_place block(const struct state *s, const struct pcoll_ring_tree_use *use,
                                const struct family *owner, int place)
{
    return pcoll_block_ring_place(&s->t.ring, &use->at, owner->span, place - owner->place);
}

/* ---- entries ---- */

/* My subtree's blocks, from `from`, to the slot of the parent. */
static inline struct pcoll_entry put_up(const struct state *s,
                                        const struct pcoll_ring_tree_use *use, int trigger,
                                        uint64_t threshold, struct pcoll_place from)
{
    const struct pcoll_entry put = pcoll_entry_put(trigger, threshold, from, s->t.parent,
                                                   block(s, use, &s->parent, s->self.place),
                                                   (uint64_t)s->self.span * use->at.segment.count);

    return pcoll_entry_signal(put, s->t.parent, use->at.slot, WORK);
}

static void add_leaf_use(const struct state *s, const struct pcoll_ring_tree_use *use)
{
    pcoll_plan_add(s->t.plan, put_up(s, use, use->gated ? use->counter : PCOLL_NONE,
                                     use->gated ? use->credit : 0,
                                     pcoll_at(PCOLL_SEND, use->at.segment.first)));
}

/* The own block joins those of the children, when the slot's last content has left. A ring has
 * several turns in a cycle only if the message is cut. */
static void add_own_block(const struct state *s, struct pcoll_ring_tree_use *use)
{
    const bool waits = use->at.turn > 0;
    const struct pcoll_entry copy =
        pcoll_entry_copy(waits ? pcoll_ring_emptied(&s->t.ring, &use->at) : PCOLL_NONE,
                         s->t.emptied[use->at.half], pcoll_at(PCOLL_SEND, use->at.segment.first),
                         block(s, use, &s->self, s->self.place), use->at.segment.count);

    pcoll_plan_add(s->t.plan, pcoll_entry_done(copy, use->at.slot, WORK));
    use->level += WORK;
}

static void add_inner_use(const struct state *s, struct pcoll_ring_tree_use *use)
{
    struct pcoll_entry put;

    add_own_block(s, use);
    use->level += (uint64_t)s->t.nchildren * WORK;
    pcoll_ring_tree_gate(&s->t, use);
    put = put_up(s, use, use->at.slot, use->level, block(s, use, &s->self, s->self.place));
    pcoll_plan_add(s->t.plan, pcoll_ring_tree_work(&s->t, use, put, WORK));
}

/* Consecutive blocks are adjacent in both buffers only if they are not cut. */
static void add_root_use(const struct state *s, struct pcoll_ring_tree_use *use)
{
    const struct pcoll_segment segment = use->at.segment;
    const int end = s->self.place + s->self.span, max = s->t.ring.nsegments > 1 ? 1 : end;
    struct pcoll_sequence run;
    uint64_t arrived;

    use->level += (uint64_t)s->t.nchildren * WORK;
    arrived = use->level;
    for (int place = s->self.place; place < end; place += run.count) {
        struct pcoll_entry copy;

        run = pcoll_teams_sequence(&s->t.tree.teams, place, place + max < end ? place + max : end);
        copy = pcoll_entry_copy(
            use->at.slot, arrived, block(s, use, &s->self, place),
            pcoll_at(PCOLL_RECV, (uint64_t)run.rank * s->t.plan->signature.bytes + segment.first),
            (uint64_t)run.count * segment.count);
        pcoll_plan_add(s->t.plan, pcoll_ring_tree_work(&s->t, use, copy, WORK));
    }
}

static void add_use(struct state *s, struct pcoll_ring_tree_use *use)
{
    if (s->t.nchildren == 0)
        add_leaf_use(s, use);
    else if (pcoll_ring_tree_is_root(&s->t))
        add_root_use(s, use);
    else
        add_inner_use(s, use);
    pcoll_ring_tree_return(&s->t, use, s->t.children, s->t.nchildren);
    pcoll_ring_tree_end(&s->t, use);
}

static void add_own_copy(const struct state *s)
{
    const struct pcoll_signature *sig = &s->t.plan->signature;

    if (pcoll_ring_tree_is_root(&s->t) && !sig->in_place)
        pcoll_plan_add(s->t.plan,
                       pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0),
                                        pcoll_at(PCOLL_RECV, (uint64_t)sig->root * sig->bytes),
                                        sig->bytes));
}

static void build(struct state *s)
{
    struct pcoll_plan *plan = s->t.plan;

    s->self = family_of(s, plan->rank);
    if (!pcoll_ring_tree_is_root(&s->t))
        s->parent = family_of(s, s->t.parent);
    for (int phase = 0; phase < plan->nphases; phase++) {
        pcoll_plan_open(plan, phase);
        add_own_copy(s);
        for (uint64_t i = 0; i < s->t.ring.nsegments; i++) {
            struct pcoll_ring_tree_use use;

            pcoll_ring_tree_begin(&s->t, phase, i, &use);
            add_use(s, &use);
        }
    }
    if (s->t.nchildren > 0)
        plan->temp_bytes = pcoll_block_ring_bytes(&s->t.ring, s->self.span);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct state s;
    const enum pcoll_result result = pcoll_ring_tree_init(
        &s.t, plan, params, ring_of(&plan->signature, params), PCOLL_RING_TREE_UP);

    if (result == PCOLL_OK)
        build(&s);
    pcoll_ring_tree_fini(&s.t);
    return result;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    struct pcoll_ring ring = ring_of(signature, params);

    return pcoll_block_ring_bytes(&ring, signature->nranks - 1);
}

/* The time until the root has copied out all segments. The first needs `arrive`, and each of the
 * others `follow` more if the root is not busy. Its own block comes first. */
static double cost_at_root(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           const struct pcoll_machine *node, double arrive, double follow)
{
    const double segments = (double)ring->nsegments, own = (double)signature->bytes * node->copy;
    const double peers = signature->nranks - 1,
                 copies = pcoll_block_ring_pieces(ring, signature, 1);
    const double out = peers * (double)signature->bytes / segments * node->copy + copies * node->o;

    return pcoll_larger(arrive, own) + out + (segments - 1) * pcoll_larger(follow, out);
}

/* Until the root of a tree between leaders of `members` ranks each has the blocks of all. Of what
 * the longest path forwards, all hops have the time of one block already. */
static double cost_up(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                      struct pcoll_tree tree, double members, const struct pcoll_machine *machine)
{
    struct pcoll_machine own = pcoll_ring_machine(ring, machine);
    const double segment = (double)signature->bytes / (double)ring->nsegments;
    const double inner = pcoll_larger(0, tree.nranks - tree.radix - 1) / (tree.radix - 1);
    const double forwarded = tree.nranks > 1 ? members * (inner + 1) - 1 : 0; /* blocks */

    own.L += own.o + segment * own.copy; /* all children put at the same time */
    own.g = pcoll_ring_arrival(ring, machine);
    own.G = own.rma = own.o = 0;
    return pcoll_cost_spans(tree, 0, signature, &own) + forwarded * segment * machine->copy;
}

/* The root, or the leader of a node, has the first segment of all others after `arrive`. */
static double cost_in_node(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           struct pcoll_tree tree, double arrive, const struct pcoll_machine *node)
{
    if (pcoll_cost_crowd(signature, node) > 1)
        return pcoll_ring_tree_cost_crowded(signature, ring, tree, pcoll_tree_depth(tree) + 1,
                                            tree.nranks - 1, node);
    return cost_at_root(signature, ring, node, arrive, 0);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    struct pcoll_machine leaders = pcoll_cost_leaders(signature, machine);
    struct pcoll_ring ring = ring_of(signature, params);
    struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_tree tree = {teams.count, pcoll_radix(params)},
                            all = {signature->nranks, tree.radix},
                            in = {pcoll_ranks_per_node(signature), tree.radix};
    const double members = (double)signature->nranks / teams.count;
    const double segment = members * (double)signature->bytes / (double)ring.nsegments;
    const double below =
        pcoll_ring_tree_cost_in_teams(signature, &ring, tree.radix, machine, cost_up);
    double arrive, follow = (teams.count - 1) * (leaders.g + segment * leaders.G);

    if (!pcoll_is_over_wire(signature))
        return machine->call +
               cost_in_node(signature, &ring, all,
                            cost_up(signature, &ring, tree, members, machine) + below, machine);
    leaders.L += leaders.o; /* all children put at the same time */
    leaders.rma = leaders.o = 0;
    arrive = pcoll_cost_spans(tree, segment, signature, &leaders);
    if (teams.topology)
        arrive += cost_in_node(signature, &ring, in, below, &node);
    return machine->call + cost_at_root(signature, &ring, &node, arrive, follow) +
           pcoll_ring_tree_cost_credit(&ring, tree, machine);
}

const struct pcoll_algorithm pcoll_gather_knomial = {
    .name = "knomial",
    .alias = "binomial",
    .coll = PCOLL_GATHER,
    .description = "k-nomial tree through communication buffers, no rendezvous",
    .when = "short blocks of many ranks",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
    .uses_slots = PCOLL_RING,
};
