/*
 * The executor of all media whose plans this process runs: steps, queues of steps that wait for the
 * same counter, and the rest of the running phase.
 *
 * A phase is a list of queues, one for each counter that its steps wait for. Start fires the steps
 * that wait for nothing and copies the other queues to `pending`. Progress fires the steps at the
 * head of each queue whose counter has reached their thresholds, and drops empty queues. The phase
 * is complete when no queue is left and the medium has no operation in flight.
 *
 * Media differ in how they fire a step: each instantiates the loops of fire.h with a function of
 * its own.
 */
#ifndef PCOLL_RUN_H
#define PCOLL_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "offload/copy.h"
#include "offload/medium.h"
#include "offload/reduce/reduce.h"
#include "offload/run/line.h"

/* What firing a step does in addition to its signals. Kinds of the media begin at
 * PCOLL_STEP_OTHER. */
enum pcoll_step_kind {
    PCOLL_STEP_SIGNAL, /* moves nothing */
    PCOLL_STEP_COPY,   /* from memory to memory, both mapped here */
    PCOLL_STEP_REDUCE, /* of own memory: see `reduction` */
    PCOLL_STEP_REMOTE, /* the peer is on another node: the medium moves the data and signals */
    PCOLL_STEP_OTHER
};

/* An entry with all addresses resolved. */
struct pcoll_step {
    uint64_t threshold; /* absolute, for the next use; each use raises it by the gain */
    uint64_t gain;
    struct pcoll_target *done, *peer; /* NULL: none */
    uint64_t done_add, peer_add;
    int kind;
    pid_t pid; /* the process that owns memory that is not mapped here */
    union {
        struct {
            void *to;
            const void *from;
            size_t bytes;
        };
        const struct pcoll_reduction *reduction;
        void *own; /* the medium's data for a step of one of its own kinds */
    };
};

/* Steps of a phase that wait for the same counter, by ascending threshold. */
struct pcoll_queue {
    struct pcoll_line *line; /* NULL: they fire at start */
    struct pcoll_step *first, *end;
};

struct pcoll_run_phase {
    struct pcoll_queue *queues, *end; /* the queue without counter, if there is one, comes first */
};

/* A bound plan, running or not. Members that every start and poll use come first. */
struct pcoll_run {
    struct pcoll_queue *pending, *pending_end; /* the rest of the running phase */
    int phase, nphases;
    struct pcoll_run_phase *phases;

    struct pcoll_step *steps;   /* [nentries] */
    struct pcoll_queue *queues; /* of all phases, followed by room for `pending` */
    struct pcoll_target *targets;
    int ntargets;
    size_t max_targets;         /* room in `targets`: as many as the plan can name */
    _Atomic uint32_t *sleepers; /* as in a target */
    struct pcoll_reductions reductions;
};

/* Allocates the steps of the plan, its reductions with that operator, which may be NULL if it has
 * none, and as many targets as it can name. */
enum pcoll_result pcoll_run_init(struct pcoll_run *run, const struct pcoll_plan *plan,
                                 const struct pcoll_operator *op) PCOLL_MUST_CHECK;

/* Accepts what a failed init left, and a zeroed run. */
void pcoll_run_fini(struct pcoll_run *run);

/* Cut the steps, which the caller has resolved, into the queues of their phases; this rank's
 * counters are at `counters`, each `stride` bytes after the one before. */
void pcoll_run_cut(struct pcoll_run *run, const struct pcoll_plan *plan,
                   struct pcoll_line *counters, size_t stride);

/* Returns whether a step waits for a counter. */
static inline bool pcoll_run_waits(const struct pcoll_run *run)
{
    return run->pending != run->pending_end;
}

/* A number that changes when a step fires. */
uint64_t pcoll_run_position(const struct pcoll_run *run);

/* Sleep until a counter that a queue waits for moves, at most `usec`; if that is 0 or nothing is
 * pending, only yield the core. Where a signal may not wake this rank, it sleeps more briefly. */
void pcoll_run_rest(const struct pcoll_run *run, unsigned usec);

#endif /* PCOLL_RUN_H */
