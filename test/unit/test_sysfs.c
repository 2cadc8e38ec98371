/* What is read in /sys: of machines that hwloc synthesizes, whose files the test writes, of this
 * one, and of files that make no sense; and the limits that follow. */
#include "offload/sysfs.h"

#include <hwloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offload/node/sharing.h"
#include "test/unit/tap.h"

#define MIB 1048576

/* ---- files ---- */

static char root[64];

static void make_folders(char *path)
{
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
}

/* One line; an empty text: none. */
__attribute__((format(printf, 2, 3))) static void put(const char *text, const char *format, ...)
{
    char path[256];
    const int used = snprintf(path, sizeof(path), "%s/", root);
    va_list arguments;
    FILE *file;

    va_start(arguments, format);
    vsnprintf(path + used, sizeof(path) - (size_t)used, format, arguments);
    va_end(arguments);
    make_folders(path);
    file = fopen(path, "w");
    if (file == NULL)
        abort();
    fprintf(file, "%s%s", text, *text ? "\n" : "");
    fclose(file);
}

static void begin(void)
{
    strcpy(root, "/tmp/test_sysfs.XXXXXX");
    if (mkdtemp(root) == NULL)
        abort();
}

static void end(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r %s", root);
    if (system(command) != 0)
        printf("# %s is left\n", root);
}

/* ---- a machine of hwloc's ---- */

static void put_set(hwloc_const_bitmap_t set, const char *format, unsigned cpu, int number)
{
    char path[128], *list;

    snprintf(path, sizeof(path), format, cpu, number);
    hwloc_bitmap_list_asprintf(&list, set);
    put(list, "%s", path);
    free(list);
}

static void put_cache(hwloc_obj_t cache, unsigned cpu, int number)
{
    char text[32];

    put(number == 0 ? "Data" : "Unified", "cpu/cpu%u/cache/index%d/type", cpu, number);
    snprintf(text, sizeof(text), "%lluK", (unsigned long long)cache->attr->cache.size >> 10);
    put(text, "cpu/cpu%u/cache/index%d/size", cpu, number);
    snprintf(text, sizeof(text), "%u", cache->attr->cache.depth);
    put(text, "cpu/cpu%u/cache/index%d/level", cpu, number);
    put_set(cache->cpuset, "cpu/cpu%u/cache/index%d/shared_cpu_list", cpu, number);
}

static void put_cpu(hwloc_obj_t unit)
{
    int number = 0;

    for (hwloc_obj_t over = unit->parent; over != NULL; over = over->parent) {
        if (over->type == HWLOC_OBJ_CORE)
            put_set(over->cpuset, "cpu/cpu%u/topology/thread_siblings_list", unit->os_index, 0);
        if (over->type == HWLOC_OBJ_PACKAGE)
            put_set(over->cpuset, "cpu/cpu%u/topology/core_siblings_list", unit->os_index, 0);
        if (hwloc_obj_type_is_dcache(over->type))
            put_cache(over, unit->os_index, number++);
    }
    if (number > 0)
        put("Instruction", "cpu/cpu%u/cache/index%d/type", unit->os_index, number);
}

static void put_machine(hwloc_topology_t topology)
{
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    hwloc_obj_t at = NULL;

    while ((at = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, at)) != NULL)
        put_cpu(at);
    while ((at = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, at)) != NULL) {
        hwloc_bitmap_set(nodes, at->os_index);
        put_set(at->cpuset, "node/node%u/cpulist", at->os_index, 0);
    }
    put_set(nodes, "node/online", 0, 0);
    hwloc_bitmap_free(nodes);
}

static void begin_machine(const char *description)
{
    hwloc_topology_t topology;

    begin();
    if (hwloc_topology_init(&topology) != 0 ||
        hwloc_topology_set_synthetic(topology, description) != 0 ||
        hwloc_topology_load(topology) != 0)
        abort();
    put_machine(topology);
    hwloc_topology_destroy(topology);
}

static cpu_set_t cpus(int first, int last)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int cpu = first; cpu <= last; cpu++)
        CPU_SET((size_t)cpu, &set);
    return set;
}

