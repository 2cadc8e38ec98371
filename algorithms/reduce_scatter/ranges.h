/*
 * How node_aware cuts the blocks of all ranks: into a range of consecutive ones for each member of
 * a team, and long ranges into segments.
 *
 * The share of a member at a depth of its team's grid (shape/grid.h) consists of the ranges of all
 * members that have the same number at this depth and at those below, in their teams and parts;
 * these ranges follow each other. At depth 0 it is the member's own range.
 *
 *      caches {0 1} {2 3}, ranges abcd of members 0, 2, 1, 3:   at depth 1 the share of 0 and 2 is
 *      ab, that of 1 and 3 cd
 */
#ifndef PCOLL_RANGES_H
#define PCOLL_RANGES_H

#include "algorithms/shape/grid.h"
#include "algorithms/shape/segment.h"

struct pcoll_ranges {
    const struct pcoll_signature *signature;
    struct pcoll_grid grid;            /* of the members */
    int count;                         /* of members and of ranges */
    int turn;                          /* by so many mates of the last depth */
    uint64_t nsegments, segment_bytes; /* of a range: all but the last ones of so many bytes */
};

/* The ranges of a team of one are whole. */
struct pcoll_ranges pcoll_ranges_of(const struct pcoll_signature *signature,
                                    const struct pcoll_params *params, struct pcoll_grid grid,
                                    int turn);

/* The bytes of so many ranges, at most. */
uint64_t pcoll_ranges_most(const struct pcoll_ranges *ranges, int n);

/* The range of a member, of the block of an owner; and the member that has a range. */
int pcoll_range_of(const struct pcoll_ranges *ranges, int member);
int pcoll_range_for(const struct pcoll_ranges *ranges, int owner);
int pcoll_range_member(const struct pcoll_ranges *ranges, int range);

/* The owners of its blocks. */
struct pcoll_segment pcoll_range_owners(const struct pcoll_ranges *ranges, int range);

/* Bytes of SEND: those of a range, and of its segment i. */
struct pcoll_segment pcoll_range_bytes(const struct pcoll_ranges *ranges, int range);
struct pcoll_segment pcoll_range_segment(const struct pcoll_ranges *ranges, int range, uint64_t i);

/* The part of a block that is in the cut. */
struct pcoll_segment pcoll_block_part(const struct pcoll_signature *signature, int owner,
                                      struct pcoll_segment cut);

/* The number of ranges in a share, and the first one. */
int pcoll_ranges_share(const struct pcoll_ranges *ranges, int depth);
int pcoll_ranges_first(const struct pcoll_ranges *ranges, int member, int depth);

/* A share goes in pieces: whole, or if ranges have several segments, one of each range. Bytes of
 * SEND: those of a piece in segment i. */
int pcoll_ranges_pieces(const struct pcoll_ranges *ranges, int depth);
struct pcoll_segment pcoll_ranges_piece(const struct pcoll_ranges *ranges, int member, int depth,
                                        int piece, uint64_t i);

#endif /* PCOLL_RANGES_H */
