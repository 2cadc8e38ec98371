/*
 * Allgather by the algorithm of Bruck through communication buffers; also allgatherv, if the blocks
 * lie side by side on all ranks.
 *
 * Idea: rank p gathers the blocks in the order p, p + 1 .. from its own block on, cyclically. In
 * round r = 0 .. R-1 it has the first 2^r blocks and sends them (in the last round as many as are
 * needed) to p - 2^r, which appends them to its own. After R = ceil(log2 N) rounds all blocks have
 * arrived and are copied to their places. Round r adds 2^(R-1-r) and the own block 2^R: decreasing
 * powers of two distinguish the arrivals in any order (document 001 section 4.2.1). Blocks that are
 * all empty are a signal.
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
 * banks. A long block among short ones travels in up to R rounds. The result is copied twice if the
 * members of nodes are consecutive, otherwise more often, up to once for each block. Condition:
 * completing k needs every rank's start of k, so two banks of counters and buffers keep instances
 * apart.
 */
#include <math.h>
#include <stdbool.h>

#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/blocks.h"

struct state {
    struct pcoll_plan *plan;
    struct pcoll_blocks blocks;
    struct pcoll_teams teams;
    int team, member, leader; /* mine; N and p above are the number of teams and my team */
    uint64_t own, all;        /* bytes of my block and of all blocks */
    int bank;
    uint64_t level;  /* the value of my tank when everything so far has arrived */
    uint64_t weight; /* of the next round's signal, or before the rounds of a member's */
};

static uint64_t all_bytes(const struct pcoll_signature *signature)
{
    return pcoll_block_first(signature, signature->nranks);
}

static bool fits_cell(const struct pcoll_signature *signature)
{
    return all_bytes(signature) <= PCOLL_CELL_BYTES;
}

/* Byte `at` of what a leader gathers. */
static struct pcoll_place gathered(const struct state *s, uint64_t at)
{
    uint64_t bank = (uint64_t)s->bank;

    if (fits_cell(&s->plan->signature))
        return pcoll_at(PCOLL_CELL, bank * PCOLL_CELL_BYTES + at);
    return pcoll_at(PCOLL_TEMP, bank * s->all + at);
}

/* The bytes of the `count` teams from `team` on, cyclically; count < teams.count. */
static uint64_t bytes_of(const struct state *s, int team, int count)
{
    const int end = team + count;
    const bool is_wrapped = end > s->teams.count;
    const int place = pcoll_team_place(&s->teams, is_wrapped ? end - s->teams.count : end);
    const uint64_t past = pcoll_blocks_first(&s->blocks, place) + (is_wrapped ? s->all : 0);

    return past - pcoll_blocks_first(&s->blocks, pcoll_team_place(&s->teams, team));
}

static void add_own_copy(const struct state *s)
{
    if (!s->plan->signature.in_place && s->own > 0)
        pcoll_plan_add(
            s->plan,
            pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0),
                             pcoll_at(PCOLL_RECV, pcoll_blocks_recv(&s->blocks, s->plan->rank)),
                             s->own));
}

/* Copy the blocks of the series from byte `first` to `end` to my receive buffer, except my own. */
static void add_results(const struct state *s, uint64_t first, uint64_t end, uint64_t at)
{
    struct pcoll_stretch rest = {first, end};

    while (rest.first < rest.end) {
        const struct pcoll_gathered piece =
            pcoll_blocks_gathered(&s->blocks, rest, s->plan->rank, s->plan->rank);
        const struct pcoll_place from = gathered(s, at + rest.first - first);
        const struct pcoll_place to = pcoll_at(PCOLL_RECV, piece.recv);

        rest.first += piece.bytes;
        if (piece.rank == s->plan->rank)
            continue;
        if (s->member == 0)
            pcoll_plan_add(s->plan, pcoll_entry_copy(s->bank, s->level, from, to, piece.bytes));
        else
            pcoll_plan_add(s->plan,
                           pcoll_entry_get(s->bank, s->level, s->leader, from, to, piece.bytes));
    }
}

static void add_all_results(const struct state *s)
{
    const uint64_t mine = pcoll_blocks_first(&s->blocks, pcoll_team_place(&s->teams, s->team));

    add_results(s, mine, s->all, 0);
    add_results(s, 0, mine, s->all - mine);
    if (s->own == s->all)
        pcoll_plan_add(s->plan, pcoll_entry_wait(s->bank, s->level));
}

/* Send the first `bytes` bytes that I have gathered to byte `at` of the peer's. */
static struct pcoll_entry send(const struct state *s, uint64_t bytes, int peer, uint64_t at)
{
    if (bytes == 0)
        return pcoll_entry_add(s->bank, s->level);
    return pcoll_entry_put(s->bank, s->level, gathered(s, 0), peer, gathered(s, at), bytes);
}

