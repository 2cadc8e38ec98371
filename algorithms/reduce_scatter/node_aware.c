/*
 * Reduce_scatter in which every node sends one sum for each rank of another.
 *
 * Idea: the blocks of all ranks are cut into a range of consecutive ones for each member of a team
 * (teams.h, ranges.h), the same in all teams of that size.
 *
 *   team     every rank puts its blocks of range j into the communication buffer of member j of its
 *            team, which reduces the operands of the team by one REDUCE;
 *   between  member j puts each block of its sum into the communication buffer of the rank that
 *            owns the block, which reduces the sums of all teams by one REDUCE.
 *
 * Members in parts, on levels below the teams, have a grid (shape/grid.h) and do the first step
 * once for each depth: the ranges of the members that have the same number in their parts follow
 * each other, and are reduced at first in each part of the last level, by its member of that
 * number; these members then do the same with each other, part by part, until each has its own
 * range.
 *
 * Ranges that are long go in segments, whatever the blocks in them, through two counters in turn,
 * so that a member puts the sums of one segment while the operands of the next one arrive. A rank
 * that is alone in its team puts its blocks at once.
 *
 * Source: reduce_scatter_block over several lanes (Traeff and Hunold 2020, "Decomposing MPI
 * collectives for exploiting multi-lane communication"). There the members of a lane are the
 * owners, so that the blocks of a range do not follow each other. Segments and parts are ours.
 *
 *      N = 5, nodes {0 1 2} {3 4}:   0, 1, 2 and 3, 4: ranges 01 23 4 and 012 34
 *                                    0 -> 0 1, 1 -> 2 3, 2 -> 4 and 3 -> 0 1 2, 4 -> 3 4: sums
 *
 *      node of caches {0 1} {2 3}, ranges abcd of 0, 2, 1, 3:   1.ab -> 0, 0.cd -> 1, 3.ab -> 2,
 *                                    2.cd -> 3 | 2.a -> 0, 0.b -> 2, 3.c -> 1, 1.d -> 3
 *
 * Cost, P teams of s ranks: 2 L; s + P puts and 2 REDUCEs for each rank, s - 1 and P signals at a
 * counter; M (1 + 1 / s) (copy + reduce) for vectors of M bytes, of which a node sends no more than
 * M. With parts of q ranks 3 L, q + s / q puts in place of s, as many signals, and the same bytes.
 * Four counters. If the operator does not commute and the ranks of some team do not follow each
 * other, or if every rank is a team of its own, this is direct.
 *
 * Condition: a member puts operands of (a segment of) k + 2 when it has reduced k + 1, for which
 * all mates have given theirs after they had reduced k, so two banks are enough. That holds for
 * each depth, as a member whose mates of the last depth have given it theirs also waits for what
 * it would have put to itself. A rank is done when it has sums of all teams, for which all ranks
 * have started (lemma A), so two banks of sums are enough, too. In place, the result takes the
 * place of block 0, which must have left before.
 */
#include "algorithms/cost.h"
#include "algorithms/util.h"
#include "algorithms/reduce_scatter/ranges.h"

/* Counters: operands of the team, in two banks; sums of the teams, by phase. */
enum { OPERANDS, SUMS = 2, NCOUNTERS = 4 };

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int team, member;           /* mine */
    struct pcoll_ranges ranges; /* of my team */
    uint64_t segment;
    int phase, bank; /* the bank of the segment */
    int trigger;     /* what the operands of the segment, and of a depth, wait for */
    uint64_t threshold;
    uint64_t all; /* of my sums in an instance, and of what else its result waits for */
};

/* By how many mates of the last depth the ranges of a team in parts turn: first members, which are
 * the first to put sums, then put them to different nodes. */
static int turn_of(const struct pcoll_teams *teams, const struct pcoll_grid *grid, int team)
{
    const int last = grid->depths - 1;

    return last == 0 ? 0 : (int)((int64_t)team * grid->counts[last] / teams->count);
}

/* Of any team. A grid of one depth is that of my team: another one may have another size. */
static struct pcoll_ranges ranges_of(const struct state *s, const struct pcoll_grid *grid, int team,
                                     const struct pcoll_params *params)
{
    const struct pcoll_grid flat = {1, {pcoll_team_size(&s->teams, team)}};

    return pcoll_ranges_of(&s->plan->signature, params, grid->depths > 1 ? *grid : flat,
                           turn_of(&s->teams, grid, team));
}

static int pieces(const struct state *s, int depth)
{
    return pcoll_ranges_pieces(&s->ranges, depth);
}

