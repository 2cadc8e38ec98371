/*
 * What the user asks of pcoll-info, and its map from sizes to choices.
 */
#ifndef PCOLL_TOOLS_INFO_H
#define PCOLL_TOOLS_INFO_H

#include "tuning/choose.h"
#include "tools/show.h"

struct info {
    const char *path; /* of the table; NULL: the built-in one */
    int coll;         /* -1: all */
    int nranks, nnodes;
    uint64_t max_bytes;
    int64_t candidates; /* list the candidates for this size; -1: print the map */
    int only_check, only_names, only_parameters, no_cma;
    struct pcoll_caps caps;
    struct pcoll_table *table;
    struct pcoll_topology *topology;

    const char *plan; /* COLLECTIVE/ALGORITHM, or only the collective; NULL: no plan */
    struct pcoll_signature signature; /* of the plan: root, bytes, in_place */
    struct pcoll_params params;
    struct show show;
    int paper, dot, json;
};

/* A size and the choice for it; choice.algorithm NULL: MPICH's path. */
struct info_point {
    uint64_t bytes;
    struct pcoll_choice choice;
};

/* What would be chosen for that size. */
struct info_point info_choose(const struct info *info, enum pcoll_coll coll, uint64_t bytes);

/* Prints, for the collectives that are asked for, the map or the candidates; returns the exit
 * status. */
int info_print_choices(const struct info *info);

#endif /* PCOLL_TOOLS_INFO_H */
