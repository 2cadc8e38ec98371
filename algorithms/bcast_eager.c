/*
 * Broadcast down a k-nomial tree through communication buffers.
 *
 * Idea: every rank but the root owns a ring of SLOTS slots, each with a counter, into which its
 * parent puts without asking.  The receiver passes the slot on to its children and copies it to
 * the user buffer.  No "ready" message, so a rank that runs ahead does not wait; instead a parent
 * may use a slot again only when its children gave it back.  They do so for half a ring at a time
 * ("credit"), so that a broadcast of one segment costs a quarter of a message for it.
 *
 * Source: document 003 (Sugiyama, Nanri), section 4.6, communication buffer; credits as in every
 * windowed protocol.
 *
 *      N = 5, radix 2:   0 -> 4, 2, 1    2 -> 3
 *
 * Where ranks share nodes, the tree is one between the leaders of nodes and one in each node below
 * its leader (topology.h): one message a node crosses the network.
 *
 * A message that fits a cell (PCOLL_CELL_BYTES) travels beside its counter.  A message of S > 1
 * segments takes S slots of an instance one after the other: the two-copy pipeline for long
 * messages where user buffers of peers are out of reach.  S is rounded up so that it divides the
 * ring or is a multiple of it; a cycle of the plan is one turn or more of the ring.
 *
 * What counter data[slot] receives for one use: 1 from the gate that the children's credit opens
 * (where there is one), 2 from the parent's put, 4 from each piece of work done on the slot (where
 * the credit for the parent waits for them).
 *
 * Cost: log_k N times (L + (k-1) (o + M copy)) + M copy, SLOTS + 2 counters.  When: small messages;
 * any size without access to user buffers.  Condition: credit[h] counts the same number of pours
 * of each child for each use of half h, so the sum is complete only if each child's are; a slot is
 * given back only when everything on it, and on the slots before it in its half, has been done.
 */
#include "algorithms/algorithm_files.h"
#include "algorithms/private.h"

#define DEFAULT_SEGMENT (32 * 1024)

enum { SLOTS = 8, HALF = SLOTS / 2, CREDIT = SLOTS, NCOUNTERS = SLOTS + 2 };
enum { GATE = 1, DATA = 2, WORK = 4 };

struct shape {
    int radix;
    uint64_t nsegments;  /* of one instance */
    uint64_t slot_bytes; /* 0: cells */
};

struct state {
    struct pcoll_plan *plan;
    struct shape shape;
    struct pcoll_teams teams;
    int parent, nchildren; /* parent of the root: PCOLL_NONE */
};

/* One use of one slot. */
struct use {
    struct pcoll_segment part;
    int slot, half;
    int gated, returned; /* waits for the children's credit, gives credit to the parent */
    uint64_t base;       /* level of data[slot] before this use */
    uint64_t credit;     /* level of credit[half] that opens the gate */
};

static int is_root(const struct state *s)
{
    return s->parent == PCOLL_NONE;
}

/* ---- the tree between leaders, and that of each team ---- */

static struct pcoll_tree between(const struct pcoll_teams *teams, int radix)
{
    return (struct pcoll_tree){teams->count, radix};
}

static struct pcoll_tree within(const struct pcoll_teams *teams, int team, int radix)
{
    return (struct pcoll_tree){pcoll_team_size(teams, team), radix};
}

static int parent_of(const struct pcoll_teams *teams, int radix, int rank)
{
    int team = pcoll_team_of(teams, rank), member = pcoll_team_member(teams, rank);

    if (member > 0)
        return pcoll_team_rank(teams, team, pcoll_tree_parent(within(teams, team, radix), member));
    if (team > 0)
        return pcoll_team_rank(teams, pcoll_tree_parent(between(teams, radix), team), 0);
    return PCOLL_NONE;
}

/* Children in other teams, which come first. */
static int nchildren_outside(const struct pcoll_teams *teams, int radix, int rank)
{
    if (pcoll_team_member(teams, rank) > 0)
        return 0;
    return pcoll_tree_nchildren(between(teams, radix), pcoll_team_of(teams, rank));
}

