/*
 * Allreduce up and down two trees at once, with half the vector in each, in rank order.
 *
 * Idea: every rank is inner in at most one of the two binary trees of shape/two_tree.h. In
 * segments, half a vector is reduced up each tree, through communication buffers, and comes down
 * the same tree, by put into the user buffers. So every port sends and receives two vectors, as
 * around a ring, at twice the depth of a binary tree. No rank is the root of both.
 *
 *      N = 7:        3               2
 *                 1     5         0     4
 *                0 2   4 6          1  3 5         (6 is the parent of 2)
 *
 * Slots: a rank that has children owns a ring of slots, each with a counter and with room for one
 * segment of each child. Segment i takes slot i mod slots, and a rank gives segment i + slots when
 * it has the result of segment i. So no slot needs a credit, and no buffer a "ready".
 *
 * What the counter of a slot receives for one use: 1 from each child, from the REDUCE, and with the
 * result from the parent.
 *
 *      2 children, use t of a slot:   5t + 2: REDUCE, 5t + 3: put up, 5t + 4: put down
 *
 * A rank without children sends a segment when the one before has left, so that what it sends in
 * the other tree does not queue behind all: its slots have a second counter, which receives 1 from
 * the put before, and 1 from the first counter when that has the result of the last use.
 *
 * Nodes with several ranks: the trees connect their leaders, whose children the other ranks are.
 * They get results from the leader's buffer, and report that to one more counter.
 *
 * Source: Sanders, Speck, Traeff 2009 (shape/two_tree.h). The window of slots is ours.
 *
 * Cost: 2 log2 N (L + o + s (2 G + reduce)) for the first segment of s bytes, then 2 M G, while the
 * processors reduce. Condition: a result depends on all vectors. A rank that has that of segment i
 * knows that its parent has passed on the segment, so the slot is free, and in the next instance
 * all slots are. A result is put into RECV of a rank that has given its operand for it, so it has
 * started, and in place needs that operand no longer. Bits are equal, as one rank reduces each
 * segment of the result for all.
 */
#include <assert.h>
#include <stdbool.h>

#include "algorithms/cost.h"
#include "algorithms/shape/segment.h"
#include "algorithms/shape/two_tree.h"

#define DEFAULT_SEGMENT (UINT64_C(64) << 10)

enum { SLOTS = 16, TREES = 2 };

/* How vectors are cut: a lane for each tree, and each lane into segments, none of which is empty.
 */
struct cut {
    int nlanes, slots;
    uint64_t nsegments;
    uint64_t room; /* in a slot, for a segment of one child */
};

/* A lane on one rank. */
struct lane {
    struct pcoll_relatives relatives;
    struct pcoll_segment units;
    int counter;                /* of its first slot, on all ranks */
    uint64_t temp, parent_temp; /* where the slots begin in TEMP, on this rank and on the parent */
};

struct state {
    struct pcoll_plan *plan;
    struct pcoll_two_tree two;
    struct cut cut;
    struct lane lanes[TREES];
    int nfollowers;
    bool is_leader; /* of this rank */
    int own;        /* the first counter that is not of a slot */
};

/* A segment of a lane. */
struct item {
    const struct lane *lane;
    uint64_t number;
    struct pcoll_segment segment; /* in bytes */
    int slot, counter;
    uint64_t level; /* of the counter */
};

/* The search also asks for a vector without elements, as if it had one. */
static struct cut cut_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    const uint64_t unit = pcoll_unit_of(signature), all = signature->bytes / unit;
    const uint64_t units = all > 0 ? all : 1,
                   slots = params->slots ? (uint64_t)params->slots : SLOTS;
    const uint64_t nlanes = units < TREES ? 1 : TREES;
    const uint64_t longest = (units - 1) / nlanes + 1;
    uint64_t n = pcoll_segment_count(longest * unit, params->segment, DEFAULT_SEGMENT);

    n = n < units / nlanes ? n : units / nlanes;
    assert(n > 0);
    return (struct cut){
        .nlanes = (int)nlanes,
        .slots = (int)(slots < n ? slots : n),
        .nsegments = n,
        .room = pcoll_whole_lines(((longest - 1) / n + 1) * unit),
    };
}

/* ---- slots ---- */

static uint64_t slots_bytes(const struct cut *cut, int nchildren)
{
    return (uint64_t)cut->slots * (uint64_t)nchildren * cut->room;
}

/* A leader is inner in one tree, where it has two children more. */
static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_two_tree two =
        pcoll_two_tree_of(signature, pcoll_teams_to_reduce(signature));
    const struct cut cut = cut_of(signature, params);
    const int followers = pcoll_teams_sizes(&two.teams).max - 1;

    return slots_bytes(&cut, cut.nlanes * followers + 2);
}