static struct pcoll_sysfs read_of(int first, int last)
{
    const cpu_set_t set = cpus(first, last);

    return pcoll_sysfs_read(root, &set);
}

static void expect_caches(const struct pcoll_sysfs *seen, uint64_t own, uint64_t last, int sharers,
                          const char *what)
{
    const struct pcoll_caches *caches = &seen->caches;

    if (!tap_ok(caches->own == own && caches->last == last && caches->sharers == sharers,
                "%s: caches", what))
        printf("# got %llu, %llu for %d\n", (unsigned long long)caches->own,
               (unsigned long long)caches->last, caches->sharers);
}

static void expect_locality(const struct pcoll_sysfs *seen, int package, int cache, int numa,
                            const char *what)
{
    const struct pcoll_locality *at = &seen->locality;

    if (!tap_ok(at->package == package && at->cache == cache && at->numa == numa, "%s: locality",
                what))
        printf("# got %d, %x, %d\n", (int)at->package, (unsigned)at->cache, (int)at->numa);
}

static struct pcoll_limits limits_of(const struct pcoll_sysfs *seen)
{
    struct pcoll_machine machine = {.L = 0};

    pcoll_caches_tell(&seen->caches, &machine);
    return pcoll_limits_of(&machine);
}

static void expect_limits(const struct pcoll_sysfs *seen, uint64_t ring, uint64_t segment,
                          const char *what)
{
    const struct pcoll_limits limits = limits_of(seen);

    if (!tap_ok(limits.ring == ring && limits.banks == 2 * ring && limits.segment == segment,
                "%s: limits", what))
        printf("# got %llu, %llu\n", (unsigned long long)limits.ring,
               (unsigned long long)limits.segment);
}

/* ---- tests ---- */

#define THIRD (3 << 16)
#define SECOND (2 << 16)

/* Two sockets of 64 cores, of which each 8 share a third-level cache. */
static void test_large(void)
{
    struct pcoll_sysfs seen;

    begin_machine("pack:2 [numa] l3:8(size=33554432) l2:8(size=1048576) l1d:1(size=32768) "
                  "core:1 pu:1");
    seen = read_of(9, 9);
    expect_caches(&seen, MIB, 32 * MIB, 8, "2 x 64 cores");
    expect_locality(&seen, 0, THIRD | 8, 0, "one core");
    expect_limits(&seen, 2 * MIB, 32 << 10, "2 x 64 cores");
    tap_ok(pcoll_long_copy(&seen.caches) == 2 * MIB, "2 x 64 cores: a long copy");
    seen = read_of(70, 71);
    expect_locality(&seen, 64, THIRD | 64, 1, "two cores of the second socket");
    seen = read_of(71, 72);
    expect_locality(&seen, 64, PCOLL_NONE, 1, "two cores with different caches");
    seen = read_of(0, 127);
    expect_locality(&seen, PCOLL_NONE, PCOLL_NONE, PCOLL_NONE, "all cores");
    expect_caches(&seen, MIB, 32 * MIB, 8, "all cores");
    end();
}

/* Threads of a core share all of its caches, and are one sharer of the last one. */
static void test_threads(void)
{
    struct pcoll_sysfs seen;

    begin_machine("pack:1 l3:1(size=8388608) l2:16(size=524288) l1d:1(size=32768) core:1 pu:2");
    seen = read_of(5, 5);
    expect_caches(&seen, MIB / 2, 8 * MIB, 16, "16 cores of two threads");
    expect_locality(&seen, 0, THIRD, 0, "16 cores of two threads");
    tap_ok(limits_of(&seen).ring == MIB / 4 && limits_of(&seen).segment == 4096,
           "a small share of the last cache makes rings short");
    tap_ok(pcoll_long_copy(&seen.caches) == MIB,
           "long copies fill four times the core's own cache");
    end();
    begin_machine("pack:1 l2:2(size=2097152) core:4 l1d:1(size=65536) pu:1");
    seen = read_of(0, 0);
    expect_caches(&seen, 64 << 10, 2 * MIB, 4, "the second cache is the last, and shared");
    expect_locality(&seen, 0, SECOND, 0, "the second cache is the last, and shared");
    end();
}

