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
 * Members in parts, on levels below the teams, have a grid (shape/grid.h): they pack, and are told,
 * once for each depth. For each exchange the members of a part of the last level put their blocks
 * to one of them, the same mate in each part, who puts them all to the mate that collects at the
 * next depth, and so on to the leader. The other way, a leader tells the mates that have its number
 * in other parts, each of which tells those of its own, so that few ranks write to one counter.
 * Exchanges that follow each other are led in different parts, so that these share what enters and
 * leaves.
 *
 * Source: Traeff and Rougier, "MPI collectives and datatypes for hierarchical all-to-all
 * communication" (2014); Kinkead et al., "Scaling all-to-all operations across emerging many-core
 * supercomputers" (2025), node-aware and multi-leader.
 *
 *      N = 5, nodes {0 1 2} {3 4}:   0 and 2 -> 1: blocks for 3 and 4    1 -> 4: 6 blocks
 *                                    3 -> 4: blocks for 0, 1 and 2       4 -> 1: 6 blocks
 *                                    0, 1, 2 and 3, 4: each its block of each sender
 *
 *      node of caches {0 1} {2 3} among 4 such nodes, exchanges with the nodes 0 to 3 after it, led
 *      by 0, 3, 2 and 1:   0.13 -> 1, 1.02 -> 0, 2.13 -> 3, 3.02 -> 2 | 0.2 -> 2, 2.0 -> 0,
 *      1.1 -> 3, 3.3 -> 1 | exchange | 0 <-> 2, 1 <-> 3 | 0 <-> 1, 2 <-> 3
 *
 * Cost, P nodes of s ranks: 3 L, of which 2 in the node; P puts, (P - 1) / s messages and N gets
 * for each rank; N M (copy + s G + copy). TEMP 4 N M. Three counters, two banks. Each depth more
 * takes 2 L, P / q puts of a rank, for parts of q, and N M copy; TEMP 2 N M, and two counters. If
 * the ranks of a node do not follow each other, a rank puts each run of them separately. If every
 * rank has a node to itself, or all share one, this is direct. Condition (lemma A): completing k
 * needs every rank's start of k, as a block comes from each, so two banks of counters and buffers
 * keep instances apart.
 */
#include <math.h>
#include <string.h>

#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/shape/grid.h"

/* Where the blocks of an exchange are on its leader: those that leave and those that arrive. */
enum side { LEAVING, ARRIVING, NUM_SIDES };

/* Counters of a bank: puts into LEAVING; puts and messages into ARRIVING; then, for each depth of
 * the grid, mates that tell that messages have arrived; and puts into what a rank collects, except
 * for the first depth, where that is LEAVING. */
enum { PACKED, ARRIVED, TOLD, MAX_COUNTERS = TOLD + 2 * PCOLL_GRID_DEPTHS - 1 };

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    struct pcoll_grid grid; /* of my team */
    int largest;            /* team */
    int team, member, size; /* mine */
    int bank;
    uint64_t totals[MAX_COUNTERS]; /* of my counters in an instance */
};

static int ncounters_of(const struct pcoll_grid *grid)
{
    return TOLD + 2 * grid->depths - 1;
}

static int counter(const struct state *s, int which)
{
    return s->bank * ncounters_of(&s->grid) + which;
}

static int told_at(int depth)
{
    return TOLD + depth;
}

static int packed_at(const struct state *s, int depth)
{
    return depth == 0 ? PACKED : TOLD + s->grid.depths + depth - 1;
}

static int team_after(const struct state *s, int distance)
{
    return (s->team + distance) % s->teams.count;
}

/* ---- who collects what: depth 0 is that of leaders ---- */

/* The members of a part of that depth. */
static int members_of(const struct pcoll_grid *grid, int depth)
{
    return pcoll_grid_stride(grid, depth - 1);
}

/* The mate that collects at this depth what is for the team so far away. Those of one part take
 * turns, and so do the parts. */
static int turn_of(const struct pcoll_grid *grid, int depth, int distance)
{
    int mate = 0;

    for (int i = grid->depths - 1; i >= depth; i--) {
        mate = (distance + mate) % grid->counts[i];
        distance /= grid->counts[i];
    }
    return mate;
}

