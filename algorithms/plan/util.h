/*
 * The tool box: what many files need and libc lacks.
 */
#ifndef PCOLL_UTIL_H
#define PCOLL_UTIL_H

#include <stdint.h>

/* a / b, rounded up. */
static inline uint64_t pcoll_quotient_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* For qsort and bsearch: ints in ascending order. */
static inline int pcoll_compare_ints(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;

    return (a > b) - (a < b);
}

/* A hash of a sequence (FNV-1a): begin with PCOLL_HASH_START and add each byte, or each word. */
#define PCOLL_HASH_START UINT64_C(0xcbf29ce484222325)
static inline uint64_t pcoll_hash_add(uint64_t hash, uint64_t element)
{
    return (hash ^ element) * UINT64_C(0x100000001b3);
}

#endif /* PCOLL_UTIL_H */
