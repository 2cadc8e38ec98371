/*
 * How a message is cut: into segments, which follow each other on one path, and lanes, which take
 * several paths at the same time.
 */
#ifndef PCOLL_SEGMENT_H
#define PCOLL_SEGMENT_H

#include <stdbool.h>

#include "algorithms/algorithm.h"
#include "algorithms/number.h"

/* Bytes [first, first + count) of a message that is cut into `nsegments` nearly equal segments. */
struct pcoll_segment {
    uint64_t first, count;
};

/* What is not cut: the unit of a signature that leaves it open is a byte. */
static inline uint64_t pcoll_unit_of(const struct pcoll_signature *signature)
{
    return signature->unit ? signature->unit : 1;
}

/* The number of segments of at most `segment` bytes (0: `fallback`) in a message of bytes > 0. It
 * does not exceed PCOLL_MAX_SEGMENTS, however small the requested segments are. */
#define PCOLL_MAX_SEGMENTS 4096
uint64_t pcoll_segment_count(uint64_t bytes, uint64_t segment, uint64_t fallback);

/* The number of banks of communication buffers that take turns, each with a counter: two, or as
 * many as `params` has slots where they are a ring of whole messages. The banks of a long ring have
 * left the caches of their readers when they are filled again. */
static inline int pcoll_message_banks(const struct pcoll_params *params, bool is_whole)
{
    return is_whole && params->slots > 2 ? params->slots : 2;
}

/* Inline, as long rings ask for hundreds. */
static inline struct pcoll_segment pcoll_segment_of(uint64_t bytes, uint64_t nsegments, uint64_t i)
{
    const uint64_t size = pcoll_quotient(bytes, nsegments), longer = bytes - size * nsegments;

    return (struct pcoll_segment){
        .first = i * size + (i < longer ? i : longer),
        .count = size + (i < longer),
    };
}

/* The number of lanes that stripe blocks of `bytes` bytes over the rails of `params`. */
int pcoll_lanes(const struct pcoll_params *params, uint64_t bytes);

/* Put the entries from `first` on, which belong to one lane, on its rail. */
void pcoll_lane_rail(struct pcoll_plan *plan, int first, int rail);

#endif /* PCOLL_SEGMENT_H */
