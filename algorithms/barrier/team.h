/*
 * The part of a hierarchical barrier inside the nodes.
 */
#ifndef PCOLL_BARRIER_TEAM_H
#define PCOLL_BARRIER_TEAM_H

#include "algorithms/algorithm.h"
#include "algorithms/teams.h"

/*
 * The ends of a hierarchical barrier: members other than the leader signal `weight` on its counter
 * `bank` and wait to be released (pcoll_barrier_follow). When all of them have arrived, the counter
 * of the leader of `team` holds pcoll_barrier_gathered. When it has reached `level`, the sum of
 * everything that it receives in an instance, all ranks have started, and the leader releases its
 * members.
 */
uint64_t pcoll_barrier_gathered(const struct pcoll_teams *teams, int team, uint64_t weight);
void pcoll_barrier_follow(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                          uint64_t weight);
void pcoll_barrier_release(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                           uint64_t level);
double pcoll_cost_barrier_team(const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine);

#endif /* PCOLL_BARRIER_TEAM_H */
