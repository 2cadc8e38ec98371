/* Recursive doubling; the contract is in doubling.h. */
#include "algorithms/shape/doubling.h"

#include "algorithms/number.h"

/* The number of pairs that are folded. */
static int nfolded(int count)
{
    return count - (1 << pcoll_log2_floor(count));
}

int pcoll_doubling_rounds(int count)
{
    return pcoll_log_ceil(count, 2);
}

/* As long as half of the core have nobody to fold, what they send does not wait for the folding but
 * arrives together with it. */
int pcoll_doubling_steps(int count)
{
    const int folded = nfolded(count), n = pcoll_log2_floor(count);

    return n + (folded > 0) + (2 * folded > 1 << n);
}

uint64_t pcoll_doubling_weight(int count, uint64_t weight)
{
    return weight << pcoll_doubling_rounds(count);
}

static int is_folded(const struct pcoll_doubling *d, int team)
{
    return team < 2 * nfolded(d->teams.count) && team % 2 == 1;
}

static int last_round(const struct pcoll_doubling *d)
{
    return pcoll_doubling_rounds(d->teams.count) - 1;
}

static struct pcoll_place slot(const struct pcoll_doubling *d, int round)
{
    return pcoll_at(PCOLL_TEMP, d->slots + (uint64_t)round * d->slot_bytes);
}

static uint64_t weight_of(const struct pcoll_doubling *d, int round)
{
    return d->weight << (last_round(d) - round);
}

/* The teams of the core, from its numbers, and the number of a team. */
static int core_team(const struct pcoll_doubling *d, int number)
{
    const int folded = nfolded(d->teams.count);

    return number < folded ? 2 * number : number + folded;
}

static int core_number(const struct pcoll_doubling *d, int team)
{
    const int folded = nfolded(d->teams.count);

    return team < 2 * folded ? team / 2 : team - folded;
}

/* Put the sum to the peer, at the beginning or after the last REDUCE. */
static struct pcoll_entry put_sum(const struct pcoll_doubling *d, int team, int round,
                                  uint64_t weight)
{
    const int peer = pcoll_team_rank(&d->teams, team, d->member);
    const struct pcoll_entry put = pcoll_entry_put(d->level ? d->bank : PCOLL_NONE, d->level,
                                                   d->sum, peer, slot(d, round), d->bytes);

    return pcoll_entry_signal(put, peer, d->bank, weight);
}

/* Reduce the sum and what arrives in that round, which is on its left or right. */
static void add_reduce(struct pcoll_doubling *d, int round, int is_left, int is_done)
{
    const struct pcoll_place arrived = slot(d, round);
    struct pcoll_entry reduce;

    pcoll_plan_operand(d->plan, is_left ? arrived : d->sum);
    pcoll_plan_operand(d->plan, is_left ? d->sum : arrived);
    d->sum = round == last_round(d) ? d->result : arrived;
    d->level += weight_of(d, round);
    reduce = pcoll_entry_reduce(d->plan, d->bank, d->level, 2, d->sum, d->bytes);
    if (is_done) {
        reduce = pcoll_entry_done(reduce, d->bank, weight_of(d, round));
        d->level += weight_of(d, round);
    }
    pcoll_plan_add(d->plan, reduce);
}

static void add_exchange(struct pcoll_doubling *d, int round, int distance, int is_done)
{
    const int team = pcoll_team_of(&d->teams, d->plan->rank);
    const int number = core_number(d, team), other = number ^ distance;
    struct pcoll_entry put = put_sum(d, core_team(d, other), round, weight_of(d, round));

    /* The result must not overtake the put that reads its place. */
    if (d->plan->signature.in_place && d->sum.buffer == PCOLL_SEND) {
        put = pcoll_entry_done(put, d->bank, 2 * weight_of(d, 0));
        d->level += 2 * weight_of(d, 0);
    }
    pcoll_plan_add(d->plan, put);
    add_reduce(d, round, other < number, is_done);
}

static void add_core(struct pcoll_doubling *d, int team)
{
    const int folded = nfolded(d->teams.count), has_extra = team < 2 * folded;
    const int last = last_round(d);
    int round = 0;

    if (has_extra)
        add_reduce(d, 0, 0, 1);
    round += folded > 0;
    for (int distance = 1; round <= last; distance *= 2, round++)
        add_exchange(d, round, distance, has_extra || d->is_told || round < last);
    if (has_extra)
        pcoll_plan_add(d->plan, put_sum(d, team + 1, last, d->weight));
}

void pcoll_doubling_add(struct pcoll_doubling *d)
{
    const int team = pcoll_team_of(&d->teams, d->plan->rank);

    if (!is_folded(d, team)) {
        add_core(d, team);
        return;
    }
    pcoll_plan_add(d->plan, put_sum(d, team - 1, 0, weight_of(d, 0)));
    d->sum = slot(d, last_round(d));
    d->level += d->weight;
}
