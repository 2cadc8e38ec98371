/*
 * Where two ranks can sit to be a certain distance apart, by hwloc.
 */
#ifndef PCOLL_PLACES_H
#define PCOLL_PLACES_H

#include <hwloc.h>

#include "tuning/locality.h"

/* Two processing units (as the operating system numbers them) of different cores, the first such
 * pair: that share a cache; in one socket without a shared cache; in different sockets.  0: there
 * are none. */
int places_find(hwloc_topology_t topology, enum pcoll_level level, int units[2]);

/* Of who may run on these processing units. */
struct pcoll_locality places_locality(hwloc_topology_t topology, hwloc_const_cpuset_t units);

/* At least 1. */
int places_sockets(hwloc_topology_t topology);

#endif /* PCOLL_PLACES_H */
