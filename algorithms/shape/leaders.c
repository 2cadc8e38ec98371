/* Reductions with several leaders a node; the contract is in leaders.h. */
#include "algorithms/shape/leaders.h"

#include "algorithms/cost.h"
#include "algorithms/shape/halving.h"

#include "algorithms/util.h"
#include "algorithms/shape/between.h"

#define DEFAULT_SEGMENT (UINT64_C(16) << 10)

enum { SEQUENCE = 2 }; /* counter of the results that a rank has got, with several segments */

struct state {
    struct pcoll_plan *plan;
    struct pcoll_leaders by;
    enum pcoll_between_way way;
    int team, member, size; /* of this rank: its team, its number there, and the team's size */
    uint64_t number;
    int bank;    /* of the segment: its counter, and its bank of TEMP */
    int trigger; /* what this rank's puts of the segment wait for */
    uint64_t threshold;
    uint64_t level; /* of the counter of a leader, when everything so far has happened */
};

/* ---- slices ---- */

struct pcoll_leaders pcoll_leaders_of(const struct pcoll_signature *signature,
                                      const struct pcoll_params *params)
{
    const struct pcoll_teams teams = pcoll_teams_to_reduce(signature);
    const struct pcoll_team_sizes sizes = pcoll_teams_sizes(&teams);
    const uint64_t unit = pcoll_unit_of(signature), units = signature->bytes / unit;
    uint64_t n = pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT), count;
    uint64_t nsegments;

    if (n > units)
        n = units;
    count = n < (uint64_t)sizes.min ? n : (uint64_t)sizes.min;
    nsegments = pcoll_quotient_up(n, count);
    nsegments += nsegments > 1 ? nsegments % 2 : 0;
    return (struct pcoll_leaders){
        .teams = teams,
        .sizes = sizes,
        .rounds = pcoll_doubling_rounds(teams.count, params->radix),
        .count = (int)count,
        .nsegments = nsegments,
        .bytes = pcoll_quotient_up(pcoll_quotient_up(units, nsegments), count) * unit,
    };
}

/* The bytes of slice `leader` in this segment. */
static struct pcoll_segment slice_of(const struct state *s, int leader)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const uint64_t unit = pcoll_unit_of(signature);
    const struct pcoll_segment segment =
        pcoll_segment_of(signature->bytes / unit, s->by.nsegments, s->number);
    const struct pcoll_segment slice =
        pcoll_segment_of(segment.count, (uint64_t)s->by.count, (uint64_t)leader);

    return (struct pcoll_segment){(segment.first + slice.first) * unit, slice.count * unit};
}

/* ---- TEMP of a leader: two banks, then the slots ---- */

/* Of a bank, and of a slot. */
struct room {
    uint64_t bank, slice;
};

static struct room room_of(const struct pcoll_signature *signature, const struct pcoll_leaders *by,
                           enum pcoll_between_way way)
{
    return (struct room){pcoll_between_room(way, signature, by), pcoll_whole_lines(by->bytes)};
}

static struct room own_room(const struct state *s)
{
    return room_of(&s->plan->signature, &s->by, s->way);
}

static struct pcoll_place bank_at(const struct state *s, uint64_t offset)
{
    return pcoll_at(PCOLL_TEMP, (uint64_t)s->bank * own_room(s).bank + offset);
}

static struct pcoll_place sum_at(const struct state *s)
{
    return bank_at(s, 0);
}

/* The result of a slice, the same on all leaders. */
static struct pcoll_place result_at(const struct state *s)
{
    return bank_at(s, pcoll_between_result(s->way, &s->plan->signature, &s->by));
}

/* Where a leader keeps what `member` of its team gives it. */
static struct pcoll_place slot_at(const struct state *s, int leader, int member)
{
    const struct room room = own_room(s);

    return pcoll_at(PCOLL_TEMP,
                    2 * room.bank + (uint64_t)(member - (member > leader)) * room.slice);
}

