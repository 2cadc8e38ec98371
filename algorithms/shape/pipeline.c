/*
 * The engine of the pipelined broadcasts; the contract is in shape/pipeline.h.
 *
 * Idea: the message is cut into lanes, one for each tree of the shape, and a lane into S segments.
 * A rank forwards each segment to its children in the tree as it arrives, directly between user
 * buffers. A lane has one tank whatever S is: segment i is forwarded at threshold i + 1 (document
 * 001 section 4.1.2). The "ready" of each of the c children (their buffers may be written) signals
 * S on the same tank. This exceeds the number of segments that can still arrive while one "ready"
 * is missing, so segment i leaves at c S + i + 1, "ready" from all and i + 1 segments.
 *
 *      lane 0 with c = 2, S = 3:   0 ... ready 3, ready 6, segments 7, 8, 9
 *
 * Root: it has all segments from the start and sends segment i of all lanes before segment i + 1 of
 * any, so that all trees run at once where they share a port. It has one tank for all lanes.
 *
 * Rails: for R endpoints a shape of T trees has T R lanes; lane l belongs to tree l div R and has
 * rail l, which is endpoint l mod R. Every rank therefore puts equally on each endpoint, even if it
 * has children in one tree only, and only the segments of one lane need be in order. A lane is
 * contiguous.
 *
 * Nodes with several ranks (teams.h): the trees connect the leaders. A leader announces each
 * segment to its followers, which all get it from the leader's buffer at the same time while the
 * leader sends on. An announcement weighs S + 1 on the follower's tank (1 if S = 1), a completed
 * get weighs 1. When all gets have completed, the follower reports to the leader on one more
 * counter. The root announces the whole message at once.
 *
 * Source: document 001 section 4.1 for tank and pipeline; credits as "ready" of document 003.
 *
 * Cost, per segment of a lane: one entry for each child and one for each follower. Depth * (L + hop
 * segments) until the last rank has the first segment, then (S - 1) times what the busiest port
 * sends for one segment of all lanes. Rails send at the same time; the processor fires for one
 * after another.
 *
 * Condition: segments of one lane arrive in order (PCOLL_NEED_ORDER). One bank is enough: a child
 * completes k only after its parent has put all of it, which needed the "ready" of all its children
 * for k, so no "ready" of k + 1 can substitute for one of k. A leader completes k only after the
 * reports of all its followers, and these get nothing before it announces it in k. (Reports on the
 * tank of a lane would not do: a child that is already in k + 1 could substitute for them.)
 */
#include "algorithms/shape/pipeline.h"

#include "algorithms/cost.h"
#include "algorithms/shape/segment.h"
#include "algorithms/teams.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

struct pipeline {
    const struct pcoll_shape *shape;
    const struct pcoll_signature *signature;
    struct pcoll_teams teams;
    struct pcoll_trees trees;
    int nlanes, nrails;
    uint64_t segment;
};

struct lane {
    int number; /* the number is also its counter (except on the root) and its rail */
    int tree;
    struct pcoll_segment bytes;
    uint64_t nsegments;
};

static struct pipeline pipeline_of(const struct pcoll_shape *shape, int radix,
                                   const struct pcoll_signature *signature,
                                   const struct pcoll_params *params)
{
    int nrails = params->rails > 1 ? params->rails : 1;
    int nlanes = shape->ntrees * nrails;
    struct pcoll_teams teams = pcoll_teams_of(signature);
    int first = pcoll_team_rank(&teams, 0, 0);

    return (struct pipeline){
        .shape = shape,
        .signature = signature,
        .teams = teams,
        .trees = {.count = teams.count,
                  .origin = teams.topology ? pcoll_topology_node(teams.topology, first) : first,
                  .radix = radix},
        .nlanes = (uint64_t)nlanes < signature->bytes ? nlanes : (int)signature->bytes,
        .nrails = nrails,
        .segment = params->segment,
    };
}

static struct lane lane_of(const struct pipeline *line, int number)
{
    struct lane lane = {
        .number = number,
        .tree = number / line->nrails,
        .bytes = pcoll_segment_of(line->signature->bytes, (uint64_t)line->nlanes, (uint64_t)number),
    };

