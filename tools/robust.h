/*
 * One estimate and its interval from many noisy measurements.
 *
 * Disturbances (an interrupt, another process) make a measurement longer, rarely but by much. The
 * estimate is therefore the median of the samples that are not far from the median.
 */
#ifndef PCOLL_ROBUST_H
#define PCOLL_ROBUST_H

#include <stdbool.h>

struct estimate {
    double value, low, high;
    int used, rejected; /* number of samples */
};

/* The estimate of samples[0 .. n), n >= 1, which this function sorts. Samples farther from the
 * median than 5 times the median distance are rejected. [low, high] holds the median of the
 * measured quantity with 95 % confidence (order statistics); with fewer than 6 samples it holds all
 * of them. */
struct estimate estimate_of(double *samples, int n);

/* The joint estimate of several sittings, n >= 1: the median of their values. [low, high] holds all
 * of their values and intervals, since no single sitting can see what changes between sittings
 * (where memory lies, what else runs). */
struct estimate estimate_join(const struct estimate *sittings, int n);

/* Returns whether half the interval is within `relative` of the value, or within `absolute`. */
bool estimate_is_tight(const struct estimate *estimate, double relative, double absolute);

/* Rounded to four digits, since the rest is noise. */
double estimate_round(double number);

#endif /* PCOLL_ROBUST_H */
