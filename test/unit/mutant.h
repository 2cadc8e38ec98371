/*
 * Decides whether a plan with one thing wrong differs from the original and, if it does, why it may
 * still be right.
 */
#ifndef PCOLL_TEST_MUTANT_H
#define PCOLL_TEST_MUTANT_H

#include "test/unit/job.h"

enum mutant_kind {
    MUTANT_DROP,     /* an entry is left out */
    MUTANT_LOWER,    /* a threshold is lowered by one */
    MUTANT_COLLAPSE, /* the second bank of counters and buffers is removed */
    MUTANT_UNORDER,  /* the medium does not keep the order of messages */
    MUTANT_NUM_KINDS
};

extern const char *const mutant_kind_names[MUTANT_NUM_KINDS];

struct mutant {
    enum mutant_kind kind;
    const struct job *job;
    int rank, entry; /* for MUTANT_DROP and MUTANT_LOWER */
};

static inline const struct pcoll_entry *mutant_entry(const struct mutant *m)
{
    return &m->job->plans[m->rank]->entries[m->entry];
}

/* True if no run can distinguish it from the original. */
int mutant_is_same(const struct mutant *m);

/* The number of the excuse (test/tables/excuses.tsv) why it is still right without what was
 * removed; -1: there is none. */
int mutant_excuse(const struct mutant *m);

enum { MUTANT_MOST_EXCUSES = 128 };

/* The text of the excuse, and the kind of mutant that it excuses. */
const char *mutant_excuse_text(int excuse);
enum mutant_kind mutant_excuse_kind(int excuse);

#endif /* PCOLL_TEST_MUTANT_H */
