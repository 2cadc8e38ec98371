/* A persistent collective with random datatypes, lengths and displacements. Every rank knows what
 * every rank sends, so each byte of the receive memory is compared, including gaps.
 *
 * Blocks that are sent may overlap, and so may the elements of their types; displacements may be
 * negative. In some plans only one rank sends or only one receives, or a rank sends the same block
 * to all. Reductions have elements of one byte without gaps and an operator that does not
 * commute. */

#ifndef RANDOM_PLAN_H_INCLUDED
#define RANDOM_PLAN_H_INCLUDED

#include "layout.h"
#include "messages.h"

/* `bytes` bytes in elements of a layout. */
struct piece {
    struct layout layout;
    size_t bytes;
    long at; /* of its first element, in bytes from the address that the library gets */
};

struct memory {
    int n;
    struct piece *pieces;
    size_t span;
    long origin; /* where that address lies in the memory */
    unsigned char *bytes;
};

/* An algorithm by its name. */
struct random_row {
    enum coll coll;
    const char *algorithm;
};

/* Which messages of a plan have data, where blocks differ or the topology can be chosen. */
enum random_form { EACH, FROM_ONE, TO_ONE, SAME_FOR_ALL, RANDOM_FORMS };

struct random_plan {
    struct roles roles;
    enum random_form form;
    int center;   /* that one rank */
    size_t bytes; /* of the longest block */
    int step;
    uint64_t seed;
    struct memory sent, received;
    unsigned char *expected; /* contents of the received memory */
    struct call call;
    MPI_Request request;
};

/* Collective over `comm`. All ranks pass the same `shared`, and `local` differs. `row`: NULL for
 * any collective, and the algorithm that the library chooses. */
void random_plan_init(struct random_plan *p, const struct random_row *row, uint64_t *shared,
                      uint64_t *local, size_t max_bytes, MPI_Comm comm);
/* Sets new data, poisons the receive memory, and computes its expected contents. */
void random_plan_prepare(struct random_plan *p);
void random_plan_verify(const struct random_plan *p);
void random_plan_free(struct random_plan *p);

#endif /* RANDOM_PLAN_H_INCLUDED */