    lane.nsegments = pcoll_segment_count(lane.bytes.count, line->segment, DEFAULT_SEGMENT);
    return lane;
}

static struct pcoll_segment segment_of(const struct lane *lane, uint64_t i)
{
    struct pcoll_segment segment = pcoll_segment_of(lane->bytes.count, lane->nsegments, i);

    segment.first += lane->bytes.first;
    return segment;
}

static int leader_of(const struct pipeline *line, int team)
{
    return pcoll_team_rank(&line->teams, team, 0);
}

static int nfollowers_of(const struct pipeline *line, int team)
{
    return pcoll_team_size(&line->teams, team) - 1;
}

static int nchildren_of(const struct pipeline *line, const struct lane *lane, int team)
{
    int n = 0;

    while (line->shape->child(&line->trees, lane->tree, team, n) != PCOLL_NONE)
        n++;
    return n;
}

static uint64_t announcement(const struct lane *lane)
{
    return lane->nsegments > 1 ? lane->nsegments + 1 : 1;
}

/* The number of tanks of each rank of a team; the next counter is for the reports to the leader. */
static int ntanks_of(const struct pipeline *line, int team)
{
    return team == 0 ? 1 : line->nlanes;
}

/* Put segment i to all children when counter `trigger` reaches `threshold`. */
static void add_puts(struct pcoll_plan *plan, const struct pipeline *line, const struct lane *lane,
                     uint64_t i, int trigger, uint64_t threshold)
{
    const struct pcoll_signature *sig = line->signature;
    struct pcoll_segment segment = segment_of(lane, i);
    enum pcoll_buffer from = plan->rank == sig->root ? PCOLL_SEND : PCOLL_RECV;
    int team = pcoll_team_of(&line->teams, plan->rank), to;

    for (int j = 0; (to = line->shape->child(&line->trees, lane->tree, team, j)) != PCOLL_NONE;
         j++) {
        int child = leader_of(line, to);
        struct pcoll_entry put =
            pcoll_entry_put(trigger, threshold, pcoll_at(from, segment.first), child,
                            pcoll_at(PCOLL_RECV, segment.first), segment.count);

        put.rail = lane->number;
        pcoll_plan_add(plan, pcoll_entry_signal(put, child, lane->number, 1));
    }
}

/* Announce one more segment to the followers. */
static void add_announcements(struct pcoll_plan *plan, const struct pipeline *line, int counter,
                              struct pcoll_entry when, uint64_t weight)
{
    int team = pcoll_team_of(&line->teams, plan->rank);

    for (int j = 1; j <= nfollowers_of(line, team); j++)
        pcoll_plan_add(plan, pcoll_entry_signal(when, pcoll_team_rank(&line->teams, team, j),
                                                counter, weight));
}

/* ---- the root ---- */

/* Segment i of each lane that has so many segments; false: no lane has. */
static bool add_root_round(struct pcoll_plan *plan, const struct pipeline *line, uint64_t i,
                           uint64_t threshold)
{
    bool some = false;

    for (int number = 0; number < line->nlanes; number++) {
        struct lane lane = lane_of(line, number);

        if (i < lane.nsegments) {
            add_puts(plan, line, &lane, i, 0, threshold);
            some = true;
        }
    }
    return some;
}

static void build_root(struct pcoll_plan *plan, const struct pipeline *line)
{
    uint64_t ready = 0, i = 0;

    for (int number = 0; number < line->nlanes; number++) {
        struct lane lane = lane_of(line, number);

        ready += (uint64_t)nchildren_of(line, &lane, 0);
    }
    add_announcements(plan, line, 0, pcoll_entry_add(PCOLL_NONE, 0), 1);
    while (add_root_round(plan, line, i, ready))
        i++;
    plan->gain[0] = ready;
}

/* ---- the other leaders ---- */

static void add_ready(struct pcoll_plan *plan, const struct pipeline *line, const struct lane *lane,
                      int team)
{
    int up = line->shape->parent(&line->trees, lane->tree, team), parent = leader_of(line, up);
    struct pcoll_entry ready = pcoll_entry_add(PCOLL_NONE, 0);

    ready.rail = lane->number;
    if (up == 0)
        ready = pcoll_entry_signal(ready, parent, 0, 1);
    else
        ready = pcoll_entry_signal(ready, parent, lane->number, lane->nsegments);
    pcoll_plan_add(plan, ready);
}