/* Bytes of SEND: those of a piece of a member's share in this segment. */
static struct pcoll_segment piece_of(const struct state *s, int member, int depth, int piece)
{
    return pcoll_ranges_piece(&s->ranges, member, depth, piece, s->segment);
}

/* Returns whether the owner is told of that segment: of any part of its block, and of an empty
 * block once. */
static bool is_told(const struct pcoll_signature *signature, int owner, struct pcoll_segment cut,
                    uint64_t segment)
{
    return pcoll_block_part(signature, owner, cut).count > 0 ||
           (segment == 0 && pcoll_block_bytes(signature, owner) == 0);
}

/* ---- TEMP: two banks of sums of the teams, the sum of my range, and for each depth two banks of
 * operands and, except for the first, of my sum ---- */

struct room {
    uint64_t sums, range, all;         /* sums: of a bank */
    uint64_t piece[PCOLL_GRID_DEPTHS]; /* of an operand */
};

/* The number of operands and sums in a bank of a depth. */
static int slots_of(const struct pcoll_grid *grid, int depth)
{
    return grid->counts[depth] - 1 + (depth > 0);
}

static struct room room_of(const struct pcoll_ranges *ranges, int nteams)
{
    const uint64_t sums = (uint64_t)nteams * pcoll_whole_lines(ranges->signature->bytes);
    const uint64_t range = ranges->count > 1 ? pcoll_whole_lines(pcoll_ranges_most(ranges, 1)) : 0;
    struct room room = {.sums = sums, .range = range, .all = 2 * sums + range};

    for (int depth = 0; depth < ranges->grid.depths; depth++) {
        const uint64_t slots = 2 * (uint64_t)slots_of(&ranges->grid, depth);
        const uint64_t bytes = ranges->nsegments > 1
                                   ? ranges->segment_bytes
                                   : pcoll_ranges_most(ranges, pcoll_ranges_share(ranges, depth));

        room.piece[depth] = pcoll_whole_lines(bytes);
        room.all += slots * (uint64_t)pcoll_ranges_pieces(ranges, depth) * room.piece[depth];
    }
    return room;
}

static struct room room(const struct state *s)
{
    return room_of(&s->ranges, s->teams.count);
}

/* Where an owner keeps the sum of a team for it. */
static struct pcoll_place sum_at(const struct state *s, int team, uint64_t offset)
{
    const uint64_t slot = pcoll_whole_lines(s->plan->signature.bytes);
    const int number = s->phase * s->teams.count + team;

    return pcoll_at(PCOLL_TEMP, (uint64_t)number * slot + offset);
}

/* The sum of my team, of bytes from `first` on; a rank that is alone has it in SEND. */
static struct pcoll_place own_sum_at(const struct state *s, uint64_t first)
{
    const struct pcoll_segment range =
        pcoll_range_bytes(&s->ranges, pcoll_range_of(&s->ranges, s->member));

    if (s->ranges.count == 1)
        return pcoll_at(PCOLL_SEND, first);
    return pcoll_at(PCOLL_TEMP, 2 * room(s).sums + first - range.first);
}

/* A piece in a slot of this bank. */
static struct pcoll_place slot_at(const struct state *s, int depth, int slot, int piece)
{
    const struct room r = room(s);
    uint64_t offset = 2 * r.sums + r.range;

    for (int i = 0; i < depth; i++)
        offset += (uint64_t)(2 * slots_of(&s->ranges.grid, i) * pieces(s, i)) * r.piece[i];
    slot += s->bank * slots_of(&s->ranges.grid, depth);
    return pcoll_at(PCOLL_TEMP,
                    offset + (uint64_t)(slot * pieces(s, depth) + piece) * r.piece[depth]);
}

/* Where a mate keeps the operand of another one. */
static struct pcoll_place operand_at(const struct state *s, int depth, int owner, int mate,
                                     int piece)
{
    return slot_at(s, depth, mate - (mate > owner), piece);
}

/* What I have of a range at this depth, of bytes of its piece from `first` on: my vector, which is
 * the sum of the depth after the last, or the sum of the mates of this one. */
static struct pcoll_place part_at(const struct state *s, int depth, int range, uint64_t first)
{
    const int first_range = pcoll_ranges_first(&s->ranges, s->member, depth);
    const int piece = s->ranges.nsegments == 1 ? 0 : range - first_range;
    struct pcoll_place place;

    if (depth == s->ranges.grid.depths)
        return pcoll_at(PCOLL_SEND, first);
    if (depth == 0)
        return own_sum_at(s, first);
    place = slot_at(s, depth, s->ranges.grid.counts[depth] - 1, piece);
    place.offset += first - piece_of(s, s->member, depth, piece).first;
    return place;
}

