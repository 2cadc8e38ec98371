/*
 * The members of a team as a grid, for algorithms in which a rank of one part has a counterpart in
 * every other.
 *
 * The number of a member in its team is made of its numbers among its mates (pcoll_teams_mates),
 * one for each depth. This requires that all teams be alike down to the last level. Otherwise the
 * grid has one depth, that of the members, whatever levels lie below the teams.
 *
 *      nodes {0 .. 7} {8 .. 15}, caches {0 1} {2 3} ..:   counts 4 and 2, strides 2 and 1; rank 13
 *      is member 5 of its team: mate 2 at depth 0, and 1 at depth 1
 */
#ifndef PCOLL_GRID_H
#define PCOLL_GRID_H

#include "algorithms/teams.h"

enum { PCOLL_GRID_DEPTHS = 4 };
struct pcoll_grid {
    int depths, counts[PCOLL_GRID_DEPTHS]; /* of mates */
};

/* The grid of all teams. False: there is none of several depths, as some team has no parts or is
 * not like the others; or as a reduction must list operands in rank order, and the members of some
 * part do not follow each other. */
bool pcoll_grid_find(const struct pcoll_teams *teams, const struct pcoll_signature *signature,
                     struct pcoll_grid *grid_p);

/* The same, or of one depth: that of a team of so many members. */
struct pcoll_grid pcoll_grid_of(const struct pcoll_teams *teams,
                                const struct pcoll_signature *signature, int size);

/* Between the numbers of mates at this depth. Of depth -1: the size of the team. */
int pcoll_grid_stride(const struct pcoll_grid *grid, int depth);

/* The number of a member among its mates. */
int pcoll_grid_mate(const struct pcoll_grid *grid, int member, int depth);

#endif /* PCOLL_GRID_H */
