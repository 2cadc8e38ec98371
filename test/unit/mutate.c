#include "test/unit/mutate.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/pool.h"

static void *duplicate(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);

    if (!to)
        return NULL;
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

static struct pcoll_entry *duplicate_entries(const struct pcoll_plan *plan)
{
    struct pcoll_entry *to = pcoll_pool_get(((size_t)plan->nentries + 1) * sizeof(*to));

    if (to && plan->nentries > 0)
        memcpy(to, plan->entries, (size_t)plan->nentries * sizeof(*to));
    return to;
}

struct pcoll_plan *mutate_copy(const struct pcoll_plan *plan)
{
    struct pcoll_plan *copy = duplicate(plan, sizeof(*plan));

    if (!copy)
        return NULL;
    copy->phases = duplicate(plan->phases, (size_t)plan->nphases * sizeof(*plan->phases));
    copy->gain = duplicate(plan->gain, (size_t)plan->ncounters * sizeof(*plan->gain));
    copy->entries = duplicate_entries(plan);
    copy->neighbors =
        duplicate(plan->neighbors, (size_t)plan->nneighbors * sizeof(*plan->neighbors));
    copy->capacity = plan->nentries;
    if (copy->phases && copy->gain && copy->entries && copy->neighbors)
        return copy;
    pcoll_plan_destroy(copy);
    return NULL;
}

struct pcoll_plan *mutate_drop(const struct pcoll_plan *plan, int entry)
{
    struct pcoll_plan *copy = mutate_copy(plan);

    if (!copy)
        return NULL;
    copy->nentries--;
    memmove(copy->entries + entry, copy->entries + entry + 1,
            (size_t)(copy->nentries - entry) * sizeof(*copy->entries));
    for (int p = 0; p < copy->nphases; p++) {
        struct pcoll_phase *phase = &copy->phases[p];

        if (entry < phase->first)
            phase->first--;
        else if (entry < phase->first + phase->count)
            phase->count--;
    }
    return copy;
}

int mutate_can_lower(const struct pcoll_plan *plan, int entry)
{
    return plan->entries[entry].trigger != PCOLL_NONE && plan->entries[entry].threshold > 0;
}

struct pcoll_plan *mutate_lower(const struct pcoll_plan *plan, int entry)
{
    struct pcoll_plan *copy = mutate_copy(plan);

    if (copy)
        copy->entries[entry].threshold--;
    return copy;
}

static void add_gain(struct pcoll_plan **plans, int rank, const struct pcoll_entry *entry)
{
    if (entry->done != PCOLL_NONE)
        plans[rank]->gain[entry->done] += entry->done_add;
    if (entry->peer != PCOLL_NONE && entry->peer_counter != PCOLL_NONE)
        plans[entry->peer]->gain[entry->peer_counter] += entry->peer_add;
}

int mutate_collapse(struct pcoll_plan *const *plans, int nranks, struct pcoll_plan **to)
{
    for (int r = 0; r < nranks; r++) {
        to[r] = mutate_copy(plans[r]);
        if (!to[r]) {
            while (r-- > 0)
                pcoll_plan_destroy(to[r]);
            return 0;
        }
        to[r]->nphases = 1;
        to[r]->nentries = to[r]->phases[0].first + to[r]->phases[0].count;
        memset(to[r]->gain, 0, (size_t)to[r]->ncounters * sizeof(*to[r]->gain));
    }
    for (int r = 0; r < nranks; r++)
        for (int i = to[r]->phases[0].first; i < to[r]->nentries; i++)
            add_gain(to, r, &to[r]->entries[i]);
    return 1;
}
