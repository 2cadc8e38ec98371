/*
 * Copies within mapped memory.  A long copy writes past the cache: it then needs not read the
 * target's lines before it overwrites them, which takes a fifth off the time of 4 MiB here.  The C
 * library does so too, but only beyond most of the cache, as if the copy had the cache for itself.
 */
#include <stdint.h>
#include <string.h>

#include "offload/shm/state.h"

#define LONG_COPY ((size_t)1 << 20)

#if defined(__SSE2__)
#include <emmintrin.h>

static void stream_line(char *to, const char *from)
{
    for (int i = 0; i < PCOLL_SHM_LINE; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}

static void copy_long(char *to, const char *from, size_t bytes)
{
    size_t head = (size_t)(-(uintptr_t)to % PCOLL_SHM_LINE);
    size_t lines = (bytes - head) / PCOLL_SHM_LINE;

    memcpy(to, from, head);
    for (size_t i = 0; i < lines; i++)
        stream_line(to + head + i * PCOLL_SHM_LINE, from + head + i * PCOLL_SHM_LINE);
    head += lines * PCOLL_SHM_LINE;
    memcpy(to + head, from + head, bytes - head);
    _mm_sfence();
}
#else
static void copy_long(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

void pcoll_shm_copy(void *to, const void *from, size_t bytes)
{
    if (bytes >= LONG_COPY)
        copy_long(to, from, bytes);
    else
        memcpy(to, from, bytes);
}
