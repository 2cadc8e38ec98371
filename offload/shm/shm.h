/*
 * The shared-memory medium: ranks of one node.
 *
 * A counter is a 64-bit word at the head of a cache line in shared memory; its cell is the rest of
 * the line. TEMP is in shared memory, too. User buffers of peers are accessed with process_vm_readv
 * and process_vm_writev (CMA) if the kernel permits it, which is probed when the group is created.
 * A signal is an atomic add, or a plain store if only one rank ever signals that counter.
 */
#ifndef PCOLL_SHM_H
#define PCOLL_SHM_H

#include "offload/medium.h"

extern const struct pcoll_medium pcoll_medium_shm;

#endif /* PCOLL_SHM_H */
