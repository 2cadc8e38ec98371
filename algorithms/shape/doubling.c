/* Recursive doubling; the contract is in doubling.h. */
#include "algorithms/shape/doubling.h"

#include <assert.h>
#include <stdbool.h>

/* A round: groups of `radix` numbers of the core, `distance` apart. */
struct round {
    int radix, distance;
    uint64_t slot;   /* the first of radix - 1 */
    uint64_t weight; /* of what arrives from one rank, and of the REDUCE */
    bool is_last;
};

struct pcoll_doubling_rounds pcoll_doubling_rounds(int count, int radix)
{
    const int wanted = radix ? radix : 2;
    struct pcoll_doubling_rounds rounds = {.fold = {count, 1}};

    assert(count >= 2);
    rounds.radix = wanted < count ? wanted : count;
    while (rounds.fold.core <= count / rounds.radix) {
        rounds.fold.core *= rounds.radix;
        rounds.number++;
    }
    rounds.last = count / rounds.fold.core;
    rounds.fold.core *= rounds.last;
    rounds.number += rounds.last > 1;
    if (rounds.last == 1)
        rounds.last = rounds.radix;
    return rounds;
}

/* 1 or 0: a slot. */
static uint64_t has_folding(const struct pcoll_doubling_rounds *rounds)
{
    return pcoll_fold_folded(&rounds->fold) > 0;
}

uint64_t pcoll_doubling_slots(const struct pcoll_doubling_rounds *rounds)
{
    return (uint64_t)(rounds->number - 1) * (uint64_t)(rounds->radix - 1) +
           (uint64_t)(rounds->last - 1) + has_folding(rounds);
}

uint64_t pcoll_doubling_weight(const struct pcoll_doubling_rounds *rounds, uint64_t weight)
{
    return weight * (uint64_t)rounds->fold.core * (1 + has_folding(rounds));
}

/* The folding is a round of pairs before the others. */
static struct round folding(const struct pcoll_doubling *d)
{
    return (struct round){.radix = 2, .weight = d->weight * (uint64_t)d->rounds.fold.core};
}

static struct round round_of(const struct pcoll_doubling *d, int i)
{
    struct round round = {
        .radix = i == d->rounds.number - 1 ? d->rounds.last : d->rounds.radix,
        .distance = 1,
        .slot = (uint64_t)i * (uint64_t)(d->rounds.radix - 1) + has_folding(&d->rounds),
        .is_last = i == d->rounds.number - 1,
    };

    while (i-- > 0)
        round.distance *= d->rounds.radix;
    round.weight = d->weight * (uint64_t)(d->rounds.fold.core / (round.distance * round.radix));
    return round;
}

static struct pcoll_place slot(const struct pcoll_doubling *d, uint64_t i)
{
    return pcoll_at(PCOLL_TEMP, d->slots + i * d->slot_bytes);
}

/* Where the `receiver`-th of a group keeps what the `sender`-th has. */
static struct pcoll_place slot_of(const struct pcoll_doubling *d, const struct round *round,
                                  int receiver, int sender)
{
    return slot(d, round->slot + (uint64_t)(sender - (sender > receiver)));
}

static struct pcoll_place last_slot(const struct pcoll_doubling *d)
{
    return slot(d, pcoll_doubling_slots(&d->rounds) - 1);
}

/* Put the sum to the peer, at the beginning or after the last REDUCE. */
static struct pcoll_entry put_sum(const struct pcoll_doubling *d, int team, struct pcoll_place to,
                                  uint64_t weight)
{
    const int peer = pcoll_team_rank(&d->teams, team, d->member);
    const struct pcoll_entry put =
        pcoll_entry_put(d->level ? d->bank : PCOLL_NONE, d->level, d->sum, peer, to, d->bytes);

    return pcoll_entry_signal(put, peer, d->bank, weight);
}

/* Reduce the sum, which is the `own`-th of the group, and what arrives in that round. */
static void add_reduce(struct pcoll_doubling *d, const struct round *round, int own, bool is_done)
{
    struct pcoll_entry reduce;

    for (int i = 0; i < round->radix; i++)
        pcoll_plan_operand(d->plan, i == own ? d->sum : slot_of(d, round, own, i));
    d->sum = round->is_last ? d->result : slot(d, round->slot + (uint64_t)round->radix - 2);
    d->level += (uint64_t)(round->radix - 1) * round->weight;
    reduce = pcoll_entry_reduce(d->plan, d->bank, d->level, round->radix, d->sum, d->bytes);
    if (is_done) {
        reduce = pcoll_entry_done(reduce, d->bank, round->weight);
        d->level += round->weight;
    }
    pcoll_plan_add(d->plan, reduce);
}

