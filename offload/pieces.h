/*
 * Contiguous pieces of user memory, in the order in which their bytes are packed.
 *
 * Copying them takes less time than a datatype engine, which goes through the description of a type
 * at each call and copies the elements of a piece, and between two lists the bytes go in one pass.
 * Pieces of the same length at the same distance are a row, and so are layers of such pieces at the
 * same distance: a row takes no more memory than one piece, and short pieces are copied by a loop
 * for their length. A face or a box of a cube is one row.
 */
#ifndef PCOLL_PIECES_H
#define PCOLL_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithms/plan/plan.h"

struct pcoll_row {
    uint64_t first; /* position of the first piece among the packed bytes */
    char *at;
    size_t bytes;         /* of each piece; not 0 */
    ptrdiff_t step;       /* from one piece to the next, if there are several */
    uint64_t count;       /* in a layer */
    ptrdiff_t layer_step; /* from one layer to the next, if there are several */
    uint64_t layers;      /* not 0 */
};

/* Zeroed: empty. */
struct pcoll_pieces {
    uint64_t bytes; /* of all pieces */
    struct pcoll_row *rows;
    int nrows, room;
};

/* Append a piece. PCOLL_ERR_NOMEM: the list is as it was. */
enum pcoll_result pcoll_pieces_add(struct pcoll_pieces *pieces, char *at,
                                   size_t bytes) PCOLL_MUST_CHECK;

/* Append `count` pieces whose beginnings are `step` bytes apart. PCOLL_ERR_NOMEM: the list is as it
 * was. */
enum pcoll_result pcoll_pieces_add_row(struct pcoll_pieces *pieces, char *at, size_t bytes,
                                       ptrdiff_t step, uint64_t count) PCOLL_MUST_CHECK;

/* If the bytes from `first` on, at least one, are one row without layers and nothing else is in it:
 * make it the first of `count` > 0 of them whose beginnings are `step` bytes apart. Returns
 * false otherwise, and the list is as it was. */
bool pcoll_pieces_repeat(struct pcoll_pieces *pieces, uint64_t first, uint64_t count,
                         ptrdiff_t step);

void pcoll_pieces_fini(struct pcoll_pieces *pieces);

/* Copy `bytes` packed bytes from `first` on, which the list has, to contiguous memory. Nothing
 * overlaps. */
void pcoll_pieces_pack(const struct pcoll_pieces *pieces, uint64_t first, void *to, size_t bytes);

/* The reverse: copy from contiguous memory to the pieces. */
void pcoll_pieces_unpack(const struct pcoll_pieces *pieces, uint64_t first, const void *from,
                         size_t bytes);

/* As pcoll_pieces_pack, but to the packed bytes of another list from `to_first` on. */
void pcoll_pieces_copy(const struct pcoll_pieces *from, uint64_t first,
                       const struct pcoll_pieces *to, uint64_t to_first, size_t bytes);

#endif /* PCOLL_PIECES_H */
