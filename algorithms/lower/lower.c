/* Lowering: the sequence of its steps, and the new plan; the contract is in lower.h. */
#include "algorithms/lower/lower.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lower/private.h"

/* Let the entries that signal `peer` signal the counters of its lowered plan. */
static enum pcoll_result redirect(struct pcoll_family *family, int peer,
                                  const struct pcoll_plan *split, struct pcoll_entry *entries)
{
    struct pcoll_layout layout;
    enum pcoll_result result = pcoll_layout_create(family, peer, &layout);

    if (result != PCOLL_OK)
        return result;
    for (int i = 0; i < split->nentries; i++) {
        const struct pcoll_entry *entry = &split->entries[i];
        const struct pcoll_signal *signal;

        if (entry->peer != peer || entry->peer_counter == PCOLL_NONE)
            continue;
        signal = pcoll_layout_signal(&layout, entry->peer_counter, split->rank, i, false);
        entries[i].peer_counter = signal->to;
        entries[i].peer_add = signal->to_add;
    }
    pcoll_layout_destroy(&layout);
    return PCOLL_OK;
}

/* Move triggers and `done` of an entry to the new counters. */
static void move_own(const struct pcoll_layout *layout, int i, struct pcoll_entry *entry)
{
    pcoll_layout_trigger(layout, entry);
    if (entry->done != PCOLL_NONE) {
        const struct pcoll_signal *signal =
            pcoll_layout_signal(layout, entry->done, layout->plan->rank, i, true);

        entry->done = signal->to;
        entry->done_add = signal->to_add;
    }
}

/* Returns whether ADDs raise counters in a circle. depth[c]: the longest chain of ADDs that ends at
 * c. */
static bool has_circle(const struct pcoll_plan *plan, int *depth)
{
    bool rising = true;

    for (int pass = 0; rising; pass++) {
        rising = false;
        for (int i = 0; i < plan->nentries; i++) {
            const struct pcoll_entry *entry = &plan->entries[i];

            if (entry->op != PCOLL_OP_ADD || entry->trigger == PCOLL_NONE ||
                entry->done == PCOLL_NONE || depth[entry->done] > depth[entry->trigger])
                continue;
            depth[entry->done] = depth[entry->trigger] + 1;
            rising = true;
        }
        if (pass > plan->ncounters)
            return true;
    }
    return false;
}

static enum pcoll_result check_circles(const struct pcoll_plan *plan)
{
    int *depth = calloc((size_t)plan->ncounters + 1, sizeof(*depth));
    bool circle;

    if (depth == NULL)
        return PCOLL_ERR_NOMEM;
    circle = has_circle(plan, depth);
    free(depth);
    return circle ? PCOLL_UNSUPPORTED : PCOLL_OK;
}

/* Make the lowered plan of the layout's rank from `entries`, whose signals to peers are final. */
static enum pcoll_result build(const struct pcoll_layout *layout, struct pcoll_entry *entries,
                               struct pcoll_plan **plan_p)
{
    enum pcoll_result result = pcoll_lower_like(layout->plan, layout->ncounters, plan_p);

    if (result != PCOLL_OK)
        return result;
    (*plan_p)->lowered = true;
    for (int p = 0; p < layout->plan->nphases; p++) {
        const struct pcoll_phase *phase = &layout->plan->phases[p];

        pcoll_plan_open(*plan_p, p);
        pcoll_layout_add(layout, p, *plan_p);
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            move_own(layout, i, &entries[i]);
            pcoll_plan_add(*plan_p, entries[i]);
        }
    }
    return pcoll_plan_seal(*plan_p);
}

static enum pcoll_result lower(struct pcoll_family *family, int rank, struct pcoll_entry *entries,
                               struct pcoll_plan **plan_p)
{
    const struct pcoll_plan *split;
    struct pcoll_layout layout;
    enum pcoll_result result = pcoll_family_plan(family, rank, &split);

    if (result == PCOLL_OK && split->nentries > 0)
        memcpy(entries, split->entries, (size_t)split->nentries * sizeof(*entries));
    for (int i = 0; result == PCOLL_OK && i < split->nneighbors; i++)
        result = redirect(family, split->neighbors[i], split, entries);
    if (result == PCOLL_OK)
        result = pcoll_layout_create(family, rank, &layout);
    if (result != PCOLL_OK)
        return result;
    result = build(&layout, entries, plan_p);
    pcoll_layout_destroy(&layout);
    return result;
}

static enum pcoll_result lower_in_family(struct pcoll_family *family, int rank,
                                         struct pcoll_plan **plan_p)
{
    const struct pcoll_plan *split;
    struct pcoll_entry *entries;
    enum pcoll_result result = pcoll_family_plan(family, rank, &split);

    if (result != PCOLL_OK)
        return result;
    entries = malloc(((size_t)split->nentries + 1) * sizeof(*entries));
    if (entries == NULL)
        return PCOLL_ERR_NOMEM;
    result = lower(family, rank, entries, plan_p);
    free(entries);
    if (result == PCOLL_OK)
        result = check_circles(*plan_p);
    return result;
}

enum pcoll_result pcoll_lower(const struct pcoll_algorithm *algorithm,
                              const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    const int rank = (*plan_p)->rank;
    struct pcoll_family family = {algorithm, params, (*plan_p)->signature, NULL, 0, 0};
    const bool is_local = (*plan_p)->local != NULL;
    const bool is_lowered = (*plan_p)->lowered;
    struct pcoll_plan *lowered = NULL;
    enum pcoll_result result;

    if (is_lowered)
        return PCOLL_OK;
    pcoll_plan_destroy(*plan_p);
    *plan_p = NULL;
    if (is_local)
        return PCOLL_UNSUPPORTED;
    result = lower_in_family(&family, rank, &lowered);
    for (int i = 0; i < family.nplans; i++)
        pcoll_plan_destroy(family.plans[i]);
    free(family.plans);
    if (result == PCOLL_OK)
        *plan_p = lowered;
    else
        pcoll_plan_destroy(lowered);
    return result;
}