/* The inverse: a rank collects at this depth for this distance, and for those that are a multiple
 * of members_of away. */
static int first_distance(const struct pcoll_grid *grid, int depth, int member)
{
    int distance = 0, stride = 1, mate = 0;

    for (int i = grid->depths - 1; i >= depth; i--) {
        const int own = pcoll_grid_mate(grid, member, i), count = grid->counts[i];

        distance += (own + count - mate % count) % count * stride;
        stride *= count;
        mate = own;
    }
    return distance;
}

/* The member of any team that leads an exchange; of several depths, all teams have the same grid.
 */
static int leader_of(const struct pcoll_grid *grid, int size, int distance)
{
    int member = 0;

    if (grid->depths == 1)
        return distance % size;
    for (int depth = 0; depth < grid->depths; depth++)
        member += turn_of(grid, depth, distance) * pcoll_grid_stride(grid, depth);
    return member;
}

/* The most exchanges for which a rank collects what `members` members have. */
static int max_exchanges(int count, int members)
{
    return (count + members - 1) / members;
}

/* ---- TEMP: two banks of what a rank collects at each depth from the last on, then both sides of
 * the exchanges that it leads ---- */

/* In blocks, of a bank at a depth but the first. */
static uint64_t collected_blocks(const struct pcoll_grid *grid, int count, int depth, int largest)
{
    const int members = members_of(grid, depth);

    return (uint64_t)max_exchanges(count, members) * (uint64_t)members * (uint64_t)largest;
}

/* Before what is collected at this depth. */
static uint64_t blocks_before(const struct pcoll_grid *grid, int count, int depth, int largest)
{
    uint64_t blocks = 0;

    for (int i = depth + 1; i < grid->depths; i++)
        blocks += 2 * collected_blocks(grid, count, i, largest);
    return blocks;
}

/* Of the ranks of a team of so many that lead exchanges. */
static uint64_t temp_blocks(const struct pcoll_grid *grid, int count, int size, int largest)
{
    return blocks_before(grid, count, 0, largest) + (uint64_t)2 * NUM_SIDES *
                                                        (uint64_t)max_exchanges(count, size) *
                                                        (uint64_t)size * (uint64_t)largest;
}

/* Of this rank. Who collects at a depth does so at those that follow. */
static uint64_t own_blocks(const struct state *s)
{
    const int count = s->teams.count;
    int depth = s->grid.depths;

    while (depth > 0 && first_distance(&s->grid, depth - 1, s->member) < count)
        depth--;
    if (depth == 0)
        return temp_blocks(&s->grid, count, s->size, s->largest);
    return blocks_before(&s->grid, count, depth - 1, s->largest);
}

static uint64_t bytes_of(const struct state *s, uint64_t blocks)
{
    return blocks * s->plan->signature.bytes;
}

/* Of the exchange of a team with the team `distance` after it. */
static int leader(const struct state *s, int team, int distance)
{
    const int size = pcoll_team_size(&s->teams, team);

    return pcoll_team_rank(&s->teams, team, leader_of(&s->grid, size, distance));
}

/* On its leader, where it is in one of the buffers of leaders. */
static struct pcoll_place block(const struct state *s, int team, int distance, enum side side,
                                int i)
{
    const int size = pcoll_team_size(&s->teams, team);
    const int exchange =
        (s->bank * NUM_SIDES + (int)side) * max_exchanges(s->teams.count, size) + distance / size;
    const uint64_t before = blocks_before(&s->grid, s->teams.count, 0, s->largest);

    return pcoll_at(PCOLL_TEMP,
                    bytes_of(s, before +
                                    (uint64_t)exchange * (uint64_t)size * (uint64_t)s->largest +
                                    (uint64_t)i));
}

/* On the rank that collects at a depth for that exchange of my team. */
static struct pcoll_place collected(const struct state *s, int depth, int distance, int i)
{
    const int count = s->teams.count, members = members_of(&s->grid, depth);
    const int number = s->bank * max_exchanges(count, members) + distance / members;

