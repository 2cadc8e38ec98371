/*
 * The pipelined broadcasts: one engine, and a shape for each of the family.
 *
 * A shape is a set of trees over the teams 0 .. count - 1 (topology.h: ranks, or nodes), each of
 * which reaches every team from team 0, the root's.  Each tree carries its share of the message.
 */
#ifndef PCOLL_BCAST_PIPELINE_H
#define PCOLL_BCAST_PIPELINE_H

#include "algorithms/algorithm.h"

struct pcoll_trees {
    int count;  /* teams */
    int origin; /* the rank, or node, that team 0 is; team v is v + origin mod count */
    int radix;  /* of shapes that have one */
};

struct pcoll_shape {
    int ntrees;
    int (*parent)(const struct pcoll_trees *trees, int tree, int team); /* of 0: PCOLL_NONE */
    /* Child i of a team, from 0; PCOLL_NONE: it has not so many. */
    int (*child)(const struct pcoll_trees *trees, int tree, int team, int i);
    int (*depth)(const struct pcoll_trees *trees); /* that no tree exceeds */
    int (*hop)(const struct pcoll_trees *trees);   /* usual children of a team that has some */
    int (*late)(const struct pcoll_trees *trees);  /* earlier siblings of all along a way of `depth`
                                                    * teams: of the latest one */
};

/* As the slots of struct pcoll_algorithm; radix is for the shape. */
enum pcoll_result pcoll_pipeline(const struct pcoll_shape *shape, int radix,
                                 const struct pcoll_signature *signature, int rank,
                                 const struct pcoll_params *params, struct pcoll_plan **plan_p);
double pcoll_pipeline_cost(const struct pcoll_shape *shape, int radix,
                           const struct pcoll_signature *signature,
                           const struct pcoll_params *params, const struct pcoll_machine *machine);

/* The trees themselves, for tests. */
extern const struct pcoll_shape pcoll_shape_kary, pcoll_shape_two_tree, pcoll_shape_trinaryx3;

/* The sides of the torus that trinaryx3 sees in n teams, side[0] <= side[1] <= side[2]; 0: n is no
 * product of three factors >= 2.  Node number x + side[0] * (y + side[1] * z) is at (x, y, z). */
int pcoll_trinaryx3_torus(int n, int side[3]);

#endif /* PCOLL_BCAST_PIPELINE_H */