/* ---- entries ---- */

static int counter_of_sums(const struct state *s)
{
    return SUMS + s->phase;
}

/* In place, what leaves of block 0 leaves before the result comes. */
static struct pcoll_entry await(struct state *s, struct pcoll_entry put, struct pcoll_segment cut)
{
    const struct pcoll_signature *signature = &s->plan->signature;

    if (!signature->in_place || pcoll_block_part(signature, 0, cut).count == 0)
        return put;
    s->all++;
    return pcoll_entry_done(put, counter_of_sums(s), 1);
}

/* A counter receives operands of the last depth first. One outweighs all of the depths that follow,
 * which may come early. */
static uint64_t weight_of(const struct state *s, int depth)
{
    uint64_t weight = 1;

    for (int i = 0; i < depth; i++)
        weight *= (uint64_t)((s->ranges.grid.counts[i] - 1) * pieces(s, i) + 1);
    return weight;
}

static int mine_of(const struct state *s, int depth)
{
    return pcoll_grid_mate(&s->ranges.grid, s->member, depth);
}

static void put_operand(struct state *s, int depth, int mate)
{
    const int mine = mine_of(s, depth), last = s->ranges.grid.depths - 1;
    const int member = s->member + (mate - mine) * pcoll_grid_stride(&s->ranges.grid, depth);
    const int peer = pcoll_team_rank(&s->teams, s->team, member);

    for (int i = 0; i < pieces(s, depth); i++) {
        const struct pcoll_segment cut = piece_of(s, member, depth, i);
        const int range = pcoll_ranges_first(&s->ranges, member, depth) + i;
        struct pcoll_entry put =
            pcoll_entry_put(s->trigger, s->threshold, part_at(s, depth + 1, range, cut.first), peer,
                            operand_at(s, depth, mate, mine, i), cut.count);

        put = pcoll_entry_signal(put, peer, OPERANDS + s->bank, weight_of(s, depth));
        pcoll_plan_add(s->plan, depth == last ? await(s, put, cut) : put);
    }
}

static void put_operands(struct state *s, int depth)
{
    for (int i = 1; i < s->ranges.grid.counts[depth]; i++)
        put_operand(s, depth, (mine_of(s, depth) + i) % s->ranges.grid.counts[depth]);
}

/* The mate whose vector is operand i: with one depth, teams may have members in any order. */
static int operand_of(const struct state *s, int i)
{
    const struct pcoll_signature *signature = &s->plan->signature;

    if (s->ranges.grid.depths > 1)
        return i;
    return pcoll_team_member(&s->teams, pcoll_team_operand(&s->teams, signature, s->team, i));
}

static struct pcoll_entry reduce_piece(const struct state *s, int depth, int piece,
                                       uint64_t arrived)
{
    const struct pcoll_segment cut = piece_of(s, s->member, depth, piece);
    const int mine = mine_of(s, depth), count = s->ranges.grid.counts[depth];
    const int range = pcoll_ranges_first(&s->ranges, s->member, depth) + piece;

    for (int i = 0; i < count; i++) {
        const int mate = operand_of(s, i);

        pcoll_plan_operand(s->plan, mate == mine ? part_at(s, depth + 1, range, cut.first)
                                                 : operand_at(s, depth, mine, mate, piece));
    }
    return pcoll_entry_reduce(s->plan, OPERANDS + s->bank, arrived, count,
                              part_at(s, depth, range, cut.first), cut.count);
}

/* Operands of the depth before, those of the next segment, and the sums of this one wait for the
 * REDUCEs. With several depths, those of the last one also wait for what my operands wait for. */
static void reduce_operands(struct state *s, int depth)
{
    const int counter = OPERANDS + s->bank, peers = s->ranges.grid.counts[depth] - 1;
    const uint64_t weight = weight_of(s, depth);
    uint64_t level = s->plan->gain[counter] + (uint64_t)(peers * pieces(s, depth)) * weight;

    if (s->ranges.grid.depths > 1 && depth == s->ranges.grid.depths - 1 &&
        s->trigger != PCOLL_NONE) {
        pcoll_plan_add(
            s->plan, pcoll_entry_done(pcoll_entry_add(s->trigger, s->threshold), counter, weight));
        level += weight;
    }
    for (int i = 0; i < pieces(s, depth); i++)
        pcoll_plan_add(s->plan,
                       pcoll_entry_done(reduce_piece(s, depth, i, level), counter, weight));
    s->trigger = counter;
    s->threshold = s->plan->gain[counter] = level + (uint64_t)pieces(s, depth) * weight;
}

