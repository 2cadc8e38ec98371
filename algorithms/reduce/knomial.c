/*
 * Reduce up a k-nomial tree in rank order, through communication buffers.
 *
 * Idea: every rank that has children owns a ring of slots, each with a counter. A slot has room for
 * one vector (or a segment of it) of each child. A child puts what its subtree gives into its
 * parent's slot without asking, and reuses that slot when the parent has returned it ("credit"),
 * half a ring at a time. When all children's vectors have arrived, the rank reduces them together
 * with its own by one REDUCE, in the place of the first child's; the root, in the user buffer.
 * Subtrees are consecutive ranks (shape/order_tree.h), so the order is kept for any root.
 *
 * Source: the k-nomial reduce of every MPI; communication buffers and credits as in the broadcast
 * of document 003 (Sugiyama, Nanri), section 4.6, in the opposite direction. The mirrored left side
 * is our own: others rotate ranks, and send the result of operators that do not commute from rank 0
 * to the root.
 *
 *      N = 6, root 1, radix 2:   4 -> 3: 3 * 4    0, 2, 3, 5 -> 1: 0 * 1 * 2 * (3 * 4) * 5
 *
 * The row `direct` is the star, radix N. If the vectors of all children of a rank fit a cell
 * (PCOLL_CELL_BYTES), they travel beside the counter.
 *
 * What counter data[slot] receives for one use: 1 from the gate that the parent's credit opens (if
 * there is one), 2 from each child's put, from the REDUCE (if the put to the parent or the credit
 * for the children waits for it), and from that put (if the credit waits for this slot only).
 *
 * Cost: log_k N (L + o + M copy), and log^2 N k / 2 M reduce; slots + 2 or 4 counters. When: short
 * vectors; long ones in segments. Condition (lemma D, ranks that only send run ahead): a child
 * waits for the credit of the last turn of the half before it fills its slots again, and the parent
 * gives it when it has passed on all of that half.
 */
#include "algorithms/reduce/knomial.h"

#include <stdlib.h>

#include "algorithms/cost.h"
#include "algorithms/shape/order_tree.h"

#define DEFAULT_SEGMENT (UINT64_C(32) << 10)

enum { GATE = 1, WORK = 2 };

struct state {
    struct pcoll_plan *plan;
    struct pcoll_order_tree tree;
    struct pcoll_ring ring; /* slot_bytes: of one vector; its segments are counted in units */
    uint64_t unit;
    int parent;   /* PCOLL_NONE: this is the root */
    int number;   /* among the parent's children */
    int siblings; /* the parent's children */
    int nchildren;
    int *children; /* [nchildren], ascending */
};

/* One use of one slot. */
struct use {
    struct pcoll_ring_use at;
    struct pcoll_segment part; /* in bytes */
    int gated;                 /* waits for the parent's credit */
    int counted, returned;     /* the children's credit waits for it; gives it */
    uint64_t level;            /* of data[slot] */
};

/* ---- slots ---- */

struct pcoll_ring pcoll_reduce_tree_ring(const struct pcoll_signature *signature,
                                         const struct pcoll_params *params)
{
    return pcoll_unit_ring_make(signature, params, DEFAULT_SEGMENT);
}

/* The size of a vector's place in a slot in TEMP for `n` children; 0: they are in a cell. */
static uint64_t room(const struct pcoll_ring *ring, int n)
{
    if ((uint64_t)n * ring->slot_bytes <= PCOLL_CELL_BYTES)
        return 0;
    return pcoll_whole_lines(ring->slot_bytes);
}

/* Where a rank with `n` children keeps what child `i` sends. */
static struct pcoll_place vector_at(const struct state *s, const struct use *use, int n, int i)
{
    const uint64_t slot = (uint64_t)use->at.slot, bytes = room(&s->ring, n);

    if (bytes == 0)
        return pcoll_at(PCOLL_CELL, slot * PCOLL_CELL_BYTES + (uint64_t)i * s->ring.slot_bytes);
    return pcoll_at(PCOLL_TEMP, (slot * (uint64_t)n + (uint64_t)i) * bytes);
}

static int is_root(const struct state *s)
{
    return s->parent == PCOLL_NONE;
}

static void begin(const struct state *s, int phase, uint64_t i, struct use *use)
{
    pcoll_ring_use(&s->ring, s->plan->signature.bytes / s->unit, phase, i, &use->at);
    use->part.first = use->at.part.first * s->unit;
    use->part.count = use->at.part.count * s->unit;
    use->gated = !is_root(s) && use->at.opens;
    use->counted = s->nchildren > 0 && use->at.counts;
    use->returned = s->nchildren > 0 && use->at.closes;
    use->level = s->plan->gain[use->at.slot];
}

/* ---- entries ---- */

static inline struct pcoll_entry put_up(const struct state *s, const struct use *use, int trigger,
                                        uint64_t threshold, struct pcoll_place from)
{
    const struct pcoll_entry put =
        pcoll_entry_put(trigger, threshold, from, s->parent,
                        vector_at(s, use, s->siblings, s->number), use->part.count);

    return pcoll_entry_signal(put, s->parent, use->at.slot, WORK);
}

