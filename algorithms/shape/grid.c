/* The members of a team as a grid; the contract is in grid.h. */
#include "algorithms/shape/grid.h"

#include <limits.h>

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

/* Of all teams of a level; 0: they differ. Of a formula with levels, all nodes are like the first.
 */
static int count_of(const struct pcoll_topology *level)
{
    const int all = level->run == 0 ? level->nnodes : level->parts > 0 ? level->parts : 1;
    const int count = mates_of(level, 0);

    for (int team = 1; team < all; team++)
        if (mates_of(level, team) != count)
            return 0;
    return count;
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

bool pcoll_grid_find(const struct pcoll_teams *teams, const struct pcoll_signature *signature,
                     struct pcoll_grid *grid_p)
{
    const bool has_order = pcoll_coll_has(signature->coll, PCOLL_REDUCES) && !signature->commutes;
    const struct pcoll_topology *level = teams->topology;
    struct pcoll_grid grid = {0};

    if (level == NULL || level->below == NULL || (has_order && !is_in_order(level)))
        return false;
    for (; level != NULL && grid.depths < PCOLL_GRID_DEPTHS; level = level->below) {
        const int count = count_of(level);

        if (count == 0)
            return false;
        grid.counts[grid.depths++] = count;
    }
    *grid_p = grid;
    return true;
}

struct pcoll_grid pcoll_grid_of(const struct pcoll_teams *teams,
                                const struct pcoll_signature *signature, int size)
{
    struct pcoll_grid grid;

    if (!pcoll_grid_find(teams, signature, &grid))
        return (struct pcoll_grid){1, {size}};
    return grid;
}

int pcoll_grid_stride(const struct pcoll_grid *grid, int depth)
{
    int stride = 1;

    for (int i = depth + 1; i < grid->depths; i++)
        stride *= grid->counts[i];
    return stride;
}

int pcoll_grid_mate(const struct pcoll_grid *grid, int member, int depth)
{
    return member / pcoll_grid_stride(grid, depth) % grid->counts[depth];
}
