/*
 * Symbolic data: which bytes of which message lie where.
 *
 * A buffer is a list of extents. Each extent says: these bytes of the message of that instance lie
 * here. The message is what all ranks send, in a row. In a correct run of a broadcast or an
 * allgather the extents of RECV therefore merge into one, and a rank needs only a few of them for a
 * message of any length. What a REDUCE gives is known by the ranks that it reduces, which must be
 * consecutive and in order (if the operator commutes: adjacent on a circle); operands that do not
 * fit together give nothing. If the collective only synchronizes, every signal carries the ranks
 * whose start its sender knows of, as ranges of ranks; a rank that completes must know of all. This
 * proves one run, not all runs: proof/check.h does that for small jobs.
 */
#ifndef PCOLL_SIM_SYMBOL_H
#define PCOLL_SIM_SYMBOL_H

#include <stdbool.h>

#include "algorithms/plan/plan.h"

struct pcoll_symbols;

enum pcoll_result pcoll_symbols_create(const struct pcoll_signature *signature,
                                       struct pcoll_symbols **symbols_p) PCOLL_MUST_CHECK;
void pcoll_symbols_destroy(struct pcoll_symbols *symbols);

/* The rank starts an instance: SEND holds its message, RECV holds nothing. */
void pcoll_symbols_start(struct pcoll_symbols *symbols, int rank, int instance);

/* Take a load of what lies there; 0: nothing (or out of memory). If the collective synchronizes,
 * this is what the rank knows, at any place. */
uint32_t pcoll_symbols_read(struct pcoll_symbols *symbols, int rank, struct pcoll_place place,
                            uint64_t bytes);

/* The load of left * right. Destroys both; 0: out of memory. */
uint32_t pcoll_symbols_reduce(struct pcoll_symbols *symbols, uint32_t left, uint32_t right);

/* Put the load there, or learn from it. Destroys the load. */
void pcoll_symbols_write(struct pcoll_symbols *symbols, int rank, struct pcoll_place place,
                         uint64_t bytes, uint32_t load);

/* Returns whether RECV holds the result of the rank's instance. */
bool pcoll_symbols_complete(const struct pcoll_symbols *symbols, int rank, int instance);

/* Returns whether memory ran out: then nothing is proved. */
bool pcoll_symbols_failed(const struct pcoll_symbols *symbols);

#endif /* PCOLL_SIM_SYMBOL_H */
