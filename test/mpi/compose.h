/* A user's operator that does not commute, on bytes: the composition of maps x -> a x + b mod 16
 * with odd a. */

#ifndef COMPOSE_H_INCLUDED
#define COMPOSE_H_INCLUDED

#include "check.h"

unsigned char compose(unsigned char left, unsigned char right);

/* A new operator, which the caller frees. Its type is MPI_UNSIGNED_CHAR. */
MPI_Op compose_op(void);

#endif /* COMPOSE_H_INCLUDED */
