/*
 * A piece of memory that one process makes and others map.
 *
 * Where it can be, it is a memfd, which others open through the maker's /proc/PID/fd: it has no
 * name that a killed process could leave behind, and no small /dev/shm limits it.  That takes a
 * common PID namespace, its /proc, and leave to look there.  Otherwise it has a name in /dev/shm
 * from when it is made to when it is closed.
 *
 * These functions return 0 or an errno.
 */
#ifndef PCOLL_SHM_OBJECT_H
#define PCOLL_SHM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "offload/shm/process.h"

/* What others need to open an object; plain data. */
struct pcoll_shm_object {
    struct pcoll_process_id token; /* part of its name: nothing else is called so */
    int64_t pid;                   /* of its maker, in the namespace of that */
    int32_t fd;                    /* there */
    int32_t in_dev_shm;            /* opened by name */
};

/* Make an object of `bytes` bytes of zeros, all reserved: a lack of memory is an error here, never
 * a SIGBUS later.  It can be opened until it is closed; what is mapped stays. */
int pcoll_shm_object_create(struct pcoll_shm_object *object, int in_dev_shm, size_t bytes);
void pcoll_shm_object_close(const struct pcoll_shm_object *object);

int pcoll_shm_object_open(const struct pcoll_shm_object *object, int *fd_p);

#endif /* PCOLL_SHM_OBJECT_H */
