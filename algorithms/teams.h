/*
 * The ranks as hierarchical algorithms see them: in teams.
 */
#ifndef PCOLL_TEAMS_H
#define PCOLL_TEAMS_H

#include "algorithms/plan/topology.h"

/*
 * The ranks in teams. With several nodes, one of which has several ranks, a team is a node;
 * otherwise every rank is a team of its own, and a hierarchical algorithm is the same as its flat
 * form. Member 0 leads the team. A root leads its own team, which is team 0. If the topology is a
 * level, what is said of nodes holds for its teams.
 *
 *      nodes {0 2} {1 3 4}, root 3:   team 0: 3 1 4   team 1: 0 2
 */
struct pcoll_teams {
    const struct pcoll_topology *topology; /* NULL: each rank is a team of its own */
    int nranks, root;                      /* root PCOLL_NONE: the collective has no root */
    int count;
};

struct pcoll_teams pcoll_teams_of(const struct pcoll_signature *signature);

/* Each rank is a team of its own. */
struct pcoll_teams pcoll_teams_of_one(int nranks);

/* The teams of a reduction, counted from node 0 whatever the root. All members of one team after
 * those of the other are in rank order if the ranks of each node are consecutive. If they are not,
 * and the operator does not commute, each rank is a team of its own. */
struct pcoll_teams pcoll_teams_to_reduce(const struct pcoll_signature *signature);

/* The i-th member of a team in the order in which a reduction lists its operands: in rank order
 * unless the operator commutes. */
int pcoll_team_operand(const struct pcoll_teams *teams, const struct pcoll_signature *signature,
                       int team, int i);

/* The number of members of the smallest and of the largest team. */
struct pcoll_team_sizes {
    int min, max;
};
struct pcoll_team_sizes pcoll_teams_sizes(const struct pcoll_teams *teams);

int pcoll_team_size(const struct pcoll_teams *teams, int team);
int pcoll_team_rank(const struct pcoll_teams *teams, int team, int member);
int pcoll_team_of(const struct pcoll_teams *teams, int rank);     /* the team of the rank */
int pcoll_team_member(const struct pcoll_teams *teams, int rank); /* the rank's number in its
                                                                   * team */

/*
 * A team on a level that has one below consists of parts, which are teams of that level. Its mates
 * are the leaders of its parts; on the last level, its members. Mate 0 leads the team. Depth 0 is
 * the level of the teams above. The members of a team are numbered part by part, in the order of
 * mates.
 *
 *      sockets {0 1 2 3 4} {5 6}, caches {0 1} {2 3 4} {5 6}, root 3: the mates of rank 4 are 3 and
 *      0 at depth 0, which lead caches, and 3, 2, 4 at depth 1, which are the cache's members
 */
struct pcoll_mates {
    const struct pcoll_topology *row;   /* NULL: the rank alone */
    const struct pcoll_topology *parts; /* NULL: each member is a part */
    int first, size;                    /* places of the team */
    int part;                           /* the number of its first part */
    int count, mine;                    /* of mates; the number of the one that leads my part */
    int turn, root; /* in the root's team, the root's part; or 0, and the rank or
                     * PCOLL_NONE */
};

int pcoll_teams_depth(const struct pcoll_teams *teams); /* 0 <= depth < this */
struct pcoll_mates pcoll_teams_mates(const struct pcoll_teams *teams, int rank, int depth);
int pcoll_mate_rank(const struct pcoll_mates *mates, int mate);

/* The number of members before those of the mate's part; of mate `count`, all of the team. */
int pcoll_mate_place(const struct pcoll_mates *mates, int mate);

/* All ranks in a row, team by team. pcoll_team_place of team `count` is nranks. */
int pcoll_team_place(const struct pcoll_teams *teams, int team); /* of the team's leader */
int pcoll_teams_rank(const struct pcoll_teams *teams, int place);
int pcoll_teams_place(const struct pcoll_teams *teams, int rank);

/* Consecutive ranks at consecutive places: rank + i is at place + i, i < count. */
struct pcoll_sequence {
    int place, rank, count;
};

/* The longest sequence that begins at `place` and ends before `end`, place < end. */
struct pcoll_sequence pcoll_teams_sequence(const struct pcoll_teams *teams, int place, int end);

/* The longest beginning of the sequence in which `rank` is alone or does not occur. */
struct pcoll_sequence pcoll_sequence_apart(struct pcoll_sequence run, int rank);

#endif /* PCOLL_TEAMS_H */
