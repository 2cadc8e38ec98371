/* The series of blocks; the contract is in shape/blocks.h. */
#include "algorithms/shape/blocks.h"

#include <stdlib.h>

enum pcoll_result pcoll_blocks_init(struct pcoll_blocks *blocks,
                                    const struct pcoll_signature *signature, int nlanes)
{
    const size_t room = (size_t)signature->nranks + 1;

    *blocks = (struct pcoll_blocks){
        .signature = signature, .teams = pcoll_teams_of(signature), .nlanes = nlanes};
    if (signature->blocks == NULL)
        return PCOLL_OK;
    blocks->first = calloc(room, sizeof(*blocks->first));
    return blocks->first ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

void pcoll_blocks_fini(struct pcoll_blocks *blocks)
{
    free(blocks->first);
    blocks->first = NULL;
}

void pcoll_blocks_take_lane(struct pcoll_blocks *blocks, int lane)
{
    const int nranks = blocks->signature->nranks;

    blocks->base = lane > 0 ? blocks->base + pcoll_blocks_first(blocks, nranks) : 0;
    blocks->lane = lane;
    blocks->equal = pcoll_blocks_of(blocks, 0).count;
    for (int place = 0; blocks->first && place < nranks; place++) {
        const int rank = pcoll_teams_rank(&blocks->teams, place);

        blocks->first[place + 1] = blocks->first[place] + pcoll_blocks_of(blocks, rank).count;
    }
}

struct pcoll_segment pcoll_blocks_of(const struct pcoll_blocks *blocks, int rank)
{
    return pcoll_segment_of(pcoll_block_bytes(blocks->signature, rank), (uint64_t)blocks->nlanes,
                            (uint64_t)blocks->lane);
}

uint64_t pcoll_blocks_recv(const struct pcoll_blocks *blocks, int rank)
{
    return pcoll_block_first(blocks->signature, rank) + pcoll_blocks_of(blocks, rank).first;
}

uint64_t pcoll_blocks_first(const struct pcoll_blocks *blocks, int place)
{
    return blocks->first ? blocks->first[place] : (uint64_t)place * blocks->equal;
}

uint64_t pcoll_blocks_bytes(const struct pcoll_blocks *blocks, int team)
{
    const int place = pcoll_team_place(&blocks->teams, team);
    const int end = place + pcoll_team_size(&blocks->teams, team);

    return pcoll_blocks_first(blocks, end) - pcoll_blocks_first(blocks, place);
}

struct pcoll_stretch pcoll_blocks_segment(const struct pcoll_blocks *blocks, int team,
                                          uint64_t nsegments, uint64_t i)
{
    const uint64_t first = pcoll_blocks_first(blocks, pcoll_team_place(&blocks->teams, team));
    const struct pcoll_segment segment =
        pcoll_segment_of(pcoll_blocks_bytes(blocks, team), nsegments, i);

    return (struct pcoll_stretch){first + segment.first, first + segment.first + segment.count};
}

/* The place of the block with byte `at` of the series. */
static int place_of(const struct pcoll_blocks *blocks, uint64_t at)
{
    int low = 0, high = blocks->signature->nranks - 1;

    if (blocks->first == NULL)
        return (int)(at / blocks->equal);
    while (low < high) {
        const int middle = low + (high - low) / 2;

        if (blocks->first[middle + 1] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct pcoll_gathered pcoll_blocks_gathered(const struct pcoll_blocks *blocks,
                                            struct pcoll_stretch stretch, int rank, int other)
{
    const int place = place_of(blocks, stretch.first);
    const uint64_t inside = stretch.first - pcoll_blocks_first(blocks, place);
    const uint64_t length = stretch.end - stretch.first;
    struct pcoll_sequence run =
        pcoll_teams_sequence(&blocks->teams, place, place_of(blocks, stretch.end - 1) + 1);
    uint64_t bytes;

    run = pcoll_sequence_apart(pcoll_sequence_apart(run, rank), other);
    if (blocks->nlanes > 1)
        run.count = 1;
    bytes = pcoll_blocks_first(blocks, place + run.count) - stretch.first;
    return (struct pcoll_gathered){
        .rank = run.rank,
        .at = stretch.first,
        .recv = pcoll_blocks_recv(blocks, run.rank) + inside,
        .bytes = bytes < length ? bytes : length,
    };
}
