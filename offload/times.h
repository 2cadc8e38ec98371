/*
 * Times of the instances of plans, for reports. A plan whose instances are timed has a medium of
 * its own, which calls the other one's functions, so that other plans pay nothing.
 */
#ifndef PCOLL_TIMES_H
#define PCOLL_TIMES_H

#include "offload/medium.h"

/* Four buckets for each power of two of ns, up to 2^40. */
enum { PCOLL_TIMES_BUCKETS = 160 };

/* Of any number of plans. The first instances of a plan are timed, then every eighth, as reading
 * the clock takes as long as a short collective. */
struct pcoll_times {
    uint64_t starts;
    uint64_t sleeps;     /* how often a rank may have slept because nothing moved */
    uint64_t timed;      /* the number of instances that were timed */
    uint64_t ns;         /* all of these, from start to completion */
    uint64_t waiting_ns; /* of these, how long a rank has waited for nothing else */
    uint64_t min_ns;     /* 0: none was timed */
    uint32_t buckets[PCOLL_TIMES_BUCKETS];
};

/* From now on the instances of a plan are added to *times, which must outlive it. The caller uses
 * *timed_p in place of `bound`, also to unbind it. */
enum pcoll_result pcoll_times_watch(struct pcoll_bound *bound, struct pcoll_times *times,
                                    struct pcoll_bound **timed_p) PCOLL_MUST_CHECK;

void pcoll_times_add(struct pcoll_times *times, const struct pcoll_times *more);

/* With an error of at most one eighth; 0: no instance was timed. */
double pcoll_times_median_us(const struct pcoll_times *times);

#endif /* PCOLL_TIMES_H */
