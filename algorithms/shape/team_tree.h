/*
 * The k-nomial tree over all ranks that crosses the network once for each node: a tree between the
 * leaders of teams (teams.h), and a tree in each team below its leader, between the leaders of its
 * parts, and in each of these. The root of the collective is its root. Without a topology it is the
 * k-nomial tree over the ranks, counted from the root.
 */
#ifndef PCOLL_TEAM_TREE_H
#define PCOLL_TEAM_TREE_H

#include "algorithms/shape/tree.h"
#include "algorithms/teams.h"

struct pcoll_team_tree {
    struct pcoll_teams teams; /* of a collective with a root */
    int radix;
};

int pcoll_team_tree_parent(const struct pcoll_team_tree *tree, int rank); /* PCOLL_NONE: the root */

/* Children in other teams come first, then those that lead larger parts of the team, and among
 * those of one level the larger subtrees. */
int pcoll_team_tree_nchildren(const struct pcoll_team_tree *tree, int rank);
int pcoll_team_tree_child(const struct pcoll_team_tree *tree, int rank, int i);

/* The number of ranks in the subtree of `rank`, which are at consecutive places (pcoll_teams_place)
 * and of which `rank` is the first. */
int pcoll_team_tree_span(const struct pcoll_team_tree *tree, int rank);

#endif /* PCOLL_TEAM_TREE_H */
