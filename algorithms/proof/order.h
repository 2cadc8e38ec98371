/*
 * The state of order.c, which order_create.c makes; not for use elsewhere.
 */
#ifndef PCOLL_PROOF_ORDER_H
#define PCOLL_PROOF_ORDER_H

#include "algorithms/proof/private.h"

/* The state of all ranks in a run. */
struct pcoll_order_run {
    const struct pcoll_order_event *held; /* may be NULL */
    int limit;                            /* instances that a rank may start */
    int is_endless;                       /* a rank at the limit runs forever */
    uint64_t *seen;                       /* one bit for each event of cycles 0 and 1; may be
                                           * NULL */
    int *instance, *left; /* [rank]: -1 before the first start; number of entries still to fire */
    int64_t *value;       /* [counter] */
    int *next;            /* [counter]: its next entry in the current phase */
    int *risen, nrisen;   /* counters to examine, each at most once */
    char *is_risen;
    int *idle, nidle; /* ranks to start */
};

/* The counters of all ranks have consecutive numbers. */
struct pcoll_order {
    const struct pcoll_check *check;
    int nevents;       /* in a cycle */
    int *event_base;   /* [rank * nphases + phase] */
    int *counter_base; /* [rank] */
    int *counter_rank;
    int *group_base; /* [rank * nphases + phase]: offset in groups */
    int *groups;     /* [group base + counter + 1]: first entry of that trigger */
    uint64_t **rows; /* [event of cycle 0]: what happens without it; NULL: not run yet */
    int failed;
    void *owned[16]; /* allocated by array() */
    int nowned;
    struct pcoll_order_run run;
};

static inline const struct pcoll_plan *pcoll_order_plan(const struct pcoll_order *order, int rank)
{
    return order->check->plans[rank];
}

#endif /* PCOLL_PROOF_ORDER_H */