static void add_leaf_use(const struct state *s, const struct use *use)
{
    const int credit = pcoll_ring_credit(&s->ring, use->at.half);

    pcoll_plan_add(s->plan,
                   put_up(s, use, use->gated ? credit : PCOLL_NONE, use->gated ? use->at.turn : 0,
                          pcoll_at(PCOLL_SEND, use->part.first)));
}

/* What the entry that empties the slot adds to which counter, if credit waits for it. */
struct told {
    int counter;
    uint64_t add;
};

static struct told count_work(const struct state *s, struct use *use)
{
    const int emptied = pcoll_ring_emptied(&s->ring, &use->at);

    if (!use->counted)
        return (struct told){PCOLL_NONE, 0};
    if (emptied == use->at.slot) {
        use->level += WORK;
        return (struct told){emptied, WORK};
    }
    s->plan->gain[emptied]++;
    return (struct told){emptied, 1};
}

/* The operands: what the children have sent, with the own vector in its place among them. */
static void add_operands(const struct state *s, struct use *use)
{
    int left = 0;

    while (left < s->nchildren && s->children[left] < s->plan->rank)
        pcoll_plan_operand(s->plan, vector_at(s, use, s->nchildren, left++));
    pcoll_plan_operand(s->plan, pcoll_at(PCOLL_SEND, use->part.first));
    for (int i = left; i < s->nchildren; i++)
        pcoll_plan_operand(s->plan, vector_at(s, use, s->nchildren, i));
    use->level += (uint64_t)s->nchildren * WORK;
}

static void add_reduce(const struct state *s, const struct use *use, uint64_t arrived,
                       struct pcoll_place to, struct told told)
{
    const struct pcoll_entry reduce =
        pcoll_entry_reduce(s->plan, use->at.slot, arrived, s->nchildren + 1, to, use->part.count);

    pcoll_plan_add(s->plan, pcoll_entry_done(reduce, told.counter, told.add));
}

static void add_gate(const struct state *s, struct use *use)
{
    const struct pcoll_entry gate =
        pcoll_entry_add(pcoll_ring_credit(&s->ring, use->at.half), use->at.turn);

    pcoll_plan_add(s->plan, pcoll_entry_done(gate, use->at.slot, GATE));
    use->level += GATE;
}

static void add_inner_use(const struct state *s, struct use *use)
{
    const struct pcoll_place sum = vector_at(s, use, s->nchildren, 0);
    struct pcoll_entry put;
    struct told told;

    add_operands(s, use);
    add_reduce(s, use, use->level, sum, (struct told){use->at.slot, WORK});
    use->level += WORK;
    if (use->gated)
        add_gate(s, use);
    put = put_up(s, use, use->at.slot, use->level, sum);
    told = count_work(s, use);
    pcoll_plan_add(s->plan, pcoll_entry_done(put, told.counter, told.add));
}

static void add_root_use(const struct state *s, struct use *use)
{
    uint64_t arrived;

    add_operands(s, use);
    arrived = use->level;
    add_reduce(s, use, arrived, pcoll_at(PCOLL_RECV, use->part.first), count_work(s, use));
}

static void add_credits(const struct state *s, const struct use *use)
{
    const int credit = pcoll_ring_credit(&s->ring, use->at.half);
    const int emptied = pcoll_ring_emptied(&s->ring, &use->at);
    const uint64_t level = emptied == use->at.slot ? use->level : s->plan->gain[emptied];

    for (int i = 0; i < s->nchildren; i++)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(emptied, level), s->children[i],
                                                   credit, 1));
}

static void add_use(const struct state *s, struct use *use)
{
    if (s->nchildren == 0) {
        add_leaf_use(s, use);
        return;
    }
    (is_root(s) ? add_root_use : add_inner_use)(s, use);
    if (use->returned)
        add_credits(s, use);
    s->plan->gain[use->at.slot] = use->level;
}

static void build(struct state *s)
{
    for (int phase = 0; phase < s->plan->nphases; phase++) {
        pcoll_plan_open(s->plan, phase);
        for (uint64_t i = 0; i < s->ring.nsegments; i++) {
            struct use use;

            begin(s, phase, i, &use);
            add_use(s, &use);
        }
    }
    for (int half = 0; half < 2 && !is_root(s); half++)
        s->plan->gain[pcoll_ring_credit(&s->ring, half)] = pcoll_ring_turns(&s->ring);
    s->plan->temp_bytes =
        (uint64_t)s->ring.slots * (uint64_t)s->nchildren * room(&s->ring, s->nchildren);
}

/* Finds the relatives; s->children has room for all ranks. */
static void find_place(struct state *s)
{
    const int rank = s->plan->rank;

    s->parent = pcoll_order_tree_parent(&s->tree, rank);
    if (!is_root(s))
        s->siblings = pcoll_order_tree_children(&s->tree, s->parent, s->children);
    while (!is_root(s) && s->children[s->number] != rank)
        s->number++;
    s->nchildren = pcoll_order_tree_children(&s->tree, rank, s->children);
}

