/* Recursive halving and doubling; the contract is in halving.h. */
#include "algorithms/shape/halving.h"

#include <assert.h>
#include <stdbool.h>

#include "algorithms/number.h"

/* What the entries of a rank depend on. */
struct state {
    struct pcoll_halving *h;
    struct pcoll_fold fold;
    int number, rounds; /* in the core; of halving */
};

struct pcoll_fold pcoll_halving_fold(int count)
{
    return (struct pcoll_fold){count, 1 << pcoll_log2_floor(count)};
}

/* The slots of the first rounds. */
static uint64_t slots_of(int rounds, uint64_t bytes, uint64_t unit)
{
    uint64_t units = bytes / unit, all = 0;

    for (int i = 0; i < rounds; i++) {
        units = (units + 1) / 2;
        all += pcoll_whole_lines(units * unit);
    }
    return all;
}

uint64_t pcoll_halving_slots(int count, uint64_t bytes, uint64_t unit)
{
    return slots_of(pcoll_log2_floor(count), bytes, unit);
}

uint64_t pcoll_halving_weight(int count, uint64_t weight)
{
    const struct pcoll_fold fold = pcoll_halving_fold(count);

    return weight << (2 * pcoll_log2_floor(count) + (pcoll_fold_folded(&fold) > 0));
}

static uint64_t weight_of_folding(const struct pcoll_halving *h)
{
    return pcoll_halving_weight(h->teams.count, h->weight) / 2;
}

/* Of a round of halving, and of the same round when results are gathered. */
static uint64_t weight_of(const struct state *s, int round)
{
    return s->h->weight << (2 * s->rounds - 1 - round);
}

static uint64_t weight_of_result(const struct state *s, int round)
{
    return s->h->weight << round;
}

static uint64_t unit_of(const struct state *s)
{
    return pcoll_unit_of(&s->h->plan->signature);
}

static struct pcoll_segment half(const struct state *s, struct pcoll_segment slice, bool is_upper)
{
    const uint64_t units = slice.count / unit_of(s), lower = (units + 1) / 2 * unit_of(s);

    return is_upper ? (struct pcoll_segment){slice.first + lower, slice.count - lower}
                    : (struct pcoll_segment){slice.first, lower};
}

static bool is_upper(const struct state *s, int round)
{
    return s->number >> round & 1;
}

/* What the rank still reduces after so many rounds. */
static struct pcoll_segment slice_after(const struct state *s, int rounds)
{
    struct pcoll_segment slice = {0, s->h->bytes};

    for (int i = 0; i < rounds; i++)
        slice = half(s, slice, is_upper(s, i));
    return slice;
}

static struct pcoll_place slot(const struct state *s, int round)
{
    return pcoll_at(PCOLL_TEMP, s->h->slots + slots_of(round, s->h->bytes, unit_of(s)));
}

static struct pcoll_place at(struct pcoll_place place, uint64_t offset)
{
    return pcoll_at(place.buffer, place.offset + offset);
}

static int rank_of(const struct state *s, int team)
{
    return pcoll_team_rank(&s->h->teams, team, s->h->member);
}

static int partner(const struct state *s, int round)
{
    assert(round >= 0 && round < 31);
    return rank_of(s, pcoll_fold_rank(&s->fold, s->number ^ 1 << round));
}

static struct pcoll_entry put(const struct state *s, struct pcoll_place from, int peer,
                              struct pcoll_place to, uint64_t bytes, uint64_t weight)
{
    const struct pcoll_halving *h = s->h;
    const struct pcoll_entry entry =
        pcoll_entry_put(h->trigger, h->threshold, from, peer, to, bytes);

    return pcoll_entry_signal(entry, peer, h->bank, weight);
}

static void rise(struct pcoll_halving *h, uint64_t weight)
{
    h->level += weight;
    h->trigger = h->bank;
    h->threshold = h->level;
}

/* Reduce what arrives with the rank's own data. */
static void add_reduce(struct pcoll_halving *h, struct pcoll_place left, struct pcoll_place right,
                       struct pcoll_place to, uint64_t bytes, uint64_t weight)
{
    struct pcoll_entry reduce;

