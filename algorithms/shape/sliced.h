/*
 * Reduce in slices and give every result to the ranks that receive it: all of them, or the root.
 *
 * Idea: the vectors are cut into N slices, and rank j reduces slice j (slices.h). There are two
 * forms of the second half:
 *
 *   temp   the result goes into the communication buffer; its owner tells all ranks, and receivers
 *          get it from there.
 *   user   the result goes into RECV of every receiver, put by its owner. A peer whose operand has
 *          arrived has started and, in place, has no more use for it.
 *
 * Long vectors go in segments, one after the other, through alternating counters.
 *
 * Condition: an operand of (a segment of) k + 1 is put by a rank that has been told by all owners
 * of their results of k, so these have reduced k and its memory is free: one bank of TEMP is
 * enough. Ranks that do not receive are told, too. A result cannot be told or overwritten before
 * all ranks have put their operands. An operand of k + 1 may overtake a result of k, which form
 * user must not miss; one of k + 2 cannot, so there are two counters.
 */
#ifndef PCOLL_SLICED_H
#define PCOLL_SLICED_H

#include <stdbool.h>

#include "algorithms/shape/slices.h"

/* As pcoll_algorithm.generate. Form user if params->path says so. */
enum pcoll_result pcoll_sliced_generate(struct pcoll_plan *plan,
                                        const struct pcoll_params *params) PCOLL_MUST_CHECK;

uint64_t pcoll_sliced_temp_bytes(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params);

static inline bool pcoll_sliced_is_user(const struct pcoll_params *params)
{
    return params->path == PCOLL_PATH_USER;
}

#endif /* PCOLL_SLICED_H */
