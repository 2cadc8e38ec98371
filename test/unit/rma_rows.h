/*
 * The plans of every row on an RMA medium: in all forms, of several sizes, with rails and without.
 */
#ifndef PCOLL_TEST_RMA_ROWS_H
#define PCOLL_TEST_RMA_ROWS_H

#include "test/unit/setup.h"

/* A rank's part: exercises every plan, or every plan that stripes. Returns nonzero if one went
 * wrong. */
int rma_exercise_rows(struct setup *setup, struct meeting *meeting, struct part *part, int striped);

#endif /* PCOLL_TEST_RMA_ROWS_H */