    if (depth == 0)
        return block(s, s->team, distance, distance == 0 ? ARRIVING : LEAVING, i);
    return pcoll_at(PCOLL_TEMP,
                    bytes_of(s, blocks_before(&s->grid, count, depth, s->largest) +
                                    (uint64_t)number * (uint64_t)members * (uint64_t)s->largest +
                                    (uint64_t)i));
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

static int mine_of(const struct state *s, int depth)
{
    return pcoll_grid_mate(&s->grid, s->member, depth);
}

static int mates_member(const struct state *s, int depth, int mate)
{
    return s->member + (mate - mine_of(s, depth)) * pcoll_grid_stride(&s->grid, depth);
}

/* The counter of what is collected. What is for my own team has as good as arrived. */
static int counter_of(const struct state *s, int depth, int distance)
{
    return depth == 0 && distance == 0 ? ARRIVED : packed_at(s, depth);
}

/* Collect what a put moves: on the mate whose turn it is, or here. */
static void collect(struct state *s, int depth, int distance, struct pcoll_entry put)
{
    const int member = mates_member(s, depth, turn_of(&s->grid, depth, distance));
    const int which = counter_of(s, depth, distance);

    put.peer = pcoll_team_rank(&s->teams, s->team, member);
    if (member != s->member) {
        pcoll_plan_join(s->plan, pcoll_entry_signal(put, put.peer, counter(s, which), 1));
        return;
    }
    put.op = PCOLL_OP_COPY;
    put.peer = PCOLL_NONE;
    s->totals[which] +=
        (uint64_t)pcoll_plan_join(s->plan, pcoll_entry_done(put, counter(s, which), 1));
}

/* My blocks for the members of that team. */
static void pack(struct state *s, int distance)
{
    const int team = team_after(s, distance), size = pcoll_team_size(&s->teams, team);
    const int depth = s->grid.depths - 1;
    const int first = s->member % members_of(&s->grid, depth) * size;

    for (int i = 0; i < size; i++) {
        const uint64_t from = bytes_of(s, (uint64_t)pcoll_team_rank(&s->teams, team, i));

        collect(s, depth, distance,
                pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, from), PCOLL_NONE,
                                collected(s, depth, distance, first + i), bytes_of(s, 1)));
    }
}

/* What I have collected at the next depth. */
static void pass_on(struct state *s, int depth)
{
    const int members = members_of(&s->grid, depth + 1), which = packed_at(s, depth + 1);

    for (int d = first_distance(&s->grid, depth + 1, s->member); d < s->teams.count; d += members) {
        const int blocks = members * s->size;

        collect(s, depth, d,
                pcoll_entry_put(counter(s, which), s->totals[which], collected(s, depth + 1, d, 0),
                                PCOLL_NONE, collected(s, depth, d, mine_of(s, depth) * blocks),
                                bytes_of(s, (uint64_t)blocks)));
    }
}

/* What others put into what I collect at a depth, and into the exchanges that I lead. */
static void count_arrivals(struct state *s, int depth)
{
    const uint64_t others = (uint64_t)s->grid.counts[depth] - 1;
    const bool is_packed = depth == s->grid.depths - 1;
    const int members = members_of(&s->grid, depth);

    for (int d = first_distance(&s->grid, depth, s->member); d < s->teams.count; d += members) {
        s->totals[counter_of(s, depth, d)] +=
            others * (is_packed ? (uint64_t)runs_of(&s->teams, team_after(s, d)) : 1);
        s->totals[ARRIVED] += depth == 0 && d > 0;
    }
}

static void exchange(const struct state *s, int distance)
{
    const int team = team_after(s, distance), back = s->teams.count - distance;
    const int to = leader(s, team, back);
    const struct pcoll_entry put = pcoll_entry_put(
        counter(s, PACKED), s->totals[PACKED], block(s, s->team, distance, LEAVING, 0), to,
        block(s, team, back, ARRIVING, 0),
        bytes_of(s, (uint64_t)s->size * (uint64_t)pcoll_team_size(&s->teams, team)));

    pcoll_plan_add(s->plan, pcoll_entry_signal(put, to, counter(s, ARRIVED), 1));
}

