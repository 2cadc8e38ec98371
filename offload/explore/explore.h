/*
 * The medium `explore`: all ranks of a job in one process.
 *
 * It runs the plans of all ranks together with real memory and counters, moves the data, and takes
 * every event in an order of its own choosing.  Each rank runs `instances` instances; as soon as
 * it has completed one it may start the next, up to `ahead` instances before the slowest rank.
 *
 * What it checks in every run:
 *
 *   - at completion RECV holds what a naive collective would give (barrier: all ranks have started
 *     this instance);
 *   - memory of the user is touched between start and completion of its owner only, and by entries
 *     of the same instance; it is scribbled over at completion;
 *   - every rank gets through all instances: no deadlock;
 *   - nothing is left over: no entry pending, and after whole cycles each counter has gained
 *     exactly its gain per cycle.
 *
 * What may happen when (the contract of every medium, at its weakest):
 *
 *   - an entry fires any time after its trigger has reached the threshold;
 *   - PUT: the source is read between firing and local completion (`done`); the data arrives any
 *     time after that, even after `done`, and the signal the peer's counter after the data;
 *   - GET, COPY: the source is read any time after firing, the data lands after that, then `done`
 *     and the signal, in any order;
 *   - ADD: `done` and the signal any time after firing.
 *
 * With PCOLL_NEED_ORDER the entries on one trigger fire in list order, and what PUT and ADD do to
 * one peer on one rail arrives in the order fired.  Reads are not ordered: a GET signals behind
 * what its rank fired towards that peer before the data landed.
 */
#ifndef PCOLL_EXPLORE_H
#define PCOLL_EXPLORE_H

#include "algorithms/plan/plan.h"

struct pcoll_explore;

enum pcoll_explore_order {
    PCOLL_EXPLORE_AS_NEEDED, /* in order if a plan has PCOLL_NEED_ORDER */
    PCOLL_EXPLORE_ORDERED,
    PCOLL_EXPLORE_UNORDERED
};

struct pcoll_explore_options {
    int instances;        /* that each rank runs, >= 1 */
    int ahead;            /* instance k starts when all ranks have completed k - ahead */
    uint64_t first_cycle; /* counters start as after so many cycles; may be near 2^64 */
    enum pcoll_explore_order order;
    FILE *trace; /* if not NULL: one line per event */
};

/* plans[0 .. nranks) are borrowed until destroy.  The caller owns *explore_p.  PCOLL_ERR_INVALID
 * when an entry names a counter, rank or memory that is not there; says so on stderr. */
enum pcoll_result pcoll_explore_create(struct pcoll_plan *const *plans, int nranks,
                                       const struct pcoll_explore_options *options,
                                       struct pcoll_explore **explore_p) PCOLL_MUST_CHECK;
void pcoll_explore_destroy(struct pcoll_explore *explore);

/* Run once from the beginning, each event as early as it can be, first come first served.
 * PCOLL_ERR_INVALID: a check failed; pcoll_explore_why tells. */
enum pcoll_result pcoll_explore_run_inorder(struct pcoll_explore *explore) PCOLL_MUST_CHECK;

/* The same in a random order that depends on `seed` alone.  Seeds differ in character too: which
 * kinds of events and which ranks are held back, and how long. */
enum pcoll_result pcoll_explore_run_random(struct pcoll_explore *explore,
                                           uint64_t seed) PCOLL_MUST_CHECK;

/* How pcoll_explore_all saves work; both find a violation if there is one (see
 * explore/explore.c). */
enum pcoll_explore_reduction {
    PCOLL_EXPLORE_STATES, /* all orders of starts, reads and writes; equal states once */
    PCOLL_EXPLORE_TRACES  /* of orders that differ in independent events only, one */
};

struct pcoll_explore_limits {
    enum pcoll_explore_reduction reduction;
    uint64_t states; /* give up after so many; 0: never */
};

struct pcoll_explore_stats {
    uint64_t states;   /* different ones seen */
    uint64_t branches; /* of these, with more than one event to try */
    int depth;         /* longest run, in events tried */
    int complete;      /* the whole space was explored */
};

/* Run in every order.  PCOLL_ERR_INVALID: some order fails a check; pcoll_explore_why tells, and
 * the trace shows that order.  PCOLL_OK with stats->complete 0: nothing found up to the limit. */
enum pcoll_result pcoll_explore_all(struct pcoll_explore *explore,
                                    const struct pcoll_explore_limits *limits,
                                    struct pcoll_explore_stats *stats) PCOLL_MUST_CHECK;

/* One line about the last check that failed, "" if none did. */
const char *pcoll_explore_why(const struct pcoll_explore *explore);

/* Which check failed, to count by. */
enum pcoll_explore_fault {
    PCOLL_EXPLORE_FAULT_NONE,
    PCOLL_EXPLORE_FAULT_RESULT, /* wrong data, or a barrier that lets through */
    PCOLL_EXPLORE_FAULT_MEMORY, /* user memory touched outside its instance */
    PCOLL_EXPLORE_FAULT_DEADLOCK,
    PCOLL_EXPLORE_FAULT_LEFTOVER
};
enum pcoll_explore_fault pcoll_explore_fault(const struct pcoll_explore *explore);

#endif /* PCOLL_EXPLORE_H */
