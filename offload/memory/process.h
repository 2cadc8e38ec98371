/*
 * The identity of processes. A pid does not suffice: ranks in PID namespaces of their own
 * (containers) may all have the same one.
 */
#ifndef PCOLL_MEMORY_PROCESS_H
#define PCOLL_MEMORY_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* 128 random bits: no two processes ever have the same. */
struct pcoll_process_id {
    unsigned char bytes[16];
};

/* The id of this process: the same object at every call and in all threads. A fork gets another
 * value. */
const struct pcoll_process_id *pcoll_process_self(void);

/* Returns whether the process has ended, even if its parent has not been told yet. */
bool pcoll_process_is_dead(pid_t pid);

bool pcoll_process_is_self(const struct pcoll_process_id *id);

/* Fill an id, or anything that must be unguessable or unique. */
void pcoll_process_random(struct pcoll_process_id *id);

#endif /* PCOLL_MEMORY_PROCESS_H */
