/*
 * Barrier up and down a k-nomial tree.
 *
 * Idea: a rank tells its parent when all its children have told it, so rank 0 knows first that all
 * ranks have started. It tells its children, they tell theirs, and each is complete when it has
 * done so. Rank 0 therefore can leave before any other rank does. A broadcast from rank 0 that
 * follows, or a time that it takes, does not wait for it.
 *
 * Source: the combining tree of Mellor-Crummey and Scott (1991), with one tree for both ways.
 *
 *      N = 5, radix 2:   3 -> 2    1, 2, 4 -> 0   |   0 -> 4, 2, 1    2 -> 3
 *
 * Radix N is a star: one counter at rank 0, to which each other rank adds, and a signal to each. If
 * ranks share nodes, there is a tree between the leaders of nodes, and a tree in each node below
 * its leader, down all levels.
 *
 * Cost: 2 log_k N (L + (k-1) max(o, g)); one counter, one bank. Condition: all that an instance
 * adds to a counter is there before anything of the next one. A child signals for the next instance
 * only once its parent has released it from this one, for which the parent has heard of all its
 * children. A parent releases a rank only after it has heard of it in the same instance.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/team_tree.h"

static struct pcoll_team_tree tree_of(const struct pcoll_signature *signature,
                                      const struct pcoll_params *params)
{
    return (struct pcoll_team_tree){pcoll_teams_of(signature), pcoll_radix(params)};
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_team_tree tree = tree_of(&plan->signature, params);
    const int parent = pcoll_team_tree_parent(&tree, plan->rank);
    const int nchildren = pcoll_team_tree_nchildren(&tree, plan->rank);
    uint64_t level = (uint64_t)nchildren;
    struct pcoll_entry tell;

    if (!pcoll_plan_begin(plan, 1, 1))
        return PCOLL_ERR_NOMEM;
    pcoll_plan_open(plan, 0);
    if (parent != PCOLL_NONE) {
        tell = pcoll_entry_add(nchildren > 0 ? 0 : PCOLL_NONE, level);
        pcoll_plan_add(plan, pcoll_entry_signal(tell, parent, 0, 1));
        level++;
    }
    tell = pcoll_entry_add(0, level);
    for (int i = 0; i < nchildren; i++)
        pcoll_plan_add(plan,
                       pcoll_entry_signal(tell, pcoll_team_tree_child(&tree, plan->rank, i), 0, 1));
    if (nchildren == 0)
        pcoll_plan_add(plan, pcoll_entry_wait(0, level));
    plan->gain[0] = level;
    return PCOLL_OK;
}

/* Up and down one tree. On the way up, signals of several children follow each other at the line of
 * one counter. */
static double cost_of_tree(const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine, struct pcoll_tree tree)
{
    struct pcoll_machine signals = *machine;
    struct pcoll_hop down, up;

    signals.rma = 0;
    down = pcoll_cost_hop(signature, &signals, 0);
    up = down;
    up.gap = pcoll_larger(down.in, machine->arrival);
    return pcoll_cost_knomial(tree, up) + pcoll_cost_knomial(tree, down);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    struct pcoll_tree tree = {pcoll_teams_of(signature).count, pcoll_radix(params)};
    const struct pcoll_topology *level = pcoll_teams_of(signature).topology;
    struct pcoll_machine node = *machine;
    double cost = machine->call + cost_of_tree(signature, machine, tree);

    for (; level != NULL; level = level->below) {
        node = pcoll_cost_node(&node);
        tree.nranks = pcoll_cost_mates(level);
        cost += cost_of_tree(signature, &node, tree);
    }
    return cost;
}

const struct pcoll_algorithm pcoll_barrier_knomial = {
    .name = "knomial",
    .coll = PCOLL_BARRIER,
    .description = "k-nomial tree up to rank 0 and down again, which rank 0 leaves first",
    .when = "barriers before calls of which rank 0 is the root",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
    .uses_teams = PCOLL_NESTED_LEVELS,
};
