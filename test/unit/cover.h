/*
 * Records which kinds of test a test program has run an algorithm through, for the matrix of
 * maint/check: it prints a TAP comment with the jobs and seconds for each row and kind. Several
 * comments for one cell add up.
 *
 *     # covers bcast/kary proof 412 0.83
 *     # excuses bcast/shared ofi_trigger the medium lacks what the plans need
 */
#ifndef PCOLL_TEST_COVER_H
#define PCOLL_TEST_COVER_H

#include "algorithms/algorithm.h"

/* Seconds since some fixed moment. */
double cover_clock(void);

/* The row has passed `jobs` jobs of that kind since cover_clock() returned `begin`; with 0 jobs no
 * line is printed. The line is written at once and whole, after what stdout holds. */
void cover_row(const struct pcoll_algorithm *row, const char *kind, int jobs, double begin);

/* The row cannot be tested in that way. */
void cover_excuse(const struct pcoll_algorithm *row, const char *kind, const char *reason);

/* True if the environment variable PCOLL_TEST_ROW names another row, as in bcast/kary. Also true
 * if an earlier row makes the same plans under the name of another collective; prints that as the
 * excuse. */
int cover_skips(const struct pcoll_algorithm *row, const char *kind);

#endif /* PCOLL_TEST_COVER_H */
