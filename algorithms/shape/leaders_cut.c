/* How reductions with several leaders a node cut vectors; the contract is in leaders.h. */
#include "algorithms/shape/leaders.h"
#include "algorithms/util.h"

#define DEFAULT_SEGMENT (UINT64_C(16) << 10)

/* A leader has the same number as its counterparts in other parts and teams. */
static void find_sizes(struct pcoll_leaders *by, const struct pcoll_signature *signature)
{
    struct pcoll_grid grid;

    by->depths = 1;
    by->sizes[0] = pcoll_teams_sizes(&by->teams);
    if (!pcoll_grid_find(&by->teams, signature, &grid))
        return;
    by->depths = grid.depths;
    for (int depth = 0; depth < grid.depths; depth++)
        by->sizes[depth] = (struct pcoll_team_sizes){grid.counts[depth], grid.counts[depth]};
}

/* Leaders of `n` slices, or fewer. Nearest mates share the work first. */
static void find_counts(struct pcoll_leaders *by, uint64_t n)
{
    by->count = 1;
    for (int depth = by->depths - 1; depth >= 0; depth--) {
        const uint64_t min = (uint64_t)by->sizes[depth].min, left = n / (uint64_t)by->count;

        by->counts[depth] = (int)(left < min ? left : min);
        by->count *= by->counts[depth];
    }
}

/* What leaders tell at a depth outweighs what leaders of the next ones are told early. */
static void find_tells(struct pcoll_leaders *by)
{
    by->told = 1;
    for (int depth = by->depths - 1; depth >= 0; depth--) {
        by->tells[depth] = by->told;
        by->told += (uint64_t)(by->counts[depth] - 1) * by->tells[depth];
    }
}

struct pcoll_leaders pcoll_leaders_of(const struct pcoll_signature *signature,
                                      const struct pcoll_params *params)
{
    const uint64_t unit = pcoll_unit_of(signature), units = signature->bytes / unit;
    uint64_t n = pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT);
    struct pcoll_leaders by = {.teams = pcoll_teams_to_reduce(signature)};
    uint64_t slice;

    if (n > units)
        n = units;
    find_sizes(&by, signature);
    find_counts(&by, n);
    find_tells(&by);
    by.rounds = pcoll_doubling_rounds(by.teams.count, params->radix);
    by.nsegments = pcoll_quotient_up(n, (uint64_t)by.count);
    by.nsegments += by.nsegments > 1 ? by.nsegments % 2 : 0;
    slice = pcoll_quotient_up(units, by.nsegments);
    for (int depth = by.depths - 1; depth >= 0; depth--) {
        slice = pcoll_quotient_up(slice, (uint64_t)by.counts[depth]);
        by.bytes[depth] = slice * unit;
    }
    return by;
}
