/*
 * The send and receive formulation of a plan: what one rank would do with two-sided messages.
 *
 * Every message of the first instance becomes a send at one rank and a receive at the other: a PUT
 * or ADD one, a GET three (request, answer, signal), a COPY that signals one.  Thresholds become
 * edges: an entry needs each signal without which it would not fire, that is, not if this signal,
 * and what waits behind it in an ordered plan, were held back, and everything else came.  That
 * these suffice is checked: counters that count "any k of n" have no such form.
 *
 *      tank of a butterfly of 8: signals 4, 2, 1;  threshold 6 needs 4 (3 < 6) and 2 (5 < 6), not 1
 */
#ifndef PCOLL_SIM_SCHEDULE_H
#define PCOLL_SIM_SCHEDULE_H

#include "algorithms/plan/plan.h"

enum pcoll_schedule_type { PCOLL_SCHEDULE_SEND, PCOLL_SCHEDULE_RECV, PCOLL_SCHEDULE_CALC };

struct pcoll_schedule_op {
    enum pcoll_schedule_type type;
    int peer, rail;
    int tag; /* tells apart what one rank sends to another */
    uint64_t bytes;
    int is_data; /* the bytes belong to the message of the collective; of a barrier, always */
    int nneeds, first_need;
};

struct pcoll_schedule {
    int nops;
    struct pcoll_schedule_op *ops;
    int nneeds;
    int *needs; /* operations that must be over before */
};

/* Of the rank of `own`; others[0 .. nothers) are the plans of those who touch it, at least.
 * PCOLL_UNSUPPORTED: a threshold has no such form. */
enum pcoll_result pcoll_schedule_create(const struct pcoll_plan *own,
                                        struct pcoll_plan *const *others, int nothers,
                                        struct pcoll_schedule *schedule) PCOLL_MUST_CHECK;
void pcoll_schedule_destroy(struct pcoll_schedule *schedule);

#endif /* PCOLL_SIM_SCHEDULE_H */