static int nchildren_of(const struct pcoll_teams *teams, int radix, int rank)
{
    int team = pcoll_team_of(teams, rank), member = pcoll_team_member(teams, rank);

    return nchildren_outside(teams, radix, rank) +
           pcoll_tree_nchildren(within(teams, team, radix), member);
}

static int child_of(const struct state *s, int i)
{
    const struct pcoll_teams *teams = &s->teams;
    int radix = s->shape.radix, rank = s->plan->rank, team = pcoll_team_of(teams, rank);
    int member = pcoll_team_member(teams, rank), outside = nchildren_outside(teams, radix, rank);

    if (i < outside)
        return pcoll_team_rank(teams, pcoll_tree_child(between(teams, radix), team, i), 0);
    member = pcoll_tree_child(within(teams, team, radix), member, i - outside);
    return pcoll_team_rank(teams, team, member);
}

/* ---- slots ---- */

static uint64_t round_segments(uint64_t n)
{
    uint64_t divisor = 1;

    if (n > SLOTS)
        return (n + SLOTS - 1) / SLOTS * SLOTS;
    while (divisor < n)
        divisor *= 2;
    return divisor;
}

static struct shape shape_of(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    uint64_t nsegments =
        round_segments(pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT));
    uint64_t largest = (signature->bytes - 1) / nsegments + 1;
    struct shape shape = {
        .radix = params->radix ? params->radix : 2,
        .nsegments = nsegments,
        .slot_bytes = largest <= PCOLL_CELL_BYTES ? 0 : (largest + 63) / 64 * 64,
    };

    return shape;
}

static struct pcoll_place slot_place(const struct state *s, int slot)
{
    if (s->shape.slot_bytes == 0)
        return pcoll_at(PCOLL_CELL, (uint64_t)slot * PCOLL_CELL_BYTES);
    return pcoll_at(PCOLL_TEMP, (uint64_t)slot * s->shape.slot_bytes);
}

/* With one segment, the phases before the last of a half have completed when it starts, so one
 * credit speaks for all four slots and one gate guards them.  With several, segments of an
 * instance may overtake each other and each slot has its own. */
static struct use use_of(const struct state *s, uint64_t phase, uint64_t i)
{
    uint64_t n = s->shape.nsegments, q = phase * n + i, turn = q / SLOTS;
    struct use use = {
        .part = pcoll_segment_of(s->plan->signature.bytes, n, i),
        .slot = (int)(q % SLOTS),
        .half = (int)(q % SLOTS) / HALF,
    };
    uint64_t per_use = n > 1 ? HALF : 1;

    use.gated = s->nchildren > 0 && (n > 1 || use.slot % HALF == 0);
    use.returned = !is_root(s) && (n > 1 || use.slot % HALF == HALF - 1);
    use.credit = turn * per_use * (uint64_t)s->nchildren;
    if (!is_root(s)) {
        uint64_t work = use.returned && s->nchildren > 0 ? (uint64_t)s->nchildren + 1 : 0;

        use.base = turn * ((use.gated ? 1u : 0u) * GATE + DATA + work * WORK);
    }
    return use;
}

static void add_puts(const struct state *s, const struct use *use, int trigger, uint64_t threshold,
                     uint64_t done)
{
    const struct pcoll_signature *sig = &s->plan->signature;
    struct pcoll_place from =
        is_root(s) ? pcoll_at(PCOLL_SEND, use->part.first) : slot_place(s, use->slot);

    for (int i = 0; i < s->nchildren; i++) {
        int child = child_of(s, i);
        struct pcoll_entry put = pcoll_entry_put(trigger, threshold, from, child,
                                                 slot_place(s, use->slot), use->part.count);

        put = pcoll_entry_pour(put, child, use->slot, DATA);
        if (done)
            put = pcoll_entry_done(put, use->slot, done);
        pcoll_plan_add(s->plan, put);
    }
}

static void add_root_use(const struct state *s, const struct use *use)
{
    add_puts(s, use, use->gated ? CREDIT + use->half : PCOLL_NONE, use->credit, 0);
}

static void add_leaf_use(const struct state *s, const struct use *use)
{
    struct pcoll_entry copy =
        pcoll_entry_copy(use->slot, use->base + DATA, slot_place(s, use->slot),
                         pcoll_at(PCOLL_RECV, use->part.first), use->part.count);

    if (use->returned)
        copy = pcoll_entry_pour(copy, s->parent, CREDIT + use->half, 1);
    pcoll_plan_add(s->plan, copy);
    s->plan->lift[use->slot] += DATA;
}

