/*
 * Plans whose REDUCEs have wrong operands: exchanged, left out, doubled, displaced. Both the
 * explorer and the proof must refuse them; the proof also where the operator commutes and only the
 * association of operands differs.
 */
#ifndef PCOLL_TEST_OPERANDS_H
#define PCOLL_TEST_OPERANDS_H

#include "test/unit/job.h"

struct operands_tally {
    int mutants, failures; /* failures: accepted, or not run */
    int refused;
};

/* Makes the plans of a reduction with each operand wrong in turn, and adds to the tally. The job is
 * not made before, nor after. */
void operands_run(struct job *job, struct operands_tally *tally);

#endif /* PCOLL_TEST_OPERANDS_H */
