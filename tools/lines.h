/*
 * Which cache lines of counters the ranks of a plan share.
 *
 * A counter, with its cell, has a line of its own (or two), in memory of its rank, which alone
 * polls it: nothing in a plan waits for a counter of another rank. So a line moves between that
 * rank and those that signal the counter, its writers.
 */
#ifndef PCOLL_TOOLS_LINES_H
#define PCOLL_TOOLS_LINES_H

#include "algorithms/plan/plan.h"

/* Of the whole cycle of phases, the most of any counter or rank. */
struct lines {
    int writers; /* other ranks that signal one counter */
    int written; /* counters of others that one rank signals */
    int polled;  /* counters that one rank waits for */
};

/* plans[0 .. nranks) are those of all ranks. PCOLL_ERR_NOMEM, or *lines_p is set. */
enum pcoll_result lines_count(struct pcoll_plan *const *plans, int nranks,
                              struct lines *lines_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_TOOLS_LINES_H */
