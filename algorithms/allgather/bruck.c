/*
 * Allgather by the algorithm of Bruck through communication buffers.
 *
 * Idea: rank p gathers the blocks in the order p, p + 1 .. from its own block on, cyclically. In
 * round r = 0 .. R-1 it has the first 2^r blocks and sends them (in the last round as many as are
 * needed) to p - 2^r, which appends them to its own. After R = ceil(log2 N) rounds all blocks have
 * arrived and are copied to their places. Round r adds 2^(R-1-r) and the own block 2^R: decreasing
 * powers of two distinguish the arrivals in any order (document 001 section 4.2.1).
 *
 * On several nodes their leaders exchange the blocks of their nodes, in the order of the topology.
 * The other members put their blocks beside the leader's, each signaling 2^R; when the leader has
 * everything, it tells them, and they read from its buffer.
 *
 * Source: Bruck et al., "Efficient algorithms for all-to-all communications in multiport
 * message-passing systems" (1997), concatenation.
 *
 *      N = 5:   p -> p - 1: 1 block | p -> p - 2: 2 blocks | p -> p - 4: 1 block
 *
 * Up to PCOLL_CELL_BYTES in total are gathered in the cell of the counter.
 *
 * Cost: R L + N M (G + copy), and inside nodes of s ranks 2 L + s (o + M copy); one counter, two
 * banks. When: short blocks, any number of ranks. The result is copied twice if the members of
 * nodes are consecutive, otherwise more often, up to once for each block. Condition: completing k
 * needs every rank's start of k, so two banks of counters and buffers keep instances apart.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/teams.h"

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int team, member, leader; /* mine; N and p above are the number of teams and my team */
    int bank;
    uint64_t level;  /* the value of my tank when everything so far has arrived */
    uint64_t weight; /* of the next round's signal, or before the rounds of a member's */
};

static int fits_cell(const struct pcoll_signature *signature)
{
    return signature->bytes * (uint64_t)signature->nranks <= PCOLL_CELL_BYTES;
}

static uint64_t blocks(const struct state *s, int count)
{
    return (uint64_t)count * s->plan->signature.bytes;
}

/* Block i of the blocks that a leader gathers. */
static struct pcoll_place gathered(const struct state *s, int i)
{
    uint64_t bank = (uint64_t)s->bank;

    if (fits_cell(&s->plan->signature))
        return pcoll_at(PCOLL_CELL, bank * PCOLL_CELL_BYTES + blocks(s, i));
    return pcoll_at(PCOLL_TEMP, bank * blocks(s, s->teams.nranks) + blocks(s, i));
}

/* The number of ranks in the `count` teams from `team` on, cyclically; count < teams.count. */
static int ranks_of(const struct state *s, int team, int count)
{
    int first = pcoll_team_place(&s->teams, team);
    int end = pcoll_team_place(&s->teams, (team + count) % s->teams.count);

    return (end - first + s->teams.nranks) % s->teams.nranks;
}

static void add_own_copy(const struct state *s)
{
    if (!s->plan->signature.in_place)
        pcoll_plan_add(s->plan, pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0),
                                                 pcoll_at(PCOLL_RECV, blocks(s, s->plan->rank)),
                                                 blocks(s, 1)));
}

static void add_result(const struct state *s, int i, struct pcoll_sequence run)
{
    struct pcoll_place to = pcoll_at(PCOLL_RECV, blocks(s, run.rank));
    uint64_t bytes = blocks(s, run.count);

    if (s->member == 0)
        pcoll_plan_add(s->plan, pcoll_entry_copy(s->bank, s->level, gathered(s, i), to, bytes));
    else
        pcoll_plan_add(s->plan,
                       pcoll_entry_get(s->bank, s->level, s->leader, gathered(s, i), to, bytes));
}

/* Copy everything that the leader has gathered, except my own block, to my receive buffer. */
static void add_results(const struct state *s)
{
    int nranks = s->teams.nranks, first = pcoll_team_place(&s->teams, s->team);
    struct pcoll_sequence run;

    for (int i = 0; i < nranks; i += run.count) {
        int place = (first + i) % nranks, end = place < first ? first : nranks;

        run = pcoll_sequence_apart(pcoll_teams_sequence(&s->teams, place, end), s->plan->rank);
        if (run.rank != s->plan->rank)
            add_result(s, i, run);
    }
}

