/*
 * Arithmetic on numbers of ranks, and fast quotients.
 */
#ifndef PCOLL_NUMBER_H
#define PCOLL_NUMBER_H

#include <stdint.h>

/* a / b, where a 64-bit division is slow on many processors and most numbers fit 32 bits. */
static inline uint64_t pcoll_quotient(uint64_t a, uint64_t b)
{
    return (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

/* The number of a rank after renumbering so that the root is 0. */
static inline int pcoll_relative(int rank, int root, int nranks)
{
    return (rank - root + nranks) % nranks;
}

static inline int pcoll_absolute(int relative, int root, int nranks)
{
    return (relative + root) % nranks;
}

/* Largest n with 2^n <= value, value >= 1. */
int pcoll_log2_floor(int value);

/* Smallest n with radix^n >= value. */
int pcoll_log_ceil(int value, int radix);

#endif /* PCOLL_NUMBER_H */
