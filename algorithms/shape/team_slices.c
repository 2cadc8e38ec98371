/* Reduction in slices by teams; the contract is in team_slices.h. */
#include "algorithms/shape/team_slices.h"

#include "algorithms/shape/slices.h"

uint64_t pcoll_team_slices_bytes(uint64_t bytes, uint64_t unit, int count)
{
    return pcoll_segment_of(bytes / unit, (uint64_t)count, 0).count * unit;
}

static int own_team(const struct pcoll_team_slices *s)
{
    return pcoll_team_of(&s->teams, s->plan->rank);
}

/* The i-th other team, and the rank of it that takes part. */
static int other_team(const struct pcoll_team_slices *s, int i)
{
    return (own_team(s) + i) % s->teams.count;
}

static int peer_of(const struct pcoll_team_slices *s, int team)
{
    return pcoll_team_rank(&s->teams, team, s->member);
}

static uint64_t nothers(const struct pcoll_team_slices *s)
{
    return (uint64_t)s->teams.count - 1;
}

static uint64_t weight_of_slice(const struct pcoll_team_slices *s)
{
    return (uint64_t)s->teams.count * s->weight;
}

/* The slice of a team, in bytes of the sum. */
static struct pcoll_segment slice_of(const struct pcoll_team_slices *s, int team)
{
    const uint64_t unit = pcoll_unit_of(&s->plan->signature);
    const struct pcoll_segment slice =
        pcoll_segment_of(s->bytes / unit, (uint64_t)s->teams.count, (uint64_t)team);

    return (struct pcoll_segment){slice.first * unit, slice.count * unit};
}

static struct pcoll_place place_of(struct pcoll_place place, struct pcoll_segment slice)
{
    return pcoll_at(place.buffer, place.offset + slice.first);
}

static struct pcoll_place slot(const struct pcoll_team_slices *s, int team)
{
    return pcoll_at(PCOLL_TEMP, s->slots + (uint64_t)team * s->slot_bytes);
}

static void add_slices(const struct pcoll_team_slices *s)
{
    for (int i = 1; i < s->teams.count; i++) {
        const int team = other_team(s, i), peer = peer_of(s, team);
        const struct pcoll_segment slice = slice_of(s, team);
        const struct pcoll_entry put = pcoll_entry_put(s->bank, s->level, place_of(s->sum, slice),
                                                       peer, slot(s, own_team(s)), slice.count);

        pcoll_plan_add(s->plan, pcoll_entry_signal(put, peer, s->bank, weight_of_slice(s)));
    }
}

static void add_reduce(struct pcoll_team_slices *s)
{
    const struct pcoll_segment own = slice_of(s, own_team(s));
    struct pcoll_entry reduce;

    for (int team = 0; team < s->teams.count; team++)
        pcoll_plan_operand(s->plan, team == own_team(s) ? place_of(s->sum, own) : slot(s, team));
    s->level += nothers(s) * weight_of_slice(s);
    reduce = pcoll_entry_reduce(s->plan, s->bank, s->level, s->teams.count,
                                place_of(s->result, own), own.count);
    pcoll_plan_add(s->plan, pcoll_entry_done(reduce, s->bank, weight_of_slice(s)));
    s->level += weight_of_slice(s);
}

static bool receives(const struct pcoll_team_slices *s, int team)
{
    return s->receiver == PCOLL_NONE || s->receiver == team;
}

static void add_results(struct pcoll_team_slices *s)
{
    const struct pcoll_segment own = slice_of(s, own_team(s));
    const struct pcoll_place result = place_of(s->result, own);

    for (int i = 1; i < s->teams.count; i++) {
        const int team = other_team(s, i), peer = peer_of(s, team);
        const struct pcoll_entry put =
            pcoll_entry_put(s->bank, s->level, result, peer, result, own.count);

        if (receives(s, team))
            pcoll_plan_add(s->plan, pcoll_entry_signal(put, peer, s->bank, s->weight));
    }
    if (receives(s, own_team(s)))
        s->level += nothers(s) * s->weight;
}

uint64_t pcoll_team_slices_weight(int count, uint64_t weight)
{
    return (uint64_t)count * (uint64_t)count * weight;
}

void pcoll_team_slices_add(struct pcoll_team_slices *s)
{
    add_slices(s);
    add_reduce(s);
    add_results(s);
}
