/*
 * Checks that a topology is valid.
 */
#ifndef PCOLL_TEST_TOPOLOGY_CHECK_H
#define PCOLL_TEST_TOPOLOGY_CHECK_H

#include "algorithms/plan/topology.h"

/* PCOLL_OK if it is a topology of `nranks` ranks: each rank has one place, which belongs to its
 * node, and no node is empty. Otherwise writes one line to `why`, which may be NULL, and returns
 * PCOLL_ERR_INVALID. */
enum pcoll_result topology_check(const struct pcoll_topology *topology, int nranks,
                                 FILE *why) PCOLL_MUST_CHECK;

#endif /* PCOLL_TEST_TOPOLOGY_CHECK_H */
