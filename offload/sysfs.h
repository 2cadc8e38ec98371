/*
 * What the kernel tells in /sys about the cores to which this process is bound: their caches, and
 * the socket, NUMA domain and cache that contain all of them.
 *
 * hwloc would say the same, and a test compares the two. But it reads the files of all cores and
 * devices of the machine, in each process (35 ms for two cores, where a group takes 2 to be made);
 * these are some 20 files of one core.
 */
#ifndef PCOLL_SYSFS_H
#define PCOLL_SYSFS_H

#include <sched.h>

#include "algorithms/plan/caches.h"
#include "algorithms/plan/topology.h"

struct pcoll_sysfs {
    struct pcoll_locality locality;
    struct pcoll_caches caches; /* of the first of the cores */
};

#define PCOLL_SYSFS_ROOT "/sys/devices/system"

/* What is told below `root` about the CPUs of the set, which is not empty. What is not told, or
 * makes no sense, is unknown. Root has at most 200 characters. */
struct pcoll_sysfs pcoll_sysfs_read(const char *root, const cpu_set_t *cpus);

/* The same about the CPUs on which this thread may run now; files are read only when these have
 * changed. Of a core's own cache, what the processor tells counts if the kernel tells nothing.
 * Thread-safe. */
struct pcoll_sysfs pcoll_sysfs_here(void);

#define PCOLL_SYSFS_HUGE "/sys/kernel/mm/transparent_hugepage"

/* The bytes of a huge page of memory that is not a file's, from what is told below `root`; 0: there
 * are none, or the administrator wants none. */
size_t pcoll_sysfs_huge_page(const char *root);

#endif /* PCOLL_SYSFS_H */
