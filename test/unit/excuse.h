/*
 * The reasons of test/tables/excuses.tsv why mutants are right all the same; that file says what
 * its columns mean.
 */
#ifndef PCOLL_TEST_EXCUSE_H
#define PCOLL_TEST_EXCUSE_H

#include "test/unit/mutant.h"

enum excuse_condition {
    EXCUSE_CUT = 1,
    EXCUSE_GATED = 2,
    EXCUSE_LOWERED = 4,
    EXCUSE_PIPELINED = 8,
    EXCUSE_IDLE = 16,
    EXCUSE_UNEQUAL = 32,
    EXCUSE_LANES = 64,
    EXCUSE_EDGES = 128,
    EXCUSE_BANKS = 256,
};

/* A line of the file. Fields that are 0, and a collective PCOLL_NONE, match everything. */
struct excuse {
    enum mutant_kind kind;
    int coll;
    const char *algorithm;
    unsigned ops, paths; /* bits */
    unsigned conditions; /* of enum excuse_condition, all of which must hold */
    int max_ranks;
    uint64_t threshold; /* of the entry */
    const char *reason;
};

/* Excuse number i, counted from 0; NULL: there are no more. The first call reads the file; the
 * program ends if that fails. */
const struct excuse *excuse_number(int i);

#endif /* PCOLL_TEST_EXCUSE_H */
