/* The tree over teams and within them; the contract is in team_tree.h. */
#include "algorithms/shape/team_tree.h"

static struct pcoll_tree between(const struct pcoll_team_tree *tree)
{
    return (struct pcoll_tree){tree->teams.count, tree->radix};
}

static struct pcoll_tree within(const struct pcoll_team_tree *tree, struct pcoll_mates mates)
{
    return (struct pcoll_tree){mates.count, tree->radix};
}

/* Where the rank hangs below a mate: the depth; PCOLL_NONE: it leads its team. */
static int depth_below(const struct pcoll_team_tree *tree, int rank, struct pcoll_mates *mates)
{
    int depth = pcoll_teams_depth(&tree->teams) - 1;

    for (; depth >= 0; depth--) {
        *mates = pcoll_teams_mates(&tree->teams, rank, depth);
        if (mates->mine > 0)
            break;
    }
    return depth;
}

int pcoll_team_tree_parent(const struct pcoll_team_tree *tree, int rank)
{
    const int team = pcoll_team_of(&tree->teams, rank);
    struct pcoll_mates mates;

    if (depth_below(tree, rank, &mates) >= 0)
        return pcoll_mate_rank(&mates, pcoll_tree_parent(within(tree, mates), mates.mine));
    if (team > 0)
        return pcoll_team_rank(&tree->teams, pcoll_tree_parent(between(tree), team), 0);
    return PCOLL_NONE;
}

/* Child i of the rank, if it has so many; *n_p becomes their number. */
static int find_child(const struct pcoll_team_tree *tree, int rank, int i, int *n_p)
{
    const int team = pcoll_team_of(&tree->teams, rank);
    struct pcoll_mates mates;
    int depth = depth_below(tree, rank, &mates), child = PCOLL_NONE;

    *n_p = 0;
    if (depth < 0) {
        *n_p = pcoll_tree_nchildren(between(tree), team);
        if (i < *n_p)
            child = pcoll_team_rank(&tree->teams, pcoll_tree_child(between(tree), team, i), 0);
        depth = 0;
    }
    for (; depth < pcoll_teams_depth(&tree->teams); depth++) {
        int here;

        mates = pcoll_teams_mates(&tree->teams, rank, depth);
        here = pcoll_tree_nchildren(within(tree, mates), mates.mine);
        if (i >= *n_p && i < *n_p + here)
            child = pcoll_mate_rank(&mates,
                                    pcoll_tree_child(within(tree, mates), mates.mine, i - *n_p));
        *n_p += here;
    }
    return child;
}

int pcoll_team_tree_nchildren(const struct pcoll_team_tree *tree, int rank)
{
    int n;

    find_child(tree, rank, 0, &n);
    return n;
}

int pcoll_team_tree_child(const struct pcoll_team_tree *tree, int rank, int i)
{
    int n;

    return find_child(tree, rank, i, &n);
}

int pcoll_team_tree_span(const struct pcoll_team_tree *tree, int rank)
{
    const struct pcoll_teams *teams = &tree->teams;
    struct pcoll_mates mates;
    int team, end;

    if (depth_below(tree, rank, &mates) >= 0) {
        end = mates.mine + pcoll_tree_span(within(tree, mates), mates.mine);
        return pcoll_mate_place(&mates, end) - pcoll_mate_place(&mates, mates.mine);
    }
    team = pcoll_team_of(teams, rank);
    end = team + pcoll_tree_span(between(tree), team);
    return pcoll_team_place(teams, end) - pcoll_team_place(teams, team);
}
