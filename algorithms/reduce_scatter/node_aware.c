/*
 * Reduce_scatter in which every node sends one sum for each rank of another.
 *
 * Idea: the blocks of all ranks are cut into a range of consecutive ones for each member of a team
 * (teams.h), the same in all teams of that size.
 *
 *   team     every rank puts its blocks of range j into the communication buffer of member j of its
 *            team, which reduces the operands of the team by one REDUCE;
 *   between  member j puts each block of its sum into the communication buffer of the rank that
 *            owns the block, which reduces the sums of all teams by one REDUCE.
 *
 * Ranges that are long go in segments, whatever the blocks in them, through two counters in turn,
 * so that a member puts the sums of one segment while the operands of the next one arrive. A rank
 * that is alone in its team puts its blocks at once.
 *
 * Source: reduce_scatter_block over several lanes (Traeff and Hunold 2020, "Decomposing MPI
 * collectives for exploiting multi-lane communication"). There the members of a lane are the
 * owners, so that the blocks of a range do not follow each other. Segments are ours.
 *
 *      N = 5, nodes {0 1 2} {3 4}:   0, 1, 2 and 3, 4: ranges 01 23 4 and 012 34
 *                                    0 -> 0 1, 1 -> 2 3, 2 -> 4 and 3 -> 0 1 2, 4 -> 3 4: sums
 *
 * Cost, P teams of s ranks: 2 L; s + P puts and 2 REDUCEs for each rank, s - 1 and P signals at a
 * counter; M (1 + 1 / s) (copy + reduce) for vectors of M bytes, of which a node sends no more than
 * M. Four counters. If the operator does not commute and the ranks of some team do not follow each
 * other, or if every rank is a team of its own, this is direct. Condition: a member puts operands
 * of (a segment of) k + 2 when it has reduced k + 1, for which all members have given theirs after
 * they had reduced k, so two banks are enough. A rank is done when it has sums of all teams, for
 * which all ranks have started (lemma A), so two banks of sums are enough, too. In place, the
 * result takes the place of block 0, which must have left before.
 */
#include "algorithms/cost.h"
#include "algorithms/teams.h"
#include "algorithms/util.h"
#include "algorithms/shape/segment.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

/* Counters: operands of the team, in two banks; sums of the teams, by phase. */
enum { OPERANDS, SUMS = 2, NCOUNTERS = 4 };

/* How ranges are cut: into so many segments, all but the last ones of so many bytes. */
struct segments {
    uint64_t count, bytes;
};

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int team, member, size; /* mine */
    struct segments segments;
    int phase, bank; /* the bank of the segment */
    int trigger;     /* what the operands of the segment wait for */
    uint64_t threshold;
    uint64_t all; /* of my sums in an instance, and of what else its result waits for */
};

/* ---- ranges ---- */

/* The owners of the blocks of a member's range. */
static struct pcoll_segment owners_of(int nranks, int size, int member)
{
    return pcoll_segment_of((uint64_t)nranks, (uint64_t)size, (uint64_t)member);
}

/* The member whose range has the block. */
static int member_for(int nranks, int size, int owner)
{
    const int count = nranks / size, longer = nranks % size;

    return owner < longer * (count + 1) ? owner / (count + 1) : (owner - longer) / count;
}

static struct pcoll_segment bytes_of(const struct pcoll_signature *signature, int size, int member)
{
    const struct pcoll_segment owners = owners_of(signature->nranks, size, member);
    const uint64_t first = pcoll_block_first(signature, (int)owners.first);
    const uint64_t end = pcoll_block_first(signature, (int)(owners.first + owners.count));

    return (struct pcoll_segment){first, end - first};
}

/* The part of a block that is in the cut. */
static struct pcoll_segment common(const struct pcoll_signature *signature, int owner,
                                   struct pcoll_segment cut)
{
    const uint64_t first = pcoll_block_first(signature, owner), end = cut.first + cut.count;
    const uint64_t block_end = first + pcoll_block_bytes(signature, owner);
    const uint64_t from = first > cut.first ? first : cut.first;
    const uint64_t to = block_end < end ? block_end : end;

    return (struct pcoll_segment){from, to > from ? to - from : 0};
}

/* Returns whether the owner is told of that segment: of any part of its block, and of an empty
 * block once. */
static bool is_told(const struct pcoll_signature *signature, int owner, struct pcoll_segment cut,
                    uint64_t segment)
{
    return common(signature, owner, cut).count > 0 ||
           (segment == 0 && pcoll_block_bytes(signature, owner) == 0);
}

/* Of the longest range, at most. */
static uint64_t range_bytes(const struct pcoll_signature *signature, int size)
{
    const uint64_t owners = owners_of(signature->nranks, size, 0).count;
    const uint64_t all = pcoll_block_first(signature, signature->nranks);

    return owners * signature->bytes < all ? owners * signature->bytes : all;
}

