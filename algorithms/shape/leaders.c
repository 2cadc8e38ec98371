/* Reductions with several leaders a node; the contract is in leaders.h. */
#include "algorithms/shape/leaders.h"

#include "algorithms/util.h"
#include "algorithms/shape/between.h"

enum { SEQUENCE = 2 }; /* counter of the results that a rank has got, with several segments */

struct state {
    struct pcoll_plan *plan;
    struct pcoll_leaders by;
    enum pcoll_between_way way;
    struct pcoll_mates mates[PCOLL_GRID_DEPTHS]; /* of this rank */
    uint64_t number;
    int bank;    /* of the segment: its counter, and its bank of TEMP */
    int trigger; /* what this rank's puts of the segment wait for */
    uint64_t threshold;
    uint64_t level; /* of this rank's counter, when everything so far has happened */

    /* In units: what is cut into slices at this depth. On the last one it is the segment, on any
     * other the rank's slice of the depth after it. */
    struct pcoll_segment whole[PCOLL_GRID_DEPTHS];
};

/* ---- slices ---- */

static struct pcoll_segment slice_of(const struct state *s, int depth, int leader)
{
    const struct pcoll_segment whole = s->whole[depth];
    const struct pcoll_segment slice =
        pcoll_segment_of(whole.count, (uint64_t)s->by.counts[depth], (uint64_t)leader);

    return (struct pcoll_segment){whole.first + slice.first, slice.count};
}

static uint64_t bytes_of(const struct state *s, uint64_t units)
{
    return units * pcoll_unit_of(&s->plan->signature);
}

/* ---- TEMP of a leader: two banks, then the slots ---- */

/* A bank: the room of the stage between nodes, then what the rank has of its slices of the other
 * depths. */
static uint64_t bank_room(const struct pcoll_signature *signature, const struct pcoll_leaders *by,
                          enum pcoll_between_way way)
{
    uint64_t room = pcoll_between_room(way, signature, by);

    for (int depth = 1; depth < by->depths; depth++)
        room += pcoll_whole_lines(by->bytes[depth]);
    return room;
}

static uint64_t slots_room(const struct pcoll_leaders *by, int depth, int mates)
{
    return (uint64_t)(mates - 1) * pcoll_whole_lines(by->bytes[depth]);
}

static struct pcoll_place bank_at(const struct state *s, uint64_t offset)
{
    const uint64_t room = bank_room(&s->plan->signature, &s->by, s->way);

    return pcoll_at(PCOLL_TEMP, (uint64_t)s->bank * room + offset);
}

/* What a leader has of its slice: the sum of its mates; after the first depth, in its place, the
 * result. */
static struct pcoll_place sum_at(const struct state *s, int depth)
{
    uint64_t offset = 0;

    if (depth > 0)
        offset = pcoll_between_room(s->way, &s->plan->signature, &s->by);
    for (int i = 1; i < depth; i++)
        offset += pcoll_whole_lines(s->by.bytes[i]);
    return bank_at(s, offset);
}

/* The result of a slice, the same on all leaders. */
static struct pcoll_place result_at(const struct state *s, int depth)
{
    return depth > 0 ? sum_at(s, depth)
                     : bank_at(s, pcoll_between_result(s->way, &s->plan->signature, &s->by));
}

/* A part of what is cut at a depth: operands, and results. */
static struct pcoll_place part_at(const struct state *s, int depth, enum pcoll_buffer user,
                                  struct pcoll_segment part)
{
    struct pcoll_place place;

    if (depth == s->by.depths - 1)
        return pcoll_at(user, bytes_of(s, part.first));
    place = sum_at(s, depth + 1);
    place.offset += bytes_of(s, part.first - s->whole[depth].first);
    return place;
}

/* Where a leader keeps what `mate` gives it. */
static struct pcoll_place slot_at(const struct state *s, int depth, int leader, int mate)
{
    uint64_t offset = 2 * bank_room(&s->plan->signature, &s->by, s->way);

    for (int i = s->by.depths - 1; i > depth; i--)
        offset += slots_room(&s->by, i, s->by.sizes[i].max);
    return pcoll_at(PCOLL_TEMP, offset + slots_room(&s->by, depth, mate + (mate < leader)));
}

