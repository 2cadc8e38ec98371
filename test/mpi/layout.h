/* Random datatypes with a known position for each byte: blocks with gaps, in any order, with
 * extents that are large, negative, or so small that elements overlap. */

#ifndef LAYOUT_H_INCLUDED
#define LAYOUT_H_INCLUDED

#include "check.h"

enum { LAYOUT_UNIT = 12, LAYOUT_BLOCKS = 4 };

struct layout {
    int nblocks;
    int lengths[LAYOUT_BLOCKS], offsets[LAYOUT_BLOCKS];
    int size;      /* bytes of an element */
    int extent;    /* from one element to the next */
    int low, high; /* offsets of an element's first byte and behind its last */
};

/* The size of an element divides LAYOUT_UNIT. Elements share bytes only if `may_overlap` is set;
 * those of a receive buffer must not. */
struct layout layout_random(uint64_t *state, int may_overlap);
MPI_Datatype layout_type(const struct layout *layout);

/* The memory that `bytes` bytes in this layout touch: returns its size, and the offset of the
 * buffer's address in it. */
size_t layout_span(const struct layout *layout, size_t bytes);
size_t layout_origin(const struct layout *layout, size_t bytes);
/* The offset in that memory of byte i of the data. */
size_t layout_place(const struct layout *layout, size_t bytes, size_t i);

#endif /* LAYOUT_H_INCLUDED */
