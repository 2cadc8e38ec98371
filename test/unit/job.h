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

/* The parameters to test an algorithm with for `nranks` ranks: each path it has, radix 2, 3, 4 and
 * nranks if it uses one, a short ring, and 2 and 3 rails if that makes a difference.  Writes at
 * most JOB_VARIANTS and returns how many. */
enum { JOB_VARIANTS = 12 };
int job_variants(const struct pcoll_algorithm *algorithm, int nranks, struct pcoll_params *params);

/* Where the ranks are.  With JOB_ROUND_ROBIN the highest rank of a node leads it. */
enum job_map {
    JOB_ONE_NODE,
    JOB_PAIRS,       /* 0 0 1 1 2 2 .. */
    JOB_LAST_ALONE,  /* 0 0 .. 0 1 */
    JOB_UNEQUAL,     /* 0 1 1 1 1 2 2 3 .. */
    JOB_ROUND_ROBIN, /* 0 1 0 1 .., from 6 ranks on 0 1 2 0 .. */
    JOB_APART,       /* 0 1 2 .. */
    JOB_NUM_MAPS
};

/* Nodes for nranks ranks; NULL for JOB_ONE_NODE.  Belongs to job.c. */
const struct pcoll_topology *job_topology(enum job_map map, int nranks);

/* Is there something to test: are plans other ones than on one node? */
int job_map_matters(const struct pcoll_algorithm *algorithm, enum job_map map, int nranks);

/* With several nodes or rails: to be tested in fewer ways than the plain job. */
int job_is_variation(const struct job *job);

#endif /* PCOLL_TEST_JOB_H */