/* Where the slots of a lane begin in TEMP of a rank: after those of the lane before. */
static uint64_t temp_of(const struct state *s, int lane, int rank)
{
    return lane == 0 || rank == PCOLL_NONE
               ? 0
               : slots_bytes(&s->cut, pcoll_two_tree_nchildren(&s->two, 0, rank));
}

/* Where a rank with `n` children, whose slots begin at `temp`, keeps what child `i` sends. */
static struct pcoll_place vector_at(const struct state *s, const struct item *item, uint64_t temp,
                                    int n, int i)
{
    return pcoll_at(PCOLL_TEMP, temp + (uint64_t)(item->slot * n + i) * s->cut.room);
}

static struct pcoll_place child_at(const struct state *s, const struct item *item, int i)
{
    return vector_at(s, item, item->lane->temp, item->lane->relatives.nchildren, i);
}

/* ---- up ---- */

static struct pcoll_entry put_up(const struct state *s, const struct item *item, int trigger,
                                 uint64_t threshold, struct pcoll_place from)
{
    const struct pcoll_relatives *f = &item->lane->relatives;
    const struct pcoll_place to =
        vector_at(s, item, item->lane->parent_temp, f->siblings, f->number);
    const struct pcoll_entry put =
        pcoll_entry_put(trigger, threshold, from, f->parent, to, item->segment.count);

    return pcoll_entry_signal(put, f->parent, item->counter, 1);
}

/* What the children have sent, with the own vector in its place among them. */
static void add_reduce(const struct state *s, struct item *item, struct pcoll_place to)
{
    const struct pcoll_relatives *f = &item->lane->relatives;
    struct pcoll_entry reduce;

    for (int i = 0; i < f->left; i++)
        pcoll_plan_operand(s->plan, child_at(s, item, i));
    pcoll_plan_operand(s->plan, pcoll_at(PCOLL_SEND, item->segment.first));
    for (int i = f->left; i < f->nchildren; i++)
        pcoll_plan_operand(s->plan, child_at(s, item, i));
    item->level += (uint64_t)f->nchildren;
    reduce = pcoll_entry_reduce(s->plan, item->counter, item->level++, f->nchildren + 1, to,
                                item->segment.count);
    pcoll_plan_add(s->plan, pcoll_entry_done(reduce, item->counter, 1));
}

static void add_leaf(const struct state *s, const struct item *item)
{
    const struct pcoll_place from = pcoll_at(PCOLL_SEND, item->segment.first);
    const bool is_first = item->level == 0;

    pcoll_plan_add(s->plan,
                   put_up(s, item, is_first ? PCOLL_NONE : item->counter, item->level, from));
}

static void add_paced_leaf(const struct state *s, const struct item *item)
{
    const int pace = s->own + item->slot, next = s->own + (item->slot + 1) % s->cut.slots;
    uint64_t level = s->plan->gain[pace];
    struct pcoll_entry put;

    if (item->level > 0) {
        pcoll_plan_add(s->plan,
                       pcoll_entry_done(pcoll_entry_add(item->counter, item->level), pace, 1));
        level++;
    }
    level += item->number > 0;
    put = put_up(s, item, level > 0 ? pace : PCOLL_NONE, level,
                 pcoll_at(PCOLL_SEND, item->segment.first));
    pcoll_plan_add(s->plan,
                   item->number + 1 < s->cut.nsegments ? pcoll_entry_done(put, next, 1) : put);
    s->plan->gain[pace] = level;
}

static void add_up(const struct state *s, struct item *item)
{
    const struct pcoll_relatives *f = &item->lane->relatives;

    if (pcoll_relatives_is_root(f)) {
        add_reduce(s, item, pcoll_at(PCOLL_RECV, item->segment.first));
    } else if (f->nchildren > 0) {
        const struct pcoll_place sum = child_at(s, item, 0);

        add_reduce(s, item, sum);
        pcoll_plan_add(s->plan, put_up(s, item, item->counter, item->level, sum));
    } else if (s->is_leader && s->cut.nsegments > 1) {
        add_paced_leaf(s, item);
    } else {
        add_leaf(s, item);
    }
}

/* ---- down ---- */

/* To the leader of another team, or an announcement to a rank of the own one. */
static void add_down(const struct state *s, const struct item *item, int child)
{
    const struct pcoll_place recv = pcoll_at(PCOLL_RECV, item->segment.first);
    struct pcoll_entry down = pcoll_entry_add(item->counter, item->level);

    if (pcoll_team_of(&s->two.teams, child) != pcoll_team_of(&s->two.teams, s->plan->rank))
        down = pcoll_entry_put(item->counter, item->level, recv, child, recv, item->segment.count);
    pcoll_plan_add(s->plan, pcoll_entry_signal(down, child, item->counter, 1));
}

