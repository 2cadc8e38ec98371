/*
 * What the user asks of pcoll-info; its map from sizes to choices, and its proofs.
 */
#ifndef PCOLL_TOOLS_INFO_H
#define PCOLL_TOOLS_INFO_H

#include <stdbool.h>

#include "tuning/choose.h"
#include "tools/show.h"

struct info {
    const char *path; /* of the table; NULL: the built-in one */
    int coll;         /* -1: all */
    int nranks, nnodes;
    uint64_t max_bytes;
    int64_t candidates; /* list the candidates for this size; -1: print the map */
    int lines;          /* show what ranks share of counters (lines.h) */
    int only_check, only_names, only_parameters, no_cma, mapped;
    int measures; /* this machine, as the ranks of a job do */
    struct pcoll_machine measured;
    struct pcoll_caps caps;
    struct pcoll_table *table;
    struct pcoll_topology *topology;
    int nsockets, ndomains, ncaches; /* of a node, which consecutive ranks fill; 1: no level */
    struct pcoll_topology *levels;   /* those of the only node; NULL: none */

    const char *plan;    /* COLLECTIVE/ALGORITHM, or only the collective; NULL: no plan */
    const char *prove;   /* the same, for --prove */
    const char *without; /* RANK:ENTRY to leave out of the proved plans; NULL: nothing */
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

/* Prints what ranks share of counters, in each algorithm with the given parameters. */
void info_print_lines(const struct info *info);

/* Two processes, or four where there are as many cores, measure the machine and print the result,
 * by which *machine is set. Returns false if they could not. */
bool info_measure(struct pcoll_machine *machine);

/* Prove the plans of all ranks of the job, and run them in every order where there are few; print
 * what was found. `without_rank` and `without_entry` name an entry to leave out first, as --plan
 * numbers it; PCOLL_NONE: none. Returns the exit status: 1 if the plans are wrong or there are
 * none. */
int info_prove(const struct pcoll_job *job, int without_rank, int without_entry);

#endif /* PCOLL_TOOLS_INFO_H */
