/*
 * A run as a picture in time: a self-contained page for a browser, or a trace for Perfetto.
 */
#ifndef PCOLL_SIM_TIMELINE_H
#define PCOLL_SIM_TIMELINE_H

#include <stdbool.h>

#include "tuning/sim/engine.h"

/* Does the name end in .html, in .json? */
bool pcoll_timeline_is_page(const char *file);
bool pcoll_timeline_is_trace(const char *file);

/* Write the run to the file; PCOLL_ERR_SYSTEM: a message has been given. */
enum pcoll_result pcoll_timeline_write(const struct pcoll_job *job,
                                       const struct pcoll_engine_options *options,
                                       const struct pcoll_trace *trace,
                                       const char *file) PCOLL_MUST_CHECK;

/* timeline.html, in which @RUN@ stands for the run */
extern const char pcoll_timeline_html[];

#endif /* PCOLL_SIM_TIMELINE_H */
