/*
 * Weighted butterfly barrier.
 *
 * Idea: in round r, rank p tells rank p XOR 2^(r-1) that it and all ranks that it has heard of have
 * arrived. Arrivals of different rounds may overtake each other, so round r of R adds 2^(R-r) and
 * waits for the sum of all weights of earlier rounds: a sum of distinct powers of two is reached
 * only when each of them has arrived, since all later ones together are less than the smallest of
 * them.
 *
 * On several nodes their leaders perform the butterfly. The other members first signal their leader
 * 2^R each, more than all rounds together; at the end the leader releases them.
 *
 * Source: document 001 (Morie et al.), sections 4.2.1 to 4.2.3, table 4; Brooks, "The butterfly
 * barrier" (1986). A number of ranks that is not a power of two is folded: with m = 2^n <= N, rank
 * e >= m signals e - m in an additional first round, and e - m releases it in an additional last
 * one.
 *
 *      N = 5, m = 4:   4 -> 0 | 0<->1 2<->3 | 0<->2 1<->3 | 0 -> 4
 *
 * Cost: n (n + 2) times L + o, and inside nodes of s ranks 2 L + s o; one counter, two banks.
 * Condition: a rank completes instance k only after all ranks have started it, so no rank is two
 * instances ahead, and two banks of counters keep instances apart.
 */
#include "algorithms/barrier/team.h"
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/teams.h"

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams; /* N is their number, p is the team that I lead */
    int bank;
    uint64_t level;  /* the value of my tank when all rounds so far have arrived */
    uint64_t weight; /* of the current round */
};

static void send_round(struct state *s, int team)
{
    struct pcoll_entry entry = pcoll_entry_add(s->level ? s->bank : PCOLL_NONE, s->level);
    int peer = pcoll_team_rank(&s->teams, team, 0);

    pcoll_plan_add(s->plan, pcoll_entry_signal(entry, peer, s->bank, s->weight));
}

static void build_core(struct state *s, int p, int n)
{
    const int m = 1 << n;
    const bool extra = p + m < s->teams.count;

    if (m < s->teams.count) {
        s->level += extra ? s->weight : 0;
        s->weight /= 2;
    }
    for (int r = 0; r < n; r++, s->weight /= 2) {
        send_round(s, p ^ (1 << r));
        s->level += s->weight;
    }
    if (extra)
        send_round(s, p + m);
}

static void build_leader(struct state *s, int p, int n)
{
    uint64_t top = s->weight;

    s->level = pcoll_barrier_gathered(&s->teams, s->plan->rank, top);
    s->weight = top / 2;
    if (p >= 1 << n) {
        send_round(s, p - (1 << n));
        s->level += 1;
    } else {
        build_core(s, p, n);
    }
    pcoll_barrier_release(s->plan, &s->teams, s->bank, s->level);
}

static void build_phase(struct pcoll_plan *plan, int bank)
{
    struct state s = {.plan = plan, .teams = pcoll_teams_of(&plan->signature), .bank = bank};
    int n = pcoll_log2_floor(s.teams.count), rounds = 1 << n == s.teams.count ? n : n + 2;

    s.weight = (uint64_t)1 << rounds;
    pcoll_plan_open(plan, bank);
    if (pcoll_team_member(&s.teams, plan->rank) > 0)
        pcoll_barrier_follow(plan, &s.teams, bank, s.weight);
    else
        build_leader(&s, pcoll_team_of(&s.teams, plan->rank), n);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const int banks = pcoll_banks(params);

    if (!pcoll_plan_begin(plan, banks, banks))
        return PCOLL_ERR_NOMEM;
    for (int bank = 0; bank < banks; bank++)
        build_phase(plan, bank);
    return PCOLL_OK;
}

/* As long as half of the core have no extra rank, their signals do not wait for the first of the
 * two additional rounds but arrive together with it. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    int count = pcoll_teams_of(signature).count, n = pcoll_log2_floor(count);
    int extra = count - (1 << n), rounds = n + (extra > 0) + (2 * extra > 1 << n);
    double gap = pcoll_larger(machine->g, machine->o);
    double late = (extra > 0 && pcoll_is_over_wire(signature) ? machine->g : 0) +
                  (2 * extra == 1 << n ? gap : 0); /* a rank that sends to two others */

    (void)params;
    return pcoll_cost_waves(signature, machine, rounds, 1) + late +
           pcoll_cost_barrier_team(signature, machine);
}

const struct pcoll_algorithm pcoll_barrier_butterfly = {
    .name = "butterfly",
    .coll = PCOLL_BARRIER,
    .description = "weighted butterfly of node leaders",
    .when =
        "node leaders whose number is a power of two, where rounds of one message each are best",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_teams = PCOLL_NESTED_LEVELS,
};