static void test_unknown(void)
{
    static const struct pcoll_machine unknown;
    const struct pcoll_limits usual = pcoll_limits_of(&unknown);
    struct pcoll_sysfs seen;

    tap_ok(usual.ring == 2 << 20 && usual.banks == 4 << 20 && usual.segment == 32 << 10,
           "the usual limits");
    begin_machine("pack:2 core:2 pu:1");
    seen = read_of(2, 2);
    expect_caches(&seen, 0, 0, 0, "a machine without caches");
    expect_locality(&seen, 2, PCOLL_NONE, 0, "a machine without caches");
    expect_limits(&seen, usual.ring, usual.segment, "a machine without caches");
    tap_ok(pcoll_long_copy(&seen.caches) == 4 << 20, "a machine without caches: a long copy");
    end();
    begin_machine("pack:1 l2:2(size=1048576) l1d:1(size=65536) core:1 pu:1");
    seen = read_of(0, 0);
    expect_caches(&seen, MIB, 0, 0, "private caches only: another one may be unknown");
    expect_limits(&seen, usual.ring, usual.segment, "private caches only");
    end();
    begin();
    seen = read_of(0, 0);
    expect_caches(&seen, 0, 0, 0, "no files");
    expect_locality(&seen, PCOLL_NONE, PCOLL_NONE, PCOLL_NONE, "no files");
    end();
}

/* The last cache of this machine is told in another way, each time. */
static void expect_refusal(const char *file, const char *text)
{
    struct pcoll_sysfs seen;

    begin_machine("pack:1 l3:1(size=8388608) l2:4(size=524288) core:1 pu:1");
    put(text, "cpu/cpu1/cache/index1/%s", file);
    seen = read_of(1, 1);
    tap_ok(seen.caches.own == MIB / 2 && seen.caches.last == 0 &&
               seen.locality.cache == (SECOND | 1),
           "a cache whose %s is '%s' is unknown", file, text);
    end();
}

static void test_refusals(void)
{
    expect_refusal("size", "0K");
    expect_refusal("size", "-K");
    expect_refusal("size", "");
    expect_refusal("shared_cpu_list", "0,2-3"); /* not the CPU itself */
    expect_refusal("shared_cpu_list", "0-3x");
    expect_refusal("shared_cpu_list", "");
    expect_refusal("level", "none");
    expect_refusal("type", "Instruction");
}

static void expect_huge_page(const char *enabled, const char *bytes, size_t expected)
{
    begin();
    put(enabled, "enabled");
    put(bytes, "hpage_pmd_size");
    tap_ok(pcoll_sysfs_huge_page(root) == expected, "huge pages '%s' of '%s' bytes: %zu", enabled,
           bytes, expected);
    end();
}

static void test_huge_pages(void)
{
    expect_huge_page("always [madvise] never", "2097152", 2 * MIB);
    expect_huge_page("[always] madvise never", "2097152", 2 * MIB);
    expect_huge_page("always madvise [never]", "2097152", 0);
    expect_huge_page("", "2097152", 0);
    expect_huge_page("[always] madvise never", "", 0);
    expect_huge_page("[always] madvise never", "2097153", 0);
    expect_huge_page("[always] madvise never", "none", 0);
}

/* The level of two ranks, bound to these cores. */
static void expect_level(int first_a, int last_a, int first_b, int last_b, enum pcoll_level level)
{
    const struct pcoll_locality localities[2] = {read_of(first_a, last_a).locality,
                                                 read_of(first_b, last_b).locality};
    struct pcoll_sharing sharing;

    if (pcoll_sharing_init(&sharing, localities, sizeof(localities[0]), 2) != PCOLL_OK)
        abort();
    tap_ok(pcoll_sharing_distance(&sharing, 0) == level, "bound to %d-%d and %d-%d: %s", first_a,
           last_a, first_b, last_b, pcoll_level_names[level]);
    pcoll_sharing_fini(&sharing);
}

