/*
 * Where two ranks can be bound to be at a given level, according to hwloc.
 */
#ifndef PCOLL_PLACES_H
#define PCOLL_PLACES_H

#include <hwloc.h>
#include <stdbool.h>

#include "algorithms/plan/topology.h"

/* Find the first two processing units (numbered as by the operating system) of different cores that
 * share a cache; or are in one socket without a shared cache; or are in different sockets. Returns
 * false if there are none. */
bool places_find(hwloc_topology_t topology, enum pcoll_level level, int units[2]);

/* The number of sockets, at least 1. */
int places_sockets(hwloc_topology_t topology);

#endif /* PCOLL_PLACES_H */
