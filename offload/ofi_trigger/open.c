/* What a bound plan needs on its own rank: counters, memory, registrations, thresholds. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/ofi_trigger/state.h"

static void report(const struct trigger_bound *b, const char *message)
{
    b->group->base.bootstrap.report(b->group->base.bootstrap.context, message);
}

/* The number of works of the largest phase, or of the farewells. */
static int works_of(const struct pcoll_plan *plan)
{
    int max = plan->nneighbors;

    for (int p = 0; p < plan->nphases; p++)
        if (plan->phases[p].count > max)
            max = plan->phases[p].count;
    return max;
}

/* Take counters and works from the budget of the process. */
static enum pcoll_result reserve(struct trigger_bound *b)
{
    const struct pcoll_ofi_trigger_settings *s = &pcoll_ofi_trigger_settings;
    struct trigger_process *process = &pcoll_trigger_process;
    int counters = b->ncounters + 1, works = works_of(b->plan);
    char text[200];

    if (counters > s->counters - process->counters || works > s->works - process->works) {
        snprintf(
            text, sizeof(text),
            "ofi_trigger: %s %s needs %d counters and %d works; %d of %d and %d of %d are left",
            pcoll_coll_name(b->plan->signature.coll), b->plan->algorithm, counters, works,
            s->counters - process->counters, s->counters, s->works - process->works, s->works);
        report(b, text);
        return PCOLL_UNSUPPORTED;
    }
    process->counters += b->reserved_counters = counters;
    process->works += b->reserved_works = works;
    return PCOLL_OK;
}

static size_t bells_of(const struct trigger_bound *b)
{
    return BELL_FAREWELLS + (size_t)b->nneighbors;
}

static enum pcoll_result get_tables(struct trigger_bound *b)
{
    size_t rows = (size_t)b->nphases * (size_t)b->ncounters + 1;

    b->counters = calloc((size_t)b->ncounters + 1, sizeof(*b->counters));
    b->works = calloc((size_t)b->plan->nentries + 1, sizeof(*b->works));
    b->need = calloc(rows, sizeof(*b->need));
    b->total = calloc(rows, sizeof(*b->total));
    b->armed = calloc(rows, sizeof(*b->armed));
    b->data = calloc((size_t)b->nphases, sizeof(*b->data));
    b->copies = calloc((size_t)works_of(b->plan) + 1, sizeof(*b->copies));
    b->neighbors = calloc((size_t)b->nneighbors + 1, sizeof(*b->neighbors));
    b->bells = calloc(bells_of(b), sizeof(*b->bells));
    return b->neighbors && b->bells && b->counters && b->works && b->need && b->total && b->armed &&
                   b->data && b->copies
               ? PCOLL_OK
               : PCOLL_ERR_NOMEM;
}

static enum pcoll_result open_counters(struct trigger_bound *b)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};

    for (int c = 0; c <= b->ncounters; c++)
        if (fi_cntr_open(b->endpoint->domain, &attr, &b->counters[c].cntr, NULL) != 0) {
            report(b, "ofi_trigger: the provider has no counter left");
            return PCOLL_UNSUPPORTED;
        }
    return PCOLL_OK;
}

/* Register the memory that this rank's own works read or write. */
static enum pcoll_result register_local(struct trigger_bound *b)
{
    enum pcoll_result result =
        pcoll_ofi_register(b->endpoint, &b->group->base.bootstrap, "a doorbell", (void *)b->bells,
                           bells_of(b) * sizeof(b->bells[0]), NULL, &b->bell_region);

    for (int i = 0; result == PCOLL_OK && i < b->plan->nentries; i++) {
        const struct pcoll_entry *entry = &b->plan->entries[i];
        int buffer = (int)entry->local.buffer;

        if ((entry->op != PCOLL_OP_PUT && entry->op != PCOLL_OP_GET) || b->local[buffer].mr)
            continue;
        result = pcoll_ofi_register(b->endpoint, &b->group->base.bootstrap, "a buffer",
                                    b->memory.buffers[buffer], b->memory.sizes[buffer], NULL,
                                    &b->local[buffer]);
    }
    return result;
}

static void raise(uint64_t *level, uint64_t to)
{
    if (*level < to)
        *level = to;
}

