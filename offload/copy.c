/*
 * Copies within mapped memory, through the cache or past it.
 *
 * A copy past the cache does not read the target's lines before it overwrites them, but its target
 * is in no cache afterwards. It pays where source and target would not stay in the cache anyway.
 * The C library decides by the size of the last cache, as if the copy had that to itself; here
 * each core has its share, of which a plan's buffers fill half. Vectors to be reduced go through
 * the cache (doc/notes/caches.md).
 */
#include "offload/copy.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "offload/sysfs.h"

#define LINE 64
#define SHORT_COPY ((size_t)2048)     /* the C library's is always good */
#define CACHED_COPY ((size_t)1 << 20) /* always through the cache */

/* To ask the kernel takes as long as a copy of a MiB. */
static size_t long_copy(void)
{
    static _Atomic size_t known;
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);

    if (bytes == 0) {
        const struct pcoll_sysfs here = pcoll_sysfs_here();

        bytes = pcoll_long_copy(&here.caches);
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>

/* Four variables: gcc keeps an array of them on the stack, which makes the copy take 2.7 times as
 * long. */
static inline void copy_line(char *to, const char *from, bool past)
{
    __m128i *const target = (__m128i *)(void *)to;
    const __m128i *const source = (const __m128i *)(const void *)from;
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);

    if (past) {
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    } else {
        _mm_store_si128(target, a);
        _mm_store_si128(target + 1, b);
        _mm_store_si128(target + 2, c);
        _mm_store_si128(target + 3, d);
    }
}

static inline void copy_lines(char *to, const char *from, size_t bytes, bool past)
{
    const size_t head = (size_t)(-(uintptr_t)to % LINE);
    size_t at = head;

    memcpy(to, from, head);
    for (; bytes - at >= LINE; at += LINE)
        copy_line(to + at, from + at, past);
    memcpy(to + at, from + at, bytes - at);
}

void pcoll_copy_past(void *to, const void *from, size_t bytes)
{
    copy_lines(to, from, bytes, true);
    _mm_sfence();
}

/* The C library copies more than 2 KiB with `rep movsb`, which on AMD's Zen 3 and 4 takes 16 times
 * as long if the target lies 1 to 31 bytes behind the source, modulo a page. Long blocks of
 * malloc() begin 16 bytes behind a page, those of MPI_Alloc_mem and some communication buffers at
 * one. */
static bool copy_skewed(void *to, const void *from, size_t bytes)
{
    enum { PAGE = 4096, SKEW = 32 };

    if (((uintptr_t)to - (uintptr_t)from - 1) % PAGE >= SKEW - 1 || !__builtin_cpu_is("amd"))
        return false;
    copy_lines(to, from, bytes, false);
    return true;
}
#else
void pcoll_copy_past(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static bool copy_skewed(void *to, const void *from, size_t bytes)
{
    return false;
}
#endif

/* Not inline: shorter copies should not save registers for it. */
static __attribute__((noinline)) void copy_long(void *to, const void *from, size_t bytes)
{
    if (bytes > CACHED_COPY && bytes >= long_copy())
        pcoll_copy_past(to, from, bytes);
    else if (!copy_skewed(to, from, bytes))
        memcpy(to, from, bytes);
}

void pcoll_copy(void *to, const void *from, size_t bytes)
{
    if (bytes > SHORT_COPY)
        copy_long(to, from, bytes);
    else
        memcpy(to, from, bytes);
}
