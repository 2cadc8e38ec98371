/*
 * Start and progress of the medium `ofi_trigger`.
 *
 * Deferred work is executed once, so each start queues the works of its phase again, with
 * thresholds that are higher by the gains of the counters. The works of one counter are queued in
 * ascending order of threshold, as `sockets` executes them in the order queued.
 *
 * A work whose threshold has already been reached is executed as soon as it is queued, and may
 * overtake an earlier one that the provider's thread is just about to execute. A plan that requires
 * order therefore arms its counters while it queues: thresholds are higher by an `arm` that is
 * more than all peers can signal in the meantime, and the start adds the arm last. The provider
 * then finds all works in their order.
 *
 * A counter has 31 bits on `sockets`. When a counter approaches that, its owner resets it between
 * instances by adding a negative value: no work is queued then, and arriving signals add 1 whatever
 * its value.
 */
#include "offload/ofi_trigger/ofi_trigger.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fi_errno.h>

#include "offload/ofi_trigger/state.h"
#include "offload/yield.h"

struct pcoll_ofi_trigger_settings pcoll_ofi_trigger_settings = {
    .counters = 1024,
    .works = 2000,
    .capacity = (uint64_t)1 << 30,
};

static const struct pcoll_phase *phase_of(const struct trigger_bound *b)
{
    return &b->plan->phases[b->phase];
}

static uint64_t row(const struct trigger_bound *b, const uint64_t *rows, int counter)
{
    return rows[(size_t)b->phase * (size_t)b->ncounters + (size_t)counter];
}

static bool is_armed(const struct trigger_bound *b, int counter)
{
    return b->armed[b->phase * b->ncounters + counter];
}

static enum pcoll_result fail(struct trigger_bound *b)
{
    b->failed = true;
    return PCOLL_ERR_SYSTEM;
}

static void set_back(struct trigger_counter *counter, uint64_t capacity)
{
    if (counter->base <= capacity)
        return;
    fi_cntr_add(counter->cntr, -counter->base);
    counter->base = 0;
}

/* Move on to the phase of this start; the gains of the last cycle are history. */
static void turn(struct trigger_bound *b)
{
    b->phase = (int)(b->starts % (uint64_t)b->nphases);
    for (int c = 0; c < b->ncounters; c++) {
        if (b->phase == 0 && b->starts > 0)
            b->counters[c].base += b->plan->gain[c];
        set_back(&b->counters[c], b->capacity);
        if (is_armed(b, c))
            b->counters[c].base += b->counters[c].arm;
    }
    set_back(&b->counters[b->ncounters], b->capacity);
    b->counters[b->ncounters].base += (uint64_t)b->data[b->phase];
    b->starts++;
    b->queued = 0;
    b->waiting = 0;
    b->ncopies = 0;
}

static enum pcoll_result queue(struct trigger_bound *b, int i, uint64_t threshold)
{
    struct trigger_work *w = &b->works[i];
    int error;

    w->work.threshold = threshold;
    error = fi_control(&b->endpoint->domain->fid, FI_QUEUE_WORK, &w->work);
    if (error == -FI_EAGAIN)
        return PCOLL_PENDING;
    if (error != 0) {
        const int peer = b->plan->entries[i].peer;
        char text[200], rank[24] = "";

        if (peer != PCOLL_NONE)
            snprintf(rank, sizeof(rank), "rank %d: ", peer);
        snprintf(text, sizeof(text), "libfabric: %s: %scannot queue deferred work: %s",
                 b->endpoint->info->fabric_attr->prov_name, rank, fi_strerror(-error));
        b->group->base.bootstrap.report(b->group->base.bootstrap.context, text);
        return fail(b);
    }
    return PCOLL_OK;
}

static enum pcoll_result queue_entry(struct trigger_bound *b, int i)
{
    const struct pcoll_entry *entry = &b->plan->entries[i];
    uint64_t threshold = 0;

    if (pcoll_entry_is_own_work(entry)) {
        b->copies[b->ncopies++] = i;
        return PCOLL_OK;
    }
    if (!b->works[i].exists)
        return PCOLL_OK;
    if (entry->trigger != PCOLL_NONE)
        threshold = b->counters[entry->trigger].base + entry->threshold;
    return queue(b, i, threshold);
}

/* Queue what is not queued yet; PCOLL_PENDING if the provider is full for now. */
static enum pcoll_result queue_phase(struct trigger_bound *b)
{
    const struct pcoll_phase *phase = phase_of(b);
    enum pcoll_result result = PCOLL_OK;

    if (b->queued == phase->count)
        return PCOLL_OK;
    while (result == PCOLL_OK && b->queued < phase->count) {
        result = queue_entry(b, phase->first + b->queued);
        b->queued += result == PCOLL_OK;
    }
    for (int c = 0; result == PCOLL_OK && c < b->ncounters; c++)
        if (is_armed(b, c))
            fi_cntr_add(b->counters[c].cntr, b->counters[c].arm);
    return result;
}

