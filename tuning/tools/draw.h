/*
 * Pictures of time over size, by gnuplot.
 */
#ifndef PCOLL_DRAW_H
#define PCOLL_DRAW_H

#include <stdint.h>
#include <stdio.h>

enum { DRAW_SIZES = 16, DRAW_SERIES = 32, DRAW_LABEL = 96 };

/* One candidate; us, 0: none at this size. */
struct draw_series {
    char label[DRAW_LABEL];
    double measured[DRAW_SIZES], predicted[DRAW_SIZES];
};

struct drawing {
    char name[32]; /* of the files, without their suffix */
    char title[DRAW_LABEL];
    int nsizes, nseries;
    uint64_t sizes[DRAW_SIZES]; /* rising, not 0 */
    struct draw_series series[DRAW_SERIES];
    int chosen[DRAW_SIZES]; /* a series, or -1 */
};

/* The series of that label, a new one if need be; NULL: no room. */
struct draw_series *drawing_series(struct drawing *drawing, const char *label);

/* In `folder`, made if it is not there: NAME.dat (a block for each series: bytes, measured,
 * predicted; the last one is what was chosen), NAME.gp, and by gnuplot NAME.svg and NAME.png.
 * Returns 1; 0: not written, 2: no gnuplot, so no pictures; with a message. */
int drawing_write(const struct drawing *drawing, const char *folder);

#endif /* PCOLL_DRAW_H */
