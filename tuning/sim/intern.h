/*
 * Keeps equal rows of words once.
 */
#ifndef PCOLL_SIM_INTERN_H
#define PCOLL_SIM_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct pcoll_intern {
    uint64_t *words; /* all rows, each preceded by its length */
    size_t nwords, room;
    uint32_t *table; /* 1 + where a row begins in words; 0: free */
    size_t slots, nrows;
};

void pcoll_intern_init(struct pcoll_intern *intern);
void pcoll_intern_fini(struct pcoll_intern *intern);

#define PCOLL_INTERN_FAILED UINT32_MAX

/* The handle of the row that equals the n words at `row`, which is added if it is new.
 * PCOLL_INTERN_FAILED: out of memory. */
uint32_t pcoll_intern_row(struct pcoll_intern *intern, const void *row, size_t n);

/* Adds a row even if it equals another; not to be mixed with pcoll_intern_row. The handle of the
 * i-th row of n words each is i * (n + 1). */
uint32_t pcoll_intern_add(struct pcoll_intern *intern, const void *row, size_t n);

static inline const void *pcoll_intern_at(const struct pcoll_intern *intern, uint32_t handle)
{
    return intern->words + handle + 1;
}

#endif /* PCOLL_SIM_INTERN_H */
