/*
 * Second part of lowering: which new counters a rank gets, and what signals them.  The
 * contract is in lower/private.h.
 *
 * A counter on which peers signal more than 1 becomes one of two things.
 *
 * Stages.  Where each threshold is reached only when certain signals are in, all of them, it is a
 * conjunction and needs no weights.  Then the signals that the first threshold waits for have a
 * counter of their own and add 1 each, those that come to them for the second threshold the next
 * one, and so on; each counter that is full raises the next by 1:
 *
 *      weights 4, 2, 1 on c         c (round 1) >= 1: c' += 1
 *      thresholds 4, 6, 7           c' (round 2) >= 2: c" += 1    c" (round 3) >= 2
 *
 * Doorbells.  Always right, since they only delay signals: a counter for each weight, which gets 1
 * for each signal of that weight, and for each of them an ADD of the weight to the old counter.
 *
 * What takes fewer counters is chosen, stages where both take as many: their counters rise more
 * slowly, and a counter may have 31 bits.
 */
#include <assert.h>
#include <stdlib.h>

#include "algorithms/lower/private.h"

static int needs_doorbell(const struct pcoll_signal *signal)
{
    return !signal->is_done && signal->add != 1;
}

/* The largest weight below `below` that needs a doorbell; 0 if there is none. */
static uint64_t next_weight(const struct pcoll_layout *layout, int counter, uint64_t below)
{
    const struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);
    uint64_t weight = 0;

    for (int i = 0; i < layout->vessels[counter].count; i++)
        if (needs_doorbell(&signals[i]) && signals[i].add < below && signals[i].add > weight)
            weight = signals[i].add;
    return weight;
}

static int count_doorbells(const struct pcoll_layout *layout, int counter)
{
    uint64_t weight = UINT64_MAX;
    int n = 0;

    while ((weight = next_weight(layout, counter, weight)) > 0)
        n++;
    return n;
}

/* Is there an ADD to the counter that triggers it? */
static int raises_itself(const struct pcoll_layout *layout, int counter)
{
    const struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);

    for (int i = 0; i < layout->vessels[counter].count; i++)
        if (signals[i].is_done && pcoll_layout_entry(layout, &signals[i])->op == PCOLL_OP_ADD &&
            pcoll_layout_entry(layout, &signals[i])->trigger == counter)
            return 1;
    return 0;
}

static void place_plain(struct pcoll_layout *layout, int counter)
{
    struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);

    for (int i = 0; i < layout->vessels[counter].count; i++) {
        signals[i].to = counter;
        signals[i].to_add = signals[i].add;
    }
}

static int counter_of_stage(const struct pcoll_vessel *vessel, int counter, int stage)
{
    return stage == 0 ? counter : vessel->extra + stage - 1;
}

static void place_stages(struct pcoll_layout *layout, int counter)
{
    struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);

    for (int i = 0; i < layout->vessels[counter].count; i++) {
        signals[i].to = counter_of_stage(&layout->vessels[counter], counter, signals[i].to);
        signals[i].to_add = 1;
    }
}

static void place_doorbells(struct pcoll_layout *layout, int counter)
{
    struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);
    int doorbell = layout->vessels[counter].extra;
    uint64_t weight = UINT64_MAX;

    place_plain(layout, counter);
    for (; (weight = next_weight(layout, counter, weight)) > 0; doorbell++)
        for (int i = 0; i < layout->vessels[counter].count; i++)
            if (needs_doorbell(&signals[i]) && signals[i].add == weight) {
                signals[i].to = doorbell;
                signals[i].to_add = 1;
            }
}

static void lay_out(struct pcoll_layout *layout, int counter)
{
    struct pcoll_vessel *vessel = &layout->vessels[counter];
    int doorbells = count_doorbells(layout, counter), circle = raises_itself(layout, counter);
    int stages = 0;

    vessel->extra = layout->ncounters;
    if (doorbells > 0 || circle)
        stages = pcoll_layout_stages(layout, counter, circle ? vessel->count : doorbells + 1);
    if (stages > 0) {
        vessel->form = PCOLL_STAGES;
        vessel->nextra = stages - 1;
        place_stages(layout, counter);
    } else {
        vessel->form = doorbells > 0 ? PCOLL_DOORBELLS : PCOLL_PLAIN;
        vessel->nextra = doorbells;
        place_doorbells(layout, counter);
    }
    layout->ncounters += vessel->nextra;
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
    layout->vessels = calloc((size_t)layout->ncounters + 1, sizeof(*layout->vessels));
    if (layout->vessels == NULL) {
        free(layout->signals);
        return PCOLL_ERR_NOMEM;
    }
    for (int i = layout->nsignals - 1; i >= 0; i--) {
        layout->vessels[layout->signals[i].counter].first = i;
        layout->vessels[layout->signals[i].counter].count++;
    }
    for (int c = 0; c < layout->plan->ncounters; c++)
        lay_out(layout, c);
    return PCOLL_OK;
}

