/*
 * The part of a hierarchical barrier inside the nodes.
 */
#ifndef PCOLL_BARRIER_TEAM_H
#define PCOLL_BARRIER_TEAM_H

#include "algorithms/algorithm.h"
#include "algorithms/teams.h"

/*
 * The ends of a hierarchical barrier. Members of a team arrive along a tree: a rank tells the one
 * that it follows, in its team on the last level where it does not lead (pcoll_mates), when all
 * that follow itself have arrived. Each signals `weight` on counter `bank`, which then holds
 * pcoll_barrier_gathered. Ranks other than the leader of the team are released in the same way
 * (pcoll_barrier_follow). When the counter of the leader has reached `level`, the sum of everything
 * that it receives in an instance, all ranks have started, and it releases those that follow it.
 */
uint64_t pcoll_barrier_gathered(const struct pcoll_teams *teams, int rank, uint64_t weight);
void pcoll_barrier_follow(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                          uint64_t weight);
void pcoll_barrier_release(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                           uint64_t level);
double pcoll_cost_barrier_team(const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine);

#endif /* PCOLL_BARRIER_TEAM_H */
