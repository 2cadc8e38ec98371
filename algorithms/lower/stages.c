/*
 * Stages: which signals each threshold of a counter waits for. lower/layout.c explains stages.
 *
 * The signals of a threshold t are the largest signals that sum up to t, provided that all others
 * together are less than the smallest of them, as in the tanks of document 001: then t is reached
 * exactly when they have all arrived. Signals that arrive only after t has been reached do not
 * count among the others.
 */
#include "algorithms/lower/private.h"

enum { DEEP = 4 }; /* length of the chains of causes that are followed */

/* Returns whether this signal arrives only after `counter` has reached t: its entry waits for that,
 * or for a counter all of whose signals do. */
static bool comes_after(const struct pcoll_layout *layout, const struct pcoll_signal *signal,
                        int counter, uint64_t t, int depth)
{
    const struct pcoll_entry *entry = pcoll_layout_entry(layout, signal);
    const struct pcoll_lowered_counter *lowered;

    if (signal->source != layout->plan->rank || entry->trigger == PCOLL_NONE || depth == 0)
        return false;
    if (entry->trigger == counter)
        return entry->threshold >= t;
    lowered = &layout->lowered[entry->trigger];
    for (int i = 0; i < lowered->count; i++)
        if (!comes_after(layout, &layout->signals[lowered->first + i], counter, t, depth - 1))
            return false;
    return lowered->count > 0 && entry->threshold > 0;
}

/* The lowest threshold on `counter` above `above`; 0 if there is none. */
static uint64_t next_threshold(const struct pcoll_plan *plan, int counter, uint64_t above)
{
    uint64_t next = 0;

    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].trigger == counter && plan->entries[i].threshold > above &&
            (next == 0 || plan->entries[i].threshold < next))
            next = plan->entries[i].threshold;
    return next;
}

/* Find the signals that threshold t waits for, and assign those that no earlier threshold waits for
 * to `stage`. `to` of a signal is its stage here, PCOLL_NONE if it has none yet. */
static bool fill_stage(const struct pcoll_layout *layout, int counter, uint64_t t, int stage)
{
    struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);
    int n = layout->lowered[counter].count, fresh = 0;
    uint64_t rest = 0, sum = 0, smallest = UINT64_MAX;

    for (int i = 0; i < n; i++)
        if (signals[i].to != PCOLL_NONE || !comes_after(layout, &signals[i], counter, t, DEEP))
            rest += signals[i].add;
    while (sum < t) {
        struct pcoll_signal *largest = NULL;

        for (int i = 0; i < n; i++)
            if (signals[i].to_add == 0 && (!largest || signals[i].add > largest->add) &&
                (signals[i].to != PCOLL_NONE ||
                 !comes_after(layout, &signals[i], counter, t, DEEP)))
                largest = &signals[i];
        if (!largest)
            return false;
        largest->to_add = 1;
        smallest = largest->add;
        sum += largest->add;
        rest -= largest->add;
    }
    for (int i = 0; i < n; i++) {
        if (signals[i].to != PCOLL_NONE && signals[i].to_add == 0)
            return false;
        if (signals[i].to == PCOLL_NONE && signals[i].to_add) {
            signals[i].to = stage;
            fresh++;
        }
        signals[i].to_add = 0;
    }
    return sum == t && rest < smallest && fresh > 0;
}

/* All signals belong to one phase; with several phases the stages could not be distinguished. */
static bool is_of_one_phase(const struct pcoll_layout *layout, int counter)
{
    const struct pcoll_plan *plan = layout->plan;
    const struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);
    const struct pcoll_phase *phase = &plan->phases[signals[0].phase];

    for (int i = 0; i < layout->lowered[counter].count; i++)
        if (signals[i].phase != signals[0].phase)
            return false;
    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].trigger == counter &&
            (i < phase->first || i >= phase->first + phase->count ||
             plan->entries[i].threshold == 0))
            return false;
    return true;
}

int pcoll_layout_stages(const struct pcoll_layout *layout, int counter, int max)
{
    struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);
    int n = layout->lowered[counter].count, stages = 0;
    uint64_t t = 0;

    if (!is_of_one_phase(layout, counter))
        return 0;
    for (int i = 0; i < n; i++) {
        signals[i].to = PCOLL_NONE;
        signals[i].to_add = 0;
    }
    while ((t = next_threshold(layout->plan, counter, t)) > 0)
        if (stages == max || !fill_stage(layout, counter, t, stages++))
            return 0;
    for (int i = 0; i < n; i++)
        if (signals[i].to == PCOLL_NONE)
            return 0;
    return stages;
}
