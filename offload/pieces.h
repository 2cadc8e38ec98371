/*
 * Contiguous pieces of user memory, in the order in which their bytes are packed.
 *
 * Where pieces are long, copying them one by one takes less time than a datatype engine, which
 * copies the elements of a piece, and between two lists the bytes go in one pass. Pieces of the
 * same length at the same distance are a row and take no more memory than one: a face of a cube is
 * one row, a box in it one for each of its layers.
 */
#ifndef PCOLL_PIECES_H
#define PCOLL_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "algorithms/plan/plan.h"

struct pcoll_row {
    uint64_t first; /* position of the first piece among the packed bytes */
    char *at;
    size_t bytes;   /* of each piece; not 0 */
    ptrdiff_t step; /* from one piece to the next, if there are several */
    uint64_t count;
};

/* Zeroed: empty. */
struct pcoll_pieces {
    uint64_t bytes; /* of all pieces */
    struct pcoll_row *rows;
    int nrows, room;
};

/* Append a piece, or `count` pieces whose beginnings are `step` bytes apart. PCOLL_ERR_NOMEM: the
 * list is as it was. */
enum pcoll_result pcoll_pieces_add(struct pcoll_pieces *pieces, char *at,
                                   size_t bytes) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_pieces_add_row(struct pcoll_pieces *pieces, char *at, size_t bytes,
                                       ptrdiff_t step, uint64_t count) PCOLL_MUST_CHECK;
void pcoll_pieces_fini(struct pcoll_pieces *pieces);

/* Copy `bytes` packed bytes from `first` on, which the list has, to or from contiguous memory, or
 * into those of another list from `to_first` on. Nothing overlaps. */
void pcoll_pieces_pack(const struct pcoll_pieces *pieces, uint64_t first, void *to, size_t bytes);
void pcoll_pieces_unpack(const struct pcoll_pieces *pieces, uint64_t first, const void *from,
                         size_t bytes);
void pcoll_pieces_copy(const struct pcoll_pieces *from, uint64_t first,
                       const struct pcoll_pieces *to, uint64_t to_first, size_t bytes);

#endif /* PCOLL_PIECES_H */
