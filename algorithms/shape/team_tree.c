/* The tree over teams and within them; the contract is in team_tree.h. */
#include "algorithms/shape/team_tree.h"

static struct pcoll_tree between(const struct pcoll_team_tree *tree)
{
    return (struct pcoll_tree){tree->teams.count, tree->radix};
}

static struct pcoll_tree within(const struct pcoll_team_tree *tree, int team)
{
    return (struct pcoll_tree){pcoll_team_size(&tree->teams, team), tree->radix};
}

int pcoll_team_tree_parent(const struct pcoll_team_tree *tree, int rank)
{
    const struct pcoll_teams *teams = &tree->teams;
    int team = pcoll_team_of(teams, rank), member = pcoll_team_member(teams, rank);

    if (member > 0)
        return pcoll_team_rank(teams, team, pcoll_tree_parent(within(tree, team), member));
    if (team > 0)
        return pcoll_team_rank(teams, pcoll_tree_parent(between(tree), team), 0);
    return PCOLL_NONE;
}

static int nchildren_outside(const struct pcoll_team_tree *tree, int rank)
{
    if (pcoll_team_member(&tree->teams, rank) > 0)
        return 0;
    return pcoll_tree_nchildren(between(tree), pcoll_team_of(&tree->teams, rank));
}

int pcoll_team_tree_nchildren(const struct pcoll_team_tree *tree, int rank)
{
    int team = pcoll_team_of(&tree->teams, rank), member = pcoll_team_member(&tree->teams, rank);

    return nchildren_outside(tree, rank) + pcoll_tree_nchildren(within(tree, team), member);
}

int pcoll_team_tree_child(const struct pcoll_team_tree *tree, int rank, int i)
{
    const struct pcoll_teams *teams = &tree->teams;
    int team = pcoll_team_of(teams, rank), member = pcoll_team_member(teams, rank);
    int outside = nchildren_outside(tree, rank);

    if (i < outside)
        return pcoll_team_rank(teams, pcoll_tree_child(between(tree), team, i), 0);
    return pcoll_team_rank(teams, team, pcoll_tree_child(within(tree, team), member, i - outside));
}

int pcoll_team_tree_span(const struct pcoll_team_tree *tree, int rank)
{
    const struct pcoll_teams *teams = &tree->teams;
    int team = pcoll_team_of(teams, rank), member = pcoll_team_member(teams, rank);
    int end;

    if (member > 0)
        return pcoll_tree_span(within(tree, team), member);
    end = team + pcoll_tree_span(between(tree), team);
    return pcoll_team_place(teams, end) - pcoll_team_place(teams, team);
}
