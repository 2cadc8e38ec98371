/*
 * A piece of memory that one process creates and others map.
 *
 * If possible it is a memfd, which others open through the creator's /proc/PID/fd: it has no name
 * that a killed process could leave behind, and the size of /dev/shm does not limit it. This
 * requires a common PID namespace, its /proc, and permission to look there. Otherwise it has a name
 * in /dev/shm from its creation until it is closed.
 *
 * These functions return 0 or an errno.
 */
#ifndef PCOLL_MEMORY_OBJECT_H
#define PCOLL_MEMORY_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "offload/memory/process.h"

/* What other processes need to open an object; plain data. */
struct pcoll_shm_object {
    struct pcoll_process_id token; /* part of its name, which is therefore unique */
    int64_t pid;                   /* of the creator, in the creator's PID namespace */
    int32_t fd;                    /* in the creator's process */
    int32_t in_dev_shm;            /* opened by name */
};

/* Create an object of `bytes` zero bytes, all reserved: a lack of memory is an error here and never
 * a SIGBUS later. It can be opened until it is closed; existing mappings stay. */
int pcoll_shm_object_create(struct pcoll_shm_object *object, bool in_dev_shm, size_t bytes);

/* Create a memfd of `bytes` zero bytes, of which nothing is reserved: it takes memory as it is
 * touched. */
int pcoll_shm_object_create_sparse(struct pcoll_shm_object *object, size_t bytes);

/* Give the memory behind `fd` that size, at least, with all of it reserved. Beyond the process's
 * limit for files this is EFBIG, without a signal. */
int pcoll_shm_object_reserve(int fd, size_t bytes);

/* Let nobody open the object any more. */
void pcoll_shm_object_close(const struct pcoll_shm_object *object);

/* Open an object that this or another process has created. The caller closes *fd_p. */
int pcoll_shm_object_open(const struct pcoll_shm_object *object, int *fd_p);

#endif /* PCOLL_MEMORY_OBJECT_H */