/* The ranges of teams of one are whole. */
static struct segments segments_of(const struct pcoll_signature *signature, int size,
                                   const struct pcoll_params *params)
{
    const uint64_t bytes = range_bytes(signature, size), unit = pcoll_unit_of(signature);
    const uint64_t n = size > 1 ? pcoll_segment_count(bytes, params->segment, DEFAULT_SEGMENT) : 1;
    const uint64_t segment = pcoll_segment_of(bytes / unit, n, 0).count * unit;

    return (struct segments){pcoll_quotient_up(bytes, segment), segment};
}

/* Bytes of SEND: those of a member's range in segment i. */
static struct pcoll_segment cut_of(const struct pcoll_signature *signature, int size, int member,
                                   struct segments segments, uint64_t i)
{
    const struct pcoll_segment range = bytes_of(signature, size, member);
    const uint64_t first = i * segments.bytes < range.count ? i * segments.bytes : range.count;
    const uint64_t left = range.count - first;

    return (struct pcoll_segment){range.first + first,
                                  left < segments.bytes ? left : segments.bytes};
}

/* ---- TEMP: two banks of sums of the teams, the sum of my range, two banks of operands ---- */

struct room {
    uint64_t sums, range, operand, all; /* sums: of a bank */
};

static struct room room_of(const struct pcoll_signature *signature, int count, int size,
                           struct segments segments)
{
    const uint64_t sums = (uint64_t)count * pcoll_whole_lines(signature->bytes);
    const uint64_t range = size > 1 ? pcoll_whole_lines(range_bytes(signature, size)) : 0;
    const uint64_t operand = pcoll_whole_lines(segments.bytes);

    return (struct room){sums, range, operand,
                         2 * sums + range + (uint64_t)(2 * (size - 1)) * operand};
}

static struct room room(const struct state *s)
{
    return room_of(&s->plan->signature, s->teams.count, s->size, s->segments);
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
    const struct pcoll_segment range = bytes_of(&s->plan->signature, s->size, s->member);

    if (s->size == 1)
        return pcoll_at(PCOLL_SEND, first);
    return pcoll_at(PCOLL_TEMP, 2 * room(s).sums + first - range.first);
}

/* Where `owner` of my team keeps the operand of `member`. */
static struct pcoll_place operand_at(const struct state *s, int owner, int member)
{
    const struct room r = room(s);
    const int number = s->bank * (s->size - 1) + member - (member > owner);

    return pcoll_at(PCOLL_TEMP, 2 * r.sums + r.range + (uint64_t)number * r.operand);
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

    if (!signature->in_place || common(signature, 0, cut).count == 0)
        return put;
    s->all++;
    return pcoll_entry_done(put, counter_of_sums(s), 1);
}

static void put_operands(struct state *s, uint64_t segment)
{
    for (int i = 1; i < s->size; i++) {
        const int member = (s->member + i) % s->size;
        const int peer = pcoll_team_rank(&s->teams, s->team, member);
        const struct pcoll_segment cut =
            cut_of(&s->plan->signature, s->size, member, s->segments, segment);
        struct pcoll_entry put =
            pcoll_entry_put(s->trigger, s->threshold, pcoll_at(PCOLL_SEND, cut.first), peer,
                            operand_at(s, member, s->member), cut.count);

        put = pcoll_entry_signal(put, peer, OPERANDS + s->bank, 1);
        pcoll_plan_add(s->plan, await(s, put, cut));
    }
}

/* Returns whether my result waits for the sum: it is reduced from it or, in place, overwrites an
 * operand of it. */
static bool is_awaited(const struct state *s, struct pcoll_segment cut)
{
    const struct pcoll_signature *signature = &s->plan->signature;

    return common(signature, s->plan->rank, cut).count > 0 ||
           (signature->in_place && common(signature, 0, cut).count > 0);
}

/* The operands of the next segment, and the sums of this one, wait for the REDUCE. */
static void reduce_operands(struct state *s, struct pcoll_segment cut)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const int counter = OPERANDS + s->bank;
    const uint64_t arrived = s->plan->gain[counter] + (uint64_t)s->size - 1;
    struct pcoll_entry reduce;

    for (int i = 0; i < s->size; i++) {
        const int rank = pcoll_team_operand(&s->teams, signature, s->team, i);
        const int member = pcoll_team_member(&s->teams, rank);

        pcoll_plan_operand(s->plan, member == s->member ? pcoll_at(PCOLL_SEND, cut.first)
                                                        : operand_at(s, s->member, member));
    }
    reduce =
        pcoll_entry_reduce(s->plan, counter, arrived, s->size, own_sum_at(s, cut.first), cut.count);
    pcoll_plan_add(s->plan, pcoll_entry_done(reduce, counter, 1));
    s->trigger = counter;
    s->threshold = s->plan->gain[counter] = arrived + 1;
    if (is_awaited(s, cut)) {
        pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_add(s->trigger, s->threshold),
                                                 counter_of_sums(s), 1));
        s->all++;
    }
}

