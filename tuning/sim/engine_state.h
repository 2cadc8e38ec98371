/*
 * The state of a run, and what wire.c does with it. Private to engine.c and wire.c: the engine
 * fires entries and gives their messages to the wire, which queues what follows and calls nothing
 * of the engine.
 */
#ifndef PCOLL_ENGINE_STATE_H
#define PCOLL_ENGINE_STATE_H

#include "algorithms/cost.h"
#include "algorithms/plan/topology.h"
#include "tuning/sim/engine.h"
#include "tuning/sim/queue.h"
#include "tuning/sim/symbol.h"

struct pcoll_engine_rank {
    double finish;    /* when everything done so far in the instance is finished */
    double seen;      /* when its last signal to a rank of its node has been seen */
    int32_t instance; /* the running one, or the next */
    uint32_t left;    /* entries of the instance that are not done */
    bool active;
};

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
    uint32_t cause; /* sequence of the current event */
    uint64_t random;
    bool wrong; /* a wrong result has been reported */
};

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
static inline bool pcoll_engine_is_user(const struct pcoll_kind *kind)
{
    return pcoll_kind_remote(kind) == PCOLL_SEND || pcoll_kind_remote(kind) == PCOLL_RECV;
}

/* ---- wire.c: processors, ends of entries, and messages between nodes ---- */

/* A random number in [0, 1). */
double pcoll_engine_draw(struct pcoll_engine *e);

/* Occupy the rank's processor for that long; returns the time at which this begins. */
double pcoll_engine_occupy(struct pcoll_engine *e, int rank, double busy, double now);

/* An event of a rank alone. */
void pcoll_engine_schedule(struct pcoll_engine *e, enum pcoll_event_type type, int rank,
                           double time);

/* The entry is done; after the last one, the instance completes. */
void pcoll_engine_entry_done(struct pcoll_engine *e, int rank, uint32_t kind, double when);

/* A message requests its sender's port at event->time; its head passes a link; it reaches the port
 * of its receiver. True if it lands at once, which *event then is. */
void pcoll_engine_inject(struct pcoll_engine *e, const struct pcoll_event *event);
void pcoll_engine_hop(struct pcoll_engine *e, const struct pcoll_event *event);
bool pcoll_engine_arrive(struct pcoll_engine *e, struct pcoll_event *event);

#endif /* PCOLL_ENGINE_STATE_H */
