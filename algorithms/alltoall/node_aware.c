/*
 * Alltoall in which every two nodes exchange one message.
 *
 * Idea: member d mod s of a team of s ranks (teams.h) leads the exchange with the team d after its
 * own, so that all members share the messages of their node.
 *
 *   pack      every rank puts its blocks for a team beside those of the other members, into the
 *             communication buffer of the leader of that exchange;
 *   exchange  the leader puts all of them, sender by sender, into the communication buffer of the
 *             leader at the other end, as one message;
 *   unpack    when its messages have arrived, a leader tells the members, and each of them gets its
 *             own block of each sender from there.
 *
 * What the members of a team have for each other takes the same way without the exchange. A block
 * is copied when it is packed and when it is unpacked, once more than by direct.
 *
 * Source: Traeff and Rougier, "MPI collectives and datatypes for hierarchical all-to-all
 * communication" (2014); Kinkead et al., "Scaling all-to-all operations across emerging many-core
 * supercomputers" (2025), node-aware and multi-leader.
 *
 *      N = 5, nodes {0 1 2} {3 4}:   0 and 2 -> 1: blocks for 3 and 4    1 -> 4: 6 blocks
 *                                    3 -> 4: blocks for 0, 1 and 2       4 -> 1: 6 blocks
 *                                    0, 1, 2 and 3, 4: each its block of each sender
 *
 * Cost, P nodes of s ranks: 3 L, of which 2 in the node; P puts, (P - 1) / s messages and N gets
 * for each rank; N M (copy + s G + copy). TEMP 4 N M. Three counters, two banks. If the ranks of a
 * node do not follow each other, a rank puts each run of them separately. If every rank has a node
 * to itself, or all share one, this is direct. Condition (lemma A): completing k needs every rank's
 * start of k, as a block comes from each, so two banks of counters and buffers keep instances
 * apart.
 */
#include <math.h>

#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/teams.h"

/* Where the blocks of an exchange are on its leader: those that leave and those that arrive. */
enum side { LEAVING, ARRIVING, NUM_SIDES };

/* Counters of a bank: puts into LEAVING; puts and messages into ARRIVING; leaders whose messages
 * have arrived. */
enum { PACKED, ARRIVED, TOLD, NUM_COUNTERS };

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int largest;            /* team */
    int team, member, size; /* mine */
    int bank;
    uint64_t totals[NUM_COUNTERS]; /* of my counters in an instance */
};

static int counter(const struct state *s, int which)
{
    return s->bank * NUM_COUNTERS + which;
}

static int team_after(const struct state *s, int distance)
{
    return (s->team + distance) % s->teams.count;
}

/* The number of exchanges that the first member of a team leads, which leads most. */
static int max_exchanges(const struct pcoll_teams *teams, int team)
{
    const int size = pcoll_team_size(teams, team);

    return (teams->count + size - 1) / size;
}

/* TEMP of the ranks of a team, in blocks. */
static uint64_t temp_blocks(const struct pcoll_teams *teams, int team, int largest)
{
    return (uint64_t)2 * NUM_SIDES * (uint64_t)max_exchanges(teams, team) *
           (uint64_t)pcoll_team_size(teams, team) * (uint64_t)largest;
}

/* ---- places ---- */

static uint64_t bytes_of(const struct state *s, int blocks)
{
    return (uint64_t)blocks * s->plan->signature.bytes;
}

/* Of the exchange of a team with the team `distance` after it. */
static int leader(const struct state *s, int team, int distance)
{
    return pcoll_team_rank(&s->teams, team, distance % pcoll_team_size(&s->teams, team));
}

static struct pcoll_place block(const struct state *s, int team, int distance, enum side side,
                                int i)
{
    const int size = pcoll_team_size(&s->teams, team);
    const int exchange =
        (s->bank * NUM_SIDES + (int)side) * max_exchanges(&s->teams, team) + distance / size;

    return pcoll_at(PCOLL_TEMP,
                    (uint64_t)exchange * bytes_of(s, size * s->largest) + bytes_of(s, i));
}

/* The number of puts with which another member packs its blocks for a team. */
static int runs_of(const struct pcoll_teams *teams, int team)
{
    const int first = pcoll_team_place(teams, team), end = first + pcoll_team_size(teams, team);
    int runs = 0;

    for (int place = first; place < end; runs++)
        place += pcoll_teams_sequence(teams, place, end).count;
    return runs;
}

