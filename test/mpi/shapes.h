/* Ints that datatypes of several shapes place in memory, with holes between them. */

#ifndef SHAPES_H_INCLUDED
#define SHAPES_H_INCLUDED

#include "check.h"

enum { SHAPES = 13 };

/* One way to place `ints` ints (a multiple of 4) in memory. */
struct shape {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t span;   /* at least the number of ints that `count` of them cover */
    size_t *place; /* place[i] is the position of int number i */
};

/* Shape number 0 .. SHAPES - 1 for so many ints; the caller frees the committed type, and `place`.
 */
void shape_make(struct shape *shape, int number, int ints);
/* The distance in ints between the blocks of two ranks. */
size_t shape_stride(const struct shape *shape);

/* Int number i of `rank` in a step, and what stands in a hole. */
int shape_value(int step, int rank, int i);
extern const int shape_hole;

/* Fill n ints with holes; check that there are only holes. */
void shape_clear(int *buffer, size_t n);
void shape_holes_only(const int *buffer, size_t n);

/* Put this rank's ints into the buffer; compare the block of `rank` and replace it with holes. */
void shape_put(const struct shape *shape, int ints, int *buffer, int step);
void shape_take(const struct shape *shape, int ints, int *buffer, int step, int rank);

#endif /* SHAPES_H_INCLUDED */
