/* What reductions are tested with: elements of all sorts, and operators on them. */

#ifndef ELEMENTS_H_INCLUDED
#define ELEMENTS_H_INCLUDED

#include "check.h"

/* Where the data of an element lies, relative to its address: `head` bytes at `low`, the rest `gap`
 * bytes behind them. Addresses are `extent` bytes apart. */
struct form {
    long extent, low;
    size_t head, gap;
};

/* set and fold see elements without gaps. */
struct elements {
    const char *name;
    size_t size;
    struct form form;
    MPI_Datatype type;
    MPI_Op op;
    /* Elements first .. first + n - 1 of the vector of a rank. */
    void (*set)(const struct elements *e, void *dense, int rank, int step, long first, long n);
    /* right = left o right */
    void (*fold)(const struct elements *e, const void *left, void *right, long n);
};

/* Copy n elements: without gaps to elements at `to`, or from those at `from`. */
void elements_spread(const struct elements *e, char *to, const char *dense, long n);
void elements_gather(const struct elements *e, char *dense, const char *from, long n);

/* Matrices with a user's operator, which does not commute. The caller frees type and operator. */
struct elements elements_matrices(const char *name, struct form form);
void elements_free(struct elements *e);

/* Counts calls of that operator with elements that are less aligned than those of the user. */
extern long elements_misplaced;

/* MPI_MINLOC or MPI_MAXLOC on any of its types except MPI_2INT. */
struct elements elements_pairs(MPI_Op op, MPI_Datatype type);
struct elements elements_integers(MPI_Op op, MPI_Datatype type);
/* Gaussian integers, of either C type, so small that sums and products are exact. */
struct elements elements_complex(MPI_Op op, MPI_Datatype type);
/* Integers in half precision, so small that sums are exact; of size 0 if this MPI lacks the type.
 */
struct elements elements_halves(MPI_Op op);
struct elements elements_bfloat16(void);
/* Of such different sizes that every association of a sum has other bits; they cannot be folded. */
struct elements elements_doubles(void);

#endif /* ELEMENTS_H_INCLUDED */