/* For leaders of teams with so many mates at the first depth. */
static uint64_t temp_of(const struct pcoll_signature *signature, const struct pcoll_leaders *by,
                        enum pcoll_between_way way, int mates)
{
    uint64_t room = 2 * bank_room(signature, by, way) + slots_room(by, 0, mates);

    for (int depth = 1; depth < by->depths; depth++)
        room += slots_room(by, depth, by->sizes[depth].max);
    return room;
}

static uint64_t max_temp(const struct pcoll_signature *signature, const struct pcoll_params *params,
                         enum pcoll_between_way way)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return temp_of(signature, &by, way, by.sizes[0].max);
}

uint64_t pcoll_leaders_doubling_temp_bytes(const struct pcoll_signature *signature,
                                           const struct pcoll_params *params)
{
    return max_temp(signature, params, PCOLL_BETWEEN_DOUBLING);
}

uint64_t pcoll_leaders_halving_temp_bytes(const struct pcoll_signature *signature,
                                          const struct pcoll_params *params)
{
    return max_temp(signature, params, PCOLL_BETWEEN_HALVING);
}

uint64_t pcoll_leaders_sliced_temp_bytes(const struct pcoll_signature *signature,
                                         const struct pcoll_params *params)
{
    return max_temp(signature, params, PCOLL_BETWEEN_SLICES);
}

/* ---- ranks and signals ---- */

/* A counter receives, in this order, slices of mates from the last depth on, data from leaders of
 * other nodes, and results from the first depth on. One of each outweighs all of the following,
 * which may come early. */
static uint64_t weight_of_operand(const struct state *s, int depth)
{
    uint64_t weight = pcoll_between_weight(s->way, &s->by);

    for (int i = 0; i < depth; i++)
        weight *= (uint64_t)s->mates[i].count;
    return weight;
}

static bool leads(const struct state *s, int depth)
{
    return s->mates[depth].mine < s->by.counts[depth];
}

/* Returns whether the rank gets what is cut at a depth: to use it, or for others. */
static bool receives(const struct state *s, int depth)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const struct pcoll_topology *level = s->by.teams.topology;

    if (!pcoll_coll_has(signature->coll, PCOLL_ROOTED))
        return true;
    if (depth == s->by.depths - 1)
        return s->plan->rank == signature->root;
    for (int i = 0; i <= depth; i++)
        level = level->below;
    return pcoll_topology_node(level, s->plan->rank) == pcoll_topology_node(level, signature->root);
}

/* The rank that has this one's numbers in the parts of another mate. */
static int mates_rank(const struct state *s, int depth, int mate)
{
    const struct pcoll_topology *level = s->by.teams.topology;
    int place = s->mates[depth].first, at = mate;

    if (s->by.depths == 1)
        return pcoll_team_rank(&s->by.teams, pcoll_team_of(&s->by.teams, s->plan->rank), mate);
    for (int i = 0; i < depth; i++)
        level = level->below;
    for (int i = depth + 1; i < s->by.depths; i++) {
        const int part = pcoll_topology_node(level->below, pcoll_topology_rank(level, place)) + at;

        level = level->below;
        place = pcoll_topology_first(level, part);
        at = s->mates[i].mine;
    }
    return pcoll_topology_rank(level, place + at);
}

/* ---- in the node: the slices ---- */

/* They wait for `trigger`. */
static void add_slices(const struct state *s, int depth, int trigger, uint64_t threshold)
{
    const int mine = s->mates[depth].mine, count = s->by.counts[depth];

    for (int i = 0; i < count; i++) {
        const int leader = (mine + i) % count;
        const struct pcoll_segment slice = slice_of(s, depth, leader);
        struct pcoll_entry put;

        if (leader == mine)
            continue;
        put = pcoll_entry_put(trigger, threshold, part_at(s, depth, PCOLL_SEND, slice),
                              mates_rank(s, depth, leader), slot_at(s, depth, leader, mine),
                              bytes_of(s, slice.count));
        pcoll_plan_add(s->plan, pcoll_entry_signal(put, mates_rank(s, depth, leader), s->bank,
                                                   weight_of_operand(s, depth)));
    }
}

/* The mate whose vector is operand i: with one depth, teams may have members in any order. */
static int operand_of(const struct state *s, int i)
{
    const struct pcoll_teams *teams = &s->by.teams;
    const int team = pcoll_team_of(teams, s->plan->rank);

    if (s->by.depths > 1)
        return i;
    return pcoll_team_member(teams, pcoll_team_operand(teams, &s->plan->signature, team, i));
}

