/* How reductions with several leaders a node cut vectors; the contract is in leaders.h. */
#include <limits.h>

#include "algorithms/shape/leaders.h"
#include "algorithms/util.h"

#define DEFAULT_SEGMENT (UINT64_C(16) << 10)

/* How many mates a team of a level has. */
static int mates_of(const struct pcoll_topology *level, int team)
{
    const struct pcoll_topology *below = level->below;
    const int first = pcoll_topology_first(level, team);
    const int last = pcoll_topology_first(level, team + 1) - 1;

    if (below == NULL)
        return last - first + 1;
    return pcoll_topology_node(below, pcoll_topology_rank(level, last)) -
           pcoll_topology_node(below, pcoll_topology_rank(level, first)) + 1;
}

/* Of a formula with levels, all nodes are like the first. */
static struct pcoll_team_sizes sizes_of(const struct pcoll_topology *level)
{
    const int all = level->run == 0 ? level->nnodes : level->parts > 0 ? level->parts : 1;
    struct pcoll_team_sizes sizes = {INT_MAX, 0};

    for (int team = 0; team < all; team++) {
        const int mates = mates_of(level, team);

        sizes.min = mates < sizes.min ? mates : sizes.min;
        sizes.max = mates > sizes.max ? mates : sizes.max;
    }
    return sizes;
}

/* Returns whether members of teams, and parts of theirs, follow each other as their ranks do. */
static bool is_in_order(const struct pcoll_topology *topology)
{
    const int all = topology->run > 0 ? pcoll_topology_size(topology, 0) : topology->nranks;

    for (int place = 1; place < all; place++)
        if (pcoll_topology_rank(topology, place) < pcoll_topology_rank(topology, place - 1))
            return false;
    return true;
}

/* A leader has the same number as its counterparts in other parts and teams, so all parts of a
 * level must have the same size. */
static bool find_depths(struct pcoll_leaders *by, const struct pcoll_signature *signature)
{
    const struct pcoll_topology *level = by->teams.topology;

    if (level == NULL || level->below == NULL || !(signature->commutes || is_in_order(level)))
        return false;
    for (by->depths = 0; level != NULL && by->depths < PCOLL_LEADERS_DEPTHS; level = level->below) {
        const struct pcoll_team_sizes sizes = sizes_of(level);

        if (sizes.min < sizes.max)
            return false;
        by->sizes[by->depths++] = sizes;
    }
    return true;
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
    if (!find_depths(&by, signature)) {
        by.depths = 1;
        by.sizes[0] = pcoll_teams_sizes(&by.teams);
    }
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
