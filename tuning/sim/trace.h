/*
 * What happened in a run, entry by entry, to be drawn.
 *
 * Each entry of a plan fires once in each instance of its phase.  That is a *firing*; there is room
 * for all of them before the run begins, so that noting one cannot fail.
 */
#ifndef PCOLL_SIM_TRACE_H
#define PCOLL_SIM_TRACE_H

#include "tuning/sim/program.h"

/* More are no picture, and slow in a browser. */
enum { PCOLL_TRACE_RANKS = 4096, PCOLL_TRACE_FIRINGS = 100000 };

struct pcoll_firing {
    int32_t rank, instance;
    uint32_t step;     /* of the program */
    int32_t index;     /* of its entry in the phase */
    double triggered;  /* us: its counter had reached the threshold */
    double begin, end; /* what the processor did for it */
    double sent;       /* its message got the port; negative: it needed none */
    double done;       /* it was done: of a put, the last byte had left */
    double seen;       /* the peer had its data and signal; negative: there was none for it */
};

/* An instance of a rank, from its start until all was done; until `ready` the processor was busy
 * with starting it. */
struct pcoll_instance {
    double begin, ready, end;
};

struct pcoll_trace {
    struct pcoll_program program; /* in which each step has a kind of its own */
    int instances;
    uint64_t nfirings;
    struct pcoll_firing *firings; /* by rank, instance, entry */
    struct pcoll_instance *spans; /* [nranks * instances] */
    uint64_t *first;              /* [nranks * instances + 1]: firing of each */
    int32_t *running;             /* [nranks]: instance */
    uint32_t *seen;               /* how often, of each step */
};

/* Room for a run of `program`, which then belongs to the trace.  On failure it does not.
 * PCOLL_ERR_INVALID: it is too large, and `why` was told. */
enum pcoll_result pcoll_trace_create(const struct pcoll_program *program, int instances, FILE *why,
                                     struct pcoll_trace *trace) PCOLL_MUST_CHECK;
void pcoll_trace_destroy(struct pcoll_trace *trace);

/* What the engine notes of a rank: its next instance begins, and the processor is busy with it
 * until `ready`; it is complete. */
void pcoll_trace_start(struct pcoll_trace *trace, int rank, double begin, double ready);
void pcoll_trace_complete(struct pcoll_trace *trace, int rank, double now);

/* ... of an entry of the instance that runs: it was triggered; the processor worked for it; its
 * message got a port; it was done. */
void pcoll_trace_fire(struct pcoll_trace *trace, int rank, uint32_t kind, double now);
void pcoll_trace_work(struct pcoll_trace *trace, int rank, uint32_t kind, double begin, double end);
void pcoll_trace_send(struct pcoll_trace *trace, int rank, uint32_t kind, double when);
void pcoll_trace_done(struct pcoll_trace *trace, int rank, uint32_t kind, double when);

/* ... of an entry of any instance: the peer saw it.  Messages of one entry stay in order, so the
 * n-th that is seen is that of its n-th firing. */
void pcoll_trace_see(struct pcoll_trace *trace, int rank, uint32_t kind, double when);

/* Of a firing: what its entry does, to whom, and its threshold in that cycle. */
const struct pcoll_kind *pcoll_firing_kind(const struct pcoll_trace *trace,
                                           const struct pcoll_firing *firing);
int pcoll_firing_peer(const struct pcoll_trace *trace, const struct pcoll_firing *firing);
uint64_t pcoll_firing_threshold(const struct pcoll_trace *trace, const struct pcoll_firing *firing);

#endif /* PCOLL_SIM_TRACE_H */
