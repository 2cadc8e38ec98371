/*
 * Shows plans to people and to programs.
 */
#ifndef PCOLL_SHOW_H
#define PCOLL_SHOW_H

#include "tuning/sim/program.h"

enum show_form {
    SHOW_TEXT,  /* a line for each entry */
    SHOW_PAPER, /* the tables of document 001; requires job->params.paper */
    SHOW_DOT, /* Graphviz: counters and entries; with several ranks also the signals between them */
    SHOW_JSON /* everything; doc/plan-json.md describes the form */
};

struct show {
    enum show_form form;
    int rank; /* PCOLL_NONE: all ranks */
    int lowered;
    int phase; /* for SHOW_DOT: only this phase; PCOLL_NONE: all */
};

extern const char info_help[];

/* A picture with more entries is unreadable. */
enum { SHOW_DOT_ENTRIES = 2000 };

/* Generate the plans and print them. Returns an exit status; 1, after a message, if the algorithm
 * has no such plan or it is too large for a picture. */
int show_plans(const struct pcoll_job *job, const struct show *show, FILE *out);

/* ---- show_dot.c, show_json.c: the plans of ranks 0 .. count - 1, or of one rank (count 1) ---- */

void show_dot(struct pcoll_plan *const *plans, int count, int phase, FILE *out);
void show_json(const struct pcoll_job *job, struct pcoll_plan *const *plans, int count, FILE *out);

#endif /* PCOLL_SHOW_H */
