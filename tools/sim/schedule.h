/*
 * The send and receive formulation of a plan: what one rank would do with two-sided messages.
 *
 * Every message of the first instance becomes a send at one rank and a receive at the other: one
 * for a PUT or ADD, three for a GET (request, answer, signal), one for a COPY that signals.
 * Thresholds become edges: an entry needs every signal without which it would not fire, that is, if
 * this signal and everything behind it in an ordered plan were held back and everything else
 * arrived. The code checks that these edges suffice: counters that count "any k of n" have no such
 * form.
 *
 *      tank of a butterfly of 8: signals 4, 2, 1;  threshold 6 needs 4 (3 < 6) and 2 (5 < 6), not 1
 */
#ifndef PCOLL_SIM_SCHEDULE_H
#define PCOLL_SIM_SCHEDULE_H

#include <stdbool.h>

#include "algorithms/plan/plan.h"

enum pcoll_schedule_type { PCOLL_SCHEDULE_SEND, PCOLL_SCHEDULE_RECV, PCOLL_SCHEDULE_CALC };

struct pcoll_schedule_op {
    enum pcoll_schedule_type type;
    int peer, rail;
    int tag; /* distinguishes what one rank sends to another */
    uint64_t bytes;
    bool is_data; /* the bytes belong to the collective's message; always true for a barrier */
    int nneeds, first_need;
};

struct pcoll_schedule {
    int nops;
    struct pcoll_schedule_op *ops;
    int nneeds;
    int *needs; /* operations that must complete first */
};

/* The schedule of the rank of `own`; others[0 .. nothers) must include the plans of all ranks that
 * touch it. PCOLL_UNSUPPORTED: a threshold has no such form. */
enum pcoll_result pcoll_schedule_create(const struct pcoll_plan *own,
                                        struct pcoll_plan *const *others, int nothers,
                                        struct pcoll_schedule *schedule) PCOLL_MUST_CHECK;
void pcoll_schedule_destroy(struct pcoll_schedule *schedule);

#endif /* PCOLL_SIM_SCHEDULE_H */
