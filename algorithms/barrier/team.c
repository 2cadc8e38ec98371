/*
 * The ends of a hierarchical barrier, inside a node; the contract is in team.h.
 *
 *      nodes {0 1 2} {3 4}:   1, 2 -> 0   4 -> 3   |   0 <-> 3   |   0 -> 1, 2   3 -> 4
 */
#include "algorithms/barrier/team.h"

#include "algorithms/cost.h"

uint64_t pcoll_barrier_gathered(const struct pcoll_teams *teams, int team, uint64_t weight)
{
    return (uint64_t)(pcoll_team_size(teams, team) - 1) * weight;
}

void pcoll_barrier_follow(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                          uint64_t weight)
{
    const int leader = pcoll_team_rank(teams, pcoll_team_of(teams, plan->rank), 0);

    pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), leader, bank, weight));
    pcoll_plan_add(plan, pcoll_entry_wait(bank, 1));
    plan->gain[bank] = 1;
}

void pcoll_barrier_release(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                           uint64_t level)
{
    const int team = pcoll_team_of(teams, plan->rank), size = pcoll_team_size(teams, team);
    const struct pcoll_entry tell = pcoll_entry_add(bank, level);

    for (int i = 1; i < size; i++)
        pcoll_plan_add(plan, pcoll_entry_signal(tell, pcoll_team_rank(teams, team, i), bank, 1));
    if (size == 1)
        pcoll_plan_add(plan, pcoll_entry_wait(bank, level));
    plan->gain[bank] = level;
}

double pcoll_cost_barrier_team(const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);

    if (pcoll_teams_of(signature).topology == NULL)
        return 0;
    return pcoll_cost_waves(signature, &node, 1, 1) +
           pcoll_cost_waves(signature, &node, 1, pcoll_ranks_per_node(signature) - 1);
}
