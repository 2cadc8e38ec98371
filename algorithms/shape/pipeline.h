/*
 * The pipelined broadcasts: one engine, and a shape for each algorithm of the family.
 *
 * A shape is a set of trees over the teams 0 .. count - 1 (teams.h: ranks, or nodes). Each tree
 * reaches every team from team 0, the root's, and carries its share of the message.
 */
#ifndef PCOLL_BCAST_PIPELINE_H
#define PCOLL_BCAST_PIPELINE_H

#include "algorithms/algorithm.h"

struct pcoll_trees {
    int count;  /* number of teams */
    int origin; /* the rank or node that is team 0; team v is v + origin mod count */
    int radix;  /* for shapes that have one */
};

struct pcoll_shape {
    int ntrees;
    int (*parent)(const struct pcoll_trees *trees, int tree, int team); /* for team 0: PCOLL_NONE */
    /* Child i of a team, counted from 0; PCOLL_NONE: the team has fewer children. */
    int (*child)(const struct pcoll_trees *trees, int tree, int team, int i);
    int (*depth)(const struct pcoll_trees *trees); /* an upper bound for all trees */
    int (*hop)(const struct pcoll_trees *trees);   /* the usual number of children of a team that
                                                    * has any */
    int (*late)(const struct pcoll_trees *trees);  /* the number of earlier siblings, summed over
                                                    * the teams of a path of length `depth`; the
                                                    * maximum over such paths */
};

/* As in struct pcoll_algorithm; `radix` is for the shape. */
enum pcoll_result pcoll_pipeline(const struct pcoll_shape *shape, int radix,
                                 const struct pcoll_signature *signature, int rank,
                                 const struct pcoll_params *params, struct pcoll_plan **plan_p);
double pcoll_pipeline_cost(const struct pcoll_shape *shape, int radix,
                           const struct pcoll_signature *signature,
                           const struct pcoll_params *params, const struct pcoll_machine *machine);

/* The shapes themselves, for tests. */
extern const struct pcoll_shape pcoll_shape_kary, pcoll_shape_two_tree, pcoll_shape_trinaryx3;

#endif /* PCOLL_BCAST_PIPELINE_H */
