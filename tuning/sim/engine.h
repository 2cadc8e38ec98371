/* clang-format off: the head has a table */
/*
 * Discrete-event simulation of the plans of a whole job under LogGP.
 *
 * The model, with the parameters of struct pcoll_machine (s is the size in bytes; rma applies only
 * if user memory of a peer is touched):
 *
 *   processor   Each rank has one. It fires entries one after the other, in the order in which
 *               they are triggered: each takes o + rma, a COPY o + s copy, a REDUCE of n operands
 *               o + (n - 1) s reduce, and another o for each operand of another rank, and each
 *               start takes `call`. With fewer cores than ranks in a node, member i runs on core
 *               i mod cores. A core needs `turn` to switch to another rank, and so does a waiting
 *               rank.
 *   in a node   (parameters of machine.node) The processor moves the bytes: o + rma + s G, or
 *               o + s copy if the peer's communication buffers are touched, but at least g. The
 *               signal is seen L later. If each rank has a core, a counter gets the signals of
 *               several ranks `arrival` apart, and the signals of one rank are seen in the order in
 *               which it sends them.
 *   levels      (of `inside`) The parameters between two ranks of a node are those of their level.
 *               A put, a get or an operand also goes through the domains that it leaves, the one
 *               that holds both ranks, and those that it enters: each carries one byte at a time,
 *               at `saturated`.
 *   readers     Accesses to the user memory of one process within one extent of
 *               machine.node.locked bytes take rma + s G each, and wait for each other for the
 *               part machine.node.exclusive of it; the processors wait, and use what others share
 *               only from then on.
 *   ports       A node has `ports` of them; rail r uses number r mod ports. Out: a message holds
 *               the port for rma + g + (s - 1) G. In: g + (s - 1) G. All ranks of a node share the
 *               ports, in the order in which they ask.
 *   a put       The head leaves o + rma after it gets the port, reaches the port of the receiver L
 *               (plus the hops of the network) later, and the message is complete (s - 1) G after
 *               it gets that port: o + rma + L + (s - 1) G on idle ports.
 *   a get       A message without bytes goes to the peer, whose port answers without its processor:
 *               o + rma + 2 L + (s - 1) G on idle ports. Its signal is a further message.
 *   host        In the host-driven form, that of LogGOPSim, a message leaves when both port and
 *               processor are free. An arriving message takes the processor of the receiver for
 *               o + (s - 1) G, and so do the request and the answer of a get. A put is done when
 *               it is fired. The request that has waited longest for a processor goes first.
 *
 * `done` of a put is the time at which the last byte has left, of a get the time at which it has
 * arrived. Messages of one rank to one peer on one rail stay in order, so ordered plans run
 * correctly.
 *
 * Ranks start together, or up to `skew` late, at random; every firing is late by an exponentially
 * distributed time with mean `noise`. Equal seeds give equal runs.
 */
/* clang-format on */
#ifndef PCOLL_SIM_ENGINE_H
#define PCOLL_SIM_ENGINE_H

#include "tuning/sim/network.h"
#include "tuning/sim/node.h"
#include "tuning/sim/trace.h"

struct pcoll_engine_options {
    struct pcoll_machine machine;
    struct pcoll_network network;
    struct pcoll_sim_node inside; /* the levels in each node; its `machine` is not used */
    int ports;                    /* per node; 0 means 1 */
    int host_driven;              /* receivers pay overhead, too */
    int instances;                /* that each rank runs, one after another; 0 means 1 */
    double skew, noise;           /* us */
    uint64_t seed;                /* for both */
    int verify;                   /* move symbolic data, see symbol.h */
    uint64_t max_memory;          /* bytes for the steps of all ranks; 0: unlimited */
    FILE *why;                    /* receives one line about an error; NULL: none */
    struct pcoll_trace *trace;    /* filled if the run completes; NULL: none */
};

struct pcoll_engine_result {
    double first;             /* us from 0 until the last rank has completed its first instance */
    double last;              /* the same for its last instance */
    double earliest;          /* us until the first rank has completed its first instance */
    uint64_t messages, bytes; /* sent to other ranks, over all instances */
    uint64_t wire_messages, wire_bytes; /* of these, to other nodes */
    uint64_t entries, events;           /* over all ranks and instances; of the simulation */
    double waited;                      /* us that heads waited for links, in total */
    struct pcoll_account max;           /* maximum over the ranks, over one cycle */
    uint64_t kinds;                     /* number of different kinds of entries */
};

/* PCOLL_ERR_INVALID: options that do not fit together, a deadlock, or a wrong result.
 * PCOLL_ERR_NOMEM: also if the steps exceed max_memory. Otherwise the results of pcoll_generate.
 * After PCOLL_OK the caller destroys options->trace. */
enum pcoll_result pcoll_engine_run(const struct pcoll_job *job,
                                   const struct pcoll_engine_options *options,
                                   struct pcoll_engine_result *result) PCOLL_MUST_CHECK;

/* The time from one completion to the next when instances follow each other. */
static inline double pcoll_engine_period(const struct pcoll_engine_result *result, int instances)
{
    return instances > 1 ? (result->last - result->first) / (instances - 1) : result->first;
}

#endif /* PCOLL_SIM_ENGINE_H */
