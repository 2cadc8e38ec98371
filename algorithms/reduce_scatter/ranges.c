/* Blocks in ranges, shares and segments; the contract is in ranges.h. */
#include "algorithms/reduce_scatter/ranges.h"

#include "algorithms/util.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

struct pcoll_ranges pcoll_ranges_of(const struct pcoll_signature *signature,
                                    const struct pcoll_params *params, struct pcoll_grid grid,
                                    int turn)
{
    struct pcoll_ranges ranges = {
        .signature = signature,
        .grid = grid,
        .count = pcoll_grid_stride(&grid, -1),
        .turn = turn,
    };
    const uint64_t bytes = pcoll_ranges_most(&ranges, 1), unit = pcoll_unit_of(signature);
    const uint64_t n =
        ranges.count > 1 ? pcoll_segment_count(bytes, params->segment, DEFAULT_SEGMENT) : 1;

    ranges.segment_bytes = pcoll_segment_of(bytes / unit, n, 0).count * unit;
    ranges.nsegments = pcoll_quotient_up(bytes, ranges.segment_bytes);
    return ranges;
}

uint64_t pcoll_ranges_most(const struct pcoll_ranges *ranges, int n)
{
    const struct pcoll_signature *signature = ranges->signature;
    const uint64_t owners = pcoll_range_owners(ranges, 0).count * (uint64_t)n;
    const uint64_t all = pcoll_block_first(signature, signature->nranks);

    return owners * signature->bytes < all ? owners * signature->bytes : all;
}

/* ---- members and owners ---- */

int pcoll_range_of(const struct pcoll_ranges *ranges, int member)
{
    const struct pcoll_grid *grid = &ranges->grid;
    const int last = grid->depths - 1, turned = pcoll_grid_mate(grid, member, last) + ranges->turn;
    int range = turned % grid->counts[last] * pcoll_ranges_share(ranges, last);

    for (int depth = 0; depth < last; depth++)
        range += pcoll_grid_mate(grid, member, depth) * pcoll_ranges_share(ranges, depth);
    return range;
}

int pcoll_range_member(const struct pcoll_ranges *ranges, int range)
{
    const struct pcoll_grid *grid = &ranges->grid;
    const int last = grid->depths - 1, count = grid->counts[last];
    int share = pcoll_ranges_share(ranges, last);
    int member = (range / share + count - ranges->turn) % count;

    for (int depth = last - 1; depth >= 0; depth--) {
        range %= share;
        share = pcoll_ranges_share(ranges, depth);
        member += range / share * pcoll_grid_stride(grid, depth);
    }
    return member;
}

int pcoll_range_for(const struct pcoll_ranges *ranges, int owner)
{
    const int count = ranges->signature->nranks / ranges->count;
    const int longer = ranges->signature->nranks % ranges->count;

    return owner < longer * (count + 1) ? owner / (count + 1) : (owner - longer) / count;
}

struct pcoll_segment pcoll_range_owners(const struct pcoll_ranges *ranges, int range)
{
    return pcoll_segment_of((uint64_t)ranges->signature->nranks, (uint64_t)ranges->count,
                            (uint64_t)range);
}

/* ---- bytes ---- */

struct pcoll_segment pcoll_range_bytes(const struct pcoll_ranges *ranges, int range)
{
    const struct pcoll_segment owners = pcoll_range_owners(ranges, range);
    const uint64_t first = pcoll_block_first(ranges->signature, (int)owners.first);
    const uint64_t end = pcoll_block_first(ranges->signature, (int)(owners.first + owners.count));

    return (struct pcoll_segment){first, end - first};
}

struct pcoll_segment pcoll_range_segment(const struct pcoll_ranges *ranges, int range, uint64_t i)
{
    const struct pcoll_segment bytes = pcoll_range_bytes(ranges, range);
    const uint64_t before = i * ranges->segment_bytes;
    const uint64_t first = before < bytes.count ? before : bytes.count, left = bytes.count - first;

    return (struct pcoll_segment){bytes.first + first,
                                  left < ranges->segment_bytes ? left : ranges->segment_bytes};
}

struct pcoll_segment pcoll_block_part(const struct pcoll_signature *signature, int owner,
                                      struct pcoll_segment cut)
{
    const uint64_t first = pcoll_block_first(signature, owner), end = cut.first + cut.count;
    const uint64_t block_end = first + pcoll_block_bytes(signature, owner);
    const uint64_t from = first > cut.first ? first : cut.first;
    const uint64_t to = block_end < end ? block_end : end;

    return (struct pcoll_segment){from, to > from ? to - from : 0};
}

/* ---- shares ---- */

int pcoll_ranges_share(const struct pcoll_ranges *ranges, int depth)
{
    int share = 1;

    for (int i = 0; i < depth; i++)
        share *= ranges->grid.counts[i];
    return share;
}

int pcoll_ranges_first(const struct pcoll_ranges *ranges, int member, int depth)
{
    const int share = pcoll_ranges_share(ranges, depth);

    return pcoll_range_of(ranges, member) / share * share;
}

int pcoll_ranges_pieces(const struct pcoll_ranges *ranges, int depth)
{
    return ranges->nsegments == 1 ? 1 : pcoll_ranges_share(ranges, depth);
}

struct pcoll_segment pcoll_ranges_piece(const struct pcoll_ranges *ranges, int member, int depth,
                                        int piece, uint64_t i)
{
    const int first = pcoll_ranges_first(ranges, member, depth);
    const int last = first + pcoll_ranges_share(ranges, depth) - 1;
    const uint64_t begin = pcoll_range_bytes(ranges, first).first;
    const struct pcoll_segment end = pcoll_range_bytes(ranges, last);

    if (ranges->nsegments == 1)
        return (struct pcoll_segment){begin, end.first + end.count - begin};
    return pcoll_range_segment(ranges, first + piece, i);
}