/* Tell the mates of a depth, if the member knows of leaders, that the messages of all of these have
 * arrived. */
static void tell_mates(struct state *s, int depth)
{
    const int which = depth == 0 ? ARRIVED : told_at(depth - 1), told = counter(s, told_at(depth));
    const struct pcoll_entry arrived = pcoll_entry_add(counter(s, which), s->totals[which]);
    const int count = s->grid.counts[depth];

    for (int mate = 0; mate < count; mate++)
        s->totals[told_at(depth)] +=
            first_distance(&s->grid, depth, mates_member(s, depth, mate)) < s->teams.count;
    if (first_distance(&s->grid, depth, s->member) >= s->teams.count)
        return;
    for (int i = 1; i < count; i++) {
        const int member = mates_member(s, depth, (mine_of(s, depth) + i) % count);
        const int to = pcoll_team_rank(&s->teams, s->team, member);

        pcoll_plan_add(s->plan, pcoll_entry_signal(arrived, to, told, 1));
    }
    pcoll_plan_add(s->plan, pcoll_entry_done(arrived, told, 1));
}

/* The blocks for me of the members of that team. */
static void unpack(const struct state *s, int distance)
{
    const int team = team_after(s, distance), from = leader(s, s->team, distance);
    const int rank = s->plan->rank, which = told_at(s->grid.depths - 1);
    const uint64_t told = s->totals[which];

    for (int i = 0; i < pcoll_team_size(&s->teams, team); i++) {
        const int source = pcoll_team_rank(&s->teams, team, i);
        const struct pcoll_place at =
            block(s, s->team, distance, ARRIVING, i * s->size + s->member);
        const struct pcoll_place to = pcoll_at(PCOLL_RECV, bytes_of(s, (uint64_t)source));

        if (source == rank)
            continue;
        if (from == rank)
            pcoll_plan_join(s->plan,
                            pcoll_entry_copy(counter(s, which), told, at, to, bytes_of(s, 1)));
        else
            pcoll_plan_join(s->plan,
                            pcoll_entry_get(counter(s, which), told, from, at, to, bytes_of(s, 1)));
    }
}

static void add_own_copy(const struct state *s)
{
    const uint64_t own = bytes_of(s, (uint64_t)s->plan->rank);

    pcoll_plan_add(s->plan, pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, own),
                                             pcoll_at(PCOLL_RECV, own), bytes_of(s, 1)));
}

/* Members begin with different leaders. A team of one has nothing to pack for itself. */
static void pack_all(struct state *s)
{
    const int count = s->teams.count;

    for (int i = 0; i < count; i++)
        if (s->size > 1 || (s->member + i) % count > 0)
            pack(s, (s->member + i) % count);
}

/* A leader does not tell all members who get blocks from it. */
static void declare_members(const struct state *s)
{
    for (int member = 0; member < s->size; member++)
        if (member != s->member)
            pcoll_plan_neighbor(s->plan, pcoll_team_rank(&s->teams, s->team, member));
}

