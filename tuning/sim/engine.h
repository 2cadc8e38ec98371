/*
 * Discrete-event simulation of the plans of a whole job under LogGP.
 *
 * The model, with the parameters of struct pcoll_machine (s: bytes, rma: only if user memory of a
 * peer is touched):
 *
 *   processor   Each rank has one.  It fires entries one after the other, those triggered first
 *               first: o + rma each, a COPY o + s copy, and `call` at each start.  With fewer
 *               cores than ranks in a node, member i runs on core i mod cores, and a core that
 *               turns to another rank needs `turn` for that; who waits needs its turn too.
 *   in a node   (parameters of machine.node) the processor moves the bytes: o + rma + s G, or
 *               o + s copy where the peer's communication buffers are touched, g at least.  The
 *               signal is seen L later.
 *   ports       A node has `ports` of them; rail r uses number r mod ports.  Out: a message holds
 *               the port for rma + g + (s - 1) G.  In: g + (s - 1) G.  All ranks of a node share
 *               them, in the order of asking.
 *   a put       The head leaves o + rma after it got the port, comes L (and the hops of the
 *               network) later to the port of the receiver, and is all there (s - 1) G after it
 *               got that: o + rma + L + (s - 1) G on idle ports.
 *   a get       A message without bytes to the peer, whose port answers without its processor; o +
 *               rma + 2 L + (s - 1) G on idle ports.  Its signal is a further message.
 *   host        In the host-driven form, that of LogGOPSim, a message leaves when both port and
 *               processor are free; what arrives takes the processor of the receiver for o +
 *               (s - 1) G, and so do request and answer of a get; a put is done when it was fired.
 *               Who has waited longest for a processor goes first.
 *
 * `done` of a put is when the last byte has left, of a get when it has come.  Messages of one rank
 * to one peer on one rail stay in order, so ordered plans run as they must.
 *
 * Ranks start together, or up to `skew` late, at random; every firing is late by an exponentially
 * distributed time of mean `noise`.  Equal seeds give equal runs.
 */
#ifndef PCOLL_SIM_ENGINE_H
#define PCOLL_SIM_ENGINE_H

#include "tuning/sim/network.h"
#include "tuning/sim/trace.h"

struct pcoll_engine_options {
    struct pcoll_machine machine;
    struct pcoll_network network;
    int ports;                 /* of a node; 0: 1 */
    int host_driven;           /* receivers pay too */
    int instances;             /* that each rank runs, one after another; 0: 1 */
    double skew, noise;        /* us */
    uint64_t seed;             /* of both */
    int verify;                /* move symbolic data, see symbol.h */
    uint64_t most_memory;      /* bytes for the steps of all ranks; 0: any */
    FILE *why;                 /* one line when it goes wrong; NULL: none */
    struct pcoll_trace *trace; /* filled if the run comes to its end; NULL: none */
};

struct pcoll_engine_result {
    double first;             /* us from 0 until the last rank has completed its first instance */
    double last;              /* ... its last instance */
    double earliest;          /* until the first rank has completed its first instance */
    uint64_t messages, bytes; /* to other ranks, all instances */
    uint64_t wire_messages, wire_bytes; /* of these, to other nodes */
    uint64_t entries, events;           /* of all ranks and instances; of the simulation */
    double waited;                      /* us that heads waited for links, all together */
    struct pcoll_account most;          /* of each kind, of any rank, over one cycle */
    uint64_t kinds;                     /* different ones among all entries */
};

/* PCOLL_ERR_INVALID: options that do not fit, a deadlock, or a wrong result; PCOLL_ERR_NOMEM: also
 * when the steps exceed most_memory; else as pcoll_generate.  After PCOLL_OK the caller destroys
 * options->trace. */
enum pcoll_result pcoll_engine_run(const struct pcoll_job *job,
                                   const struct pcoll_engine_options *options,
                                   struct pcoll_engine_result *result) PCOLL_MUST_CHECK;

/* Time from one completion to the next when instances follow each other. */
static inline double pcoll_engine_period(const struct pcoll_engine_result *result, int instances)
{
    return instances > 1 ? (result->last - result->first) / (instances - 1) : result->first;
}

#endif /* PCOLL_SIM_ENGINE_H */
