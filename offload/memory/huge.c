#include "offload/memory/huge.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "offload/sysfs.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

size_t pcoll_huge_page_bytes(void)
{
    static _Atomic size_t known = SIZE_MAX; /* not yet */
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);

    if (bytes == SIZE_MAX) {
        bytes = pcoll_sysfs_huge_page(PCOLL_SYSFS_HUGE);
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

size_t pcoll_huge_pages(void *memory, size_t bytes)
{
    const size_t page = pcoll_huge_page_bytes();
    const size_t head = page > 0 ? -(uintptr_t)memory & (page - 1) : 0;
    const int before = errno;
    int rc;

    if (page == 0 || bytes < head + page)
        return 0;
    bytes = (bytes - head) & ~(page - 1);
    rc = madvise((char *)memory + head, bytes, MADV_COLLAPSE);
    errno = before;
    return rc == 0 ? bytes : 0;
}
