/*
 * Several trees over the same teams, each of which carries its share of a message.
 */
#ifndef PCOLL_TREES_H
#define PCOLL_TREES_H

#include <stdbool.h>

struct pcoll_trees {
    int count;     /* number of teams */
    int origin;    /* the rank or node that is team 0; team v is v + origin mod count */
    int radix;     /* for shapes that have one */
    bool in_order; /* for two_tree: see there */
};

/* Each tree reaches every team 0 .. count - 1 (teams.h: ranks, or nodes) from team 0, the root's.
 */
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

#endif /* PCOLL_TREES_H */