static void test_levels(void)
{
    begin_machine("pack:2 l3:2(size=6291456) l2:2 core:1 pu:2");
    expect_level(0, 0, 1, 1, PCOLL_LEVEL_SAME_CACHE);
    expect_level(0, 0, 2, 2, PCOLL_LEVEL_SAME_CACHE);
    expect_level(0, 3, 2, 2, PCOLL_LEVEL_SAME_CACHE);
    expect_level(0, 0, 4, 4, PCOLL_LEVEL_OTHER_CACHE);
    expect_level(0, 7, 0, 0, PCOLL_LEVEL_OTHER_CACHE);
    expect_level(0, 7, 0, 7, PCOLL_LEVEL_OTHER_CACHE);
    expect_level(0, 0, 8, 8, PCOLL_LEVEL_OTHER_SOCKET);
    expect_level(0, 7, 8, 15, PCOLL_LEVEL_OTHER_SOCKET);
    expect_level(0, 15, 0, 15, PCOLL_LEVEL_ANY);
    end();
}

static void expect_text(const struct pcoll_sharing *sharing, enum pcoll_shared what,
                        const char *expected)
{
    char text[200];

    pcoll_sharing_text(sharing, what, text, sizeof(text));
    if (!tap_ok(strcmp(text, expected) == 0, "%s: %s", pcoll_shared_names[what], expected))
        printf("# got %s\n", text);
}

/* Ranks of 2 x 8 cores, each bound to one core, round robin over the sockets. */
static void test_sharing(void)
{
    struct pcoll_locality localities[16];
    struct pcoll_sharing sharing;

    begin_machine("pack:2 [numa] l3:2(size=16777216) l2:4(size=1048576) core:1 pu:1");
    for (int r = 0; r < 16; r++)
        localities[r] = read_of(r / 2 + r % 2 * 8, r / 2 + r % 2 * 8).locality;
    if (pcoll_sharing_init(&sharing, localities, sizeof(localities[0]), 16) != PCOLL_OK)
        abort();
    expect_text(&sharing, PCOLL_SHARED_CACHE, "{0,2,4,6} {1,3,5,7} {8,10,12,14} {9,11,13,15}");
    expect_text(&sharing, PCOLL_SHARED_NUMA, "{0,2,4,6,8,10,12,14} {1,3,5,7,9,11,13,15}");
    expect_text(&sharing, PCOLL_SHARED_SOCKET, "{0,2,4,6,8,10,12,14} {1,3,5,7,9,11,13,15}");
    pcoll_sharing_fini(&sharing);
    end();
}

/* The kernel's files and hwloc agree about this machine. */
static void test_here(void)
{
    const struct pcoll_sysfs seen = pcoll_sysfs_here();
    hwloc_bitmap_t units = hwloc_bitmap_alloc();
    hwloc_topology_t topology;
    uint64_t last = 0;
    int cache = 0;

    if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0 ||
        hwloc_get_cpubind(topology, units, HWLOC_CPUBIND_THREAD) != 0)
        abort();
    for (hwloc_obj_t at = hwloc_get_obj_covering_cpuset(topology, units); at; at = at->parent)
        if (hwloc_obj_type_is_dcache(at->type))
            cache = (int)at->attr->cache.depth;
    for (hwloc_obj_t at =
             hwloc_get_pu_obj_by_os_index(topology, (unsigned)hwloc_bitmap_first(units));
         at; at = at->parent)
        if (hwloc_obj_type_is_dcache(at->type))
            last = at->attr->cache.size;
    tap_ok(seen.locality.cache == PCOLL_NONE ? cache == 0 : seen.locality.cache >> 16 == cache,
           "this machine: the common cache is that of hwloc");
    tap_ok(seen.caches.last == 0 || seen.caches.last == last,
           "this machine: the last cache is that of hwloc");
#ifdef _SC_LEVEL2_CACHE_SIZE
    tap_ok(seen.caches.own > 0 || sysconf(_SC_LEVEL2_CACHE_SIZE) <= 0,
           "this machine: a core's own cache is known if the processor tells of it");
#endif
    hwloc_bitmap_free(units);
    hwloc_topology_destroy(topology);
}

int main(void)
{
    test_large();
    test_threads();
    test_unknown();
    test_refusals();
    test_huge_pages();
    test_levels();
    test_sharing();
    test_here();
    return tap_done();
}
