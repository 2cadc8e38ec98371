/*
 * Tests of the RMA media, over each wire: every algorithm between processes that are on nodes of
 * their own, or partly on the same node; rails; and what happens when something fails. They print
 * TAP.
 */
#ifndef PCOLL_TEST_RMA_TESTS_H
#define PCOLL_TEST_RMA_TESTS_H

#include "test/unit/setup.h"

/* A few setups usually show that a provider other than the main one works: how plans run does not
 * depend on it. */
void rma_check(const struct subject *subject, int is_main);
void rma_check_rails(const struct subject *subject);

/* From now on this process's wire refuses the n-th registration of memory; returns, at the end, how
 * many it has refused. */
struct refusal {
    void (*begin)(const struct pcoll_group *group, int n);
    int (*end)(const struct pcoll_group *group);
};

void rma_check_failures(const struct subject *subject, const struct refusal *refusal, int is_main);

#endif /* PCOLL_TEST_RMA_TESTS_H */