static void add_round(struct state *s, int distance)
{
    int count = s->teams.count;
    int to = (s->team + count - distance) % count, from = (s->team + distance) % count;
    int wanted = distance < count - distance ? distance : count - distance;
    int peer = pcoll_team_rank(&s->teams, to, 0);
    struct pcoll_entry put = send(s, bytes_of(s, s->team, wanted), peer, bytes_of(s, to, distance));

    s->weight /= 2;
    pcoll_plan_add(s->plan, pcoll_entry_signal(put, peer, s->bank, s->weight));
    pcoll_plan_neighbor(s->plan, pcoll_team_rank(&s->teams, from, 0));
    s->level += s->weight;
}

static void build_leader(struct state *s)
{
    int size = pcoll_team_size(&s->teams, s->team);
    struct pcoll_entry own = pcoll_entry_add(PCOLL_NONE, 0);

    if (s->own > 0)
        own = pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0), gathered(s, 0), s->own);
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
    const uint64_t at =
        pcoll_blocks_first(&s->blocks, pcoll_teams_place(&s->teams, s->plan->rank)) -
        pcoll_blocks_first(&s->blocks, pcoll_team_place(&s->teams, s->team));
    struct pcoll_entry put = pcoll_entry_add(PCOLL_NONE, 0);

    if (s->own > 0)
        put = pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0), s->leader, gathered(s, at),
                              s->own);
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
    add_all_results(s);
    s->plan->gain[s->bank] = s->level;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    if (fits_cell(signature))
        return 0;
    return (uint64_t)pcoll_banks(params) * all_bytes(signature);
}

static void build(struct state *s, const struct pcoll_params *params)
{
    struct pcoll_plan *plan = s->plan;

    pcoll_blocks_take_lane(&s->blocks, 0);
    s->teams = s->blocks.teams;
    s->team = pcoll_team_of(&s->teams, plan->rank);
    s->member = pcoll_team_member(&s->teams, plan->rank);
    s->leader = pcoll_team_rank(&s->teams, s->team, 0);
    s->own = pcoll_blocks_of(&s->blocks, plan->rank).count;
    s->all = all_bytes(&plan->signature);
    if (s->member == 0)
        plan->temp_bytes = temp_bytes(&plan->signature, params);
    for (s->bank = 0; s->bank < plan->nphases; s->bank++)
        build_phase(s);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const int banks = pcoll_banks(params);
    struct state s = {.plan = plan};
    enum pcoll_result result;

    if (!pcoll_blocks_are_known(&plan->signature))
        return PCOLL_UNSUPPORTED;
    if (!pcoll_plan_begin(plan, banks, banks))
        return PCOLL_ERR_NOMEM;
    result = pcoll_blocks_init(&s.blocks, &plan->signature, 1);
    if (result == PCOLL_OK)
        build(&s, params);
    pcoll_blocks_fini(&s.blocks);
    return result;
}

/* The most that a rank has to send, round by round: the longest block may be part of every round.
 */
static double max_sent(const struct pcoll_teams *teams, double longest, double all)
{
    double sent = 0;

    for (int distance = 1; distance < teams->count; distance *= 2) {
        int wanted = distance < teams->count - distance ? distance : teams->count - distance;

        sent += wanted * longest < all ? wanted * longest : all;
    }
    return sent;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const bool has_levels = teams.topology != NULL;
    int members = pcoll_ranks_per_node(signature);
    int rounds = pcoll_log_ceil(teams.count, 2);
    double own = (double)signature->bytes, all = (double)all_bytes(signature);
    double crowd = pcoll_cost_crowd(signature, machine), ends = 0;
    double sent = max_sent(&teams, own * (has_levels ? members : 1), all);
    double rate =
        has_levels && pcoll_is_over_wire(signature)
            ? machine->G
            : crowd * pcoll_cost_saturated(machine, teams.count, 1,
                                           pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP));
    double copies = (rounds > 1 ? 4 : 3) * node.o + (own + all) * node.copy;

    (void)params;
    if (!pcoll_blocks_are_known(signature))
        return INFINITY;
    if (has_levels)
        ends = pcoll_cost_waves(signature, &node, 1, 1) + own * node.copy +
               pcoll_cost_waves(signature, &node, 1, members - 1);
    return ends + pcoll_cost_waves(signature, machine, rounds, 1) + sent * rate + crowd * copies;
}

#define ROW(NAME, name_of_collective, old_name)                                                    \
    const struct pcoll_algorithm pcoll_##name_of_collective##_bruck = {                            \
        .name = "bruck",                                                                           \
        .alias = old_name,                                                                         \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "Bruck, between node leaders",                                              \
        .when = "short blocks on any number of ranks",                                             \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_TEMP,                                                              \
        .uses_teams = PCOLL_ONE_LEVEL,                                                             \
    };

ROW(ALLGATHER, allgather, "brucks")
ROW(ALLGATHERV, allgatherv, "brucks")