static void add_result(const struct state *s, struct item *item)
{
    const struct pcoll_relatives *f = &item->lane->relatives;
    const bool is_last_use = item->number + (uint64_t)s->cut.slots >= s->cut.nsegments;

    item->level += !pcoll_relatives_is_root(f);
    for (int i = 0; i < f->nchildren; i++)
        add_down(s, item, f->children[i]);
    if (f->nchildren == 0 && is_last_use)
        pcoll_plan_add(s->plan, pcoll_entry_wait(item->counter, item->level));
}

static void add_get(const struct state *s, struct item *item)
{
    const struct pcoll_place recv = pcoll_at(PCOLL_RECV, item->segment.first);
    const int leader = item->lane->relatives.parent;
    const struct pcoll_entry get =
        pcoll_entry_get(item->counter, ++item->level, leader, recv, recv, item->segment.count);

    pcoll_plan_add(s->plan, pcoll_entry_signal(get, leader, s->own, 1));
}

/* ---- the plan ---- */

static struct item item_of(const struct state *s, int lane, uint64_t number)
{
    const uint64_t unit = pcoll_unit_of(&s->plan->signature);
    const struct lane *of = &s->lanes[lane];
    const struct pcoll_segment segment =
        pcoll_segment_of(of->units.count, s->cut.nsegments, number);
    const int slot = (int)(number % (uint64_t)s->cut.slots);

    return (struct item){
        .lane = of,
        .number = number,
        .segment = {(of->units.first + segment.first) * unit, segment.count * unit},
        .slot = slot,
        .counter = of->counter + slot,
        .level = s->plan->gain[of->counter + slot],
    };
}

static void build(const struct state *s)
{
    pcoll_plan_open(s->plan, 0);
    for (uint64_t i = 0; i < s->cut.nsegments; i++)
        for (int lane = 0; lane < s->cut.nlanes; lane++) {
            struct item item = item_of(s, lane, i);

            add_up(s, &item);
            if (s->is_leader)
                add_result(s, &item);
            else
                add_get(s, &item);
            s->plan->gain[item.counter] = item.level;
        }
    if (s->nfollowers > 0) {
        s->plan->gain[s->own] =
            (uint64_t)s->nfollowers * (uint64_t)s->cut.nlanes * s->cut.nsegments;
        pcoll_plan_add(s->plan, pcoll_entry_wait(s->own, s->plan->gain[s->own]));
    }
    for (int lane = 0; lane < s->cut.nlanes; lane++)
        s->plan->temp_bytes += slots_bytes(&s->cut, s->lanes[lane].relatives.nchildren);
}

static enum pcoll_result take_lanes(struct state *s)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < s->cut.nlanes && result == PCOLL_OK; i++) {
        struct lane *lane = &s->lanes[i];

        result = pcoll_two_tree_relatives(&s->two, i, s->plan->rank, &lane->relatives);
        lane->units = pcoll_segment_of(signature->bytes / pcoll_unit_of(signature),
                                       (uint64_t)s->cut.nlanes, (uint64_t)i);
        lane->counter = i * s->cut.slots;
        lane->temp = temp_of(s, i, s->plan->rank);
        lane->parent_temp = temp_of(s, i, lane->relatives.parent);
    }
    return result;
}

/* Returns the number of counters. */
static int find_role(struct state *s)
{
    const int team = pcoll_team_of(&s->two.teams, s->plan->rank);

    s->is_leader = pcoll_team_rank(&s->two.teams, team, 0) == s->plan->rank;
    s->nfollowers = s->is_leader ? pcoll_team_size(&s->two.teams, team) - 1 : 0;
    s->own = s->cut.nlanes * s->cut.slots;
    return s->own + (s->nfollowers > 0 ? 1 : s->is_leader ? s->cut.slots : 0);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct state s = {.plan = plan,
                      .two = pcoll_two_tree_of(signature, pcoll_teams_to_reduce(signature)),
                      .cut = cut_of(signature, params)};
    enum pcoll_result result;

    if (!pcoll_plan_begin(plan, find_role(&s), 1))
        return PCOLL_ERR_NOMEM;
    result = take_lanes(&s);
    if (result == PCOLL_OK)
        build(&s);
    for (int lane = 0; lane < s.cut.nlanes; lane++)
        pcoll_relatives_fini(&s.lanes[lane].relatives);
    return result;
}

/* ---- cost ---- */

/* A level of the trees: the time from when a child has a segment until its parent has reduced it;
 * from when the parent has the result until the child has it; for which a segment keeps the port,
 * or in a node the processor, and makes the next one later; and until a rank can do the same with
 * the next segment. */
struct pace {
    double up, down, more, next;
};

/* The number of ranks of a node that lead none. */
static double followers_of(const struct pcoll_signature *signature,
                           const struct pcoll_two_tree *two)
{
    return two->teams.topology ? pcoll_ranks_per_node(signature) - 1 : 0;
}

