#include "layout.h"

static int draw(uint64_t *state, int n)
{
    return (int)(check_random(state) % (uint64_t)n);
}

/* Cut `size` bytes into blocks, and place them with gaps. */
static void place_blocks(struct layout *layout, uint64_t *state)
{
    int left = layout->size, at = draw(state, 3);

    for (layout->nblocks = 0; left > 0; layout->nblocks++) {
        int last = layout->nblocks == LAYOUT_BLOCKS - 1;
        int length = last ? left : 1 + draw(state, left);

        layout->lengths[layout->nblocks] = length;
        layout->offsets[layout->nblocks] = at;
        left -= length;
        at += length + (draw(state, 2) ? draw(state, 5) : 0);
    }
    layout->low = layout->offsets[0];
    layout->high = layout->offsets[layout->nblocks - 1] + layout->lengths[layout->nblocks - 1];
}

/* The first and the last block swap their positions in the list, not in memory. */
static void swap_ends(struct layout *layout)
{
    int last = layout->nblocks - 1;
    int length = layout->lengths[0], offset = layout->offsets[0];

    layout->lengths[0] = layout->lengths[last];
    layout->offsets[0] = layout->offsets[last];
    layout->lengths[last] = length;
    layout->offsets[last] = offset;
}

struct layout layout_random(uint64_t *state, int may_overlap)
{
    static const int sizes[] = {1, 2, 3, 4, 6, 12};
    struct layout layout = {.size = sizes[draw(state, 6)]};
    int span;

    place_blocks(&layout, state);
    span = layout.high - layout.low;
    layout.extent = span + (draw(state, 2) ? draw(state, 6) : 0);
    if (may_overlap && draw(state, 3) == 0)
        layout.extent = draw(state, span + 1);
    if (draw(state, 4) == 0)
        layout.extent = -layout.extent;
    if (draw(state, 4) == 0)
        swap_ends(&layout);
    return layout;
}

MPI_Datatype layout_type(const struct layout *layout)
{
    MPI_Datatype blocks, type;

    MPI(MPI_Type_indexed(layout->nblocks, layout->lengths, layout->offsets, MPI_BYTE, &blocks));
    MPI(MPI_Type_create_resized(blocks, 0, layout->extent, &type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Type_free(&blocks));
    return type;
}

/* Walks from the first element's low end to the last one's high end, in either direction. */
static long walk(const struct layout *layout, size_t bytes)
{
    long elements = (long)(bytes / (size_t)layout->size);

    return elements > 0 ? (elements - 1) * layout->extent : 0;
}

size_t layout_span(const struct layout *layout, size_t bytes)
{
    return (size_t)labs(walk(layout, bytes)) + (size_t)layout->high;
}

size_t layout_origin(const struct layout *layout, size_t bytes)
{
    long way = walk(layout, bytes);

    return way < 0 ? (size_t)-way : 0;
}

size_t layout_place(const struct layout *layout, size_t bytes, size_t i)
{
    long element = (long)(i / (size_t)layout->size), at = (long)(i % (size_t)layout->size);
    int block = 0;

    while (at >= layout->lengths[block])
        at -= layout->lengths[block++];
    return (size_t)((long)layout_origin(layout, bytes) + element * layout->extent +
                    layout->offsets[block] + at);
}
