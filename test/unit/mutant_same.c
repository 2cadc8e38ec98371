/* Mutants that no run can distinguish from the original; the contract is in mutant.h. */
#include <string.h>

#include "test/unit/mutant.h"

enum { WINDOW = 4096 };

/* Mark the values that `value` can reach whether or not `add` arrives. */
static void spread(char *reachable, uint64_t add)
{
    for (uint64_t v = WINDOW; v-- > add;)
        reachable[v] |= reachable[v - add];
}

/* Mark all sums of one cycle's signals on that counter. */
static void spread_cycle(const struct job *job, int rank, int counter, char *reachable)
{
    for (int r = 0; r < job->signature.nranks; r++)
        for (int i = 0; i < job->plans[r]->nentries; i++) {
            const struct pcoll_entry *entry = &job->plans[r]->entries[i];

            if (r == rank && entry->done == counter)
                spread(reachable, entry->done_add);
            if (entry->peer == rank && entry->peer_counter == counter)
                spread(reachable, entry->peer_add);
        }
}

/* True if the counter can ever be one below the threshold. Peers may be a cycle ahead. All signals
 * of earlier cycles have arrived if the highest threshold of a cycle waits for all of that cycle.
 */
static int one_less_is_reachable(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];
    const int counter = mutant_entry(m)->trigger;
    static char reachable[WINDOW];
    uint64_t highest = 0;

    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].trigger == counter && plan->entries[i].threshold > highest)
            highest = plan->entries[i].threshold;
    if (highest < plan->gain[counter] || plan->gain[counter] >= WINDOW)
        return 1;
    memset(reachable, 0, sizeof(reachable));
    reachable[0] = 1;
    spread_cycle(m->job, m->rank, counter, reachable);
    spread_cycle(m->job, m->rank, counter, reachable);
    return reachable[mutant_entry(m)->threshold - 1];
}

/* A WAIT is redundant if another entry of the phase waits for at least the same value. */
static int wait_is_redundant(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];

    if (mutant_entry(m)->op != PCOLL_OP_WAIT)
        return 0;
    for (int p = 0; p < plan->nphases; p++) {
        const int first = plan->phases[p].first, end = first + plan->phases[p].count;

        for (int i = first; m->entry >= first && m->entry < end && i < end; i++)
            if (i != m->entry && plan->entries[i].trigger == mutant_entry(m)->trigger &&
                plan->entries[i].threshold >= mutant_entry(m)->threshold)
                return 1;
    }
    return 0;
}

/* In an ordered plan it fires after the preceding entry on the same trigger, which waits for at
 * least the same value. */
static int stands_in_line(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];
    const struct pcoll_entry *entry = mutant_entry(m);

    for (int p = 0; p < plan->nphases; p++)
        if (plan->phases[p].first == m->entry)
            return 0;
    return plan->ordered && entry[-1].trigger == entry->trigger &&
           entry[-1].threshold >= entry->threshold;
}

int mutant_is_same(const struct mutant *m)
{
    if (m->kind == MUTANT_LOWER && (!one_less_is_reachable(m) || stands_in_line(m)))
        return 1;
    return m->kind <= MUTANT_LOWER && wait_is_redundant(m);
}