/* Between teams a rank sends a segment up each tree and two down one; with few ranks, fewer. A
 * leader reduces what the others of its node have, in both trees. Where port and processors are
 * equally busy, they wait for each other at times. */
static struct pace pace_of(const struct pcoll_signature *signature,
                           const struct pcoll_two_tree *two, const struct pcoll_machine *machine,
                           double bytes)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const bool is_wire = pcoll_is_over_wire(signature);
    const double crowd = pcoll_cost_crowd(signature, machine), o = machine->o, g = machine->g;
    const double kids = two->teams.count > 2 ? 2 : 1, ups = two->teams.count > 3 ? 2 : 1;
    const double followers = followers_of(signature, two);
    const double one = crowd * bytes * node.reduce;
    const double put = crowd * (is_wire ? o : o + bytes * node.copy);
    const double user = crowd * (machine->rma + (is_wire ? o : o + bytes * (node.G + node.put)));
    const double length = is_wire ? g + bytes * machine->G : 0;
    const double port = is_wire ? ups * length + kids * (machine->rma + length) : 0;
    const double telling = crowd * TREES * followers * node.o;
    const double work =
        ups * put + kids * user + crowd * node.o + (kids + 3 * followers) * one + telling;
    const double wave = pcoll_cost_wave(signature, machine, 0, true) - (is_wire ? g : 0);

    return (struct pace){
        .up = wave + put + length + node.o + (kids + followers) * one,
        .down = wave + user + length,
        .more = is_wire ? length : put,
        .next = port > work ? port + work / 4 : work + port / 4,
    };
}

/* What a rank that leads no node does with a segment: it gives its own and gets the result. In a
 * node, that is what a rank does for the other tree. */
static double work_of_follower(const struct pcoll_signature *signature,
                               const struct pcoll_machine *node, double bytes)
{
    return pcoll_cost_crowd(signature, node) *
           (2 * node->o + bytes * node->copy + node->rma + bytes * node->G);
}

/* Followers signal a counter of their leader, and read its memory: by how much longer than one of
 * them all need to give a segment, and to get one of each tree. */
struct queue {
    double in, out;
};

static struct queue queue_of(const struct pcoll_signature *signature, double followers, int nlanes,
                             const struct pcoll_machine *node, double bytes)
{
    const double arrival = pcoll_cost_crowd(signature, node) > 1 ? 0 : node->arrival;
    const double readers = nlanes * followers, lane = (double)signature->bytes / nlanes;
    const double get = node->rma + bytes * node->G;
    double at_once;

    if (readers == 0)
        return (struct queue){0, 0};
    at_once = pcoll_cost_accessors(node, readers, pcoll_lesser(lane, node->locked) / followers);
    return (struct queue){
        .in = (followers - 1) * arrival,
        .out = pcoll_larger((readers / at_once - 1) * get, (readers - 1) * arrival),
    };
}

/* A rank cannot send faster than results come back. At every level but one a segment has a sibling,
 * and meets one of the other tree at the port. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const struct pcoll_two_tree two =
        pcoll_two_tree_of(signature, pcoll_teams_to_reduce(signature));
    const struct cut cut = cut_of(signature, params);
    const double n = (double)cut.nsegments, depth = pcoll_two_tree_depth(&two);
    const double bytes = (double)signature->bytes / cut.nlanes / n;
    const struct pace pace = pace_of(signature, &two, machine, bytes);
    const double follower = work_of_follower(signature, &node, bytes);
    const bool has_followers = two.teams.topology != NULL;
    const struct queue queue =
        queue_of(signature, followers_of(signature, &two), cut.nlanes, &node, bytes);
    const double within =
        has_followers || !pcoll_is_over_wire(signature)
            ? 2 * pcoll_cost_wave(signature, &node, 0, true) + follower + bytes * node.reduce
            : 0;
    const double crossings = two.teams.count > 3 ? 2 * (depth - 1) : 0;
    const double first =
        depth * (pace.up + pace.down) + crossings * pace.more + within + queue.in + queue.out;
    const double back = n > cut.slots ? first / cut.slots : 0;
    const double next = pcoll_larger(pcoll_larger(pace.next, back),
                                     has_followers ? cut.nlanes * follower + queue.out : 0);
    const double meet = n - 1 < crossings ? n - 1 : crossings;

    return machine->call + first + (n - 1) * next + 0.85 * meet * pace.more;
}

const struct pcoll_algorithm pcoll_allreduce_two_tree = {
    .name = "two_tree",
    .coll = PCOLL_ALLREDUCE,
    .description = "up and down two pipelined binary trees, half the vector in each, in rank order",
    .when = "long vectors on many nodes, above all if their number is no power of two",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_segment = 1,
    .uses_slots = PCOLL_RING,
};