static void add_round(struct state *s, int distance)
{
    int count = s->teams.count;
    int to = (s->team + count - distance) % count, from = (s->team + distance) % count;
    int wanted = distance < count - distance ? distance : count - distance;
    int peer = pcoll_team_rank(&s->teams, to, 0);
    struct pcoll_entry put = pcoll_entry_put(s->bank, s->level, gathered(s, 0), peer,
                                             gathered(s, ranks_of(s, to, distance)),
                                             blocks(s, ranks_of(s, s->team, wanted)));

    s->weight /= 2;
    pcoll_plan_add(s->plan, pcoll_entry_signal(put, peer, s->bank, s->weight));
    pcoll_plan_neighbor(s->plan, pcoll_team_rank(&s->teams, from, 0));
    s->level += s->weight;
}

static void build_leader(struct state *s)
{
    int size = pcoll_team_size(&s->teams, s->team);
    struct pcoll_entry own =
        pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0), gathered(s, 0), blocks(s, 1));

    pcoll_plan_add(s->plan, pcoll_entry_done(own, s->bank, s->weight));
    s->level = (uint64_t)size * s->weight;
    for (int distance = 1; distance < s->teams.count; distance *= 2)
        add_round(s, distance);
    for (int i = 1; i < size; i++)
        pcoll_plan_add(s->plan,
                       pcoll_entry_signal(pcoll_entry_add(s->bank, s->level),
                                          pcoll_team_rank(&s->teams, s->team, i), s->bank, 1));
}

static void build_member(struct state *s)
{
    struct pcoll_entry put = pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0), s->leader,
                                             gathered(s, s->member), blocks(s, 1));

    pcoll_plan_add(s->plan, pcoll_entry_signal(put, s->leader, s->bank, s->weight));
    s->level = 1;
}

static void build_phase(struct state *s)
{
    pcoll_plan_open(s->plan, s->bank);
    s->weight = (uint64_t)1 << pcoll_log_ceil(s->teams.count, 2);
    if (s->member == 0)
        build_leader(s);
    else
        build_member(s);
    add_own_copy(s);
    add_results(s);
    s->plan->gain[s->bank] = s->level;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    if (fits_cell(signature))
        return 0;
    return (uint64_t)pcoll_banks(params) * (uint64_t)signature->nranks * signature->bytes;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    int banks = pcoll_banks(params);
    struct state s = {.teams = pcoll_teams_of(signature)};
    enum pcoll_result result = pcoll_plan_create(signature, rank, "bruck", banks, banks, &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    s.team = pcoll_team_of(&s.teams, rank);
    s.member = pcoll_team_member(&s.teams, rank);
    s.leader = pcoll_team_rank(&s.teams, s.team, 0);
    if (s.member == 0)
        s.plan->temp_bytes = temp_bytes(signature, params);
    for (s.bank = 0; s.bank < banks; s.bank++)
        build_phase(&s);
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    int members = pcoll_ranks_per_node(signature), has_levels = teams.topology != NULL;
    int rounds = pcoll_log_ceil(teams.count, 2);
    double own = (double)signature->bytes, all = own * signature->nranks;
    double crowd = pcoll_cost_crowd(signature, machine), ends = 0;
    double sent = all - own * (has_levels ? members : 1);
    double rate =
        has_levels ? machine->G : crowd * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    double copies = (rounds > 1 ? 4 : 3) * machine->o + (own + all) * node.copy;

    (void)params;
    if (has_levels)
        ends = pcoll_cost_waves(signature, &node, 1, 1) + own * node.copy +
               pcoll_cost_waves(signature, &node, 1, members - 1);
    return ends + pcoll_cost_waves(signature, machine, rounds, 1) + sent * rate + crowd * copies;
}

const struct pcoll_algorithm pcoll_allgather_bruck = {
    .name = "bruck",
    .alias = "brucks",
    .coll = PCOLL_ALLGATHER,
    .description = "Bruck, between node leaders",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
};
