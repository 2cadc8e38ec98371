/* The cost of the allreduce by two trees; the contract is in two_tree.h. */
#include "algorithms/allreduce/two_tree.h"

#include "algorithms/cost.h"

/* A level of the trees: the time from when a child has a segment until its parent has reduced it;
 * from when the parent has the result until the child has it; for which a segment keeps the port,
 * or in a node the processor, and makes the next one later; and until a rank can do the same with
 * the next segment. */
struct pace {
    double up, down, more, next;
};

/* Between teams a rank sends a segment up each tree and two down one; with few ranks, fewer. A
 * leader reduces what the others of its node have, in both trees. Where port and processors are
 * equally busy, they wait for each other at times. */
static struct pace pace_of(const struct pcoll_signature *signature,
                           const struct pcoll_two_tree *two, const struct pcoll_machine *machine,
                           double bytes)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const int is_wire = pcoll_is_over_wire(signature);
    const double crowd = pcoll_cost_crowd(signature, machine), o = machine->o, g = machine->g;
    const double kids = two->teams.count > 2 ? 2 : 1, ups = two->teams.count > 3 ? 2 : 1;
    const double followers = two->teams.topology ? pcoll_ranks_per_node(signature) - 1 : 0;
    const double one = crowd * bytes * node.reduce;
    const double put = crowd * (is_wire ? o : o + bytes * node.copy);
    const double user = crowd * (machine->rma + (is_wire ? o : o + bytes * (node.G + node.put)));
    const double length = is_wire ? g + bytes * machine->G : 0;
    const double port = is_wire ? ups * length + kids * (machine->rma + length) : 0;
    const double work = ups * put + kids * user + crowd * node.o + (kids + 3 * followers) * one;
    const double wave = pcoll_cost_wave(signature, machine, 0, 1) - (is_wire ? g : 0);

    return (struct pace){
        .up = wave + put + length + node.o + (kids + followers) * one,
        .down = wave + user + length,
        .more = is_wire ? length : put,
        .next = port > work ? port + work / 4 : work + port / 4,
    };
}

/* What a rank that leads no node does with a segment: it gives its own and gets the result. In a
 * node, that is what a rank does for the other tree. */
static double work_of_follower(const struct pcoll_signature *signature,
                               const struct pcoll_machine *node, double bytes)
{
    return pcoll_cost_crowd(signature, node) *
           (2 * node->o + bytes * node->copy + node->rma + bytes * node->G);
}

/* A rank cannot send faster than results come back. At every level but one a segment has a sibling,
 * and meets one of the other tree at the port. */
double pcoll_allreduce_two_tree_cost(const struct pcoll_signature *signature,
                                     const struct pcoll_params *params,
                                     const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const struct pcoll_two_tree two =
        pcoll_two_tree_of(signature, pcoll_teams_to_reduce(signature));
    const struct pcoll_two_tree_cut cut = pcoll_two_tree_cut_of(signature, params);
    const double n = (double)cut.nsegments, depth = pcoll_two_tree_depth(&two);
    const double bytes = (double)signature->bytes / cut.nlanes / n;
    const struct pace pace = pace_of(signature, &two, machine, bytes);
    const double follower = work_of_follower(signature, &node, bytes);
    const int has_followers = two.teams.topology != NULL;
    const double within =
        has_followers || !pcoll_is_over_wire(signature)
            ? 2 * pcoll_cost_wave(signature, &node, 0, 1) + follower + bytes * node.reduce
            : 0;
    const double crossings = two.teams.count > 3 ? 2 * (depth - 1) : 0;
    const double first = depth * (pace.up + pace.down) + crossings * pace.more + within;
    const double back = n > cut.slots ? first / cut.slots : 0;
    const double next =
        pcoll_larger(pcoll_larger(pace.next, back), has_followers ? cut.nlanes * follower : 0);
    const double meet = n - 1 < crossings ? n - 1 : crossings;

    return machine->call + first + (n - 1) * next + 0.85 * meet * pace.more;
}