/* ---- entries ---- */

/* My blocks for the members of that team. Those for my own team have as good as arrived. */
static void pack(struct state *s, int distance)
{
    const int team = team_after(s, distance), size = pcoll_team_size(&s->teams, team);
    const int to = leader(s, s->team, distance), which = distance == 0 ? ARRIVED : PACKED;
    const enum side side = distance == 0 ? ARRIVING : LEAVING;

    for (int i = 0; i < size; i++) {
        const uint64_t from = bytes_of(s, pcoll_team_rank(&s->teams, team, i));
        struct pcoll_entry put = pcoll_entry_put(
            PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, from), to,
            block(s, s->team, distance, side, s->member * size + i), bytes_of(s, 1));

        if (to != s->plan->rank) {
            pcoll_plan_join(s->plan, pcoll_entry_signal(put, to, counter(s, which), 1));
            continue;
        }
        put.op = PCOLL_OP_COPY;
        put.peer = PCOLL_NONE;
        s->totals[which] +=
            (uint64_t)pcoll_plan_join(s->plan, pcoll_entry_done(put, counter(s, which), 1));
    }
}

/* What others put into the buffers of the exchanges that I lead. */
static void count_arrivals(struct state *s)
{
    const uint64_t others = (uint64_t)s->size - 1;

    for (int d = s->member; d < s->teams.count; d += s->size) {
        s->totals[d == 0 ? ARRIVED : PACKED] +=
            others * (uint64_t)runs_of(&s->teams, team_after(s, d));
        s->totals[ARRIVED] += d > 0;
    }
}

static void exchange(const struct state *s, int distance)
{
    const int team = team_after(s, distance), back = s->teams.count - distance;
    const int to = leader(s, team, back);
    const struct pcoll_entry put = pcoll_entry_put(
        counter(s, PACKED), s->totals[PACKED], block(s, s->team, distance, LEAVING, 0), to,
        block(s, team, back, ARRIVING, 0), bytes_of(s, s->size * pcoll_team_size(&s->teams, team)));

    pcoll_plan_add(s->plan, pcoll_entry_signal(put, to, counter(s, ARRIVED), 1));
}

static void tell_members(const struct state *s)
{
    const struct pcoll_entry arrived = pcoll_entry_add(counter(s, ARRIVED), s->totals[ARRIVED]);

    for (int i = 1; i < s->size; i++) {
        const int to = pcoll_team_rank(&s->teams, s->team, (s->member + i) % s->size);

        pcoll_plan_add(s->plan, pcoll_entry_signal(arrived, to, counter(s, TOLD), 1));
    }
    pcoll_plan_add(s->plan, pcoll_entry_done(arrived, counter(s, TOLD), 1));
}

/* The blocks for me of the members of that team. */
static void unpack(const struct state *s, int distance)
{
    const int team = team_after(s, distance), from = leader(s, s->team, distance);
    const int rank = s->plan->rank;

    for (int i = 0; i < pcoll_team_size(&s->teams, team); i++) {
        const int source = pcoll_team_rank(&s->teams, team, i);
        const struct pcoll_place at =
            block(s, s->team, distance, ARRIVING, i * s->size + s->member);
        const struct pcoll_place to = pcoll_at(PCOLL_RECV, bytes_of(s, source));
        const uint64_t told = s->totals[TOLD];

        if (source == rank)
            continue;
        if (from == rank)
            pcoll_plan_join(s->plan,
                            pcoll_entry_copy(counter(s, TOLD), told, at, to, bytes_of(s, 1)));
        else
            pcoll_plan_join(s->plan,
                            pcoll_entry_get(counter(s, TOLD), told, from, at, to, bytes_of(s, 1)));
    }
}

static void add_own_copy(const struct state *s)
{
    const uint64_t own = bytes_of(s, s->plan->rank);

    pcoll_plan_add(s->plan, pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, own),
                                             pcoll_at(PCOLL_RECV, own), bytes_of(s, 1)));
}