/* What phase p waits for, and what this rank itself adds in it. */
static void find_levels(struct trigger_bound *b, int p)
{
    const struct pcoll_phase *phase = &b->plan->phases[p];
    uint64_t *need = b->need + (size_t)p * (size_t)b->ncounters;
    uint64_t *total = b->total + (size_t)p * (size_t)b->ncounters;

    for (int c = 0; p > 0 && c < b->ncounters; c++)
        total[c] = total[c - b->ncounters];
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const struct pcoll_entry *entry = &b->plan->entries[i];
        bool is_move = entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET;

        if (entry->trigger != PCOLL_NONE)
            raise(&need[entry->trigger], entry->threshold);
        if (entry->trigger != PCOLL_NONE && b->plan->ordered)
            b->armed[p * b->ncounters + entry->trigger] = 1;
        if (entry->done != PCOLL_NONE)
            total[entry->done] += entry->done_add;
        if (is_move && entry->done != PCOLL_NONE)
            raise(&need[entry->done], total[entry->done]);
        else
            b->data[p] += is_move || entry->peer != PCOLL_NONE;
    }
}

/* The arm of a counter exceeds what can arrive in a cycle and the next. */
static enum pcoll_result find_arms(struct trigger_bound *b)
{
    for (int c = 0; c < b->ncounters; c++) {
        uint64_t arm = 4 * b->plan->gain[c] + 1;

        b->counters[c].arm = b->plan->ordered ? arm : 0;
        if (4 * arm > b->capacity) {
            report(b, "ofi_trigger: the counters have too few bits for this plan");
            return PCOLL_UNSUPPORTED;
        }
    }
    return PCOLL_OK;
}

static enum pcoll_result check_sizes(const struct trigger_bound *b)
{
    uint64_t max = b->endpoint->info->ep_attr->max_msg_size;

    for (int i = 0; i < b->plan->nentries; i++)
        if (b->plan->entries[i].bytes > max && b->plan->entries[i].peer != PCOLL_NONE) {
            report(b, "ofi_trigger: a message is too long for the provider");
            return PCOLL_UNSUPPORTED;
        }
    return PCOLL_OK;
}

enum pcoll_result pcoll_trigger_open(struct trigger_bound *b, const struct pcoll_plan *plan,
                                     const struct pcoll_memory *memory)
{
    enum pcoll_result result;

    if (!plan->lowered) {
        report(b, "ofi_trigger: the plan is not lowered");
        return PCOLL_ERR_INVALID;
    }
    b->plan = plan;
    b->nphases = plan->nphases;
    b->ncounters = plan->ncounters;
    b->nneighbors = plan->nneighbors;
    b->capacity = pcoll_ofi_trigger_settings.capacity;
    result = reserve(b);
    if (result == PCOLL_OK)
        result = check_sizes(b);
    if (result == PCOLL_OK)
        result = get_tables(b);
    if (result == PCOLL_OK)
        result = pcoll_autonomous_memory_init(&b->memory, plan, memory);
    if (result == PCOLL_OK)
        result = find_arms(b);
    if (result == PCOLL_OK)
        result = open_counters(b);
    if (result == PCOLL_OK)
        result = register_local(b);
    for (int p = 0; result == PCOLL_OK && p < b->nphases; p++)
        find_levels(b, p);
    return result;
}

static void close_counter(struct trigger_counter *counter)
{
    pcoll_ofi_unregister(&counter->doorbell);
    if (counter->cntr)
        fi_close(&counter->cntr->fid);
}

void pcoll_trigger_close(struct trigger_bound *b)
{
    for (int i = 0; i < b->nwindows; i++)
        pcoll_ofi_unregister(&b->windows[i].region);
    for (int i = 0; i < PCOLL_NUM_BUFFERS; i++)
        pcoll_ofi_unregister(&b->local[i]);
    for (int c = 0; b->counters && c <= b->ncounters; c++)
        close_counter(&b->counters[c]);
    pcoll_ofi_unregister(&b->bell_region);
    pcoll_trigger_process.counters -= b->reserved_counters;
    pcoll_trigger_process.works -= b->reserved_works;
    pcoll_autonomous_memory_fini(&b->memory);
    free(b->windows);
    free(b->counters);
    free(b->works);
    free(b->need);
    free(b->total);
    free(b->armed);
    free(b->data);
    free(b->copies);
    free(b->neighbors);
    free((void *)b->bells);
    if (b->group)
        pcoll_autonomous_group_release(&b->group->base);
    free(b);
}
