/*
 * The inside of the engine.
 */
#ifndef PCOLL_SIM_ENGINE_STATE_H
#define PCOLL_SIM_ENGINE_STATE_H

#include "algorithms/plan/topology.h"
#include "tuning/sim/engine.h"
#include "tuning/sim/queue.h"
#include "tuning/sim/symbol.h"

struct pcoll_engine_rank {
    double finish;    /* when everything done so far in the instance is finished */
    int32_t instance; /* the running one, or the next */
    uint32_t left;    /* entries of the instance that are not done */
    int active;
};

struct pcoll_engine_counter {
    uint64_t value;
    uint32_t next; /* the step of the phase that it triggers next; PCOLL_NO_STEP: none */
};

#define PCOLL_NO_STEP UINT32_MAX

struct pcoll_engine_core {
    double free;
    int32_t last; /* the rank that it ran last */
};

struct pcoll_engine {
    const struct pcoll_job *job;
    const struct pcoll_engine_options *options;
    struct pcoll_engine_result *result;
    struct pcoll_machine node; /* the parameters inside nodes */
    double tail_G;             /* us per byte on the slowest part of a route */
    int ports, instances, nnodes;
    const struct pcoll_topology *topology; /* NULL: all ranks are on node 0 */

    struct pcoll_program program;
    struct pcoll_event_queue queue;
    struct pcoll_symbols *symbols; /* NULL: not verified */
    struct pcoll_trace *trace;     /* NULL: no trace; otherwise it owns the program */
    struct pcoll_engine_rank *ranks;
    struct pcoll_engine_counter *counters;
    struct pcoll_engine_core *cores; /* one for each rank, or those of the nodes */
    int32_t *core_of;                /* NULL: each rank has a core of its own */
    double *out, *in;                /* [nnodes * ports]: the time at which a port is free */
    double *links;
    uint32_t cause; /* ticket of the current event */
    uint64_t random;
    int wrong; /* a wrong result has been reported */
};

/* engine.c */
void pcoll_engine_gain(struct pcoll_engine *e, int rank, int counter, uint64_t add, double now);
void pcoll_engine_entry_done(struct pcoll_engine *e, int rank, uint32_t kind, double when);

/* Occupy the rank's processor for that long; returns the time at which this begins. */
double pcoll_engine_occupy(struct pcoll_engine *e, int rank, double busy, double now);

/* engine_fire.c: fire a step of the running instance; complete a step on this rank. */
void pcoll_engine_fire(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                       double now);
void pcoll_engine_done(struct pcoll_engine *e, const struct pcoll_event *event);

/* engine_wire.c: a message requests its sender's port at event->time. */
void pcoll_engine_inject(struct pcoll_engine *e, const struct pcoll_event *event);
void pcoll_engine_hop(struct pcoll_engine *e, const struct pcoll_event *event);
void pcoll_engine_arrive(struct pcoll_engine *e, const struct pcoll_event *event);
void pcoll_engine_land(struct pcoll_engine *e, const struct pcoll_event *event);

static inline int pcoll_engine_node(const struct pcoll_engine *e, int rank)
{
    return pcoll_topology_node(e->topology, rank);
}

static inline struct pcoll_engine_core *pcoll_engine_core(const struct pcoll_engine *e, int rank)
{
    return &e->cores[e->core_of ? e->core_of[rank] : rank];
}

static inline const struct pcoll_kind *pcoll_engine_kind(const struct pcoll_engine *e,
                                                         uint32_t kind)
{
    return pcoll_kind_at(&e->program, kind);
}

/* True if the entry touches a peer's user memory. */
static inline int pcoll_engine_is_user(const struct pcoll_kind *kind)
{
    return pcoll_kind_remote(kind) == PCOLL_SEND || pcoll_kind_remote(kind) == PCOLL_RECV;
}

static inline double pcoll_later(double a, double b)
{
    return a > b ? a : b;
}

#endif /* PCOLL_SIM_ENGINE_STATE_H */
