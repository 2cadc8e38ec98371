/*
 * One rank in a run on a medium: instances of a plan with changing data, poisoned buffers,
 * random delays and no barrier, so that ranks run ahead.
 */
#ifndef PCOLL_TEST_TRIAL_H
#define PCOLL_TEST_TRIAL_H

#include <stdatomic.h>

#include "algorithms/algorithm.h"
#include "offload/medium.h"
#include "offload/reduce/operator.h"
#include "test/unit/meeting.h"
#include "test/unit/strided.h"

/* Where user memory comes from. */
struct part_source {
    unsigned char *(*get)(uint64_t bytes); /* at least one byte; NULL: there is no more */
    void (*put)(unsigned char *memory);
};

struct part {
    const struct pcoll_medium *medium;
    struct pcoll_group *group;
    struct pcoll_signature signature;
    int rank;
    unsigned seed;
    _Atomic int *starts; /* [nranks], in shared memory: how often each rank has started */
    struct pcoll_plan *plan;
    struct pcoll_bound *bound;
    unsigned char *send, *recv;
    struct pcoll_operator op; /* on bytes: a sum if the signature commutes, else a composition */
    int instance;             /* the next one */
    int active;
    int failed;  /* start or progress has returned an error */
    int in_heap; /* set by the caller: `send` and `recv` lie in the heap, at odd places */
    const struct part_source *source; /* set by the caller: they come from here; NULL: elsewhere */
    int loads; /* set by the caller: of a medium with PCOLL_LOADS, all ranks may map the memory */
    int has_layouts; /* set by the caller: `send` and `recv` are copies of these: */
    struct strided strided_send[2], strided_recv[2]; /* before and after a move, in turn */
    int turn;
};

/* Generate the plan and allocate the buffers; the caller has set the fields above `plan`. The
 * operator commutes if it must. The plan is lowered for a medium without weights. PCOLL_UNSUPPORTED
 * if the medium cannot run it, or not with layouts. */
enum pcoll_result part_init(struct part *p, const struct pcoll_algorithm *row,
                            const struct pcoll_params *params) PCOLL_MUST_CHECK;
void part_fini(struct part *p);
/* Allocate the buffers, which part_init does, too. */
enum pcoll_result part_get_memory(struct part *p) PCOLL_MUST_CHECK;
/* Free the buffers alone, perhaps while a plan is bound, which must not be started any more. */
void part_free_memory(struct part *p);

/* Collective: allocate others for an inactive plan that the medium can move, and free the old ones.
 */
enum pcoll_result part_move(struct part *p) PCOLL_MUST_CHECK;

enum pcoll_result part_bind(struct part *p) PCOLL_MUST_CHECK; /* also resets the instance to 0 */
void part_unbind(struct part *p);

/* part_start starts the next instance, part_wait waits for it; both return nonzero if something
 * went wrong. */
int part_start(struct part *p);
int part_wait(struct part *p);

/* Between instances the memory is the rank's: returns 0 if somebody writes into `recv`. */
int part_is_untouched(const struct part *p);

/* Run that many instances, one after another, or until one fails: after wrong data the rank goes
 * on, since others wait for it. */
int part_run(struct part *p, int instances);

/* What all ranks of a trial do together: make a group of their medium, generate the plan, exercise,
 * and leave. `exercise` returns nonzero if something went wrong. */
struct part_frame {
    struct meeting *meeting;
    const struct pcoll_bootstrap *bootstrap;
    const struct pcoll_algorithm *row;
    const struct pcoll_params *params;
    int (*exercise)(struct part *p, const struct part_frame *frame);
    const void *setup; /* the test's own */
};

/* The caller has set the fields of `p` above `plan`, except the group. Returns what `exercise`
 * returns, or 0 if the medium cannot run the plan. */
int part_perform(struct part *p, const struct part_frame *frame);

#endif /* PCOLL_TEST_TRIAL_H */
