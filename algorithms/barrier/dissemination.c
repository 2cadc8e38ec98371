/*
 * Weighted dissemination barrier with any base.
 *
 * Idea: in round r = 0 .. R-1 rank p tells ranks p + i k^r (i = 1 .. k-1, i k^r < N) that it and
 * all ranks that it has heard of have arrived; R = ceil(log_k N). The signals of round r weigh
 * k^(R-1-r): the k-1 signals of each later round together stay below one of an earlier round, so
 * the sum of all earlier weights is reached only when each of them has arrived (the scheme of
 * document 001 section 4.2.1 in base k). k >= N is a single round in which every rank tells every
 * other.
 *
 * On several nodes their leaders perform the dissemination. The other members first signal their
 * leader k^R each, more than all rounds together; at the end the leader releases them.
 *
 * Source: Hensgen, Finkel, Manber (1988), base k as in Hoefler et al., "Fast barrier
 * synchronization for InfiniBand" (2006).
 *
 *      N = 5, k = 2:  +1 | +2 | +4          N = 5, k = 5:  +1 +2 +3 +4
 *
 * Cost: R times (L + (k-1) max(o, g)), and inside nodes of s ranks 2 L + s o; one counter, two
 * banks. Condition: as for the butterfly, no rank is two instances ahead.
 */
#include "algorithms/barrier/team.h"
#include "algorithms/cost.h"
#include "algorithms/teams.h"

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams; /* N is their number, p is the team that I lead */
    int bank, radix;
    uint64_t level;  /* the value of my tank when all rounds so far have arrived */
    uint64_t weight; /* of the current round */
};

static int radix_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    int radix = pcoll_radix(params), count = pcoll_teams_of(signature).count;

    return radix < count ? radix : count;
}

/* The signals of one round; as many arrive as leave. */
static void add_round(struct state *s, int p, int64_t distance)
{
    int count = s->teams.count;
    uint64_t sent = 0;

    for (int i = 1; i < s->radix && i * distance < count; i++, sent++) {
        struct pcoll_entry entry = pcoll_entry_add(s->level ? s->bank : PCOLL_NONE, s->level);
        int to = (int)((p + i * distance) % count);
        int from = (int)((p + count - i * distance) % count);

        pcoll_plan_add(s->plan, pcoll_entry_signal(entry, pcoll_team_rank(&s->teams, to, 0),
                                                   s->bank, s->weight));
        pcoll_plan_neighbor(s->plan, pcoll_team_rank(&s->teams, from, 0));
    }
    s->level += s->weight * sent;
}

static void build_leader(struct state *s, int p)
{
    s->level = pcoll_barrier_gathered(&s->teams, s->plan->rank, s->weight);
    for (int64_t distance = 1; distance < s->teams.count; distance *= s->radix) {
        s->weight /= (uint64_t)s->radix;
        add_round(s, p, distance);
    }
    pcoll_barrier_release(s->plan, &s->teams, s->bank, s->level);
}

static void build_phase(struct pcoll_plan *plan, int bank, int radix)
{
    struct state s = {plan, pcoll_teams_of(&plan->signature), bank, radix, 0, 1};

    for (int64_t reach = 1; reach < s.teams.count; reach *= radix)
        s.weight *= (uint64_t)radix;
    pcoll_plan_open(plan, bank);
    if (pcoll_team_member(&s.teams, plan->rank) > 0)
        pcoll_barrier_follow(plan, &s.teams, bank, s.weight);
    else
        build_leader(&s, pcoll_team_of(&s.teams, plan->rank));
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const int banks = pcoll_banks(params);

    if (!pcoll_plan_begin(plan, banks, banks))
        return PCOLL_ERR_NOMEM;
    for (int bank = 0; bank < banks; bank++)
        build_phase(plan, bank, radix_of(&plan->signature, params));
    return PCOLL_OK;
}

/* The last round has as many messages as there are ranks left to tell. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    int64_t radix = radix_of(signature, params), count = pcoll_teams_of(signature).count;
    double cost = machine->call;

    for (int64_t distance = 1; distance < count; distance *= radix) {
        bool is_last = distance * radix >= count;
        int64_t messages = is_last ? (count - 1) / distance : radix - 1;

        cost += pcoll_cost_wave(signature, machine, (double)messages, is_last);
    }
    return cost + pcoll_cost_barrier_team(signature, machine);
}

const struct pcoll_algorithm pcoll_barrier_dissemination = {
    .name = "dissemination",
    .coll = PCOLL_BARRIER,
    .description = "weighted dissemination in base radix by node leaders",
    .when =
        "any number of ranks; a large radix where ranks share cores, as every round costs a turn",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
};
