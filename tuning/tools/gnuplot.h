/*
 * Files for gnuplot, and gnuplot.
 */
#ifndef PCOLL_GNUPLOT_H
#define PCOLL_GNUPLOT_H

#include <stdio.h>

/* Let `write` fill FOLDER/NAME.SUFFIX.  0: it could not be written, with a message. */
int gnuplot_write(const char *folder, const char *name, const char *suffix,
                  void (*write)(const void *what, FILE *out), const void *what);

/* Run gnuplot on NAME.gp in the folder.  0: it is not there, or failed, with a message. */
int gnuplot_run(const char *folder, const char *name);

#endif /* PCOLL_GNUPLOT_H */
