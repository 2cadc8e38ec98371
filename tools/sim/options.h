/*
 * pcoll-sim: the command line, and what describes a run.
 */
#ifndef PCOLL_SIM_OPTIONS_H
#define PCOLL_SIM_OPTIONS_H

#include <stdbool.h>

#include "tuning/sim/engine.h"
#include "tools/sim/resources.h"
#include "tools/cli.h"

enum { MAX_ALGORITHMS = 64, MAX_ROWS = 4096 };

struct options {
    enum pcoll_coll coll;
    const struct pcoll_algorithm *algorithms[MAX_ALGORITHMS];
    int nalgorithms;
    struct cli_list ranks, bytes, ports;
    int ppn; /* negative: all, if `inside` is given, otherwise 1 */
    int root;
    struct pcoll_params params;
    bool best_segment; /* the best of several segments is chosen */
    int lowered;
    struct pcoll_engine_options engine; /* ports are set for each row */
    bool knows[PCOLL_SIM_LEVELS];       /* the levels of engine.inside that plans know */
    struct pcoll_machine node;          /* engine.machine.node points here */
    int json, resources;
    const char *plot, *goal, *timeline;

    /* as given on the command line */
    const char *segment, *network, *table, *medium, *node_medium;
    const char *inside; /* the file of a node */
    const char *levels;
    struct pcoll_machine wanted; /* negative: the table's value */
};

/* One line of the result. */
struct row {
    const struct pcoll_algorithm *algorithm;
    int nranks, ports;
    uint64_t bytes, segment;
    struct pcoll_engine_result result;
    double seconds; /* that the simulation took */
};

extern const char options_help[];

/* Returns what cli_read does. */
int options_read(struct options *options, int argc, char **argv);

/* report.c */
void report_head(const struct options *options, FILE *out);
void report_resources(const struct pcoll_job *job, const struct pcoll_resources *max, FILE *out);
void report_row(const struct options *options, const struct row *row, FILE *out);
void report_json(const struct options *options, const struct row *rows, int count, FILE *out);

/* Write STEM.dat and STEM.gp and let gnuplot draw STEM.svg and STEM.png. */
bool plot_rows(const struct options *options, const struct row *rows, int count);

#endif /* PCOLL_SIM_OPTIONS_H */
