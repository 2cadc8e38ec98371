/* Segments and lanes of a message; the contract is in shape/segment.h. */
#include "algorithms/shape/segment.h"

uint64_t pcoll_segment_count(uint64_t bytes, uint64_t segment, uint64_t fallback)
{
    uint64_t n = pcoll_quotient(bytes - 1, segment ? segment : fallback) + 1;

    return n < PCOLL_MAX_SEGMENTS ? n : PCOLL_MAX_SEGMENTS;
}

int pcoll_lanes(const struct pcoll_params *params, uint64_t bytes)
{
    uint64_t max = params->rails > 1 ? (uint64_t)params->rails : 1;

    return (int)(max < bytes ? max : bytes);
}

void pcoll_lane_rail(struct pcoll_plan *plan, int first, int rail)
{
    for (int i = first; i < plan->nentries; i++)
        plan->entries[i].rail = rail;
}
