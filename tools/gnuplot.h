/*
 * Writes files for gnuplot and runs it.
 */
#ifndef PCOLL_GNUPLOT_H
#define PCOLL_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Let `write` fill FOLDER/NAME.SUFFIX. Returns false, with a message, if it could not be written.
 */
bool gnuplot_write(const char *folder, const char *name, const char *suffix,
                   void (*write)(const void *what, FILE *out), const void *what);

/* Run gnuplot on NAME.gp in the folder. Returns false, with a message, if gnuplot is missing or
 * failed. */
bool gnuplot_run(const char *folder, const char *name);

#endif /* PCOLL_GNUPLOT_H */
