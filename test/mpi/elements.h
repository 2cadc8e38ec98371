/* What reductions are tested with: elements of all sorts, and operators on them. */

#ifndef ELEMENTS_H_INCLUDED
#define ELEMENTS_H_INCLUDED

#include "check.h"

/* In memory, elements lie `extent` bytes apart; set and fold see them without gaps. */
struct elements {
    const char *name;
    size_t size;
    long extent;
    MPI_Datatype type;
    MPI_Op op;
    /* Elements first .. first + n - 1 of the vector of a rank. */
    void (*set)(const struct elements *e, void *dense, int rank, int step, long first, long n);
    /* right = left o right */
    void (*fold)(const struct elements *e, const void *left, void *right, long n);
};

/* Matrices with a user's operator, which does not commute. The caller frees type and operator. */
struct elements elements_matrices(const char *name, long extent);
void elements_free(struct elements *e);

/* MPI_DOUBLE_INT, which has gaps, with MPI_MAXLOC. */
struct elements elements_pairs(void);
struct elements elements_integers(MPI_Op op, MPI_Datatype type);
/* Of such different sizes that every association of a sum has other bits; they cannot be folded. */
struct elements elements_doubles(void);

#endif /* ELEMENTS_H_INCLUDED */
