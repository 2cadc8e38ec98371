/*
 * Copies within mapped memory, through the cache or past it.
 *
 * A copy past the cache does not read the target's lines before it overwrites them, but its target
 * is in no cache afterwards. It pays where source and target would not stay in the cache anyway.
 * The C library decides by the size of the last cache, as if the copy had that to itself; here
 * each core has its share, of which a plan's buffers fill half. Vectors to be reduced go through
 * the cache (doc/notes/caches.md).
 */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "offload/run/run.h"
#include "offload/sysfs.h"

#define SHORT_COPY ((size_t)1 << 20) /* always through the cache */

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

static void stream_line(char *to, const char *from)
{
    for (int i = 0; i < PCOLL_LINE_BYTES; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}

void pcoll_copy_past(void *to_, const void *from_, size_t bytes)
{
    char *to = to_;
    const char *from = from_;
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
void pcoll_copy_past(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

/* Not inline: shorter copies should not save registers for it. */
static __attribute__((noinline)) void copy_long(void *to, const void *from, size_t bytes)
{
    if (bytes >= long_copy())
        pcoll_copy_past(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

void pcoll_copy(void *to, const void *from, size_t bytes)
{
    if (bytes > SHORT_COPY)
        copy_long(to, from, bytes);
    else
        memcpy(to, from, bytes);
}
