/*
 * Reductions with several leaders a node: L members of each node, its first ones, each reduce one
 * slice of the vectors of the node, and reduce it further with their counterparts on the other
 * nodes.
 *
 * A member gives slice l to leader l of its node, in a slot of the leader's TEMP. The leader
 * reduces the slices, and then, with leader l of each other node, what all nodes have (between.h):
 * by recursive doubling, by halving, or in slices. It tells the members of its node, who get the
 * result from its TEMP.
 *
 *      nodes {0 1} {2 3}, vectors ab:   1.a -> 0, 0.b -> 1, 3.a -> 2, 2.b -> 3 | 0 <-> 2, 1 <-> 3 |
 *      0.b <- 1, 1.a <- 0, 2.b <- 3, 3.a <- 2
 *
 * A leader handles params->segment bytes at a time: L is the number of such segments in the vector,
 * if the smallest node has so many ranks. If it has not, the vector goes in several segments, one
 * after the other, through alternating counters.
 *
 * With levels below the nodes, slices are cut again on each of them. At first the members of a part
 * of the last level (a cache) have leaders; then those that lead the same slice in the parts of a
 * team have some among them, and so on, until leaders of the node are left. Results come back the
 * same way, from the TEMP of the leaders of one level to those of the next. If the parts of a level
 * differ in size, levels are ignored, and members give their slices to the leaders of the node.
 *
 *      node of caches {0 1} {2 3}, vectors abcd:   1.ab -> 0, 0.cd -> 1, 3.ab -> 2, 2.cd -> 3 |
 *      2.a -> 0, 0.b -> 2, 3.c -> 1, 1.d -> 3 | between nodes | 0.b <- 2, 2.a <- 0, 1.d <- 3,
 *      3.c <- 1 | 0.cd <- 1, 1.ab <- 0, 2.cd <- 3, 3.ab <- 2
 *
 * Source: Bayatpour et al. 2017, "Scalable reduction collectives with data partitioning-based
 * multi-leader design"; Traeff and Hunold 2020, "Decomposing MPI collectives for exploiting
 * multi-lane communication". Segments are ours.
 *
 * Condition (lemma A, two banks): a rank begins a segment when it has completed the one before, for
 * which every rank must have begun that, and so have completed the one before that. So what leaders
 * send each other, and their results, have a bank for each of two segments. Slots have one: a rank
 * that fills them has been told by its leader of its result of the segment before. A leader that
 * receives does not reduce before it has all results of the segment before: a gate stands for what
 * it would put to itself. What it gets for others takes the place of its sum: the result of a byte
 * depends on it, and so is there only when that byte has been read.
 */
#ifndef PCOLL_LEADERS_H
#define PCOLL_LEADERS_H

#include "algorithms/shape/doubling.h"
#include "algorithms/shape/grid.h"
#include "algorithms/shape/segment.h"

/* How vectors are cut. Depths are those of a grid: 0 is that of the parts of a node. */
struct pcoll_leaders {
    struct pcoll_teams teams;
    struct pcoll_doubling_rounds rounds;              /* among the teams, by recursive doubling */
    int depths;                                       /* with one, members are not in parts */
    struct pcoll_team_sizes sizes[PCOLL_GRID_DEPTHS]; /* in mates */
    int counts[PCOLL_GRID_DEPTHS];     /* of mates that lead: that many slices of what they have */
    int count;                         /* of leaders of a team: their product */
    uint64_t bytes[PCOLL_GRID_DEPTHS]; /* of the longest slice */
    uint64_t nsegments; /* of an instance: 1 or an even number, so that each begins with the same
                         * counter */
    uint64_t tells[PCOLL_GRID_DEPTHS]; /* weights of the signals that a result is there */
    uint64_t told;                     /* more than all of these that a leader may get early */
};
struct pcoll_leaders pcoll_leaders_of(const struct pcoll_signature *signature,
                                      const struct pcoll_params *params);

/* What rows of algorithms name (struct pcoll_algorithm): the leaders of a slice on all nodes reduce
 * it by recursive doubling or by halving, for a collective without a root, or in slices. */
uint64_t pcoll_leaders_doubling_temp_bytes(const struct pcoll_signature *signature,
                                           const struct pcoll_params *params);
enum pcoll_result
pcoll_leaders_doubling_generate(struct pcoll_plan *plan,
                                const struct pcoll_params *params) PCOLL_MUST_CHECK;
double pcoll_leaders_doubling_cost(const struct pcoll_signature *signature,
                                   const struct pcoll_params *params,
                                   const struct pcoll_machine *machine);

uint64_t pcoll_leaders_halving_temp_bytes(const struct pcoll_signature *signature,
                                          const struct pcoll_params *params);
enum pcoll_result
pcoll_leaders_halving_generate(struct pcoll_plan *plan,
                               const struct pcoll_params *params) PCOLL_MUST_CHECK;
double pcoll_leaders_halving_cost(const struct pcoll_signature *signature,
                                  const struct pcoll_params *params,
                                  const struct pcoll_machine *machine);

uint64_t pcoll_leaders_sliced_temp_bytes(const struct pcoll_signature *signature,
                                         const struct pcoll_params *params);
enum pcoll_result pcoll_leaders_sliced_generate(struct pcoll_plan *plan,
                                                const struct pcoll_params *params) PCOLL_MUST_CHECK;
double pcoll_leaders_sliced_cost(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params,
                                 const struct pcoll_machine *machine);

#endif /* PCOLL_LEADERS_H */
