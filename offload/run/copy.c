/*
 * Copies within mapped memory. A long copy bypasses the cache: it then need not read the target's
 * lines before it overwrites them, which saves a fifth of the time for 4 MiB on the test machine,
 * while a copy of 1 MiB that stays in the cache takes two thirds of the time.
 * The C library does so too, but only for sizes close to that of the cache, as if the copy had the
 * cache to itself.
 *
 * What another rank has just read or reduced lies in its cache, and an ordinary store would first
 * have to fetch each line from there. A stream bypasses that from shorter lengths on: on the test
 * machine a vector of 256 KiB arrives in a quarter of the time.
 */
#include <stdint.h>
#include <string.h>

#include "offload/run/run.h"

#define LONG_COPY ((size_t)4 << 20)
#define LONG_STREAM ((size_t)16 << 10)

#if defined(__SSE2__)
#include <emmintrin.h>

static void stream_line(char *to, const char *from)
{
    for (int i = 0; i < PCOLL_LINE_BYTES; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}

static void copy_long(char *to, const char *from, size_t bytes)
{
    size_t head = (size_t)(-(uintptr_t)to % PCOLL_LINE_BYTES);
    size_t lines = (bytes - head) / PCOLL_LINE_BYTES;

    memcpy(to, from, head);
    for (size_t i = 0; i < lines; i++)
        stream_line(to + head + i * PCOLL_LINE_BYTES, from + head + i * PCOLL_LINE_BYTES);
    head += lines * PCOLL_LINE_BYTES;
    memcpy(to + head, from + head, bytes - head);
    _mm_sfence();
}
#else
static void copy_long(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

void pcoll_copy(void *to, const void *from, size_t bytes)
{
    if (bytes >= LONG_COPY)
        copy_long(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

void pcoll_stream(void *to, const void *from, size_t bytes)
{
    if (bytes >= LONG_STREAM)
        copy_long(to, from, bytes);
    else
        memcpy(to, from, bytes);
}
