/*
 * What can be wrong with the plans of 4 ranks, and what the plan check says about it.
 */
#ifndef PCOLL_TEST_PLAN_FAULTS_H
#define PCOLL_TEST_PLAN_FAULTS_H

#include "algorithms/algorithm.h"

enum { PLAN_FAULT_RANKS = 4 };

struct plan_fault {
    const char *what; /* NULL: the end of the list */
    void (*apply)(struct pcoll_plan **plans);
    enum pcoll_coll coll;
    const char *algorithm;
    uint64_t bytes, segment;
    enum pcoll_path path;
    const char *expected; /* a part of the message; NULL: the plans are right */
    int keeps_gain;       /* otherwise gains are to be corrected, so that they do not betray it */
};

extern const struct plan_fault plan_faults[];

#endif /* PCOLL_TEST_PLAN_FAULTS_H */
