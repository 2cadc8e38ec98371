/*
 * Second step of lowering: which new counters a rank gets, and what signals them. The contract is
 * in lower/private.h.
 *
 * A counter that peers signal with more than 1 is replaced in one of two ways.
 *
 * Stages. If each threshold is reached only when certain signals have all arrived, it is a
 * conjunction and needs no weights. The signals that the first threshold waits for then have a
 * counter of their own and add 1 each, those that the second threshold additionally waits for have
 * the next one, and so on; each counter that is full raises the next by 1:
 *
 *      weights 4, 2, 1 on c         c (round 1) >= 1: c' += 1
 *      thresholds 4, 6, 7           c' (round 2) >= 2: c" += 1    c" (round 3) >= 2
 *
 * Weight counters. This form is always right, since it only delays signals: each weight has a
 * counter that each signal of that weight raises by 1, and for each of these an ADD adds the weight
 * to the old counter.
 *
 * The form with fewer counters is chosen, and stages if both have as many: their counters rise more
 * slowly, and a counter may have only 31 bits.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "algorithms/lower/private.h"

static bool is_weighted(const struct pcoll_signal *signal)
{
    return !signal->is_done && signal->add != 1;
}

/* The largest weight below `below` that needs a counter; 0 if there is none. */
static uint64_t next_weight(const struct pcoll_layout *layout, int counter, uint64_t below)
{
    const struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);
    uint64_t weight = 0;

    for (int i = 0; i < layout->lowered[counter].count; i++)
        if (is_weighted(&signals[i]) && signals[i].add < below && signals[i].add > weight)
            weight = signals[i].add;
    return weight;
}

static int count_weights(const struct pcoll_layout *layout, int counter)
{
    uint64_t weight = UINT64_MAX;
    int n = 0;

    while ((weight = next_weight(layout, counter, weight)) > 0)
        n++;
    return n;
}

/* Returns whether an ADD to the counter is triggered by the counter itself. */
static bool raises_itself(const struct pcoll_layout *layout, int counter)
{
    const struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);

    for (int i = 0; i < layout->lowered[counter].count; i++)
        if (signals[i].is_done && pcoll_layout_entry(layout, &signals[i])->op == PCOLL_OP_ADD &&
            pcoll_layout_entry(layout, &signals[i])->trigger == counter)
            return true;
    return false;
}

static void place_plain(struct pcoll_layout *layout, int counter)
{
    struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);

    for (int i = 0; i < layout->lowered[counter].count; i++) {
        signals[i].to = counter;
        signals[i].to_add = signals[i].add;
    }
}

static int counter_of_stage(const struct pcoll_lowered_counter *lowered, int counter, int stage)
{
    return stage == 0 ? counter : lowered->extra + stage - 1;
}

static void place_stages(struct pcoll_layout *layout, int counter)
{
    struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);

    for (int i = 0; i < layout->lowered[counter].count; i++) {
        signals[i].to = counter_of_stage(&layout->lowered[counter], counter, signals[i].to);
        signals[i].to_add = 1;
    }
}

static void place_weight_counters(struct pcoll_layout *layout, int counter)
{
    struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);
    int c = layout->lowered[counter].extra;
    uint64_t weight = UINT64_MAX;

    place_plain(layout, counter);
    for (; (weight = next_weight(layout, counter, weight)) > 0; c++)
        for (int i = 0; i < layout->lowered[counter].count; i++)
            if (is_weighted(&signals[i]) && signals[i].add == weight) {
                signals[i].to = c;
                signals[i].to_add = 1;
            }
}

static void lay_out(struct pcoll_layout *layout, int counter)
{
    struct pcoll_lowered_counter *lowered = &layout->lowered[counter];
    const bool circle = raises_itself(layout, counter);
    int weights = count_weights(layout, counter);
    int stages = 0;

    lowered->extra = layout->ncounters;
    if (weights > 0 || circle)
        stages = pcoll_layout_stages(layout, counter, circle ? lowered->count : weights + 1);
    if (stages > 0) {
        lowered->form = PCOLL_STAGES;
        lowered->nextra = stages - 1;
        place_stages(layout, counter);
    } else {
        lowered->form = weights > 0 ? PCOLL_BY_WEIGHT : PCOLL_PLAIN;
        lowered->nextra = weights;
        place_weight_counters(layout, counter);
    }
    layout->ncounters += lowered->nextra;
}

enum pcoll_result pcoll_layout_create(struct pcoll_family *family, int rank,
                                      struct pcoll_layout *layout)
{
    enum pcoll_result result = pcoll_family_plan(family, rank, &layout->plan);

