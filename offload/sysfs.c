#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for cpu_set_t */
#endif

#include "offload/sysfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 4096, MAX_CACHES = 16 };

/* The first line of a file, without its end; false: there is none, or it is longer. Allocates
 * nothing. */
__attribute__((format(printf, 3, 4))) static bool read_line(char line[LINE], const char *root,
                                                            const char *format, ...)
{
    char path[300], *end;
    const int used = snprintf(path, sizeof(path), "%.200s/", root);
    va_list arguments;
    ssize_t bytes;
    int fd;

    va_start(arguments, format);
    vsnprintf(path + used, sizeof(path) - (size_t)used, format, arguments);
    va_end(arguments);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bytes = read(fd, line, LINE - 1);
    close(fd);
    if (bytes <= 0)
        return false;
    line[bytes] = '\0';
    end = strchr(line, '\n');
    if (end == NULL)
        return false;
    *end = '\0';
    return true;
}

/* A list of CPUs, as `0-3,8`; false: it is something else, or empty. */
static bool parse_list(const char *text, cpu_set_t *set)
{
    char *end = NULL;

    CPU_ZERO(set);
    for (; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        const unsigned long first = strtoul(text, &end, 10);
        unsigned long last = first;

        if (end == text)
            return false;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET(cpu, set);
        if (*end != ',' && *end != '\0')
            return false;
    }
    return CPU_COUNT(set) > 0;
}

static int lowest(const cpu_set_t *set)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, set))
            return cpu;
    return PCOLL_NONE;
}

static bool contains(const cpu_set_t *set, const cpu_set_t *part)
{
    cpu_set_t common;

    CPU_AND(&common, set, part);
    return CPU_EQUAL(&common, part);
}

/* What is read, and about whom. */
struct view {
    const char *root;
    const cpu_set_t *cpus;
    int first;      /* of them */
    cpu_set_t core; /* the CPUs of its core */
};

static void see_core(struct view *view)
{
    char line[LINE];

    if (!read_line(line, view->root, "cpu/cpu%d/topology/thread_siblings_list", view->first) ||
        !parse_list(line, &view->core) || !CPU_ISSET((size_t)view->first, &view->core)) {
        CPU_ZERO(&view->core);
        CPU_SET((size_t)view->first, &view->core);
    }
}

/* A data cache of the first CPU. */
struct cache {
    int level;
    uint64_t bytes;
    cpu_set_t users; /* including that CPU */
};

/* Returns false where the list of caches ends; level 0: it is not for data, or makes no sense. */
static bool see_cache(const struct view *view, int number, struct cache *cache)
{
    char line[LINE], *unit;

    *cache = (struct cache){.level = 0};
    if (!read_line(line, view->root, "cpu/cpu%d/cache/index%d/type", view->first, number))
        return false;
    if (strcmp(line, "Instruction") == 0 ||
        !read_line(line, view->root, "cpu/cpu%d/cache/index%d/size", view->first, number))
        return true;
    cache->bytes = strtoull(line, &unit, 10);
    cache->bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
    if (cache->bytes == 0 ||
        !read_line(line, view->root, "cpu/cpu%d/cache/index%d/shared_cpu_list", view->first,
                   number) ||
        !parse_list(line, &cache->users) || !CPU_ISSET((size_t)view->first, &cache->users) ||
        !read_line(line, view->root, "cpu/cpu%d/cache/index%d/level", view->first, number))
        return true;
    cache->level = atoi(line);
    return true;
}

/* The last cache is one of the third level or above, or one that cores share: a processor whose
 * kernel tells only of private caches may well have another one. */
static void see_caches(const struct view *view, struct pcoll_sysfs *seen)
{
    int last = 0, common = 0; /* levels */
    struct cache cache;

    for (int i = 0; i < MAX_CACHES && see_cache(view, i, &cache); i++) {
        const bool is_shared = !contains(&view->core, &cache.users);

        if (cache.level > common && contains(&cache.users, view->cpus)) {
            common = cache.level;
            seen->locality.cache = (int32_t)(common << 16 | lowest(&cache.users));
        }
        if (cache.level > last && (is_shared || cache.level > 2)) {
            last = cache.level;
            seen->caches.last = cache.bytes;
            seen->caches.sharers = CPU_COUNT(&cache.users) / CPU_COUNT(&view->core);
        } else if (!is_shared && cache.level > 0 && cache.level <= 2 &&
                   cache.bytes > seen->caches.own) {
            seen->caches.own = cache.bytes;
        }
    }
}

static void see_package(const struct view *view, struct pcoll_sysfs *seen)
{
    char line[LINE];
    cpu_set_t cpus;

    if (read_line(line, view->root, "cpu/cpu%d/topology/core_siblings_list", view->first) &&
        parse_list(line, &cpus) && contains(&cpus, view->cpus))
        seen->locality.package = lowest(&cpus);
}

static void see_numa(const struct view *view, struct pcoll_sysfs *seen)
{
    char line[LINE];
    cpu_set_t nodes, cpus;

    if (!read_line(line, view->root, "node/online") || !parse_list(line, &nodes))
        return;
    for (int node = 0; node < CPU_SETSIZE; node++)
        if (CPU_ISSET((size_t)node, &nodes) &&
            read_line(line, view->root, "node/node%d/cpulist", node) && parse_list(line, &cpus) &&
            contains(&cpus, view->cpus)) {
            seen->locality.numa = node;
            return;
        }
}

struct pcoll_sysfs pcoll_sysfs_read(const char *root, const cpu_set_t *cpus)
{
    struct view view = {.root = root, .cpus = cpus, .first = lowest(cpus)};
    struct pcoll_sysfs seen = {.locality = {PCOLL_NONE, PCOLL_NONE, PCOLL_NONE}};

    see_core(&view);
    see_caches(&view, &seen);
    see_package(&view, &seen);
    see_numa(&view, &seen);
    return seen;
}

/* A hypervisor may hide caches from the kernel that the processor tells of. */
static void ask_processor(struct pcoll_sysfs *seen)
{
#ifdef _SC_LEVEL2_CACHE_SIZE
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);

    if (seen->caches.own == 0 && seen->caches.last == 0 && bytes > 0)
        seen->caches.own = (uint64_t)bytes;
#endif
}

struct pcoll_sysfs pcoll_sysfs_here(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct pcoll_sysfs seen;
    static cpu_set_t about; /* empty at first */
    struct pcoll_sysfs result = {.locality = {PCOLL_NONE, PCOLL_NONE, PCOLL_NONE}};
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) == 0)
        return result;
    pthread_mutex_lock(&mutex);
    if (!CPU_EQUAL(&cpus, &about)) {
        seen = pcoll_sysfs_read(PCOLL_SYSFS_ROOT, &cpus);
        ask_processor(&seen);
        about = cpus;
    }
    result = seen;
    pthread_mutex_unlock(&mutex);
    return result;
}

size_t pcoll_sysfs_huge_page(const char *root)
{
    char line[LINE];
    size_t bytes;

    if (!read_line(line, root, "enabled") || strstr(line, "[never]") != NULL ||
        !read_line(line, root, "hpage_pmd_size"))
        return 0;
    bytes = strtoull(line, NULL, 10);
    return (bytes & (bytes - 1)) == 0 ? bytes : 0;
}
