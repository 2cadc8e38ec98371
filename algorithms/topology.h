/*
 * Where the ranks are: making a topology, and the teams in which hierarchical algorithms see it.
 */
#ifndef PCOLL_TOPOLOGY_H
#define PCOLL_TOPOLOGY_H

#include "algorithms/plan/plan.h"

/* From the node of each rank, node_ids[0 .. nranks), nranks >= 1: any numbers, equal for ranks of
 * one node.  Nodes are numbered by their lowest rank.  distance[rank], which may be NULL for all
 * alike, says how far it is to the network: the nearest rank leads its node, of equals the lowest;
 * the others follow in the same order.  The caller owns *topology_p. */
enum pcoll_result pcoll_topology_create(const int *node_ids, const int *distance, int nranks,
                                        struct pcoll_topology **topology_p) PCOLL_MUST_CHECK;
void pcoll_topology_destroy(struct pcoll_topology *topology);

/* Is it one of `nranks` ranks: each in one node, as a member of it once, no node empty?  If not,
 * writes one line to `why`, which may be NULL, and returns PCOLL_ERR_INVALID. */
enum pcoll_result pcoll_topology_check(const struct pcoll_topology *topology, int nranks,
                                       FILE *why) PCOLL_MUST_CHECK;

/*
 * The ranks in teams.  Where there are several nodes, one of them with several ranks, a team is a
 * node; else every rank is a team of its own, so that a hierarchical algorithm is its flat form.
 * Member 0 leads the team.  A root leads its own, which is team 0.
 *
 *      nodes {0 2} {1 3 4}, root 3:   team 0: 3 1 4   team 1: 0 2
 */
struct pcoll_teams {
    const struct pcoll_topology *topology; /* NULL: each rank by itself */
    int nranks, root;                      /* root PCOLL_NONE: the collective has none */
    int count;
};

struct pcoll_teams pcoll_teams_of(const struct pcoll_signature *signature);

int pcoll_team_size(const struct pcoll_teams *teams, int team);
int pcoll_team_rank(const struct pcoll_teams *teams, int team, int member);
int pcoll_team_of(const struct pcoll_teams *teams, int rank);     /* its team */
int pcoll_team_member(const struct pcoll_teams *teams, int rank); /* its number there */

/* All ranks in a row, team by team.  pcoll_team_place of team `count` is nranks. */
int pcoll_team_place(const struct pcoll_teams *teams, int team); /* of its leader */
int pcoll_teams_rank(const struct pcoll_teams *teams, int place);
int pcoll_teams_place(const struct pcoll_teams *teams, int rank);

/* Ranks that follow each other there too: rank + i is at place + i, i < count. */
struct pcoll_run {
    int place, rank, count;
};

/* The longest one that begins at `place` and ends before `end`, place < end. */
struct pcoll_run pcoll_teams_run(const struct pcoll_teams *teams, int place, int end);

/* The part of the run from its beginning in which `rank` is alone or not at all. */
struct pcoll_run pcoll_run_apart(struct pcoll_run run, int rank);

#endif /* PCOLL_TOPOLOGY_H */
