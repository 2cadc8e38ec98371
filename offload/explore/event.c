/*
 * `sim`: when an event may happen and what it does.
 */
#include "offload/explore/state.h"

#include <string.h>

static const char *const kind_name[SIM_NUM_KINDS] = {"start", "fire", "read",    "write",
                                                     "done",  "pour", "complete"};

static const char *const op_name[PCOLL_NUM_OPS] = {"ADD", "PUT", "GET", "COPY", "WAIT"};

bool pcoll_sim_moves(const struct pcoll_entry *entry)
{
    return entry->bytes > 0 && entry->op != PCOLL_OP_ADD && entry->op != PCOLL_OP_WAIT;
}

bool pcoll_sim_pours(const struct pcoll_entry *entry)
{
    return entry->peer != PCOLL_NONE && entry->peer_counter != PCOLL_NONE;
}

/* Of entries that move data only PUT shows it to the peer; the others just pour, afterwards. */
bool pcoll_sim_queues_at(const struct pcoll_entry *entry, enum sim_kind kind)
{
    if (pcoll_sim_moves(entry) && entry->op != PCOLL_OP_PUT)
        return kind == SIM_WRITE && pcoll_sim_pours(entry);
    return kind == SIM_FIRE && (pcoll_sim_moves(entry) || pcoll_sim_pours(entry));
}

static uint64_t *counter_of(const struct pcoll_sim *sim, int rank, int counter)
{
    return &sim->counter[sim->rank[rank].first_counter + (size_t)counter];
}

static bool is_active(const struct pcoll_sim *sim, int rank)
{
    return sim->progress[rank].started > sim->progress[rank].completed;
}

/* The value that the trigger must have in the instance of this slot. */
static uint64_t target(const struct pcoll_sim *sim, const struct sim_slot *slot)
{
    const struct pcoll_plan *plan = sim->rank[slot->rank].plan;
    const uint64_t cycle = sim->options.first_cycle + (uint64_t)(slot->instance / plan->nphases);

    return slot->entry->threshold + cycle * plan->lift[slot->entry->trigger];
}

static bool is_triggered(const struct pcoll_sim *sim, const struct sim_slot *slot)
{
    if (slot->entry->trigger == PCOLL_NONE)
        return true;
    return (int64_t)(*counter_of(sim, slot->rank, slot->entry->trigger) - target(sim, slot)) >= 0;
}

static bool can_start(const struct pcoll_sim *sim, int rank)
{
    const int instance = sim->progress[rank].started;

    if (is_active(sim, rank) || instance >= sim->options.instances)
        return false;
    for (int r = 0; r < sim->nranks; r++)
        if (sim->progress[r].completed < instance - sim->options.ahead)
            return false;
    return true;
}

static bool can_fire(const struct pcoll_sim *sim, const struct sim_slot *slot)
{
    const struct sim_progress *progress = &sim->progress[slot->rank];

    if (progress->started != slot->instance + 1 || progress->completed != slot->instance)
        return false;
    if (sim->ordered && slot->previous >= 0 && !pcoll_sim_has(sim, slot->previous, SIM_FIRE))
        return false;
    return is_triggered(sim, slot);
}

/* Has everything arrived that this rank did to the peer before? */
static bool is_next(const struct pcoll_sim *sim, int index)
{
    return !sim->ordered || sim->ticket[index] == sim->delivered[sim->slot[index].pair] + 1;
}

bool pcoll_sim_can(const struct pcoll_sim *sim, struct sim_event event)
{
    const int i = event.index;
    const struct pcoll_entry *entry;

    if (event.kind == SIM_START)
        return can_start(sim, i);
    if (event.kind == SIM_COMPLETE)
        return is_active(sim, i) && sim->progress[i].left == 0;
    entry = sim->slot[i].entry;
    if (!entry || pcoll_sim_has(sim, i, event.kind))
        return false;
    switch (event.kind) {
        case SIM_FIRE:
            return can_fire(sim, &sim->slot[i]);
        case SIM_READ:
            return pcoll_sim_moves(entry) && pcoll_sim_has(sim, i, SIM_FIRE);
        case SIM_WRITE:
            return pcoll_sim_has(sim, i, SIM_READ) &&
                   (entry->op != PCOLL_OP_PUT || is_next(sim, i));
        case SIM_DONE:
            if (!pcoll_sim_moves(entry))
                return pcoll_sim_has(sim, i, SIM_FIRE);
            return pcoll_sim_has(sim, i, entry->op == PCOLL_OP_PUT ? SIM_READ : SIM_WRITE);
        default:
            return pcoll_sim_pours(entry) &&
                   pcoll_sim_has(sim, i, pcoll_sim_moves(entry) ? SIM_WRITE : SIM_FIRE) &&
                   is_next(sim, i);
    }
}

