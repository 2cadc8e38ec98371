/*
 * Inside the engine.
 */
#ifndef PCOLL_SIM_ENGINE_STATE_H
#define PCOLL_SIM_ENGINE_STATE_H

#include "tuning/sim/engine.h"
#include "tuning/sim/queue.h"
#include "tuning/sim/symbol.h"

struct pcoll_engine_rank {
    double finish;    /* of what has been done of the instance */
    int32_t instance; /* running, or next */
    uint32_t left;    /* entries of it that are not done */
    int active;
};

struct pcoll_engine_counter {
    uint64_t value;
    uint32_t next; /* step of the phase that it triggers next; PCOLL_NO_STEP: none */
};

#define PCOLL_NO_STEP UINT32_MAX

struct pcoll_engine_core {
    double free;
    int32_t last; /* rank that it ran */
};

struct pcoll_engine {
    const struct pcoll_job *job;
    const struct pcoll_engine_options *options;
    struct pcoll_engine_result *result;
    struct pcoll_machine node; /* the level inside nodes */
    double tail_G;             /* per byte, of the slowest part of a way */
    int ports, instances, nnodes;
    const int *node_of; /* NULL: all ranks on node 0 */

    struct pcoll_program program;
    struct pcoll_queue queue;
    struct pcoll_symbols *symbols; /* NULL: not verified */
    struct pcoll_trace *trace;     /* NULL: nobody wants to see it; else it has the program */
    struct pcoll_engine_rank *ranks;
    struct pcoll_engine_counter *counters;
    struct pcoll_engine_core *cores; /* one for each rank, or those of the nodes */
    int32_t *core_of;                /* NULL: each rank has its own */
    double *out, *in;                /* [nnodes * ports]: when a port is free */
    double *links;
    uint32_t cause; /* ticket of the event that happens */
    uint64_t random;
    int wrong; /* a result was wrong: said so */
};

/* engine.c */
void pcoll_engine_gain(struct pcoll_engine *e, int rank, int counter, uint64_t add, double now);
void pcoll_engine_entry_done(struct pcoll_engine *e, int rank, uint32_t kind, double when);

/* The processor of the rank, for that long; returns when it begins. */
double pcoll_engine_occupy(struct pcoll_engine *e, int rank, double busy, double now);

/* engine_fire.c: fire a step of the running instance; the local end of one. */
void pcoll_engine_fire(struct pcoll_engine *e, int rank, const struct pcoll_step *step, double now);
void pcoll_engine_done(struct pcoll_engine *e, const struct pcoll_event *event);

/* engine_wire.c: a message asks for its sender's port at event->time. */
void pcoll_engine_inject(struct pcoll_engine *e, const struct pcoll_event *event);
void pcoll_engine_hop(struct pcoll_engine *e, const struct pcoll_event *event);
void pcoll_engine_arrive(struct pcoll_engine *e, const struct pcoll_event *event);
void pcoll_engine_land(struct pcoll_engine *e, const struct pcoll_event *event);

static inline int pcoll_engine_node(const struct pcoll_engine *e, int rank)
{
    return e->node_of ? e->node_of[rank] : 0;
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

/* Does the entry touch a peer's user memory? */
static inline int pcoll_engine_is_user(const struct pcoll_kind *kind)
{
    return pcoll_kind_remote(kind) == PCOLL_SEND || pcoll_kind_remote(kind) == PCOLL_RECV;
}

static inline double pcoll_later(double a, double b)
{
    return a > b ? a : b;
}

#endif /* PCOLL_SIM_ENGINE_STATE_H */
