/*
 * Where two ranks can be bound to be at a given level, according to hwloc.
 */
#ifndef PCOLL_PLACES_H
#define PCOLL_PLACES_H

#include <hwloc.h>
#include <stdbool.h>

#include "tuning/locality.h"

/* Find the first two processing units (numbered as by the operating system) of different cores that
 * share a cache; or are in one socket without a shared cache; or are in different sockets. Returns
 * false if there are none. */
bool places_find(hwloc_topology_t topology, enum pcoll_level level, int units[2]);

/* The locality of a process that may run on these processing units. */
struct pcoll_locality places_locality(hwloc_topology_t topology, hwloc_const_cpuset_t units);

/* The number of sockets, at least 1. */
int places_sockets(hwloc_topology_t topology);

/* The size in bytes of the largest cache; 0: unknown. */
uint64_t places_cache(hwloc_topology_t topology);

#endif /* PCOLL_PLACES_H */