static void build_leader(struct pcoll_plan *plan, const struct pipeline *line,
                         const struct lane *lane)
{
    int team = pcoll_team_of(&line->teams, plan->rank);
    uint64_t ready = (uint64_t)nchildren_of(line, lane, team) * lane->nsegments;

    add_ready(plan, line, lane, team);
    for (uint64_t i = 0; i < lane->nsegments; i++) {
        struct pcoll_entry here = pcoll_entry_add(lane->number, ready + i + 1);

        add_puts(plan, line, lane, i, here.trigger, here.threshold);
        add_announcements(plan, line, lane->number, here, announcement(lane));
    }
    plan->gain[lane->number] = ready + lane->nsegments;
    if (ready == 0 && nfollowers_of(line, team) == 0)
        pcoll_plan_add(plan, pcoll_entry_wait(lane->number, lane->nsegments));
}

/* ---- followers ---- */

/* The `leader` of the root's team has the message in SEND. */
static void build_follower(struct pcoll_plan *plan, const struct lane *lane, int leader,
                           int reports)
{
    enum pcoll_buffer from = leader == plan->signature.root ? PCOLL_SEND : PCOLL_RECV;
    uint64_t all = announcement(lane) * lane->nsegments;

    for (uint64_t i = 0; i < lane->nsegments; i++) {
        struct pcoll_segment segment = segment_of(lane, i);
        struct pcoll_entry get = pcoll_entry_get(
            lane->number, announcement(lane) * (i + 1), leader, pcoll_at(from, segment.first),
            pcoll_at(PCOLL_RECV, segment.first), segment.count);

        get.rail = lane->number;
        if (lane->nsegments == 1)
            pcoll_plan_add(plan, pcoll_entry_signal(get, leader, reports, 1));
        else
            pcoll_plan_add(plan, pcoll_entry_done(get, lane->number, 1));
    }
    if (lane->nsegments > 1) {
        all += lane->nsegments;
        pcoll_plan_add(plan,
                       pcoll_entry_signal(pcoll_entry_add(lane->number, all), leader, reports, 1));
    }
    plan->gain[lane->number] = all;
}

/* ---- the whole plan ---- */

/* The message as a follower of the root gets it. */
static struct lane whole(const struct pipeline *line)
{
    return (struct lane){.bytes = {0, line->signature->bytes}, .nsegments = 1};
}

static void build_lanes(struct pcoll_plan *plan, const struct pipeline *line, int team)
{
    int leader = leader_of(line, team);

    for (int number = 0; number < line->nlanes; number++) {
        struct lane lane = lane_of(line, number);

        if (leader == plan->rank)
            build_leader(plan, line, &lane);
        else
            build_follower(plan, &lane, leader, ntanks_of(line, team));
    }
}

static void build(struct pcoll_plan *plan, const struct pipeline *line)
{
    int team = pcoll_team_of(&line->teams, plan->rank), leader = leader_of(line, team);
    struct lane lane = whole(line);

    plan->ordered = true;
    pcoll_plan_open(plan, 0);
    if (team > 0)
        build_lanes(plan, line, team);
    else if (leader == plan->rank)
        build_root(plan, line);
    else
        build_follower(plan, &lane, leader, ntanks_of(line, team));
    if (leader == plan->rank && nfollowers_of(line, team) > 0) {
        int reports = ntanks_of(line, team);

        plan->gain[reports] = (uint64_t)nfollowers_of(line, team) * (uint64_t)reports;
        pcoll_plan_add(plan, pcoll_entry_wait(reports, plan->gain[reports]));
    }
}

enum pcoll_result pcoll_pipeline(const struct pcoll_shape *shape, int radix,
                                 struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pipeline line = pipeline_of(shape, radix, &plan->signature, params);
    const int team = pcoll_team_of(&line.teams, plan->rank);
    const bool has_followers =
        plan->rank == leader_of(&line, team) && nfollowers_of(&line, team) > 0;

    if (!pcoll_plan_begin(plan, ntanks_of(&line, team) + has_followers, 1))
        return PCOLL_ERR_NOMEM;
    build(plan, &line);
    return PCOLL_OK;
}

