/*
 * The plans of all ranks of a job, for tests.
 */
#ifndef PCOLL_TEST_JOB_H
#define PCOLL_TEST_JOB_H

#include <stddef.h>

#include "algorithms/algorithm.h"

struct job {
    const struct pcoll_algorithm *algorithm;
    struct pcoll_signature signature;
    struct pcoll_params params;
    int lowered;               /* make lowered plans */
    struct pcoll_plan **plans; /* of signature.nranks ranks */
};

/* Make the plans by job->algorithm.  All ranks must give the same answer, else
 * PCOLL_ERR_INVALID. */
enum pcoll_result job_make(struct job *job) PCOLL_MUST_CHECK;
void job_destroy(struct job *job);

/* "bcast/chain N=4 root=1 bytes=13 segment=4", in a buffer that the next call overwrites. */
const char *job_name(const struct job *job);

/* The parameters to test an algorithm with for `nranks` ranks: each path it has, and radix 2, 3, 4
 * and nranks if it uses one, and a short ring.  Writes at most JOB_VARIANTS and returns how many.
 */
enum { JOB_VARIANTS = 8 };
int job_variants(const struct pcoll_algorithm *algorithm, int nranks, struct pcoll_params *params);

#endif /* PCOLL_TEST_JOB_H */
