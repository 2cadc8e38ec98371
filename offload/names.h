/*
 * A hash table from names, which are any bytes, to values: what a process knows of other processes,
 * by their addresses. Finding a value takes a time that does not depend on how many there are.
 */
#ifndef PCOLL_NAMES_H
#define PCOLL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "algorithms/plan/plan.h"

struct pcoll_names {
    struct pcoll_named *table; /* [mask + 1], at least half of them empty; NULL: none yet */
    size_t mask, n;
};

struct pcoll_named {
    const void *name;
    size_t bytes;
    uint64_t hash;
    void *value; /* NULL: empty */
};

/* Returns the value of the name, or NULL. */
void *pcoll_names_find(const struct pcoll_names *names, const void *name, size_t bytes);

/* Make room for one more name. */
enum pcoll_result pcoll_names_reserve(struct pcoll_names *names) PCOLL_MUST_CHECK;

/* Add a name with a value that is not NULL. There must be room, and no such name yet. The name is
 * not copied. */
void pcoll_names_add(struct pcoll_names *names, const void *name, size_t bytes, void *value);

/* Forget all; names and values are the caller's. Accepts a zeroed structure. */
void pcoll_names_fini(struct pcoll_names *names);

#endif /* PCOLL_NAMES_H */