void pcoll_layout_destroy(struct pcoll_layout *layout)
{
    free(layout->vessels);
    free(layout->signals);
}

const struct pcoll_signal *pcoll_layout_signal(const struct pcoll_layout *layout, int counter,
                                               int source, int entry, int is_done)
{
    const struct pcoll_signal *signal = pcoll_layout_signals(layout, counter);

    while (signal->source != source || signal->entry != entry || signal->is_done != is_done) {
        signal++;
        assert(signal < pcoll_layout_signals(layout, counter) + layout->vessels[counter].count);
    }
    return signal;
}

/* What a stage counter gains in a cycle: its signals, and one from the stage before. */
static uint64_t full(const struct pcoll_layout *layout, int counter, int stage)
{
    const struct pcoll_vessel *vessel = &layout->vessels[counter];
    int to = counter_of_stage(vessel, counter, stage);
    uint64_t n = stage > 0;

    for (int i = 0; i < vessel->count; i++)
        n += pcoll_layout_signals(layout, counter)[i].to == to;
    return n;
}

/* The weights of the signals of a stage together. */
static uint64_t weight_of_stage(const struct pcoll_layout *layout, int counter, int stage)
{
    const struct pcoll_vessel *vessel = &layout->vessels[counter];
    int to = counter_of_stage(vessel, counter, stage);
    uint64_t sum = 0;

    for (int i = 0; i < vessel->count; i++)
        if (pcoll_layout_signals(layout, counter)[i].to == to)
            sum += pcoll_layout_signals(layout, counter)[i].add;
    return sum;
}

void pcoll_layout_trigger(const struct pcoll_layout *layout, struct pcoll_entry *entry)
{
    uint64_t level = 0;
    int counter = entry->trigger;

    if (counter == PCOLL_NONE || layout->vessels[counter].form != PCOLL_STAGES)
        return;
    for (int stage = 0; stage <= layout->vessels[counter].nextra; stage++) {
        level += weight_of_stage(layout, counter, stage);
        if (level == entry->threshold) {
            entry->trigger = counter_of_stage(&layout->vessels[counter], counter, stage);
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
    const struct pcoll_vessel *vessel = &layout->vessels[counter];

    for (int stage = 0; stage <= vessel->nextra; stage++) {
        int c = counter_of_stage(vessel, counter, stage);
        uint64_t all = full(layout, counter, stage);

        plan->gain[c] = all;
        if (stage < vessel->nextra && pcoll_layout_signals(layout, counter)[0].phase == phase)
            pcoll_plan_add(plan, pcoll_entry_done(pcoll_entry_add(c, all),
                                                  counter_of_stage(vessel, counter, stage + 1), 1));
    }
}

/* Each ring of a doorbell signals its weight. */
static void add_doorbells(const struct pcoll_layout *layout, int counter, int phase,
                          struct pcoll_plan *plan)
{
    const struct pcoll_vessel *vessel = &layout->vessels[counter];
    const struct pcoll_signal *signals = pcoll_layout_signals(layout, counter);

    for (int doorbell = vessel->extra; doorbell < vessel->extra + vessel->nextra; doorbell++) {
        uint64_t rings = 0;

        for (int i = 0; i < vessel->count; i++) {
            if (signals[i].to != doorbell)
                continue;
            rings++;
            if (signals[i].phase == phase)
                pcoll_plan_add(plan, pcoll_entry_done(pcoll_entry_add(doorbell, rings), counter,
                                                      signals[i].add));
        }
        plan->gain[doorbell] = rings;
    }
}

void pcoll_layout_add(const struct pcoll_layout *layout, int phase, struct pcoll_plan *plan)
{
    for (int c = 0; c < layout->plan->ncounters; c++) {
        if (layout->vessels[c].form == PCOLL_STAGES)
            add_stages(layout, c, phase, plan);
        else if (layout->vessels[c].form == PCOLL_DOORBELLS)
            add_doorbells(layout, c, phase, plan);
    }
}
