/*
 * What a test has put an algorithm to, for the matrix of maint/check: a TAP comment for each row
 * and kind of test, which says how much and how long.  Several for one cell add up.
 *
 *     # covers bcast/binary proof 412 0.83
 *     # excuses bcast/shared ofi_trigger the medium lacks what the plans need
 */
#ifndef PCOLL_TEST_COVER_H
#define PCOLL_TEST_COVER_H

#include "algorithms/algorithm.h"

/* Seconds since some moment. */
double cover_clock(void);

/* The row has passed so many jobs (none: no line) of that kind since cover_clock() was `begin`.
 * The line is written at once, whole, behind what stdout holds. */
void cover_row(const struct pcoll_algorithm *row, const char *kind, int jobs, double begin);

/* The row cannot be put to that kind of test. */
void cover_excuse(const struct pcoll_algorithm *row, const char *kind, const char *reason);

#endif /* PCOLL_TEST_COVER_H */