/* The depth for whose REDUCEs my result waits: it is reduced from their sum or, in place,
 * overwrites an operand of those of the last depth. PCOLL_NONE: for none. */
static int awaited_depth(const struct state *s, struct pcoll_segment cut)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const int last = s->ranges.grid.depths - 1;

    if (pcoll_block_part(signature, s->plan->rank, cut).count > 0)
        return 0;
    for (int i = 0; signature->in_place && i < pieces(s, last); i++)
        if (pcoll_block_part(signature, 0, piece_of(s, s->member, last, i)).count > 0)
            return last;
    return PCOLL_NONE;
}

static void await_sum(struct state *s)
{
    pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_add(s->trigger, s->threshold),
                                             counter_of_sums(s), 1));
    s->all++;
}

static void put_sum(struct state *s, int owner, struct pcoll_segment cut)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const struct pcoll_segment part = pcoll_block_part(signature, owner, cut);
    const struct pcoll_place to =
        sum_at(s, s->team, part.count > 0 ? part.first - pcoll_block_first(signature, owner) : 0);
    struct pcoll_entry put;

    put =
        pcoll_entry_put(s->trigger, s->threshold, own_sum_at(s, part.first), owner, to, part.count);
    put = pcoll_entry_signal(put, owner, counter_of_sums(s), 1);
    pcoll_plan_add(s->plan, s->ranges.count == 1 ? await(s, put, part) : put);
}

/* Teams begin with different owners. */
static void put_sums(struct state *s, struct pcoll_segment cut)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const struct pcoll_segment owners =
        pcoll_range_owners(&s->ranges, pcoll_range_of(&s->ranges, s->member));

    for (uint64_t i = 0; i < owners.count; i++) {
        const int owner = (int)(owners.first + ((uint64_t)s->team + i) % owners.count);

        if (owner != s->plan->rank && is_told(signature, owner, cut, s->segment))
            put_sum(s, owner, cut);
    }
}

/* The signals of a team to this rank. */
static uint64_t count_sums(const struct pcoll_ranges *ranges, int rank)
{
    const int range = pcoll_range_for(ranges, rank);
    uint64_t n = 0;

    for (uint64_t i = 0; i < ranges->nsegments; i++)
        n += is_told(ranges->signature, rank, pcoll_range_segment(ranges, range, i), i);
    return n;
}

static void reduce_sums(struct state *s, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const int rank = s->plan->rank, counter = counter_of_sums(s);

    for (int team = 0; team < s->teams.count; team++) {
        const struct pcoll_ranges ranges = ranges_of(s, &s->ranges.grid, team, params);
        const int member = pcoll_range_member(&ranges, pcoll_range_for(&ranges, rank));
        const int from = pcoll_team_rank(&s->teams, team, member);

        if (from != rank)
            s->all += count_sums(&ranges, rank);
        if (from != rank && s->phase == 0)
            pcoll_plan_neighbor(s->plan, from);
        pcoll_plan_operand(s->plan, from == rank ? own_sum_at(s, pcoll_block_first(signature, rank))
                                                 : sum_at(s, team, 0));
    }
    pcoll_plan_add(s->plan,
                   pcoll_entry_reduce(s->plan, counter, s->all, s->teams.count,
                                      pcoll_at(PCOLL_RECV, 0), pcoll_block_bytes(signature, rank)));
    s->plan->gain[counter] = s->all;
}

static void build_segment(struct state *s)
{
    const int range = pcoll_range_of(&s->ranges, s->member);
    const struct pcoll_segment cut = pcoll_range_segment(&s->ranges, range, s->segment);
    const int awaited = awaited_depth(s, cut);

    for (int depth = s->ranges.grid.depths - 1; s->ranges.count > 1 && depth >= 0; depth--) {
        put_operands(s, depth);
        reduce_operands(s, depth);
        if (depth == awaited)
            await_sum(s);
    }
    put_sums(s, cut);
    s->bank = !s->bank;
}

/* Teams begin with different segments, too. */
static void build_phase(struct state *s, const struct pcoll_params *params)
{
    const uint64_t first = (uint64_t)s->team * s->ranges.nsegments / (uint64_t)s->teams.count;

    pcoll_plan_open(s->plan, s->phase);
    s->trigger = PCOLL_NONE;
    s->threshold = s->all = 0;
    for (uint64_t i = 0; i < s->ranges.nsegments; i++) {
        s->segment = (first + i) % s->ranges.nsegments;
        build_segment(s);
    }
    reduce_sums(s, params);
}

/* ---- the rows ---- */