static void add_inner_use(const struct state *s, const struct use *use)
{
    uint64_t ready = use->base + DATA + (use->gated ? GATE : 0);
    uint64_t done = use->returned ? WORK : 0, all = ready + done * ((uint64_t)s->nchildren + 1);
    struct pcoll_entry copy =
        pcoll_entry_copy(use->slot, ready, slot_place(s, use->slot),
                         pcoll_at(PCOLL_RECV, use->part.first), use->part.count);

    if (use->gated) {
        struct pcoll_entry gate = pcoll_entry_add(CREDIT + use->half, use->credit);

        pcoll_plan_add(s->plan, pcoll_entry_done(gate, use->slot, GATE));
    }
    add_puts(s, use, use->slot, ready, done);
    pcoll_plan_add(s->plan, done ? pcoll_entry_done(copy, use->slot, done) : copy);
    if (use->returned)
        pcoll_plan_add(s->plan, pcoll_entry_pour(pcoll_entry_add(use->slot, all), s->parent,
                                                 CREDIT + use->half, 1));
    s->plan->lift[use->slot] += all - use->base;
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
    uint64_t n = s->shape.nsegments, turns = n > SLOTS ? n / SLOTS : 1;

    for (int phase = 0; phase < s->plan->nphases; phase++) {
        pcoll_plan_open(s->plan, phase);
        for (uint64_t i = 0; i < n; i++) {
            struct use use = use_of(s, (uint64_t)phase, i);

            add_use(s, &use);
        }
    }
    for (int half = 0; half < 2; half++)
        s->plan->lift[CREDIT + half] = turns * (n > 1 ? HALF : 1) * (uint64_t)s->nchildren;
    s->plan->temp_bytes = is_root(s) ? 0 : s->shape.slot_bytes * SLOTS;
}

enum pcoll_result pcoll_bcast_eager(const struct pcoll_signature *signature, int rank,
                                    const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct shape shape = shape_of(signature, params);
    int nphases = shape.nsegments < SLOTS ? SLOTS / (int)shape.nsegments : 1;
    struct pcoll_teams teams = pcoll_teams_of(signature);
    struct state s = {
        .shape = shape,
        .teams = teams,
        .parent = parent_of(&teams, shape.radix, rank),
        .nchildren = nchildren_of(&teams, shape.radix, rank),
    };
    enum pcoll_result result =
        pcoll_plan_create(signature, rank, "eager", NCOUNTERS, nphases, &s.plan);

    if (result != PCOLL_OK)
        return result;
    build(&s);
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

uint64_t pcoll_bcast_eager_temp(const struct pcoll_signature *signature,
                                const struct pcoll_params *params)
{
    return shape_of(signature, params).slot_bytes * SLOTS;
}

/* Of the tree over n ranks or nodes, at `byte` for each byte sent. */
static double cost_of_tree(const struct pcoll_signature *signature, const struct shape *shape,
                           int n, const struct pcoll_machine *machine, double byte)
{
    int radix = shape->radix < n ? shape->radix : n, depth = pcoll_log_ceil(n, radix);
    double segments = (double)shape->nsegments, crowd = pcoll_cost_crowd(signature, machine);
    double one = (double)signature->bytes / segments * byte + machine->o;
    double steps = depth + segments - 1;

    return pcoll_cost_waves(signature, machine, depth, radix - 1) +
           steps * (radix * one + (segments > 1 ? machine->L : 0)) * crowd;
}

double pcoll_bcast_eager_cost(const struct pcoll_signature *signature,
                              const struct pcoll_params *params,
                              const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    struct pcoll_teams teams = pcoll_teams_of(signature);
    struct shape shape = shape_of(signature, params);
    double cost =
        cost_of_tree(signature, &shape, teams.count, machine, pcoll_cost_temp(signature, machine));

    if (teams.topology)
        cost += cost_of_tree(signature, &shape, pcoll_ranks_per_node(signature), &node, node.copy);
    return cost;
}