/* For leaders of a team of `size` members. */
static uint64_t temp_of(const struct pcoll_signature *signature, const struct pcoll_leaders *by,
                        enum pcoll_between_way way, int size)
{
    const struct room room = room_of(signature, by, way);

    return 2 * room.bank + (uint64_t)(size - 1) * room.slice;
}

static uint64_t max_temp(const struct pcoll_signature *signature, const struct pcoll_params *params,
                         enum pcoll_between_way way)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return temp_of(signature, &by, way, by.sizes.max);
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

/* ---- signals ---- */

/* A counter receives, in this order, slices of members, data from leaders of other nodes, and
 * results from the leaders of the node. One of each outweighs all of the following, which may come
 * early. */
static uint64_t weight_of_operand(const struct state *s)
{
    return pcoll_between_weight(s->way, &s->by);
}

static bool is_leader(const struct state *s)
{
    return s->member < s->by.count;
}

static bool receives(const struct state *s, int rank)
{
    const struct pcoll_signature *signature = &s->plan->signature;

    return !pcoll_coll_has(signature->coll, PCOLL_ROOTED) || rank == signature->root;
}

static int mates_rank(const struct state *s, int member)
{
    return pcoll_team_rank(&s->by.teams, s->team, member);
}

/* ---- in the node: the slices ---- */

static void add_slices(const struct state *s)
{
    for (int i = 0; i < s->by.count; i++) {
        const int leader = (s->member + i) % s->by.count;
        const struct pcoll_segment slice = slice_of(s, leader);
        const struct pcoll_entry put =
            pcoll_entry_put(s->trigger, s->threshold, pcoll_at(PCOLL_SEND, slice.first),
                            mates_rank(s, leader), slot_at(s, leader, s->member), slice.count);

        if (leader != s->member)
            pcoll_plan_add(s->plan, pcoll_entry_signal(put, mates_rank(s, leader), s->bank,
                                                       weight_of_operand(s)));
    }
}

/* A leader without other members copies its own slice, as the sum of its node. */
static struct pcoll_entry copy_own(const struct state *s, struct pcoll_place own, uint64_t bytes)
{
    return pcoll_entry_copy(s->trigger, s->threshold, own, sum_at(s), bytes);
}

static struct pcoll_entry reduce_operands(const struct state *s, struct pcoll_place own,
                                          uint64_t bytes)
{
    for (int i = 0; i < s->size; i++) {
        const int rank = pcoll_team_operand(&s->by.teams, &s->plan->signature, s->team, i);
        const int member = pcoll_team_member(&s->by.teams, rank);

        pcoll_plan_operand(s->plan, member == s->member ? own : slot_at(s, s->member, member));
    }
    return pcoll_entry_reduce(s->plan, s->bank, s->level, s->size, sum_at(s), bytes);
}

/* A leader puts no operand of its own, which could wait for its results of the segment before. */
static void add_gate(struct state *s)
{
    const struct pcoll_entry gate = pcoll_entry_add(s->trigger, s->threshold);

    pcoll_plan_add(s->plan, pcoll_entry_done(gate, s->bank, weight_of_operand(s)));
    s->level += weight_of_operand(s);
}

static void add_sum(struct state *s)
{
    const struct pcoll_segment slice = slice_of(s, s->member);
    const struct pcoll_place own = pcoll_at(PCOLL_SEND, slice.first);
    struct pcoll_entry sum;

    if (s->size > 1 && s->trigger == SEQUENCE)
        add_gate(s);
    s->level += (uint64_t)(s->size - 1) * weight_of_operand(s);
    sum = s->size == 1 ? copy_own(s, own, slice.count) : reduce_operands(s, own, slice.count);
    pcoll_plan_add(s->plan, pcoll_entry_done(sum, s->bank, weight_of_operand(s)));
    s->level += weight_of_operand(s);
}

/* ---- between nodes ---- */

