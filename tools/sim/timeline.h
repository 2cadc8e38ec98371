/*
 * A run as a picture in time: a self-contained page for a browser, or a trace for Perfetto.
 */
#ifndef PCOLL_SIM_TIMELINE_H
#define PCOLL_SIM_TIMELINE_H

#include "tuning/sim/engine.h"

struct pcoll_timeline {
    const struct pcoll_job *job;
    const struct pcoll_engine_options *options;
    const struct pcoll_trace *trace;
    int *lanes; /* [nfirings]: separates overlapping transfers of a rank in the picture, from 0; -1:
                 * no transfer */
};

/* True if the name ends so. */
int pcoll_timeline_is_page(const char *file);  /* .html */
int pcoll_timeline_is_trace(const char *file); /* .json */

/* Write the run to the file; PCOLL_ERR_SYSTEM: a message has been given. */
enum pcoll_result pcoll_timeline_write(const struct pcoll_job *job,
                                       const struct pcoll_engine_options *options,
                                       const struct pcoll_trace *trace,
                                       const char *file) PCOLL_MUST_CHECK;

/* The time at which the transfer of an entry begins, which lasts until the entry is done: after the
 * processor's work, and after waiting for the port. */
double pcoll_timeline_transfer(const struct pcoll_firing *firing);

/* "put 8 B to 3". */
enum { PCOLL_TIMELINE_NAME = 64 };
void pcoll_timeline_name(const struct pcoll_trace *trace, const struct pcoll_firing *firing,
                         char name[PCOLL_TIMELINE_NAME]);

/* timeline_page.c and timeline_trace.c */
void pcoll_timeline_page(const struct pcoll_timeline *timeline, FILE *out);
void pcoll_timeline_trace(const struct pcoll_timeline *timeline, FILE *out);

/* timeline.html, in which @RUN@ stands for the run */
extern const char pcoll_timeline_html[];

#endif /* PCOLL_SIM_TIMELINE_H */