/* ---- cost ---- */

/* Followers read while the leader sends; their time beyond that, and the last segment, add to the
 * cost. */
static double cost_of_levels(const struct pipeline *line, const struct pcoll_machine *machine,
                             const struct lane *lane, double sending)
{
    const struct pcoll_signature *sig = line->signature;
    const struct pcoll_machine node = pcoll_cost_node(machine);
    double crowd = pcoll_cost_crowd(sig, &node);
    double bytes = (double)lane->bytes.count / (double)lane->nsegments;
    double one = (node.rma + node.o + bytes * node.G) * crowd;
    double reading = one * (double)lane->nsegments * line->nlanes;

    return (reading > sending ? reading - sending : 0) + one + pcoll_cost_waves(sig, &node, 2, 1);
}

/* What the levels of the trees, of `fan` children each (with several trees, one below the root),
 * and the busiest port add to the time of a bare signal, which is included in `hop`. A tree with
 * one level less may be filled with last children. At every level a segment meets one of each other
 * tree at the port: half of them do, and wait for half of its length. */
static double cost_of_sending(const struct pipeline *line, const struct pcoll_machine *machine,
                              struct pcoll_hop hop, double nsegments, int depth, double fan)
{
    double rounds = (double)line->nlanes / line->nrails, per_tree = fan / line->shape->ntrees;
    double level = hop.first - machine->L - machine->o;
    double deepest = depth * level + line->shape->late(&line->trees) * hop.gap;
    double above = depth - 1 - (line->shape->ntrees > 1); /* levels with siblings */
    double fuller = (depth - 1) * level + above * (fan - 1) * hop.gap - machine->L - machine->o;
    double steps = (deepest > fuller ? deepest : fuller) + (rounds - 1) * hop.gap +
                   (nsegments - 1) * (per_tree > 1 ? per_tree : 1) * rounds * hop.gap;
    int meet = nsegments > 1 && pcoll_is_over_wire(line->signature) ? line->shape->ntrees - 1 : 0;
    double crowd = line->teams.topology ? 1 : pcoll_cost_crowd(line->signature, machine);
    double work = crowd * nsegments * rounds * hop.gap; /* of all ranks that share a core */

    steps += meet * (nsegments - 1 < depth ? nsegments - 1 : depth) * hop.gap / 4;
    return crowd > 1 && work > steps ? work : steps;
}

/* Rails send at the same time; the processor fires for one after another. */
double pcoll_pipeline_cost(const struct pcoll_shape *shape, int radix,
                           const struct pcoll_signature *signature,
                           const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    struct pipeline line = pipeline_of(shape, radix, signature, params);
    struct lane lane = lane_of(&line, 0);
    const struct pcoll_machine own =
        pcoll_cost_leaders(signature, machine); /* waiting for cores is included in the cost of
                                                 * sending */
    const bool levels = line.teams.topology != NULL;
    int depth = shape->depth(&line.trees);
    double fan = shape->hop(&line.trees), n = (double)lane.nsegments;
    bool is_wire = pcoll_is_over_wire(signature);
    double gap = pcoll_larger(machine->g, machine->o);
    double sending, ready, firing; /* ready: the time to say so in all trees, or to hear it in
                                    * one */
    struct pcoll_hop hop;

    hop = pcoll_cost_hop(signature, &own, (double)lane.bytes.count / n);
    firing = is_wire ? machine->o + machine->rma : hop.gap;
    hop.gap = line.nrails * firing > hop.gap ? line.nrails * firing : hop.gap;
    sending = cost_of_sending(&line, machine, hop, n, depth, fan);
    ready = shape->ntrees > 1 ? ((double)line.nlanes / line.nrails - 1) * gap : (fan - 1) * hop.in;
    return machine->call + (depth + 1) * pcoll_cost_wave(signature, machine, 1, true) + ready +
           (line.nrails - 1) * (machine->o + firing) + sending +
           (levels ? cost_of_levels(&line, machine, &lane, sending) : 0);
}