static void add_between(struct state *s, uint64_t bytes)
{
    struct pcoll_between between = {
        .plan = s->plan,
        .by = &s->by,
        .way = s->way,
        .member = s->member,
        .bank = s->bank,
        .room = sum_at(s).offset,
        .bytes = bytes,
        .level = s->level,
    };

    pcoll_between_add(&between);
    s->level = between.level;
}

/* ---- in the node: the results ---- */

static void add_tells(const struct state *s)
{
    const struct pcoll_entry tell = pcoll_entry_add(s->bank, s->level);

    for (int i = 1; i < s->size; i++) {
        const int peer = mates_rank(s, (s->member + i) % s->size);

        pcoll_plan_add(s->plan, pcoll_entry_signal(tell, peer, s->bank, 1));
    }
}

static void add_result(const struct state *s, struct pcoll_entry entry)
{
    pcoll_plan_add(s->plan, s->by.nsegments > 1 ? pcoll_entry_done(entry, SEQUENCE, 1) : entry);
}

/* Get the results of all leaders of the team when all have told so. */
static void add_results(const struct state *s, uint64_t all)
{
    for (int i = 0; i < s->by.count; i++) {
        const int leader = (s->member + i) % s->by.count;
        const struct pcoll_segment slice = slice_of(s, leader);
        const struct pcoll_place from = result_at(s), to = pcoll_at(PCOLL_RECV, slice.first);

        if (leader == s->member)
            add_result(s, pcoll_entry_copy(s->bank, s->level, from, to, slice.count));
        else
            add_result(s,
                       pcoll_entry_get(s->bank, all, mates_rank(s, leader), from, to, slice.count));
    }
}

/* ---- the plan ---- */

static void add_segment(struct state *s)
{
    const bool is_last = s->number == s->by.nsegments - 1;
    uint64_t all;

    s->level = s->plan->gain[s->bank];
    add_slices(s);
    if (is_leader(s)) {
        add_sum(s);
        add_between(s, slice_of(s, s->member).count);
        add_tells(s);
    }
    all = s->level + (uint64_t)(s->by.count - is_leader(s));
    if (receives(s, s->plan->rank)) {
        add_results(s, all);
        s->trigger = SEQUENCE;
        s->threshold = (s->number + 1) * (uint64_t)s->by.count;
    } else {
        s->trigger = s->bank;
        s->threshold = all;
        if (is_last)
            pcoll_plan_add(s->plan, pcoll_entry_wait(s->bank, all));
    }
    s->plan->gain[s->bank] = all;
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

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params,
                                  enum pcoll_between_way way)
{
    struct state s = {.plan = plan, .by = pcoll_leaders_of(&plan->signature, params), .way = way};
    const bool is_long = s.by.nsegments > 1;