    if (result == PCOLL_OK)
        result = pcoll_signals(family, rank, &layout->signals, &layout->nsignals);
    if (result != PCOLL_OK)
        return result;
    layout->ncounters = layout->plan->ncounters;
    layout->lowered = calloc((size_t)layout->ncounters + 1, sizeof(*layout->lowered));
    if (layout->lowered == NULL) {
        free(layout->signals);
        return PCOLL_ERR_NOMEM;
    }
    for (int i = layout->nsignals - 1; i >= 0; i--) {
        layout->lowered[layout->signals[i].counter].first = i;
        layout->lowered[layout->signals[i].counter].count++;
    }
    for (int c = 0; c < layout->plan->ncounters; c++)
        lay_out(layout, c);
    return PCOLL_OK;
}

void pcoll_layout_destroy(struct pcoll_layout *layout)
{
    free(layout->lowered);
    free(layout->signals);
}

const struct pcoll_signal *pcoll_layout_signal(const struct pcoll_layout *layout, int counter,
                                               int source, int entry, bool is_done)
{
    const struct pcoll_signal *signal = pcoll_layout_signals(layout, counter);

    while (signal->source != source || signal->entry != entry || signal->is_done != is_done) {
        signal++;
        assert(signal < pcoll_layout_signals(layout, counter) + layout->lowered[counter].count);
    }
    return signal;
}

/* What a stage counter gains in a cycle: its signals, and one from the previous stage. */
static uint64_t full(const struct pcoll_layout *layout, int counter, int stage)
{
    const struct pcoll_lowered_counter *lowered = &layout->lowered[counter];
    int to = counter_of_stage(lowered, counter, stage);
    uint64_t n = stage > 0;

    for (int i = 0; i < lowered->count; i++)
        n += pcoll_layout_signals(layout, counter)[i].to == to;
    return n;
}

/* The sum of the weights of a stage's signals. */
static uint64_t weight_of_stage(const struct pcoll_layout *layout, int counter, int stage)
{
    const struct pcoll_lowered_counter *lowered = &layout->lowered[counter];
    int to = counter_of_stage(lowered, counter, stage);
    uint64_t sum = 0;

    for (int i = 0; i < lowered->count; i++)
        if (pcoll_layout_signals(layout, counter)[i].to == to)
            sum += pcoll_layout_signals(layout, counter)[i].add;
    return sum;
}

void pcoll_layout_trigger(const struct pcoll_layout *layout, struct pcoll_entry *entry)
{
    uint64_t level = 0;
    int counter = entry->trigger;

    if (counter == PCOLL_NONE || layout->lowered[counter].form != PCOLL_STAGES)
        return;
    for (int stage = 0; stage <= layout->lowered[counter].nextra; stage++) {
        level += weight_of_stage(layout, counter, stage);
        if (level == entry->threshold) {
            entry->trigger = counter_of_stage(&layout->lowered[counter], counter, stage);
            entry->threshold = full(layout, counter, stage);
            return;
        }
    }
    assert(!"every threshold has its stage");
}

/* Each stage that is full raises the next. */
static void add_stages(const struct pcoll_layout *layout, int counter, int phase,
                       struct pcoll_plan *plan)
{
    const struct pcoll_lowered_counter *lowered = &layout->lowered[counter];

    for (int stage = 0; stage <= lowered->nextra; stage++) {
        int c = counter_of_stage(lowered, counter, stage);
        uint64_t all = full(layout, counter, stage);

        plan->gain[c] = all;
        if (stage < lowered->nextra && pcoll_layout_signals(layout, counter)[0].phase == phase)
            pcoll_plan_add(plan,
                           pcoll_entry_done(pcoll_entry_add(c, all),
                                            counter_of_stage(lowered, counter, stage + 1), 1));
    }
}

/* Each signal to a weight counter adds that weight to the old counter. */
static void add_weight_counters(const struct pcoll_layout *layout, int counter, int phase,
                                struct pcoll_plan *plan)
{
    const struct pcoll_lowered_counter *lowered = &layout->lowered[counter];
    const struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);

    for (int c = lowered->extra; c < lowered->extra + lowered->nextra; c++) {
        uint64_t arrivals = 0;

        for (int i = 0; i < lowered->count; i++) {
            if (signals[i].to != c)
                continue;
            arrivals++;
            if (signals[i].phase == phase)
                pcoll_plan_add(
                    plan, pcoll_entry_done(pcoll_entry_add(c, arrivals), counter, signals[i].add));
        }
        plan->gain[c] = arrivals;
    }
}

void pcoll_layout_add(const struct pcoll_layout *layout, int phase, struct pcoll_plan *plan)
{
    for (int c = 0; c < layout->plan->ncounters; c++) {
        if (layout->lowered[c].form == PCOLL_STAGES)
            add_stages(layout, c, phase, plan);
        else if (layout->lowered[c].form == PCOLL_BY_WEIGHT)
            add_weight_counters(layout, c, phase, plan);
    }
}