static struct pcoll_entry reduce_operands(const struct state *s, int depth, struct pcoll_place own,
                                          uint64_t bytes)
{
    const int mine = s->mates[depth].mine, count = s->mates[depth].count;

    for (int i = 0; i < count; i++) {
        const int mate = operand_of(s, i);

        pcoll_plan_operand(s->plan, mate == mine ? own : slot_at(s, depth, mine, mate));
    }
    return pcoll_entry_reduce(s->plan, s->bank, s->level, count, sum_at(s, depth), bytes);
}

/* A leader puts no operand of its own, which could wait for its results of the segment before. */
static void add_gate(struct state *s, int depth)
{
    const struct pcoll_entry gate = pcoll_entry_add(s->trigger, s->threshold);

    pcoll_plan_add(s->plan, pcoll_entry_done(gate, s->bank, weight_of_operand(s, depth)));
    s->level += weight_of_operand(s, depth);
}

/* A leader without other mates copies its own slice, as their sum. */
static void add_sum(struct state *s, int depth, int trigger, uint64_t threshold)
{
    const struct pcoll_segment slice = slice_of(s, depth, s->mates[depth].mine);
    const struct pcoll_place own = part_at(s, depth, PCOLL_SEND, slice);
    const uint64_t bytes = bytes_of(s, slice.count), weight = weight_of_operand(s, depth);
    const int count = s->mates[depth].count;
    struct pcoll_entry sum;

    if (count > 1 && trigger == SEQUENCE)
        add_gate(s, depth);
    s->level += (uint64_t)(count - 1) * weight;
    sum = count == 1 ? pcoll_entry_copy(trigger, threshold, own, sum_at(s, depth), bytes)
                     : reduce_operands(s, depth, own, bytes);
    pcoll_plan_add(s->plan, pcoll_entry_done(sum, s->bank, weight));
    s->level += weight;
}

/* ---- between nodes ---- */

static void add_between(struct state *s)
{
    struct pcoll_between between = {
        .plan = s->plan,
        .by = &s->by,
        .way = s->way,
        .member = pcoll_team_member(&s->by.teams, s->plan->rank),
        .bank = s->bank,
        .room = sum_at(s, 0).offset,
        .bytes = bytes_of(s, slice_of(s, 0, s->mates[0].mine).count),
        .level = s->level,
    };

    pcoll_between_add(&between);
    s->level = between.level;
}

/* ---- in the node: the results ---- */

static void add_tells(const struct state *s, int depth)
{
    const struct pcoll_entry tell = pcoll_entry_add(s->bank, s->level);
    const int mine = s->mates[depth].mine, count = s->mates[depth].count;

    for (int i = 1; i < count; i++)
        pcoll_plan_add(s->plan, pcoll_entry_signal(tell, mates_rank(s, depth, (mine + i) % count),
                                                   s->bank, s->by.tells[depth]));
}

static void add_result(const struct state *s, int depth, struct pcoll_entry entry)
{
    if (depth < s->by.depths - 1)
        entry = pcoll_entry_done(entry, s->bank, s->by.tells[depth]);
    else if (s->by.nsegments > 1)
        entry = pcoll_entry_done(entry, SEQUENCE, 1);
    pcoll_plan_add(s->plan, entry);
}

/* Get the results of all leaders when all have told so. The counter takes what a rank gets for
 * others, even from itself, for what is told. */
static void add_results(const struct state *s, int depth, uint64_t all)
{
    const int mine = s->mates[depth].mine, count = s->by.counts[depth];
    const uint64_t own = depth == s->by.depths - 1 ? s->level : all;

    for (int i = 0; i < count; i++) {
        const int leader = (mine + i) % count;
        const struct pcoll_segment slice = slice_of(s, depth, leader);
        const struct pcoll_place from = result_at(s, depth);
        const struct pcoll_place to = part_at(s, depth, PCOLL_RECV, slice);
        const uint64_t bytes = bytes_of(s, slice.count);

        add_result(s, depth,
                   leader == mine ? pcoll_entry_copy(s->bank, own, from, to, bytes)
                                  : pcoll_entry_get(s->bank, all, mates_rank(s, depth, leader),
                                                    from, to, bytes));
    }
}

/* ---- the plan ---- */

