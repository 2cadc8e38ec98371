/*
 * The plans of all ranks of a job, for tests.
 */
#ifndef PCOLL_TEST_JOB_H
#define PCOLL_TEST_JOB_H

#include <stddef.h>

#include "algorithms/algorithm.h"

enum { JOB_MOST_RANKS = 100 };

struct job {
    const struct pcoll_algorithm *algorithm;
    struct pcoll_signature signature;
    struct pcoll_params params;
    struct pcoll_local *locals;          /* [nranks], or NULL: the signature says everything */
    int lowered;                         /* generate lowered plans */
    struct pcoll_plan **plans;           /* one for each of signature.nranks ranks */
    uint64_t blocks[JOB_MOST_RANKS + 1]; /* those of the signature, if job_take_form set them */
};

/* Generate the plans with job->algorithm; the operator commutes if it must. All ranks must return
 * the same result; otherwise PCOLL_ERR_INVALID. */
enum pcoll_result job_make(struct job *job) PCOLL_MUST_CHECK;
void job_destroy(struct job *job);

/* "bcast/chain N=4 root=1 bytes=13 segment=4", in a buffer that the next call overwrites. */
const char *job_name(const struct job *job);

/* The parameters to test an algorithm with on `nranks` ranks: each path it has, radix 2, 3, 4 and
 * nranks if it uses one, a short ring, and 2 and 3 rails if they make a difference. Writes at most
 * JOB_VARIANTS of them and returns their number. */
enum { JOB_VARIANTS = 12 };
int job_variants(const struct pcoll_algorithm *algorithm, int nranks, struct pcoll_params *params);

/* The forms of a call: plain, in place, with unequal blocks, and with both. Sets in_place and
 * blocks of the job's signature, which has all the rest; 0: the collective lacks that form. The
 * largest block has signature.bytes bytes, some are empty, and all are whole units. */
enum { JOB_FORMS = 4 };
int job_take_form(struct job *job, int form);

/* How ranks are mapped to nodes, and to levels below them. With JOB_ROUND_ROBIN the highest rank of
 * a node leads it. */
enum job_map {
    JOB_ONE_NODE,
    JOB_PAIRS,        /* 0 0 1 1 2 2 .. */
    JOB_LAST_ALONE,   /* 0 0 .. 0 1 */
    JOB_UNEQUAL,      /* 0 1 1 1 1 2 2 3 .. */
    JOB_ROUND_ROBIN,  /* 0 1 0 1 .., with 6 ranks and more 0 1 2 0 .. */
    JOB_APART,        /* 0 1 2 .. */
    JOB_LEVELS,       /* nodes of 7 ranks, sockets 0 0 0 0 0 1 1, caches 0 0 0 1 1 2 2; with 7 ranks
                       * and fewer the sockets, or if there is one, the caches are the teams */
    JOB_LEVELS_DEALT, /* from 8 ranks on: nodes 0 1 0 1 .., in each of them caches 0 1 0 1 ..; the
                       * highest rank leads */
    JOB_LEVELS_NODES, /* from 6 ranks on: nodes 0 0 0 0 1 1 2 2 2 2 .., with JOB_EVEN_RANKS 0 0 0 0
                       * 1 1 1 1, caches 0 0 1 1 2 2 ..; the last of an odd number is where the one
                       * before is */
    JOB_NUM_MAPS
};

/* The fewest ranks with which all nodes have the same size, and all parts of nodes, too, so that
 * reductions have leaders on two levels. */
enum { JOB_EVEN_RANKS = 8 };

/* Returns whether the signature is that of JOB_LEVELS_NODES or JOB_LEVELS_DEALT with so many. */
int job_is_even(const struct pcoll_signature *signature);

/* The nodes of nranks ranks; NULL for JOB_ONE_NODE, and for levels that so few ranks do not have.
 * job.c owns the result. */
const struct pcoll_topology *job_topology(enum job_map map, int nranks);

/* Put the signature on such nodes. Round robin or dealt, a reduction commutes: otherwise its
 * algorithms keep the rank order without regard to nodes. */
void job_place(struct pcoll_signature *signature, enum job_map map);

/* True if there is something to test: the plans differ from those on one node, and if there are
 * levels below the nodes, from those without. */
int job_map_matters(const struct pcoll_algorithm *algorithm, enum job_map map, int nranks);

/* True for a job with several nodes or rails, which is tested in fewer ways than the plain job. */
int job_is_variation(const struct job *job);

#endif /* PCOLL_TEST_JOB_H */
