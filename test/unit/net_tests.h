/*
 * Tests of a medium whose network runs plans, on processes over loopback: every algorithm, many
 * starts, several plans at a time, ranks that make no calls. They print TAP. net_medium names the
 * medium (net_rank.h).
 */
#ifndef PCOLL_TEST_NET_TESTS_H
#define PCOLL_TEST_NET_TESTS_H

#include "test/unit/net_rank.h"

/* How the rows are run. */
struct net_rows {
    uint64_t sizes[6]; /* the first two always, all where TAP_FULL or TAP_USUAL says so */
    int all_forms;     /* otherwise equal blocks, and unequal ones, in place if they can be */
    int (*instances)(int nranks, uint64_t bytes);
};

/* Every algorithm, on 1 to 8 ranks; how many of these numbers, the depth says. */
void net_check_rows(const struct net_rows *rows);

/* The plan is bound, run and unbound twice. `what` says what that shows. */
void net_check_trial(int nranks, const struct trial *t, const char *what);

/* Three plans, `instances` times started in one order and waited for in the opposite one. */
void net_check_side_by_side(int instances);

/* Rank `absent` of 5 starts, and makes no call until all others have completed the instance: it
 * computes, or sleeps. */
void net_check_absent(enum pcoll_coll coll, const char *name, uint64_t bytes, int absent);

#endif /* PCOLL_TEST_NET_TESTS_H */
