/*
 * What a process knows by the addresses of other processes: a value for each name, found in a time
 * that does not depend on how many there are. Names are any bytes.
 */
#ifndef PCOLL_NAMES_H
#define PCOLL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "algorithms/plan/plan.h"

struct pcoll_names {
    struct pcoll_named *slots; /* [mask + 1], at least half of them empty; NULL: none yet */
    size_t mask, n;
};

struct pcoll_named {
    const void *name;
    size_t bytes;
    uint64_t hash;
    void *value; /* NULL: empty */
};

/* The value of the name, or NULL. */
void *pcoll_names_find(const struct pcoll_names *names, const void *name, size_t bytes);

/* Make room for one more name. */
enum pcoll_result pcoll_names_reserve(struct pcoll_names *names) PCOLL_MUST_CHECK;

/* There must be room, and no such name yet; the value is not NULL. The name is not copied. */
void pcoll_names_add(struct pcoll_names *names, const void *name, size_t bytes, void *value);

/* Forget all; names and values are the caller's. Accepts a zeroed structure. */
void pcoll_names_fini(struct pcoll_names *names);

#endif /* PCOLL_NAMES_H */