/* Towards the leaders of the first depth; returns the last depth that has been reached. */
static int add_sums(struct state *s)
{
    int depth = s->by.depths - 1, trigger = s->trigger;
    uint64_t threshold = s->threshold;

    for (;; depth--) {
        add_slices(s, depth, trigger, threshold);
        if (!leads(s, depth))
            return depth;
        add_sum(s, depth, trigger, threshold);
        if (depth == 0)
            break;
        s->whole[depth - 1] = slice_of(s, depth, s->mates[depth].mine);
        trigger = s->bank;
        threshold = s->level;
    }
    add_between(s);
    return 0;
}

/* And back. */
static void add_depth(struct state *s, int depth)
{
    const uint64_t tells = s->by.tells[depth];
    uint64_t all;

    if (leads(s, depth))
        add_tells(s, depth);
    all = s->level + (uint64_t)(s->by.counts[depth] - leads(s, depth)) * tells;
    if (receives(s, depth))
        add_results(s, depth, all);
    s->level = all;
    if (receives(s, depth) && depth < s->by.depths - 1)
        s->level += (uint64_t)s->by.counts[depth] * tells;
}

static void add_segment(struct state *s)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const int last = s->by.depths - 1;

    s->level = s->plan->gain[s->bank];
    s->whole[last] =
        pcoll_segment_of(signature->bytes / pcoll_unit_of(signature), s->by.nsegments, s->number);
    for (int depth = add_sums(s); depth <= last; depth++)
        add_depth(s, depth);
    if (receives(s, last)) {
        s->trigger = SEQUENCE;
        s->threshold = (s->number + 1) * (uint64_t)s->by.counts[last];
    } else {
        s->trigger = s->bank;
        s->threshold = s->level;
        if (s->number == s->by.nsegments - 1)
            pcoll_plan_add(s->plan, pcoll_entry_wait(s->bank, s->level));
    }
    s->plan->gain[s->bank] = s->level;
}

static void build_phase(struct state *s, int phase)
{
    pcoll_plan_open(s->plan, phase);
    s->trigger = PCOLL_NONE;
    s->threshold = 0;
    for (s->number = 0; s->number < s->by.nsegments; s->number++) {
        s->bank = (phase + (int)(s->number % 2)) % 2;
        add_segment(s);
    }
    if (s->by.nsegments > 1 && s->trigger == SEQUENCE)
        s->plan->gain[SEQUENCE] = s->threshold;
}

/* With one depth, members are all ranks of a node, whatever lies below. */
static void find_mates(struct state *s)
{
    const struct pcoll_teams *teams = &s->by.teams;
    const int rank = s->plan->rank;

    if (s->by.depths == 1)
        s->mates[0] =
            (struct pcoll_mates){.mine = pcoll_team_member(teams, rank),
                                 .count = pcoll_team_size(teams, pcoll_team_of(teams, rank))};
    for (int depth = 0; s->by.depths > 1 && depth < s->by.depths; depth++)
        s->mates[depth] = pcoll_teams_mates(teams, rank, depth);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params,
                                  enum pcoll_between_way way)
{
    struct state s = {.plan = plan, .by = pcoll_leaders_of(&plan->signature, params), .way = way};
    const bool is_long = s.by.nsegments > 1;

    if (!pcoll_plan_begin(plan, is_long ? 3 : 2, is_long ? 1 : 2))
        return PCOLL_ERR_NOMEM;
    find_mates(&s);
    if (leads(&s, s.by.depths - 1))
        plan->temp_bytes = temp_of(&plan->signature, &s.by, way, s.mates[0].count);
    for (int phase = 0; phase < plan->nphases; phase++)
        build_phase(&s, phase);
    return PCOLL_OK;
}

enum pcoll_result pcoll_leaders_doubling_generate(struct pcoll_plan *plan,
                                                  const struct pcoll_params *params)
{
    return generate(plan, params, PCOLL_BETWEEN_DOUBLING);
}

enum pcoll_result pcoll_leaders_halving_generate(struct pcoll_plan *plan,
                                                 const struct pcoll_params *params)
{
    return generate(plan, params, PCOLL_BETWEEN_HALVING);
}

enum pcoll_result pcoll_leaders_sliced_generate(struct pcoll_plan *plan,
                                                const struct pcoll_params *params)
{
    return generate(plan, params, PCOLL_BETWEEN_SLICES);
}
