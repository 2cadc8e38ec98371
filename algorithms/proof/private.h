/*
 * Declarations shared by the files of the plan check, not for use elsewhere: proof/check.c (form,
 * and the sequence of all checks), proof/shared.c (messages), proof/order.c (which event must
 * precede which), proof/flow.c (hazards) and proof/meaning.c (what the collective means).
 */
#ifndef PCOLL_PLAN_CHECK_PRIVATE_H
#define PCOLL_PLAN_CHECK_PRIVATE_H

#include <stdbool.h>

#include "algorithms/proof/check.h"

struct pcoll_check {
    struct pcoll_plan *const *plans;
    int nranks, nphases;
    FILE *why; /* may be NULL */
};

/* Write the line that says what is wrong and return PCOLL_ERR_INVALID. `phase` and `entry` (index
 * in the plan) may be PCOLL_NONE. */
enum pcoll_result pcoll_check_fail(const struct pcoll_check *check, int rank, int phase, int entry,
                                   const char *format, ...)
    __attribute__((format(printf, 5, 6), warn_unused_result));

const char *pcoll_check_buffer_name(enum pcoll_buffer buffer);

/* Returns whether that byte holds user input: SEND, and in place also that part of RECV. */
bool pcoll_check_is_input(const struct pcoll_check *check, int rank, enum pcoll_buffer buffer,
                          uint64_t at);
/* The same place under one name: in place, SEND is a part of RECV. */
struct pcoll_place pcoll_check_place(const struct pcoll_check *check, int rank,
                                     struct pcoll_place place);
struct pcoll_span pcoll_check_input_in_recv(const struct pcoll_check *check, int rank);

/* A point in the run of a rank. An entry's effects on its own rank, and every read, begin and end
 * at FIRE. The data of a put has landed, and a peer's counter has been raised, by ARRIVE. */
struct pcoll_order_event {
    enum { PCOLL_START, PCOLL_COMPLETE, PCOLL_FIRE, PCOLL_ARRIVE } kind;
    int rank, instance;
    int entry; /* index in the plan; for FIRE and ARRIVE only */
};

/* The order in which events can happen; the plans must have passed the form check. */
struct pcoll_order;

enum pcoll_result pcoll_order_create(const struct pcoll_check *check,
                                     struct pcoll_order **order_p) PCOLL_MUST_CHECK;
void pcoll_order_destroy(struct pcoll_order *order);

/* Checks that all ranks complete if each starts 1, 2 .. nphases instances and no more. */
enum pcoll_result pcoll_order_check_live(struct pcoll_order *order) PCOLL_MUST_CHECK;

/* Returns whether `later` is impossible before `earlier` has happened. earlier.instance < nphases,
 * as it stands for the same event in all cycles; later.instance < 2 * nphases. After a failed
 * allocation the answer is false, and pcoll_order_failed reports it. */
bool pcoll_order_before(struct pcoll_order *order, struct pcoll_order_event earlier,
                        struct pcoll_order_event later);
bool pcoll_order_failed(const struct pcoll_order *order);

/* A range of bytes that an entry reads or writes. In place, SEND is named as a part of RECV. */
struct pcoll_access {
    int owner; /* the rank that has the memory */
    enum pcoll_buffer buffer;
    uint64_t first, end; /* bytes [first, end) */
    bool is_write;
    int rank, phase, entry;                /* the entry that makes the access */
    struct pcoll_order_event begins, ends; /* in cycle 0 */
};

/* All accesses of one cycle; those to one buffer are adjacent. */
struct pcoll_flow {
    const struct pcoll_check *check;
    struct pcoll_order *order;
    int naccesses;
    struct pcoll_access *accesses;
    int *first; /* [nranks * PCOLL_NUM_BUFFERS + 1], see pcoll_flow_buffer */
};

/* Returns whether access a ends before b begins, both in their instance of cycle 0. */
bool pcoll_flow_before(const struct pcoll_flow *flow, const struct pcoll_access *a,
                       const struct pcoll_access *b);

/* The accesses to one buffer; returns their number. */
int pcoll_flow_buffer(const struct pcoll_flow *flow, int owner, enum pcoll_buffer buffer,
                      const struct pcoll_access **accesses_p);

/* Collect the accesses; whatever the result, fini follows. */
enum pcoll_result pcoll_flow_init(struct pcoll_flow *flow, const struct pcoll_check *check,
                                  struct pcoll_order *order) PCOLL_MUST_CHECK;
void pcoll_flow_fini(struct pcoll_flow *flow);

/* Check that there are no hazards. */
enum pcoll_result pcoll_flow_check(const struct pcoll_flow *flow) PCOLL_MUST_CHECK;

/* Check that the plans achieve what the collective means; the accesses must be free of hazards. */
enum pcoll_result pcoll_meaning_check(const struct pcoll_flow *flow) PCOLL_MUST_CHECK;

#endif /* PCOLL_PLAN_CHECK_PRIVATE_H */
