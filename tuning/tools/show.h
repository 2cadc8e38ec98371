/*
 * Plans shown to people and to programs.
 */
#ifndef PCOLL_SHOW_H
#define PCOLL_SHOW_H

#include "tuning/sim/program.h"

enum show_form {
    SHOW_TEXT,  /* a line for each entry */
    SHOW_PAPER, /* the tables of document 001; job->params.paper belongs to it */
    SHOW_DOT, /* for Graphviz: counters and entries; of several ranks, with signals between them */
    SHOW_JSON /* all of it; README.md has the form */
};

struct show {
    enum show_form form;
    int rank; /* PCOLL_NONE: all */
    int lowered;
    int phase; /* SHOW_DOT: only this one; PCOLL_NONE: all */
};

extern const char info_help[];

/* A picture of more entries shows nothing. */
enum { SHOW_DOT_ENTRIES = 2000 };

/* Make the plans and print them.  Answers an exit status; 1: the algorithm has no such plan, or it
 * is too large for a picture, which was said. */
int show_plans(const struct pcoll_job *job, const struct show *show, FILE *out);

/* ---- show_dot.c, show_json.c: the plans of ranks 0 .. count - 1, or of one (count 1) ---- */

void show_dot(struct pcoll_plan *const *plans, int count, int phase, FILE *out);
void show_json(const struct pcoll_job *job, struct pcoll_plan *const *plans, int count, FILE *out);

#endif /* PCOLL_SHOW_H */