/* Copy or reduce within the rank's own memory, then signal. PCOLL_PENDING: not yet. */
static enum pcoll_result copy(struct trigger_bound *b, int i)
{
    const struct pcoll_entry *entry = &b->plan->entries[i];
    enum pcoll_result result = PCOLL_OK;

    if (entry->trigger != PCOLL_NONE &&
        !trigger_reached(&b->counters[entry->trigger], entry->threshold))
        return PCOLL_PENDING;
    if (entry->op == PCOLL_OP_REDUCE)
        result = pcoll_reduce(b->memory.reduction_of[i]);
    else
        memmove(pcoll_autonomous_at(&b->memory, entry->remote),
                pcoll_autonomous_at(&b->memory, entry->local), entry->bytes);
    if (result == PCOLL_OK && b->works[i].exists)
        result = queue(b, i, 0);
    if (result != PCOLL_OK)
        return result;
    if (entry->done != PCOLL_NONE)
        fi_cntr_add(b->counters[entry->done].cntr, entry->done_add);
    return PCOLL_OK;
}

static enum pcoll_result copy_all(struct trigger_bound *b)
{
    int left = 0;

    for (int i = 0; i < b->ncopies; i++) {
        enum pcoll_result result = copy(b, b->copies[i]);

        if (result == PCOLL_PENDING)
            b->copies[left++] = b->copies[i];
        else if (result != PCOLL_OK)
            return result;
    }
    b->ncopies = left;
    return left ? PCOLL_PENDING : PCOLL_OK;
}

/* Returns whether all triggers have been reached and all works are done. */
static bool is_reached(struct trigger_bound *b)
{
    for (; b->waiting < b->ncounters; b->waiting++)
        if (row(b, b->need, b->waiting) &&
            !trigger_reached(&b->counters[b->waiting], row(b, b->need, b->waiting)))
            return false;
    return trigger_reached(&b->counters[b->ncounters], 0);
}

static enum pcoll_result progress(struct trigger_bound *b)
{
    enum pcoll_result result;

    if (!b->active)
        return PCOLL_OK;
    pcoll_ofi_poll(b->endpoint);
    if (b->failed)
        return PCOLL_ERR_SYSTEM;
    result = queue_phase(b);
    if (result == PCOLL_OK)
        result = copy_all(b);
    if (result != PCOLL_OK)
        return result;
    if (!is_reached(b))
        return PCOLL_PENDING;
    b->active = false;
    return PCOLL_OK;
}

static enum pcoll_result trigger_progress(struct pcoll_bound *bound)
{
    return progress(trigger_bound_of(bound));
}

static enum pcoll_result trigger_start(struct pcoll_bound *bound)
{
    struct trigger_bound *b = trigger_bound_of(bound);

    if (b->failed)
        return PCOLL_ERR_SYSTEM;
    turn(b);
    b->active = true;
    return progress(b);
}

/* The provider's thread needs the core more than this rank does. */
static void trigger_rest(struct pcoll_bound *b, unsigned usec)
{
    (void)b;
    pcoll_rest_usec(usec);
}

/* `sockets` emulates deferred work with a thread that needs a core of its own, so the user must
 * request it explicitly. */
static bool trigger_suits(bool one_node, const char *provider)
{
    return !one_node && provider != NULL && strncmp(provider, "cxi", 3) == 0;
}

const struct pcoll_medium pcoll_medium_ofi_trigger = {
    .name = "ofi_trigger",
    .library = PCOLL_LIBFABRIC,
    .traits = PCOLL_SPANS_NODES | PCOLL_RUNS_BY_ITSELF,
    .max_slots = 8,
    .suits = trigger_suits,
    .poll = pcoll_trigger_poll,
    .lingering = pcoll_trigger_lingering,
    .finalize = pcoll_trigger_finalize,
    .group_create = pcoll_trigger_group_create,
    .group_destroy = pcoll_autonomous_group_destroy,
    .group_provides = pcoll_trigger_group_provides,
    .group_rails = pcoll_one_rail,
    .group_level = pcoll_no_level,
    .group_sharing = pcoll_no_sharing,
    .group_levels = pcoll_no_levels,
    .group_reach = pcoll_no_reach,
    .group_measure = pcoll_no_measurement,
    .group_machine = pcoll_no_machine,
    .bind = pcoll_trigger_bind,
    .unbind = pcoll_trigger_unbind,
    .start = trigger_start,
    .progress = trigger_progress,
    .spin = pcoll_autonomous_spin,
    .rest = trigger_rest,
    .position = pcoll_no_position,
};
