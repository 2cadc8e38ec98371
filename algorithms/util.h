/*
 * Small tools for all folders. They are below everything: this header includes libc only.
 */
#ifndef PCOLL_UTIL_H
#define PCOLL_UTIL_H

#include <stddef.h>
#include <stdint.h>

/* ---- order ---- */

/* Compares two ints, for qsort and bsearch. */
static inline int pcoll_compare_ints(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;

    return (a > b) - (a < b);
}

/* ---- numbers ---- */

/* a / b, rounded up; no overflow. */
static inline uint64_t pcoll_quotient_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* The least multiple of `unit` that is at least `value`. */
static inline uint64_t pcoll_round_up(uint64_t value, uint64_t unit)
{
    return pcoll_quotient_up(value, unit) * unit;
}

/* ---- hashes: FNV-1a ---- */

#define PCOLL_HASH_START UINT64_C(14695981039346656037)

/* The hash of what `hash` stands for, followed by that value, usually a byte. */
static inline uint64_t pcoll_hash_add(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(1099511628211);
}

static inline uint64_t pcoll_hash(const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    uint64_t hash = PCOLL_HASH_START;

    for (size_t i = 0; i < n; i++)
        hash = pcoll_hash_add(hash, byte[i]);
    return hash;
}

#endif /* PCOLL_UTIL_H */
