/*
 * What happened in a run, entry by entry, for a picture.
 *
 * Each entry of a plan fires once in each instance of its phase. This is a *firing*. There is room
 * for all firings before the run begins, so recording one cannot fail.
 */
#ifndef PCOLL_SIM_TRACE_H
#define PCOLL_SIM_TRACE_H

#include "tuning/sim/program.h"

/* More ranks or firings are unreadable, and slow in a browser. */
enum { PCOLL_TRACE_RANKS = 4096, PCOLL_TRACE_FIRINGS = 100000 };

struct pcoll_firing {
    int32_t rank, instance;
    uint32_t step;     /* of the program */
    int32_t index;     /* of its entry in the phase */
    double triggered;  /* us: when its counter reached the threshold */
    double begin, end; /* when the processor worked for it */
    double sent;       /* when its message got the port; negative: it needed none */
    double done;       /* when it was done: for a put, when the last byte had left */
    double seen;       /* when the peer had its data and signal; negative: it sends none */
};

/* An instance of a rank, from its start until everything was done; until `ready` the processor was
 * busy starting it. */
struct pcoll_instance {
    double begin, ready, end;
};

struct pcoll_trace {
    struct pcoll_program program; /* in which each step has a kind of its own */
    int instances;
    uint64_t nfirings;
    struct pcoll_firing *firings; /* sorted by rank, instance, entry */
    struct pcoll_instance *spans; /* [nranks * instances] */
    uint64_t *first;              /* [nranks * instances + 1]: first firing of each */
    int32_t *running;             /* [nranks]: the running instance */
    uint32_t *seen;               /* [nsteps]: how often each step was seen */
};

/* Make room for a run of `program`. On success the trace owns the program, on failure it does not.
 * PCOLL_ERR_INVALID: it is too large, and `why` received a message. */
enum pcoll_result pcoll_trace_create(const struct pcoll_program *program, int instances, FILE *why,
                                     struct pcoll_trace *trace) PCOLL_MUST_CHECK;
void pcoll_trace_destroy(struct pcoll_trace *trace);

/* The engine reports about a rank: its next instance begins, and the processor is busy with it
 * until `ready`; the instance is complete. */
void pcoll_trace_start(struct pcoll_trace *trace, int rank, double begin, double ready);
void pcoll_trace_complete(struct pcoll_trace *trace, int rank, double now);

/* ... about an entry of the running instance: it was triggered; the processor worked for it; its
 * message got a port; it was done. */
void pcoll_trace_fire(struct pcoll_trace *trace, int rank, uint32_t kind, double now);
void pcoll_trace_work(struct pcoll_trace *trace, int rank, uint32_t kind, double begin, double end);
void pcoll_trace_send(struct pcoll_trace *trace, int rank, uint32_t kind, double when);
void pcoll_trace_done(struct pcoll_trace *trace, int rank, uint32_t kind, double when);

/* ... about an entry of any instance: the peer saw it. Messages of one entry stay in order, so the
 * n-th that is seen belongs to its n-th firing. */
void pcoll_trace_see(struct pcoll_trace *trace, int rank, uint32_t kind, double when);

/* The kind of a firing's entry, its peer, and its threshold in that cycle. */
const struct pcoll_kind *pcoll_firing_kind(const struct pcoll_trace *trace,
                                           const struct pcoll_firing *firing);
int pcoll_firing_peer(const struct pcoll_trace *trace, const struct pcoll_firing *firing);
uint64_t pcoll_firing_threshold(const struct pcoll_trace *trace, const struct pcoll_firing *firing);

#endif /* PCOLL_SIM_TRACE_H */