static void print(const struct pcoll_sim *sim, struct sim_event event)
{
    const struct sim_slot *slot;
    FILE *out = sim->options.trace;

    if (event.kind == SIM_START || event.kind == SIM_COMPLETE) {
        fprintf(out, "rank %d  instance %d  %s\n", event.index,
                sim->progress[event.index].completed, kind_name[event.kind]);
        return;
    }
    slot = &sim->slot[event.index];
    fprintf(out, "rank %d  instance %d  entry %td  %s %s", slot->rank, slot->instance,
            slot->entry - sim->rank[slot->rank].plan->entries, op_name[slot->entry->op],
            kind_name[event.kind]);
    if (event.kind == SIM_POUR)
        fprintf(out, "  +%llu on counter %d of rank %d", (unsigned long long)slot->entry->peer_add,
                slot->entry->peer_counter, slot->entry->peer);
    fputc('\n', out);
}

struct sim_access pcoll_sim_access(const struct pcoll_sim *sim, struct sim_event event)
{
    const struct sim_slot *slot = &sim->slot[event.index];
    const struct pcoll_entry *entry = slot->entry;
    const bool is_local = (event.kind == SIM_READ) == (entry->op != PCOLL_OP_GET);
    const struct pcoll_place place = is_local ? entry->local : entry->remote;
    const int owner = is_local || entry->op == PCOLL_OP_COPY ? slot->rank : entry->peer;

    return (struct sim_access){
        .owner = owner,
        .buffer = place.buffer,
        .at = sim->rank[owner].buffer[place.buffer].at + place.offset,
        .bytes = entry->bytes,
    };
}

/* User memory is the plan's only while its owner is in the same instance. */
static bool check_access(struct pcoll_sim *sim, struct sim_event event,
                         const struct sim_access *access)
{
    const struct sim_slot *slot = &sim->slot[event.index];
    const struct sim_progress *owner = &sim->progress[access->owner];

    if (access->buffer != PCOLL_SEND && access->buffer != PCOLL_RECV)
        return true;
    if (is_active(sim, access->owner) && owner->completed == slot->instance)
        return true;
    return pcoll_sim_fail(
        sim, PCOLL_SIM_FAULT_MEMORY,
        "rank %d, instance %d, entry %td: %s of %s of rank %d, which %s instance "
        "%d",
        slot->rank, slot->instance, slot->entry - sim->rank[slot->rank].plan->entries,
        kind_name[event.kind], access->buffer == PCOLL_SEND ? "SEND" : "RECV", access->owner,
        is_active(sim, access->owner) ? "is in" : "has not started", owner->completed);
}

static bool touch(struct pcoll_sim *sim, struct sim_event event)
{
    unsigned char *way = sim->block + sim->slot[event.index].data;
    struct sim_access access;

    if (sim->dry)
        return true;
    access = pcoll_sim_access(sim, event);
    if (event.kind == SIM_READ) {
        memcpy(way, sim->block + access.at, access.bytes);
    } else {
        memcpy(sim->block + access.at, way, access.bytes);
        memset(way, 0, access.bytes);
    }
    return check_access(sim, event, &access);
}

static void start(struct pcoll_sim *sim, int rank)
{
    struct sim_progress *progress = &sim->progress[rank];

    progress->left = pcoll_sim_phase(sim, rank, progress->started)->count;
    if (!sim->dry)
        pcoll_sim_fill(sim, rank, progress->started);
    progress->started++;
}

static bool complete(struct pcoll_sim *sim, int rank)
{
    struct sim_progress *progress = &sim->progress[rank];

    if (!sim->dry && !pcoll_sim_verify(sim, rank, progress->completed))
        return false;
    if (!sim->dry)
        pcoll_sim_scribble(sim, rank);
    progress->completed++;
    return true;
}

