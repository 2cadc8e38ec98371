/*
 * The jobs that a test program has had. Many sizes, nodes, parameters and collectives lead to plans
 * that are the same for a task that is the same: what the proof or the explorer says of one of them
 * it says of all.
 */
#ifndef PCOLL_TEST_KNOWN_H
#define PCOLL_TEST_KNOWN_H

#include "test/unit/job.h"

/* Returns whether an earlier call with the same `how`, which says what the test does with the job,
 * had the same plans, the same sizes of SEND and RECV, and the same contents of RECV to expect. The
 * plans of the job have been made. */
int job_is_known(const struct job *job, int how);

#endif /* PCOLL_TEST_KNOWN_H */
