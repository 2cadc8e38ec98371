/*
 * What edges cost where some of them lead to other nodes and others stay within nodes of several
 * ranks, which share a port.
 */
#ifndef PCOLL_CROSSING_H
#define PCOLL_CROSSING_H

#include "algorithms/algorithm.h"

/* signature->crossing, or roughly that of uniform edges, from a few ranks of one node, without
 * `temp`. All 0 if there can be no pairs of nodes. */
struct pcoll_crossing pcoll_crossing_of(const struct pcoll_signature *signature);

/* The cost of direct, and of aggregate if edges share messages. */
double pcoll_crossing_direct(const struct pcoll_signature *signature,
                             const struct pcoll_params *params,
                             const struct pcoll_machine *machine);
double pcoll_crossing_shared(const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine);

/* The time for each byte that a rank reads from SEND or writes to RECV itself. */
double pcoll_edges_per_byte(const struct pcoll_signature *signature,
                            const struct pcoll_machine *machine);

#endif /* PCOLL_CROSSING_H */