/* The slot's turn is over when its data is there and its pour too. */
static bool ends_turn(const struct pcoll_sim *sim, struct sim_event event)
{
    const struct pcoll_entry *entry = sim->slot[event.index].entry;

    if (!sim->ordered || sim->ticket[event.index] == 0)
        return false;
    return event.kind == (pcoll_sim_pours(entry) ? SIM_POUR : SIM_WRITE);
}

/* An event of a slot, but for the data. */
static void step(struct pcoll_sim *sim, struct sim_event event)
{
    const struct sim_slot *slot = &sim->slot[event.index];
    const struct pcoll_entry *entry = slot->entry;

    sim->happened[event.index] |= (uint8_t)(1 << event.kind);
    if (sim->ordered && pcoll_sim_queues_at(entry, event.kind))
        sim->ticket[event.index] = ++sim->issued[slot->pair];
    if (ends_turn(sim, event))
        sim->delivered[slot->pair]++;
    if (event.kind == SIM_DONE)
        sim->progress[slot->rank].left--;
    if (event.kind == SIM_DONE && entry->done != PCOLL_NONE)
        *counter_of(sim, slot->rank, entry->done) += entry->done_add;
    if (event.kind == SIM_POUR)
        *counter_of(sim, entry->peer, entry->peer_counter) += entry->peer_add;
}

bool pcoll_sim_apply(struct pcoll_sim *sim, struct sim_event event)
{
    if (sim->options.trace && !sim->dry)
        print(sim, event);
    if (event.kind == SIM_COMPLETE)
        return complete(sim, event.index);
    if (event.kind == SIM_START) {
        start(sim, event.index);
        return true;
    }
    step(sim, event);
    return (event.kind != SIM_READ && event.kind != SIM_WRITE) || touch(sim, event);
}

static bool fail_deadlock(struct pcoll_sim *sim, int rank)
{
    const struct pcoll_plan *plan = sim->rank[rank].plan;
    const int instance = sim->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_sim_phase(sim, rank, instance);

    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const int index = pcoll_sim_slot(sim, rank, instance, i);
        const struct sim_slot *slot = &sim->slot[index];

        if (!pcoll_sim_has(sim, index, SIM_FIRE) && !is_triggered(sim, slot))
            return pcoll_sim_fail(
                sim, PCOLL_SIM_FAULT_DEADLOCK,
                "deadlock: rank %d, instance %d: entry %d (%s) waits for counter "
                "%d = %llu to reach %llu",
                rank, instance, i, op_name[slot->entry->op], slot->entry->trigger,
                (unsigned long long)*counter_of(sim, rank, plan->entries[i].trigger),
                (unsigned long long)target(sim, slot));
    }
    return pcoll_sim_fail(sim, PCOLL_SIM_FAULT_DEADLOCK, "deadlock: rank %d, instance %d", rank,
                          instance);
}

/* After whole cycles every counter stands at a multiple of its lift. */
static bool check_counters(struct pcoll_sim *sim, int rank)
{
    const struct pcoll_plan *plan = sim->rank[rank].plan;
    const uint64_t cycle = (uint64_t)(sim->options.instances / plan->nphases);

    if (sim->options.instances % plan->nphases != 0)
        return true;
    for (int c = 0; c < plan->ncounters; c++) {
        const uint64_t is = *counter_of(sim, rank, c);
        const uint64_t ought = (sim->options.first_cycle + cycle) * plan->lift[c];

        if (is != ought)
            return pcoll_sim_fail(sim, PCOLL_SIM_FAULT_LEFTOVER,
                                  "rank %d: counter %d ends at %llu, not %llu", rank, c,
                                  (unsigned long long)is, (unsigned long long)ought);
    }
    return true;
}

bool pcoll_sim_end(struct pcoll_sim *sim)
{
    for (int r = 0; r < sim->nranks; r++)
        if (is_active(sim, r))
            return fail_deadlock(sim, r);
    for (int r = 0; r < sim->nranks; r++)
        if (!check_counters(sim, r))
            return false;
    return true;
}
