/*
 * Pictures of time over size, drawn by gnuplot.
 */
#ifndef PCOLL_DRAW_H
#define PCOLL_DRAW_H

#include <stdint.h>
#include <stdio.h>

enum { DRAW_SIZES = 16, DRAW_SERIES = 32, DRAW_LABEL = 96 };

/* One candidate; in us, 0 if there is no value at this size. */
struct draw_series {
    char label[DRAW_LABEL];
    double measured[DRAW_SIZES], predicted[DRAW_SIZES];
};

struct drawing {
    char name[32]; /* of the files, without suffix */
    char title[DRAW_LABEL];
    int nsizes, nseries;
    uint64_t sizes[DRAW_SIZES]; /* ascending, not 0 */
    struct draw_series series[DRAW_SERIES];
    int chosen[DRAW_SIZES]; /* index of a series, or -1 */
};

/* The series with that label, added if it is new; NULL if there is no room. */
struct draw_series *drawing_series(struct drawing *drawing, const char *label);

/* Write into `folder`, which is created if needed: NAME.dat (a block for each series: bytes,
 * measured, predicted; the last block is what was chosen), NAME.gp, and with gnuplot NAME.svg and
 * NAME.png. Returns 1; with a message 0 if nothing was written, and 2 if gnuplot drew no
 * pictures. */
int drawing_write(const struct drawing *drawing, const char *folder);

#endif /* PCOLL_DRAW_H */