    if (!pcoll_plan_begin(plan, is_long ? 3 : 2, is_long ? 1 : 2))
        return PCOLL_ERR_NOMEM;
    s.team = pcoll_team_of(&s.by.teams, plan->rank);
    s.member = pcoll_team_member(&s.by.teams, plan->rank);
    s.size = pcoll_team_size(&s.by.teams, s.team);
    if (is_leader(&s))
        plan->temp_bytes = temp_of(&plan->signature, &s.by, way, s.size);
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

/* ---- cost ---- */

static bool is_flat(const struct pcoll_leaders *by)
{
    return by->teams.topology == NULL;
}

/* How many leaders, or members, share a core. */
static double crowd_of(const struct pcoll_machine *machine, double ranks)
{
    return machine->cores > 0 && ranks > machine->cores ? ranks / machine->cores : 1;
}

/* How leaders reach those of other nodes. */
static struct pcoll_link link_of(const struct pcoll_leaders *by,
                                 const struct pcoll_signature *signature,
                                 const struct pcoll_machine *machine)
{
    const double crowd = pcoll_cost_crowd(signature, machine);
    struct pcoll_link link = {*machine, pcoll_ranks_per_node(signature), crowd};

    if (!is_flat(by)) {
        const int senders = pcoll_is_over_wire(signature) ? by->count : 0;

        link = (struct pcoll_link){*machine, senders, crowd_of(machine, by->count)};
        link.machine.cores = 0; /* leaders take turns only with leaders */
    } else if (!pcoll_is_over_wire(signature)) {
        link = (struct pcoll_link){pcoll_cost_node(machine), 0, crowd};
    }
    return link;
}

static struct pcoll_fold_links links_of(const struct pcoll_leaders *by, struct pcoll_fold fold,
                                        const struct pcoll_signature *signature,
                                        const struct pcoll_machine *machine)
{
    return (struct pcoll_fold_links){
        .signature = signature,
        .fold = fold,
        .members = is_flat(by) ? pcoll_ranks_per_node(signature) : 1,
        .near = {pcoll_cost_node(machine), 0, pcoll_cost_crowd(signature, machine)},
        .far = link_of(by, signature, machine),
    };
}

static double cost_of_doubling(const struct pcoll_leaders *by,
                               const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine)
{
    const struct pcoll_doubling_cost doubling = {
        .rounds = by->rounds,
        .links = links_of(by, by->rounds.fold, signature, machine),
        .bytes = (double)by->bytes,
    };

    return pcoll_doubling_time(&doubling);
}

static double cost_of_halving(const struct pcoll_leaders *by,
                              const struct pcoll_signature *signature,
                              const struct pcoll_machine *machine)
{
    const struct pcoll_fold fold = pcoll_halving_fold(by->teams.count);
    const struct pcoll_fold_links links = links_of(by, fold, signature, machine);
    const struct pcoll_halving_cost halving = {links, links, (double)by->bytes};

    return pcoll_halving_time(&halving);
}

static double cost_of_slices(const struct pcoll_leaders *by,
                             const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine)
{
    const struct pcoll_link link = link_of(by, signature, machine);
    const double count = by->teams.count, slice = (double)by->bytes / count;
    struct pcoll_waves waves = {0};

    pcoll_waves_add(&waves, signature, &link, (struct pcoll_wave){count - 1, slice, count - 1});
    pcoll_waves_add(&waves, signature, &link, (struct pcoll_wave){count - 1, slice, 0});
    return waves.time + waves.queue;
}

/* The two stages in the node of a segment. */
static double cost_in_node(const struct pcoll_leaders *by, const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double members = is_flat(by) ? 1 : pcoll_ranks_per_node(signature), count = by->count;
    const double crowd = pcoll_cost_crowd(signature, machine), slice = (double)by->bytes;
    const double copy = crowd * slice * node.copy, lead = crowd_of(machine, count);
    const double puts = members > count ? count : count - 1;
    const double sum = lead * (node.o + (members - 1) * slice * node.reduce);

    if (members <= 1)
        return 2 * (crowd * node.o + copy);
    return pcoll_cost_wave(signature, &node, puts, true) + puts * copy + sum +
           pcoll_cost_wave(signature, &node, members - 1, true) + count * (crowd * node.o + copy);
}

static double cost_of_segments(const struct pcoll_leaders *by,
                               const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine, double between)
{
    return machine->call + (double)by->nsegments * (cost_in_node(by, signature, machine) + between);
}

double pcoll_leaders_doubling_cost(const struct pcoll_signature *signature,
                                   const struct pcoll_params *params,
                                   const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return cost_of_segments(&by, signature, machine, cost_of_doubling(&by, signature, machine));
}

double pcoll_leaders_halving_cost(const struct pcoll_signature *signature,
                                  const struct pcoll_params *params,
                                  const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return cost_of_segments(&by, signature, machine, cost_of_halving(&by, signature, machine));
}

double pcoll_leaders_sliced_cost(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params,
                                 const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return cost_of_segments(&by, signature, machine, cost_of_slices(&by, signature, machine));
}
