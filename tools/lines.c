/* Lines of counters; the contract is in lines.h. */
#include "tools/lines.h"

#include <stdlib.h>

enum { POLLED = -1 };

/* The counters of all ranks have consecutive numbers: those of rank r begin at first[r]. */
struct tally {
    size_t *first; /* [nranks] */
    int *last;     /* of each counter: 1 + the last rank that wrote it, or POLLED; 0: none yet */
    int *nwriters; /* of each counter */
    struct lines lines;
};

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void count_written(struct tally *t, const struct pcoll_plan *plan)
{
    int written = 0;

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];
        size_t counter;

        if (entry->peer_counter == PCOLL_NONE)
            continue;
        counter = t->first[entry->peer] + (size_t)entry->peer_counter;
        if (t->last[counter] == plan->rank + 1)
            continue;
        t->last[counter] = plan->rank + 1;
        t->lines.writers = larger(t->lines.writers, ++t->nwriters[counter]);
        written++;
    }
    t->lines.written = larger(t->lines.written, written);
}

/* After all that is written has been counted. */
static void count_polled(struct tally *t, const struct pcoll_plan *plan)
{
    int polled = 0;

    for (int i = 0; i < plan->nentries; i++) {
        const int trigger = plan->entries[i].trigger;
        int *last;

        if (trigger == PCOLL_NONE)
            continue;
        last = &t->last[t->first[plan->rank] + (size_t)trigger];
        polled += *last != POLLED;
        *last = POLLED;
    }
    t->lines.polled = larger(t->lines.polled, polled);
}

static void count_all(struct tally *t, struct pcoll_plan *const *plans, int nranks)
{
    for (int r = 0; r < nranks; r++)
        count_written(t, plans[r]);
    for (int r = 0; r < nranks; r++)
        count_polled(t, plans[r]);
}

enum pcoll_result lines_count(struct pcoll_plan *const *plans, int nranks, struct lines *lines_p)
{
    struct tally t = {.first = malloc(((size_t)nranks + 1) * sizeof(*t.first))};
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    size_t total = 0;

    for (int r = 0; t.first && r < nranks; r++) {
        t.first[r] = total;
        total += (size_t)plans[r]->ncounters;
    }
    t.last = calloc(total + 1, sizeof(*t.last));
    t.nwriters = calloc(total + 1, sizeof(*t.nwriters));
    if (t.first && t.last && t.nwriters) {
        count_all(&t, plans, nranks);
        *lines_p = t.lines;
        result = PCOLL_OK;
    }
    free(t.first);
    free(t.last);
    free(t.nwriters);
    return result;
}
