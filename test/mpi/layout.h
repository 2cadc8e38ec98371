/* Random datatypes whose bytes are known one by one: blocks with gaps, in any order; extents that
 * are large, negative, or so small that elements overlap. */

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

/* An element has a divisor of LAYOUT_UNIT for its size.  Only where `may_overlap` do elements share
 * bytes, as no receive buffer may. */
struct layout layout_random(uint64_t *state, int may_overlap);
MPI_Datatype layout_type(const struct layout *layout);

/* The memory that `bytes` bytes in this layout touch: its size, and where the buffer's address lies
 * in it. */
size_t layout_span(const struct layout *layout, size_t bytes);
size_t layout_origin(const struct layout *layout, size_t bytes);
/* Where in that memory byte i of the data lies. */
size_t layout_place(const struct layout *layout, size_t bytes, size_t i);

#endif /* LAYOUT_H_INCLUDED */
