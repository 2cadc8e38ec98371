/*
 * Probes: plans of two ranks that measure a medium, in the three ways of Endo, "Design and
 * implementation of a distributed shared memory library cooperating with distributed thread
 * scheduler" (master's thesis, The University of Tokyo, 2017), section 4.6.
 *
 *   post and wait         ping: rank 0 and 1 answer each other n times
 *   post alone            stream, the time that start takes
 *   post without waiting  stream: rank 0 fires n entries at once, each at a counter of its own, as
 *                         if they went to n ranks; rank 1 answers the last
 *
 *      ping, n = 2      0 -> 1 -> 0 -> 1 -> 0
 *      stream, n = 3    0 => 1 -> 0
 *
 * A probe is a row like that of an algorithm: it has a signature, generates the plan of a rank, and
 * can be lowered and proved. params.radix is n; signature.bytes is the size that each entry moves.
 *
 * Condition: rank 0 completes with the last answer of rank 1, which fires nothing after it, so one
 * phase is enough. Signals of the next instance may arrive while rank 1 still waits for an
 * overtaken one: they fire nothing before rank 1 has started that instance. The moved data does not
 * matter.
 */
#ifndef PCOLL_PROBES_H
#define PCOLL_PROBES_H

#include "algorithms/algorithm.h"

/* A probe moves nothing (signature: a barrier), or SEND of one rank to RECV of the other, or goes
 * through TEMP of the other, which copies it to RECV before it answers (signature: an
 * allgather). */
enum probe {
    PROBE_PING,
    PROBE_STREAM,
    PROBE_PING_PUT,
    PROBE_STREAM_PUT,
    PROBE_STREAM_GET,
    PROBE_PING_COPY,
    NUM_PROBES
};

extern const struct pcoll_algorithm probe_rows[NUM_PROBES];

#endif /* PCOLL_PROBES_H */