static void put_sum(struct state *s, int owner, struct pcoll_segment cut)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const struct pcoll_segment part = common(signature, owner, cut);
    const struct pcoll_place to =
        sum_at(s, s->team, part.count > 0 ? part.first - pcoll_block_first(signature, owner) : 0);
    struct pcoll_entry put;

    put =
        pcoll_entry_put(s->trigger, s->threshold, own_sum_at(s, part.first), owner, to, part.count);
    put = pcoll_entry_signal(put, owner, counter_of_sums(s), 1);
    pcoll_plan_add(s->plan, s->size == 1 ? await(s, put, part) : put);
}

/* Teams begin with different owners. */
static void put_sums(struct state *s, struct pcoll_segment cut, uint64_t segment)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const struct pcoll_segment owners = owners_of(signature->nranks, s->size, s->member);

    for (uint64_t i = 0; i < owners.count; i++) {
        const int owner = (int)(owners.first + ((uint64_t)s->team + i) % owners.count);

        if (owner != s->plan->rank && is_told(signature, owner, cut, segment))
            put_sum(s, owner, cut);
    }
}

/* The signals of a team of `size` ranks to this rank. */
static uint64_t count_sums(const struct state *s, int size, struct segments segments)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const int rank = s->plan->rank, member = member_for(signature->nranks, size, rank);
    uint64_t n = 0;

    for (uint64_t i = 0; i < segments.count; i++)
        n += is_told(signature, rank, cut_of(signature, size, member, segments, i), i);
    return n;
}

static void reduce_sums(struct state *s, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const int rank = s->plan->rank, nranks = signature->nranks, counter = counter_of_sums(s);

    for (int team = 0; team < s->teams.count; team++) {
        const int size = pcoll_team_size(&s->teams, team);
        const int from = pcoll_team_rank(&s->teams, team, member_for(nranks, size, rank));

        if (from != rank)
            s->all += count_sums(s, size, segments_of(signature, size, params));
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

/* Teams begin with different segments, too. */
static void build_phase(struct state *s, const struct pcoll_params *params)
{
    const uint64_t first = (uint64_t)s->team * s->segments.count / (uint64_t)s->teams.count;

    pcoll_plan_open(s->plan, s->phase);
    s->trigger = PCOLL_NONE;
    s->threshold = s->all = 0;
    for (uint64_t i = 0; i < s->segments.count; i++) {
        const uint64_t segment = (first + i) % s->segments.count;
        const struct pcoll_segment cut =
            cut_of(&s->plan->signature, s->size, s->member, s->segments, segment);

        put_operands(s, segment);
        if (s->size > 1)
            reduce_operands(s, cut);
        put_sums(s, cut, segment);
        s->bank = !s->bank;
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
        const struct room r =
            room_of(signature, teams.count, size, segments_of(signature, size, params));

        most = r.all > most ? r.all : most;
    }
    return most;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct state s = {.plan = plan, .teams = pcoll_teams_to_reduce(&plan->signature)};

    if (s.teams.topology == NULL)
        return direct_of(&plan->signature)->generate(plan, params);
    if (!pcoll_plan_begin(plan, NCOUNTERS, 2))
        return PCOLL_ERR_NOMEM;
    s.team = pcoll_team_of(&s.teams, plan->rank);
    s.member = pcoll_team_member(&s.teams, plan->rank);
    s.size = pcoll_team_size(&s.teams, s.team);
    s.segments = segments_of(&plan->signature, s.size, params);
    plan->temp_bytes = room(&s).all;
    for (s.phase = 0; s.phase < plan->nphases; s.phase++)
        build_phase(&s, params);
    return PCOLL_OK;
}

/* Both stages as if one followed the other; between nodes, where the port is busy while operands
 * are reduced, the shorter one counts for a segment only. */
static double cost_of(const struct pcoll_teams *teams, const struct pcoll_signature *signature,
                      const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const int size = pcoll_ranks_per_node(signature);
    const double peers = size - 1, owners = (double)signature->nranks / size;
    const double range = (double)range_bytes(signature, size), count = teams->count;
    const double n = (double)segments_of(signature, size, params).count;
    const bool is_wire = pcoll_is_over_wire(signature);
    const struct pcoll_link link = {*machine, is_wire ? size : 0, crowd};
    const double messages = is_wire ? owners * (count - 1) / count : owners;
    const double operands = n * (pcoll_cost_wave(signature, &node, peers, true) + crowd * node.o) +
                            crowd * peers * range * (node.copy + node.reduce);
    struct pcoll_waves sums = {0};
    double between;

    pcoll_waves_add(&sums, signature, &link,
                    (struct pcoll_wave){messages, range / owners, count - 1});
    between = sums.time + sums.queue;
    if (is_wire)
        return machine->call + pcoll_larger(operands, between) +
               pcoll_lesser(operands, between) / n;
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
        .uses_teams = PCOLL_ONE_LEVEL,                                                             \
    };

ROW(REDUCE_SCATTER_BLOCK, reduce_scatter_block)
ROW(REDUCE_SCATTER, reduce_scatter)
