/*
 * The operator of a reduction, as media see it: a function on units.
 *
 * A unit is what must not be cut: an element of the datatype, or the span of one. Addresses are
 * aligned as the caller's own vectors and multiples of the unit permit, but to 16 bytes at most.
 */
#ifndef PCOLL_OPERATOR_H
#define PCOLL_OPERATOR_H

#include "algorithms/plan/plan.h"

/* to[i] = left[i] * right[i] for n units. `to` may be `left` or `right`; otherwise they are
 * distinct. */
typedef void pcoll_kernel(void *to, const void *left, const void *right, size_t n);

struct pcoll_operator {
    uint64_t unit;        /* in bytes, >= 1 */
    pcoll_kernel *kernel; /* NULL: `apply` */

    /* right[i] = left[i] * right[i] for n units, 1 <= n <= PCOLL_MAX_UNITS; they are distinct. It
     * may take long and let other threads enter MPI, so the caller guards the plan. Anything except
     * PCOLL_OK ends the plan. */
    enum pcoll_result (*apply)(const struct pcoll_operator *self, const void *left, void *right,
                               size_t n);
};

#define PCOLL_MAX_UNITS ((size_t)1 << 30)

#endif /* PCOLL_OPERATOR_H */
