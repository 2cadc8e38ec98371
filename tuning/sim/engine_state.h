/*
 * The state of a run, and what wire.c and within.c do with it, private to these and engine.c: the
 * engine fires entries and gives their messages to the wire, which queues what follows, and asks
 * when their processors have moved the bytes within a node. Neither calls anything of the engine.
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

struct pcoll_engine_counter {
    uint64_t value;
    uint32_t next;    /* the step of the phase that it triggers next; PCOLL_NO_STEP: none */
    int32_t signaler; /* the rank of the node that signals it last */
    double signaled;  /* when the counter gets that signal; 0: none has been sent */
};

#define PCOLL_NO_STEP UINT32_MAX

struct pcoll_engine_core {
    double free;
    int32_t last;                   /* the rank that it ran last */
    uint32_t first_task, last_task; /* numbers in `tasks`, from 1; 0: none */
};

/* An entry that waits for its core. */
struct pcoll_engine_task {
    struct pcoll_sim_step step;
    int32_t rank;
    uint32_t next; /* also of the list of unused tasks */
};

struct pcoll_engine_domain {
    double free, link_free;
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

    /* What processors wait for in a node; with any of it, entries wait for their core. */
    bool is_shared;
    struct pcoll_engine_domain *domains; /* [nnodes * domains of a node]; NULL: no levels */
    double saturated[PCOLL_SIM_LEVELS];  /* that of the levels, unless caches hold the data */
    double *locks;                       /* [nranks * PCOLL_ENGINE_LOCKS]; NULL: none */
    struct pcoll_engine_task *tasks;
    uint32_t ntasks, tasks_room, unused_task;

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

/* True if the entry moves a peer's user memory, which is not mapped. */
static inline bool pcoll_engine_is_user(const struct pcoll_engine *e, const struct pcoll_kind *kind)
{
    return (kind->op == PCOLL_OP_PUT || kind->op == PCOLL_OP_GET) && !e->job->algorithm->must_map &&
           (pcoll_kind_remote(kind) == PCOLL_SEND || pcoll_kind_remote(kind) == PCOLL_RECV);
}

/* The operands of a REDUCE, kind->peer_add of them; NULL: all are the rank's own. */
static inline const struct pcoll_operand *pcoll_engine_operands(const struct pcoll_engine *e,
                                                                const struct pcoll_kind *kind)
{
    return e->program.operands != NULL ? e->program.operands + kind->remote_at : NULL;
}

/* ---- engine_state.c ---- */

struct pcoll_engine pcoll_engine_of(const struct pcoll_job *job,
                                    const struct pcoll_engine_options *options,
                                    struct pcoll_engine_result *result);

/* Make room for a run of e->program; free all, except what a trace owns. */
enum pcoll_result pcoll_engine_allocate(struct pcoll_engine *e) PCOLL_MUST_CHECK;
void pcoll_engine_free(struct pcoll_engine *e);

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

/* ---- within.c: what ranks of a node share ---- */

/* Each locks machine.locked bytes of a process's SEND or RECV; they repeat after half of them. */
enum { PCOLL_ENGINE_LOCKS = 64 };

/* False: out of memory. */
bool pcoll_engine_share(struct pcoll_engine *e);

/* The parameters between two ranks of a node; peer PCOLL_NONE: those of the rank alone. */
const struct pcoll_machine *pcoll_engine_between(const struct pcoll_engine *e, int rank, int peer);

/* An entry begins that takes the processor `work` if nobody else is there; returns when it ends. */
double pcoll_engine_pass(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                         double begin, double work);

/* Returns whether the entry must wait for its core; then it is a task. */
bool pcoll_engine_defer(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                        double now);

/* The core of the rank takes its first task. False: it is busy again, and turns later. */
bool pcoll_engine_take(struct pcoll_engine *e, int rank, double now,
                       struct pcoll_engine_task *task_p);

/* After a task: the core turns to the next one. */
void pcoll_engine_turn(struct pcoll_engine *e, int rank, double now);

#endif /* PCOLL_ENGINE_STATE_H */