static void build_phase(struct state *s)
{
    const int count = s->teams.count, depths = s->grid.depths;

    pcoll_plan_open(s->plan, s->bank);
    memset(s->totals, 0, sizeof(s->totals));
    pack_all(s);
    add_own_copy(s);
    count_arrivals(s, depths - 1);
    for (int depth = depths - 2; depth >= 0; depth--) {
        pass_on(s, depth);
        count_arrivals(s, depth);
    }
    for (int d = first_distance(&s->grid, 0, s->member); d < count; d += s->size)
        if (d > 0)
            exchange(s, d);
    for (int depth = 0; depth < depths; depth++)
        tell_mates(s, depth);
    for (int i = 0; i < count; i++)
        unpack(s, (s->member + i) % count);
    for (int which = 0; which < ncounters_of(&s->grid); which++)
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
    struct pcoll_grid grid;

    (void)params;
    if (teams.topology == NULL)
        return pcoll_alltoall_direct.temp_bytes(signature, &direct);
    grid = pcoll_grid_of(&teams, signature, sizes.max);
    if (sizes.min == sizes.max)
        return temp_blocks(&grid, teams.count, sizes.max, sizes.max) * signature->bytes;
    return room * ((uint64_t)teams.count + (uint64_t)sizes.max - 1);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct state s = {.plan = plan, .teams = pcoll_teams_of(&plan->signature)};

    (void)params;
    if (s.teams.topology == NULL)
        return pcoll_alltoall_direct.generate(plan, &direct);
    s.largest = pcoll_teams_sizes(&s.teams).max;
    s.team = pcoll_team_of(&s.teams, plan->rank);
    s.member = pcoll_team_member(&s.teams, plan->rank);
    s.size = pcoll_team_size(&s.teams, s.team);
    s.grid = pcoll_grid_of(&s.teams, &plan->signature, s.size);
    if (!pcoll_plan_begin(plan, 2 * ncounters_of(&s.grid), 2))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = bytes_of(&s, own_blocks(&s));
    if (first_distance(&s.grid, 0, s.member) < s.teams.count)
        declare_members(&s);
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

/* Of a rank that collects at this depth what its mates put, and has put so many itself. Where many
 * puts arrive, they take longer than to fire. */
static double cost_to_collect(const struct pcoll_grid *grid,
                              const struct pcoll_signature *signature,
                              const struct pcoll_machine *node, int depth, double puts)
{
    const double count = signature->topology->nnodes, mates = grid->counts[depth] - 1;
    const double arrivals = mates * ceil(count / members_of(grid, depth));

    if (!pcoll_is_over_wire(signature) || node->arrival > 0)
        puts = pcoll_larger(puts, arrivals);
    return pcoll_cost_wave(signature, node, puts, true);
}

/* In a team: until leaders have collected what their messages take, and until all members are told
 * that these have arrived. */
static double cost_of_team(const struct pcoll_teams *teams, const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine)
{
    const int members = pcoll_ranks_per_node(signature);
    const struct pcoll_grid grid = pcoll_grid_of(teams, signature, members);
    const double crowd = pcoll_cost_crowd(signature, machine);
    struct pcoll_machine node = *machine;
    double time = 0;

    for (int depth = 0; depth < grid.depths; depth++) {
        const bool is_last = depth == grid.depths - 1;
        const double from = is_last ? 1 : members_of(&grid, depth + 1); /* members */
        const double puts = is_last ? puts_of(teams) : ceil(teams->count / from);
        const double blocks = is_last ? signature->nranks : puts * from * members;
        const double bytes = blocks * (double)signature->bytes;

        node = pcoll_cost_node(&node);
        time += cost_to_collect(&grid, signature, &node, depth, puts) +
                crowd * pcoll_cost_saturated(&node, members_of(&grid, depth), bytes,
                                             bytes * node.copy) +
                pcoll_cost_wave(signature, &node, grid.counts[depth] - 1, true);
    }
    return time;
}

/* The messages of a node leave its port one after the other; in a node, those of a leader follow
 * each other. Each leaves a domain and enters another, so that few leaders saturate these as all
 * ranks would. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double members = pcoll_ranks_per_node(signature);
    const double messages = pcoll_larger(1, (teams.count - 1) / members); /* of a rank */
    const double all = (double)signature->nranks * (double)signature->bytes;
    const double rate = pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    double moved = all * rate, exchanged, unpacked;

    (void)params;
    if (teams.topology == NULL)
        return pcoll_alltoall_direct.cost(signature, &direct, machine);
    if (!pcoll_is_over_wire(signature)) {
        const double bytes =
            ceil((teams.count - 1) / members) * members * members * (double)signature->bytes;

        moved = pcoll_cost_saturated(machine, signature->nranks, bytes, bytes * rate);
    }
    exchanged = pcoll_cost_wave(signature, machine, 1, true) +
                pcoll_larger(crowd * (messages - 1) * machine->o, (teams.count - 2) * machine->g) +
                moved;
    unpacked = crowd * (signature->nranks * node.o +
                        pcoll_cost_saturated(&node, members, all, all * node.copy));
    return machine->call + cost_of_team(&teams, signature, machine) + exchanged + unpacked;
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
    .uses_teams = PCOLL_NESTED_LEVELS,
};
