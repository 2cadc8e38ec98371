/* Memory that moves to huge pages keeps its data, and lies on such pages; what cannot move stays
 * where it is. */
#include "offload/memory/huge.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/unit/tap.h"

enum { PAGES = 3, BEHIND = 4096 + 16 };

static unsigned char pattern(size_t at)
{
    return (unsigned char)(at * 7 + at / 4096);
}

static void fill(unsigned char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = pattern(i);
}

static int is_filled(const unsigned char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != pattern(i))
            return 0;
    return 1;
}

/* Of the mapping that contains the address. */
static size_t bytes_on_huge_pages(const void *memory)
{
    const uintptr_t at = (uintptr_t)memory;
    FILE *file = fopen("/proc/self/smaps", "r");
    unsigned long begin, end, kib, found = 0;
    int is_here = 0;
    char line[400];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            is_here = at >= begin && at < end;
        else if (is_here && sscanf(line, "AnonHugePages: %lu", &kib) == 1)
            found = kib << 10;
    if (file != NULL)
        fclose(file);
    return found;
}

/* Two huge pages fit in three that do not begin at one. */
static void test_move(size_t page)
{
    const size_t bytes = PAGES * page;
    unsigned char *mapping =
        mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *memory = mapping + (-(uintptr_t)mapping & (page - 1)) + BEHIND;
    size_t moved;

    if (mapping == MAP_FAILED)
        abort();
    fill(memory, bytes - BEHIND);
    moved = pcoll_huge_pages(memory, bytes - BEHIND);
    tap_ok(is_filled(memory, bytes - BEHIND), "the data is the same");
    tap_ok(moved == 0 || moved == (PAGES - 1) * page, "%zu bytes moved", moved);
    tap_ok(bytes_on_huge_pages(memory + page) >= moved, "they lie on huge pages");
    tap_ok(pcoll_huge_pages(memory, bytes - BEHIND) == moved, "a second move finds them there");
    tap_ok(pcoll_huge_pages(memory, page) == 0, "a page that lies on two is not moved");
    munmap(mapping, bytes + page);
}

static void test_refusals(size_t page)
{
    void *none = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(none, 2 * page);
    errno = ERANGE;
    tap_ok(pcoll_huge_pages(none, 2 * page) == 0, "memory that does not exist is not moved");
    tap_ok(errno == ERANGE, "errno stays as it was");
    tap_ok(pcoll_huge_pages(NULL, 0) == 0, "nothing is not moved");
}

int main(void)
{
    const size_t page = pcoll_huge_page_bytes();

    tap_ok((page & (page - 1)) == 0, "a huge page has %zu bytes", page);
    test_move(page > 0 ? page : (size_t)sysconf(_SC_PAGESIZE) * 2);
    test_refusals(page > 0 ? page : (size_t)sysconf(_SC_PAGESIZE));
    return tap_done();
}
