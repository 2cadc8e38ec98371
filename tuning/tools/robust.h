/*
 * One estimate and its interval from many noisy measurements.
 *
 * What disturbs a measurement (an interrupt, another process) makes it longer, seldom and by much,
 * so: the median, of what is not far off it.
 */
#ifndef PCOLL_ROBUST_H
#define PCOLL_ROBUST_H

struct estimate {
    double value, low, high;
    int used, rejected; /* samples */
};

/* From samples[0 .. n), n >= 1, which are sorted.  Those farther from the median than 5 times the
 * median distance are rejected; [low, high] holds the median of what is measured with 95 %
 * confidence (order statistics), or is all there is of fewer than 6. */
struct estimate estimate_of(double *samples, int n);

/* The estimate of several sittings together: the median of their values; [low, high] holds all of
 * their values and intervals, as what changes from sitting to sitting (where memory lies, what
 * else runs) no single one of them can see.  n >= 1. */
struct estimate estimate_join(const struct estimate *sittings, int n);

/* Is half the interval within `relative` of the value, or within `absolute`? */
int estimate_is_tight(const struct estimate *estimate, double relative, double absolute);

/* To four digits, as the rest is noise. */
double estimate_round(double number);

#endif /* PCOLL_ROBUST_H */
