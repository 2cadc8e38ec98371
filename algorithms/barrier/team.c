/*
 * The ends of a hierarchical barrier, inside a node; the contract is in team.h.
 *
 *      nodes {0 1 2} {3 4}:   1, 2 -> 0   4 -> 3   |   0 <-> 3   |   0 -> 1, 2   3 -> 4
 */
#include "algorithms/barrier/team.h"

#include "algorithms/cost.h"

/* The depth at which the rank follows a mate; PCOLL_NONE: it leads its team. */
static int depth_below(const struct pcoll_teams *teams, int rank)
{
    int depth = pcoll_teams_depth(teams) - 1;

    while (depth >= 0 && pcoll_teams_mates(teams, rank, depth).mine == 0)
        depth--;
    return depth;
}

uint64_t pcoll_barrier_gathered(const struct pcoll_teams *teams, int rank, uint64_t weight)
{
    uint64_t followers = 0;

    for (int i = depth_below(teams, rank) + 1; i < pcoll_teams_depth(teams); i++)
        followers += (uint64_t)pcoll_teams_mates(teams, rank, i).count - 1;
    return followers * weight;
}

void pcoll_barrier_follow(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                          uint64_t weight)
{
    const struct pcoll_mates mates =
        pcoll_teams_mates(teams, plan->rank, depth_below(teams, plan->rank));
    const uint64_t all = pcoll_barrier_gathered(teams, plan->rank, weight);
    const struct pcoll_entry arrive = pcoll_entry_add(all > 0 ? bank : PCOLL_NONE, all);

    pcoll_plan_add(plan, pcoll_entry_signal(arrive, pcoll_mate_rank(&mates, 0), bank, weight));
    pcoll_barrier_release(plan, teams, bank, all + 1);
}

void pcoll_barrier_release(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                           uint64_t level)
{
    const struct pcoll_entry tell = pcoll_entry_add(bank, level);
    int followers = 0;

    for (int i = depth_below(teams, plan->rank) + 1; i < pcoll_teams_depth(teams); i++) {
        const struct pcoll_mates mates = pcoll_teams_mates(teams, plan->rank, i);

        for (int mate = 1; mate < mates.count; mate++, followers++)
            pcoll_plan_add(plan, pcoll_entry_signal(tell, pcoll_mate_rank(&mates, mate), bank, 1));
    }
    if (followers == 0)
        pcoll_plan_add(plan, pcoll_entry_wait(bank, level));
    plan->gain[bank] = level;
}

double pcoll_cost_barrier_team(const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine)
{
    const struct pcoll_topology *level = pcoll_teams_of(signature).topology;
    struct pcoll_machine node = *machine;
    double cost = 0;

    for (; level != NULL; level = level->below) {
        const int followers = pcoll_cost_mates(level) - 1;

        node = pcoll_cost_node(&node);
        cost += pcoll_cost_waves(signature, &node, 1, node.arrival > 0 ? followers : 1) +
                pcoll_cost_fans(signature, &node, 1, followers);
    }
    return cost;
}