    pcoll_plan_operand(h->plan, left);
    pcoll_plan_operand(h->plan, right);
    rise(h, weight);
    reduce = pcoll_entry_reduce(h->plan, h->bank, h->level, 2, to, bytes);
    pcoll_plan_add(h->plan, pcoll_entry_done(reduce, h->bank, weight));
    rise(h, weight);
    h->sum = to;
}

static void add_halving(const struct state *s, int round)
{
    const struct pcoll_segment all = slice_after(s, round), own = slice_after(s, round + 1);
    const struct pcoll_segment other = half(s, all, !is_upper(s, round));
    const struct pcoll_place sum = s->h->sum, arrives = slot(s, round);
    const struct pcoll_place mine = at(sum, own.first - all.first);
    const struct pcoll_place to = round == s->rounds - 1 ? at(s->h->result, own.first) : arrives;

    pcoll_plan_add(s->h->plan, put(s, at(sum, other.first - all.first), partner(s, round), arrives,
                                   other.count, weight_of(s, round)));
    if (is_upper(s, round))
        add_reduce(s->h, arrives, mine, to, own.count, weight_of(s, round));
    else
        add_reduce(s->h, mine, arrives, to, own.count, weight_of(s, round));
}

static void add_gathering(const struct state *s, int round)
{
    const struct pcoll_segment own = slice_after(s, round + 1);
    const struct pcoll_place to = at(s->h->result, own.first);

    pcoll_plan_add(s->h->plan,
                   put(s, to, partner(s, round), to, own.count, weight_of_result(s, round)));
    rise(s->h, weight_of_result(s, round));
}

static void add_core(const struct state *s, int team)
{
    struct pcoll_halving *h = s->h;
    const bool has_extra = pcoll_fold_has_extra(&s->fold, team);

    if (has_extra)
        add_reduce(h, h->sum, h->whole, h->whole, h->bytes, weight_of_folding(h));
    for (int round = 0; round < s->rounds; round++)
        add_halving(s, round);
    for (int round = s->rounds - 1; round >= 0; round--)
        add_gathering(s, round);
    if (has_extra)
        pcoll_plan_add(h->plan,
                       put(s, h->result, rank_of(s, team + 1), h->result, h->bytes, h->weight));
}

void pcoll_halving_add(struct pcoll_halving *h)
{
    const int team = pcoll_team_of(&h->teams, h->plan->rank);
    struct state s = {.h = h,
                      .fold = pcoll_halving_fold(h->teams.count),
                      .rounds = pcoll_log2_floor(h->teams.count)};

    if (pcoll_fold_is_folded(&s.fold, team)) {
        pcoll_plan_add(h->plan, put(&s, h->sum, rank_of(&s, team - 1), h->whole, h->bytes,
                                    weight_of_folding(h)));
        rise(h, h->weight);
    } else {
        s.number = pcoll_fold_number(&s.fold, team);
        add_core(&s, team);
    }
    h->sum = h->result;
}

/* ---- cost ---- */

/* All wait for those to whom others are folded. */
double pcoll_halving_time(const struct pcoll_halving_cost *c)
{
    const struct pcoll_signature *signature = c->operands.signature;
    const struct pcoll_move give = pcoll_fold_give(&c->operands, c->bytes);
    const struct pcoll_move get = pcoll_fold_get(&c->results, c->bytes);
    const int rounds = pcoll_log2_floor(c->operands.fold.count);
    const bool is_folded = pcoll_fold_folded(&c->operands.fold) > 0;
    struct pcoll_moves moves = {0};

    if (is_folded)
        pcoll_moves_add(&moves, signature, &give);
    for (int i = 0; i < 2 * rounds; i++) {
        const bool is_result = i >= rounds;
        const int round = is_result ? 2 * rounds - 1 - i : i;
        const struct pcoll_fold_links *links = is_result ? &c->results : &c->operands;
        const struct pcoll_move move =
            pcoll_fold_exchange(links, 1 << round, 2, c->bytes / (double)(2 << round), !is_result);

        pcoll_moves_add(&moves, signature, &move);
    }
    if (is_folded)
        pcoll_moves_add(&moves, signature, &get);
    return pcoll_moves_time(&moves);
}
