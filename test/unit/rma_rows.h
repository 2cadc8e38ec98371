/*
 * The plans of every row on an RMA medium: in all forms, of several sizes, with rails and without.
 */
#ifndef PCOLL_TEST_RMA_ROWS_H
#define PCOLL_TEST_RMA_ROWS_H

#include "test/unit/scene.h"

/* A rank's part: plays every plan, or every plan that stripes. Returns nonzero if one went wrong.
 */
int rma_play_rows(struct scene *scene, struct meeting *meeting, struct part *part, int striped);

#endif /* PCOLL_TEST_RMA_ROWS_H */