enum pcoll_result pcoll_reduce_tree_generate(const struct pcoll_signature *signature, int radix,
                                             int rank, const struct pcoll_params *params,
                                             struct pcoll_plan **plan_p)
{
    struct state s = {
        .tree = pcoll_order_tree_of(signature, radix),
        .ring = pcoll_reduce_tree_ring(signature, params),
        .unit = pcoll_unit_of(signature),
        .children = calloc((size_t)signature->nranks, sizeof(*s.children)),
    };
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (s.children)
        result = pcoll_plan_create(signature, rank, "knomial", pcoll_ring_counters(&s.ring),
                                   pcoll_ring_phases(&s.ring), &s.plan);
    if (result == PCOLL_OK) {
        find_place(&s);
        build(&s);
        *plan_p = s.plan;
        result = pcoll_plan_seal(plan_p);
    }
    free(s.children);
    return result;
}

/* ---- cost ---- */

uint64_t pcoll_reduce_tree_temp_bytes(const struct pcoll_signature *signature, int radix,
                                      const struct pcoll_params *params)
{
    const struct pcoll_ring ring = pcoll_reduce_tree_ring(signature, params);
    const struct pcoll_order_tree tree = pcoll_order_tree_of(signature, radix);
    const int most = pcoll_order_tree_most_children(&tree);

    return (uint64_t)ring.slots * (uint64_t)most * room(&ring, most);
}

/* A tree of so many levels, each of which has a rank with `more` children; `one` is the time from
 * the REDUCE of a child to that of its parent, `port` that between the arrivals of two children,
 * and `reduce` that to reduce what one child has sent. A rank on level i has i * more children. */
struct levels {
    double count, more, one, port, reduce;
};

static double cost_of_levels(struct levels l, double segments)
{
    const double first =
        l.count * (l.one + (l.more - 1) * l.port) + l.more * l.reduce * l.count * (l.count + 1) / 2;
    const double next = l.count * l.more * pcoll_larger(l.port, l.reduce);

    return first + (segments - 1) * next;
}

static double cost_of_tree(const struct pcoll_signature *signature, int radix,
                           const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const struct pcoll_ring ring = pcoll_reduce_tree_ring(signature, params);
    const struct pcoll_order_tree tree = pcoll_order_tree_of(signature, radix);
    const struct pcoll_order_depth depth = pcoll_order_tree_depth(&tree);
    const struct pcoll_machine all = pcoll_ring_machine(&ring, machine), in = pcoll_cost_node(&all);
    const double segments = (double)ring.nsegments, part = (double)signature->bytes / segments;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double more = radix - 1 < signature->nranks - 1 ? radix - 1 : signature->nranks - 1;
    const double work = in.o + part * in.reduce, turn = crowd > 1 ? crowd * in.turn : 0;
    const int wire = pcoll_is_over_wire(signature), is_flat = wire && !tree.topology;
    const struct levels outside = {is_flat ? depth.within : depth.between, more,
                                   all.L + all.o + part * all.G + turn, all.g + part * all.G, work};
    const struct levels inside = {is_flat ? 0 : depth.within, more,
                                  in.L + in.o + crowd * part * in.copy + turn, 0, crowd * work};

    return machine->call + in.o + cost_of_levels(outside, segments) +
           cost_of_levels(inside, segments);
}

/* ---- the rows ---- */

static int radix_of(const struct pcoll_params *params)
{
    return params->radix ? params->radix : 2;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    (void)local;
    return pcoll_reduce_tree_generate(signature, radix_of(params), rank, params, plan_p);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return pcoll_reduce_tree_temp_bytes(signature, radix_of(params), params);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    return cost_of_tree(signature, radix_of(params), params, machine);
}

const struct pcoll_algorithm pcoll_reduce_knomial = {
    .name = "knomial",
    .alias = "binomial",
    .coll = PCOLL_REDUCE,
    .description = "k-nomial tree in rank order through communication buffers",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_segment = 1,
    .uses_slots = 1,
};

static enum pcoll_result generate_star(const struct pcoll_signature *signature,
                                       const struct pcoll_local *local, int rank,
                                       const struct pcoll_params *params,
                                       struct pcoll_plan **plan_p)
{
    (void)local;
    return pcoll_reduce_tree_generate(signature, signature->nranks, rank, params, plan_p);
}

static uint64_t temp_of_star(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    return pcoll_reduce_tree_temp_bytes(signature, signature->nranks, params);
}

static double cost_of_star(const struct pcoll_signature *signature,
                           const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    return cost_of_tree(signature, signature->nranks, params, machine);
}

const struct pcoll_algorithm pcoll_reduce_direct = {
    .name = "direct",
    .alias = "linear",
    .coll = PCOLL_REDUCE,
    .description = "the root reduces everything (in each node its leader)",
    .generate = generate_star,
    .cost = cost_of_star,
    .temp_bytes = temp_of_star,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_slots = 1,
};
