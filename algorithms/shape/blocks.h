/*
 * The series of the blocks of all ranks, as algorithms that gather them see them: one block after
 * the other in the order of places (teams.h), each cut into lanes.
 *
 *      nodes {0 2} {1 3}, 2 lanes:   lane 0:  0a 2a 1a 3a   lane 1:  0b 2b 1b 3b
 *      RECV:  0a 0b 1a 1b 2a 2b 3a 3b
 *
 * Blocks may differ (signature.blocks) and be empty.
 */
#ifndef PCOLL_BLOCKS_H
#define PCOLL_BLOCKS_H

#include <stdbool.h>

#include "algorithms/shape/segment.h"
#include "algorithms/teams.h"

struct pcoll_blocks {
    const struct pcoll_signature *signature;
    struct pcoll_teams teams;
    int nlanes, lane;
    uint64_t base;   /* bytes of the lanes before this one */
    uint64_t equal;  /* bytes of each block in the lane, if all are equal */
    uint64_t *first; /* [nranks + 1]: otherwise, where they begin and the last ends, by place */
};

/* Bytes [first, end) of the series of a lane. */
struct pcoll_stretch {
    uint64_t first, end;
};

/* Bytes of a stretch that are contiguous in RECV, too. */
struct pcoll_gathered {
    int rank;       /* of the first block */
    uint64_t at;    /* in the series */
    uint64_t recv;  /* in RECV */
    uint64_t bytes; /* more than 0 */
};

/* Every rank knows where the blocks of all ranks belong: no edges (edges.h) say anything else. */
static inline bool pcoll_blocks_are_known(const struct pcoll_signature *signature)
{
    return signature->degree == 0;
}

/* `blocks` keeps the signature; pcoll_blocks_fini frees what it holds. */
enum pcoll_result pcoll_blocks_init(struct pcoll_blocks *blocks,
                                    const struct pcoll_signature *signature,
                                    int nlanes) PCOLL_MUST_CHECK;
void pcoll_blocks_fini(struct pcoll_blocks *blocks);

/* Lanes are taken in order, from 0 on. Everything below is about the lane that was taken last. */
void pcoll_blocks_take_lane(struct pcoll_blocks *blocks, int lane);

/* The lane in the block of a rank, and where it begins in RECV. */
struct pcoll_segment pcoll_blocks_of(const struct pcoll_blocks *blocks, int rank);
uint64_t pcoll_blocks_recv(const struct pcoll_blocks *blocks, int rank);

/* Where the block at that place begins in the series; that at `nranks` begins where the last one
 * ends.
 */
uint64_t pcoll_blocks_first(const struct pcoll_blocks *blocks, int place);

/* The bytes of a team in the series, and the i-th of so many segments of it. */
uint64_t pcoll_blocks_bytes(const struct pcoll_blocks *blocks, int team);
struct pcoll_stretch pcoll_blocks_segment(const struct pcoll_blocks *blocks, int team,
                                          uint64_t nsegments, uint64_t i);

/* The longest beginning of a stretch that is not empty in which the blocks of `rank` and `other`
 * are alone. */
struct pcoll_gathered pcoll_blocks_gathered(const struct pcoll_blocks *blocks,
                                            struct pcoll_stretch stretch, int rank, int other);

#endif /* PCOLL_BLOCKS_H */