/* Without teams of several ranks. */
static const struct pcoll_algorithm *direct_of(const struct pcoll_signature *signature)
{
    return signature->coll == PCOLL_REDUCE_SCATTER ? &pcoll_reduce_scatter_direct
                                                   : &pcoll_reduce_scatter_block_direct;
}

/* An upper bound if teams are of unequal sizes. */
static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_teams teams = pcoll_teams_to_reduce(signature);
    const struct pcoll_team_sizes sizes = pcoll_teams_sizes(&teams);
    uint64_t most = 0;

    if (teams.topology == NULL)
        return direct_of(signature)->temp_bytes(signature, params);
    for (int size = sizes.min; size <= sizes.max; size++) {
        const struct pcoll_grid grid = pcoll_grid_of(&teams, signature, size);
        const struct pcoll_ranges ranges = pcoll_ranges_of(signature, params, grid, 0);
        const struct room r = room_of(&ranges, teams.count);

        most = r.all > most ? r.all : most;
    }
    return most;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct state s = {.plan = plan, .teams = pcoll_teams_to_reduce(&plan->signature)};
    struct pcoll_grid grid;

    if (s.teams.topology == NULL)
        return direct_of(&plan->signature)->generate(plan, params);
    if (!pcoll_plan_begin(plan, NCOUNTERS, 2))
        return PCOLL_ERR_NOMEM;
    s.team = pcoll_team_of(&s.teams, plan->rank);
    s.member = pcoll_team_member(&s.teams, plan->rank);
    grid = pcoll_grid_of(&s.teams, &plan->signature, pcoll_team_size(&s.teams, s.team));
    s.ranges = ranges_of(&s, &grid, s.team, params);
    plan->temp_bytes = room(&s).all;
    for (s.phase = 0; s.phase < plan->nphases; s.phase++)
        build_phase(&s, params);
    return PCOLL_OK;
}

/* Of all operands of a team. */
static double cost_of_team(const struct pcoll_ranges *ranges, const struct pcoll_machine *machine)
{
    const struct pcoll_signature *signature = ranges->signature;
    const double n = (double)ranges->nsegments;
    struct pcoll_link link = {*machine, 0, pcoll_cost_crowd(signature, machine)};
    struct pcoll_waves waves = {0};

    for (int depth = 0; depth < ranges->grid.depths; depth++) {
        const int pieces = pcoll_ranges_pieces(ranges, depth);
        const double puts = (ranges->grid.counts[depth] - 1) * pieces;
        const double share = (double)pcoll_ranges_most(ranges, pcoll_ranges_share(ranges, depth));
        const double put = share / n / pieces;

        link.machine = pcoll_cost_node(&link.machine);
        pcoll_waves_add(&waves, signature, &link, (struct pcoll_wave){puts, put, puts});
    }
    return n * waves.time;
}

/* Both stages as if one followed the other; between nodes, where the port is busy while operands
 * are reduced, the shorter one counts for a segment only. */
static double cost_of(const struct pcoll_teams *teams, const struct pcoll_signature *signature,
                      const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const int size = pcoll_ranks_per_node(signature);
    const double owners = (double)signature->nranks / size, count = teams->count;
    const struct pcoll_ranges ranges =
        pcoll_ranges_of(signature, params, pcoll_grid_of(teams, signature, size), 0);
    const double range = (double)pcoll_ranges_most(&ranges, 1);
    const bool is_wire = pcoll_is_over_wire(signature);
    const struct pcoll_link link = {*machine, is_wire ? size : 0,
                                    pcoll_cost_crowd(signature, machine)};
    const double messages = owners * (count - 1) / count;
    const double operands = cost_of_team(&ranges, machine);
    struct pcoll_waves sums = {0};
    double between;

    pcoll_waves_add(&sums, signature, &link,
                    (struct pcoll_wave){messages, range / owners, count - 1});
    between = sums.time + sums.queue;
    if (is_wire)
        return machine->call + pcoll_larger(operands, between) +
               pcoll_lesser(operands, between) / (double)ranges.nsegments;
    return machine->call + operands + between;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_teams teams = pcoll_teams_to_reduce(signature);

    if (teams.topology == NULL)
        return direct_of(signature)->cost(signature, params, machine);
    return cost_of(&teams, signature, params, machine);
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_node_aware = {                       \
        .name = "node_aware",                                                                      \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "every node reduces what it has for each rank of another",                  \
        .when = "nodes of many ranks",                                                             \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
        .uses_segment = 1,                                                                         \
        .uses_teams = PCOLL_NESTED_LEVELS,                                                         \
    };

ROW(REDUCE_SCATTER_BLOCK, reduce_scatter_block)
ROW(REDUCE_SCATTER, reduce_scatter)