static void add_exchange(struct pcoll_doubling *d, const struct round *round, bool is_done)
{
    const int number = pcoll_fold_number(&d->rounds.fold, pcoll_team_of(&d->teams, d->plan->rank));
    const int own = number / round->distance % round->radix;
    /* The result must not overtake the puts that read its place. */
    const bool is_read = d->plan->signature.in_place && d->sum.buffer == PCOLL_SEND;
    const uint64_t heavy = pcoll_doubling_weight(&d->rounds, d->weight);

    for (int i = 1; i < round->radix; i++) {
        const int other = (own + i) % round->radix;
        const int team = pcoll_fold_rank(&d->rounds.fold, number + (other - own) * round->distance);
        const struct pcoll_entry put =
            put_sum(d, team, slot_of(d, round, other, own), round->weight);

        pcoll_plan_add(d->plan, is_read ? pcoll_entry_done(put, d->bank, heavy) : put);
    }
    if (is_read)
        d->level += (uint64_t)(round->radix - 1) * heavy;
    add_reduce(d, round, own, is_done);
}

static void add_core(struct pcoll_doubling *d, int team)
{
    const bool has_extra = pcoll_fold_has_extra(&d->rounds.fold, team);
    const struct round fold = folding(d);

    if (has_extra)
        add_reduce(d, &fold, 0, true);
    for (int i = 0; i < d->rounds.number; i++) {
        const struct round round = round_of(d, i);

        add_exchange(d, &round, has_extra || d->is_told || !round.is_last);
    }
    if (has_extra)
        pcoll_plan_add(d->plan, put_sum(d, team + 1, last_slot(d), d->weight));
}

void pcoll_doubling_add(struct pcoll_doubling *d)
{
    const int team = pcoll_team_of(&d->teams, d->plan->rank);
    const struct round fold = folding(d);

    if (!pcoll_fold_is_folded(&d->rounds.fold, team)) {
        add_core(d, team);
        return;
    }
    pcoll_plan_add(d->plan, put_sum(d, team - 1, slot(d, 0), fold.weight));
    d->sum = last_slot(d);
    d->level += d->weight;
}

/* ---- cost ---- */

/* All rounds: the time that they take if all begin together; the time that they take a rank to
 * whom another is folded, while those wait for it to whom none is. */
struct times {
    double all, late;
};

static struct times time_of_rounds(const struct pcoll_doubling_cost *c)
{
    const struct pcoll_doubling_rounds *rounds = &c->rounds;
    const struct pcoll_signature *signature = c->links.signature;
    const int folded = pcoll_fold_folded(&rounds->fold);
    struct pcoll_moves moves = {0};
    double late = 0;
    int distance = 1;

    for (int i = 0; i < rounds->number; i++) {
        const int radix = i == rounds->number - 1 ? rounds->last : rounds->radix;
        const struct pcoll_move move =
            pcoll_fold_exchange(&c->links, distance, radix, c->bytes, true);

        pcoll_moves_add(&moves, signature, &move);
        late += folded > distance ? pcoll_move_alone(signature, &move).time
                                  : pcoll_wave_busy(&move.link, move.wave);
        distance *= radix;
    }
    return (struct times){pcoll_moves_time(&moves), late};
}

/* A rank to which another is folded is late by that folding, and those that wait for it are late,
 * too. If all such ranks come first in their groups of the last round, none of them waits for
 * another one there. Then they can pass the result on a round earlier than if all were late, unless
 * their own messages keep them busy. */
double pcoll_doubling_time(const struct pcoll_doubling_cost *c)
{
    const struct pcoll_move give = pcoll_fold_give(&c->links, c->bytes);
    const struct pcoll_move get = pcoll_fold_get(&c->links, c->bytes);
    const struct pcoll_waves fold = pcoll_move_alone(c->links.signature, &give);
    const double unfold = pcoll_move_alone(c->links.signature, &get).time + c->copy;
    const struct times rounds = time_of_rounds(c);
    const int folded = pcoll_fold_folded(&c->rounds.fold);

    if (folded == 0)
        return rounds.all;
    if (c->rounds.last * folded > c->rounds.fold.core)
        return fold.time + rounds.all + unfold;
    return pcoll_larger(fold.time + rounds.all,
                        pcoll_larger(fold.time + fold.queue + rounds.late, rounds.all) + unfold);
}
