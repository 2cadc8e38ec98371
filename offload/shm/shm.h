/*
 * The shared-memory medium: ranks of one node.
 *
 * A counter is a 64-bit word at the head of a cache line in shared memory, its cell the rest of the
 * line.  TEMP lies in shared memory too; user buffers of peers are reached by process_vm_readv and
 * process_vm_writev (CMA) where the kernel lets us, which is probed when the group is made.  A
 * signal is an atomic add, or a plain store where one rank only ever signals that counter.
 */
#ifndef PCOLL_SHM_H
#define PCOLL_SHM_H

#include "offload/medium.h"

extern const struct pcoll_medium pcoll_medium_shm;

#endif /* PCOLL_SHM_H */
