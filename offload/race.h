/*
 * A race: all ranks run several plans for one call, in turns, to find the fastest.
 */
#ifndef PCOLL_RACE_H
#define PCOLL_RACE_H

#include "offload/medium.h"

#define PCOLL_RACE_PLANS 4 /* the most plans in one race */

/* Collective over the ranks of the group, and as long as no other thread calls its medium. Binds
 * the n plans of this rank, 1 <= n <= PCOLL_RACE_PLANS, to `memory`, in which any data will do, and
 * leaves it undefined; NULL stands for a plan that this rank could not generate. us[i] becomes the
 * time of an instance on the slowest rank, the same on all ranks, or negative if plan i could not
 * be bound. After the plans have been started often enough to touch their communication buffers,
 * the race takes 2 ms, or 8 starts of each plan (between nodes 4) if that takes longer. An error of
 * a start is returned on the rank where it occurred; the group cannot be used any more. */
enum pcoll_result pcoll_race(struct pcoll_group *group, const struct pcoll_plan *const *plans,
                             int n, const struct pcoll_memory *memory, double *us) PCOLL_MUST_CHECK;

/* The plan that took least, by what pcoll_race has set. */
int pcoll_race_winner(const double *us, int n);

/* The user memory of a plan. */
struct pcoll_race_data {
    volatile char *send;
    const volatile char *recv;
    uint64_t send_bytes, recv_bytes;
    bool is_long, in_node; /* the same on all ranks */
};
struct pcoll_race_data pcoll_race_data_of(const struct pcoll_plan *plan,
                                          const struct pcoll_memory *memory);

/* A batch: start a plan so many times, and wait for each instance. For the first half the rank uses
 * its data as programs do: it writes each line of what it sends before a start, and reads each line
 * of what it has received after the wait; the other starts follow each other at once, as in
 * benchmarks. *nsec becomes the time of all instances. If data is long, the time in which the rank
 * uses it does not count; nor does that of others, if all are on one node: they meet before such a
 * start. `bootstrap` is that of the plan's group. */
enum pcoll_result pcoll_race_batch(const struct pcoll_bootstrap *bootstrap,
                                   struct pcoll_bound *bound, const struct pcoll_race_data *data,
                                   int starts, uint64_t *nsec) PCOLL_MUST_CHECK;

#endif /* PCOLL_RACE_H */
