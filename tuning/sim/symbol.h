/*
 * Symbolic data: which bytes of whose message lie where.
 *
 * A buffer is a list of extents, each of which says: here lie these bytes of the message of that
 * instance.  The message is what all ranks send, in a row, so in a correct run of a broadcast or an
 * allgather the extents of RECV grow together to one, and a rank needs a few of them however long
 * the message is.  Where the collective only synchronizes, every signal carries the ranks whose
 * start its sender knows of, ranges of ranks likewise; a rank that completes must know of all.
 * That proves this run, not all runs: proof/check.h does that for small jobs.
 */
#ifndef PCOLL_SIM_SYMBOL_H
#define PCOLL_SIM_SYMBOL_H

#include "algorithms/plan/plan.h"

struct pcoll_symbols;

enum pcoll_result pcoll_symbols_create(const struct pcoll_signature *signature,
                                       struct pcoll_symbols **symbols_p) PCOLL_MUST_CHECK;
void pcoll_symbols_destroy(struct pcoll_symbols *symbols);

/* The rank starts an instance: SEND holds its message, RECV nothing. */
void pcoll_symbols_start(struct pcoll_symbols *symbols, int rank, int instance);

/* What lies there, to be carried away; 0: nothing (or no memory).  Of a collective that
 * synchronizes, what the rank knows, whatever the place. */
uint32_t pcoll_symbols_read(struct pcoll_symbols *symbols, int rank, struct pcoll_place place,
                            uint64_t bytes);

/* Put it there, or learn it.  Ends the load. */
void pcoll_symbols_write(struct pcoll_symbols *symbols, int rank, struct pcoll_place place,
                         uint64_t bytes, uint32_t load);

/* Is the result of the rank's instance there? */
int pcoll_symbols_complete(const struct pcoll_symbols *symbols, int rank, int instance);

/* Memory ran out: nothing is proved. */
int pcoll_symbols_failed(const struct pcoll_symbols *symbols);

#endif /* PCOLL_SIM_SYMBOL_H */