/* Members begin with different leaders. A team of one has nothing to pack for itself. */
static void build_phase(struct state *s)
{
    const int count = s->teams.count;

    pcoll_plan_open(s->plan, s->bank);
    s->totals[PACKED] = s->totals[ARRIVED] = 0;
    s->totals[TOLD] = (uint64_t)(s->size < count ? s->size : count); /* leaders in my team */
    for (int i = 0; i < count; i++)
        if (s->size > 1 || (s->member + i) % count > 0)
            pack(s, (s->member + i) % count);
    add_own_copy(s);
    count_arrivals(s);
    for (int d = s->member; d < count; d += s->size)
        if (d > 0)
            exchange(s, d);
    if (s->member < count)
        tell_members(s);
    for (int i = 0; i < count; i++)
        unpack(s, (s->member + i) % count);
    for (int which = 0; which < NUM_COUNTERS; which++)
        s->plan->gain[counter(s, which)] = s->totals[which];
}

/* ---- the row ---- */

/* Without teams of several ranks, this is direct through communication buffers. */
static const struct pcoll_params direct = {.path = PCOLL_PATH_TEMP};

/* With teams of unequal sizes, an upper bound: for s ranks, s max_exchanges < count + s. */
static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_team_sizes sizes = pcoll_teams_sizes(&teams);
    const uint64_t room = (uint64_t)(2 * NUM_SIDES) * (uint64_t)sizes.max * signature->bytes;

    (void)params;
    if (teams.topology == NULL)
        return pcoll_alltoall_direct.temp_bytes(signature, &direct);
    if (sizes.min == sizes.max)
        return temp_blocks(&teams, 0, sizes.max) * signature->bytes;
    return room * ((uint64_t)teams.count + (uint64_t)sizes.max - 1);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct state s = {.plan = plan, .teams = pcoll_teams_of(&plan->signature)};

    (void)params;
    if (s.teams.topology == NULL)
        return pcoll_alltoall_direct.generate(plan, &direct);
    if (!pcoll_plan_begin(plan, 2 * NUM_COUNTERS, 2))
        return PCOLL_ERR_NOMEM;
    s.largest = pcoll_teams_sizes(&s.teams).max;
    s.team = pcoll_team_of(&s.teams, plan->rank);
    s.member = pcoll_team_member(&s.teams, plan->rank);
    s.size = pcoll_team_size(&s.teams, s.team);
    if (s.member < s.teams.count)
        plan->temp_bytes = temp_blocks(&s.teams, s.team, s.largest) * plan->signature.bytes;
    for (s.bank = 0; s.bank < 2; s.bank++)
        build_phase(&s);
    return PCOLL_OK;
}

/* The puts of a rank that pack its blocks, if all nodes are like the first. */
static int puts_of(const struct pcoll_teams *teams)
{
    const bool is_scattered = pcoll_team_size(teams, 0) > 1 &&
                              pcoll_team_rank(teams, 0, 1) != pcoll_team_rank(teams, 0, 0) + 1;

    return is_scattered ? teams->nranks : teams->count;
}

/* The messages of a node leave its port one after the other. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double members = pcoll_ranks_per_node(signature);
    const double messages = pcoll_larger(1, (teams.count - 1) / members); /* of a rank */
    const double all = (double)signature->nranks * (double)signature->bytes;
    const double led = ceil(teams.count / members); /* exchanges of a rank */
    double packs = puts_of(&teams), packed, exchanged, unpacked;

    (void)params;
    if (teams.topology == NULL)
        return pcoll_alltoall_direct.cost(signature, &direct, machine);
    if (!pcoll_is_over_wire(signature)) /* where many puts arrive, they take longer than to fire */
        packs = pcoll_larger(packs, led * (members - 1));
    packed = pcoll_cost_wave(signature, &node, packs, true) + crowd * all * node.copy;
    exchanged = pcoll_cost_wave(signature, machine, 1, true) +
                pcoll_larger(crowd * (messages - 1) * machine->o, (teams.count - 2) * machine->g) +
                all * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    unpacked = pcoll_cost_wave(signature, &node, members - 1, true) +
               crowd * (signature->nranks * node.o + all * node.copy);
    return machine->call + packed + exchanged + unpacked;
}

const struct pcoll_algorithm pcoll_alltoall_node_aware = {
    .name = "node_aware",
    .coll = PCOLL_ALLTOALL,
    .description = "one message for each pair of nodes",
    .when = "short blocks, few nodes of many ranks",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_teams = PCOLL_ONE_LEVEL,
};
