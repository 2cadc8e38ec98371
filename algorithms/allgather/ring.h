/*
 * What the plans of an allgather around a ring and their cost have in common.
 */
#ifndef PCOLL_ALLGATHER_RING_H
#define PCOLL_ALLGATHER_RING_H

#include "algorithms/shape/blocks.h"

/* Of a segment of the own block, which is copied and sent: it fits a level-2 cache. */
#define PCOLL_ALLGATHER_RING_OWN (UINT64_C(512) << 10)

/* The number of segments in the lane of a team's block, which has so many bytes, perhaps none: at
 * least 1. */
uint64_t pcoll_allgather_ring_nsegments(const struct pcoll_signature *signature,
                                        const struct pcoll_params *params, uint64_t bytes);

/* The same of a team, and of all teams together. */
uint64_t pcoll_allgather_ring_nsegments_of(const struct pcoll_blocks *blocks,
                                           const struct pcoll_params *params, int team);
uint64_t pcoll_allgather_ring_nsegments_of_all(const struct pcoll_blocks *blocks,
                                               const struct pcoll_params *params);

/* The number of parts of the own block of `block` bytes in step 0 of a flat ring, if it is one
 * segment; 0: it moves at once. */
uint64_t pcoll_allgather_ring_nown(const struct pcoll_signature *signature,
                                   const struct pcoll_params *params, uint64_t block);

static inline int pcoll_allgather_ring_is_user(const struct pcoll_params *params)
{
    return params->path != PCOLL_PATH_TEMP;
}

/* For pcoll_algorithm.cost. */
double pcoll_allgather_ring_cost(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params,
                                 const struct pcoll_machine *machine);

#endif /* PCOLL_ALLGATHER_RING_H */
