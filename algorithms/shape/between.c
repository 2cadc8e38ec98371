/* The stage between nodes; the contract is in between.h. */
#include "algorithms/shape/between.h"

#include "algorithms/shape/halving.h"
#include "algorithms/shape/team_slices.h"

/* ---- room ---- */

static uint64_t slice_room(const struct pcoll_leaders *by)
{
    return pcoll_whole_lines(by->bytes[0]);
}

static uint64_t slot_bytes(const struct pcoll_signature *signature, const struct pcoll_leaders *by)
{
    return pcoll_whole_lines(
        pcoll_team_slices_bytes(by->bytes[0], pcoll_unit_of(signature), by->teams.count));
}

/* For what comes from other nodes; of doubling, the last slot is that of the result. */
static uint64_t slots_room(enum pcoll_between_way way, const struct pcoll_signature *signature,
                           const struct pcoll_leaders *by)
{
    switch (way) {
        case PCOLL_BETWEEN_DOUBLING:
            return (pcoll_doubling_slots(&by->rounds) - 1) * slice_room(by);
        case PCOLL_BETWEEN_SLICES:
            return (uint64_t)by->teams.count * slot_bytes(signature, by);
        default:
            return pcoll_halving_slots(by->teams.count, by->bytes[0], pcoll_unit_of(signature));
    }
}

uint64_t pcoll_between_result(enum pcoll_between_way way, const struct pcoll_signature *signature,
                              const struct pcoll_leaders *by)
{
    return slice_room(by) + slots_room(way, signature, by);
}

uint64_t pcoll_between_room(enum pcoll_between_way way, const struct pcoll_signature *signature,
                            const struct pcoll_leaders *by)
{
    return pcoll_between_result(way, signature, by) + slice_room(by);
}

/* ---- signals ---- */

uint64_t pcoll_between_weight(enum pcoll_between_way way, const struct pcoll_leaders *by)
{
    switch (way) {
        case PCOLL_BETWEEN_DOUBLING:
            return pcoll_doubling_weight(&by->rounds, by->told);
        case PCOLL_BETWEEN_SLICES:
            return pcoll_team_slices_weight(by->teams.count, by->told);
        default:
            return pcoll_halving_weight(by->teams.count, by->told);
    }
}

/* ---- entries ---- */

static struct pcoll_place sum_at(const struct pcoll_between *b)
{
    return pcoll_at(PCOLL_TEMP, b->room);
}

static struct pcoll_place result_at(const struct pcoll_between *b)
{
    return pcoll_at(PCOLL_TEMP, b->room + pcoll_between_result(b->way, &b->plan->signature, b->by));
}

static uint64_t slots_at(const struct pcoll_between *b)
{
    return b->room + slice_room(b->by);
}

static void add_doubling(struct pcoll_between *b)
{
    struct pcoll_doubling d = {
        .plan = b->plan,
        .teams = b->by->teams,
        .rounds = b->by->rounds,
        .member = b->member,
        .bank = b->bank,
        .weight = b->by->told,
        .slots = slots_at(b),
        .slot_bytes = slice_room(b->by),
        .bytes = b->bytes,
        .result = result_at(b),
        .is_told = true,
        .sum = sum_at(b),
        .level = b->level,
    };

    pcoll_doubling_add(&d);
    b->level = d.level;
}

static void add_slices(struct pcoll_between *b)
{
    const struct pcoll_signature *signature = &b->plan->signature;
    struct pcoll_team_slices slices = {
        .plan = b->plan,
        .teams = b->by->teams,
        .member = b->member,
        .receiver = pcoll_coll_has(signature->coll, PCOLL_ROOTED)
                        ? pcoll_team_of(&b->by->teams, signature->root)
                        : PCOLL_NONE,
        .bank = b->bank,
        .weight = b->by->told,
        .slots = slots_at(b),
        .slot_bytes = slot_bytes(signature, b->by),
        .bytes = b->bytes,
        .sum = sum_at(b),
        .result = result_at(b),
        .level = b->level,
    };

    pcoll_team_slices_add(&slices);
    b->level = slices.level;
}

static void add_halving(struct pcoll_between *b)
{
    struct pcoll_halving halving = {
        .plan = b->plan,
        .teams = b->by->teams,
        .member = b->member,
        .bank = b->bank,
        .weight = b->by->told,
        .slots = slots_at(b),
        .bytes = b->bytes,
        .whole = result_at(b),
        .result = result_at(b),
        .sum = sum_at(b),
        .trigger = b->bank,
        .threshold = b->level,
        .level = b->level,
    };

    pcoll_halving_add(&halving);
    b->level = halving.level;
}

void pcoll_between_add(struct pcoll_between *between)
{
    static void (*const ways[])(struct pcoll_between *) = {
        [PCOLL_BETWEEN_DOUBLING] = add_doubling,
        [PCOLL_BETWEEN_SLICES] = add_slices,
        [PCOLL_BETWEEN_HALVING] = add_halving,
    };

    ways[between->way](between);
}
