/*
 * The explorer: what its other files ask of the state: where tasks are, what an entry does, and the
 * memory that it touches.
 */
#include "offload/explore/state.h"

#include <stdarg.h>

const struct pcoll_phase *pcoll_explore_phase(const struct pcoll_explore *explore, int rank,
                                              int instance)
{
    const struct pcoll_plan *plan = explore->rank[rank].plan;

    return &plan->phases[instance % plan->nphases];
}

int pcoll_explore_task(const struct pcoll_explore *explore, int rank, int instance, int entry)
{
    const struct explore_rank *mine = &explore->rank[rank];

    return mine->first_task + instance / mine->plan->nphases * mine->plan->nentries + entry;
}

bool pcoll_explore_moves(const struct pcoll_entry *entry)
{
    return entry->bytes > 0 && pcoll_entry_has_data(entry);
}

bool pcoll_explore_signals(const struct pcoll_entry *entry)
{
    return entry->peer != PCOLL_NONE && entry->peer_counter != PCOLL_NONE;
}

/* Of entries that move data, only a PUT delivers it to the peer; the others just signal,
 * afterwards. */
bool pcoll_explore_queues_at(const struct pcoll_entry *entry, enum explore_kind kind)
{
    if (pcoll_explore_moves(entry) && entry->op != PCOLL_OP_PUT)
        return kind == EXPLORE_WRITE && pcoll_explore_signals(entry);
    return kind == EXPLORE_FIRE && (pcoll_explore_moves(entry) || pcoll_explore_signals(entry));
}

int pcoll_explore_naccesses(const struct pcoll_explore *explore, struct explore_event event)
{
    const struct pcoll_entry *entry = explore->task[event.index].entry;

    return entry->op == PCOLL_OP_REDUCE && event.kind == EXPLORE_READ ? entry->noperands : 1;
}

static bool is_at_peer(const struct pcoll_entry *entry, enum explore_kind kind)
{
    return pcoll_entry_is_remote(entry) && (kind == EXPLORE_READ) == (entry->op == PCOLL_OP_GET);
}

static struct pcoll_operand at_rank(int rank, struct pcoll_place place)
{
    return (struct pcoll_operand){place.buffer, rank, place.offset};
}

/* The i-th place that the event touches, and its rank. */
static struct pcoll_operand place_of(const struct pcoll_explore *explore,
                                     struct explore_event event, int i)
{
    const struct explore_task *task = &explore->task[event.index];
    const struct pcoll_entry *entry = task->entry;
    const bool is_read = event.kind == EXPLORE_READ;
    const int owner = is_at_peer(entry, event.kind) ? entry->peer : task->rank;

    if (entry->op == PCOLL_OP_REDUCE)
        return is_read ? explore->rank[task->rank].plan->operands[entry->first_operand + i]
                       : at_rank(task->rank, entry->local);
    return at_rank(owner, is_read == (entry->op != PCOLL_OP_GET) ? entry->local : entry->remote);
}

struct explore_access pcoll_explore_access(const struct pcoll_explore *explore,
                                           struct explore_event event, int i)
{
    const struct pcoll_operand place = place_of(explore, event, i);

    return (struct explore_access){
        .owner = place.rank,
        .buffer = place.buffer,
        .at = explore->rank[place.rank].buffer[place.buffer].at + place.offset,
        .bytes = explore->task[event.index].entry->bytes,
    };
}

bool pcoll_explore_check_access(struct pcoll_explore *explore, struct explore_event event,
                                const struct explore_access *access)
{
    const struct explore_task *task = &explore->task[event.index];
    const struct explore_progress *owner = &explore->progress[access->owner];

    if (access->buffer != PCOLL_SEND && access->buffer != PCOLL_RECV)
        return true;
    if (pcoll_explore_is_active(explore, access->owner) && owner->completed == task->instance)
        return true;
    return pcoll_explore_fail(
        explore, PCOLL_EXPLORE_FAULT_MEMORY,
        "rank %d, instance %d, entry %td: %s of %s of rank %d, which %s instance "
        "%d",
        task->rank, task->instance, task->entry - explore->rank[task->rank].plan->entries,
        event.kind == EXPLORE_READ ? "read" : "write",
        access->buffer == PCOLL_SEND ? "SEND" : "RECV", access->owner,
        pcoll_explore_is_active(explore, access->owner) ? "is in" : "has not started",
        owner->completed);
}

bool pcoll_explore_fail(struct pcoll_explore *explore, enum pcoll_explore_fault fault,
                        const char *format, ...)
{
    va_list arguments;

    explore->fault = fault;
    va_start(arguments, format);
    vsnprintf(explore->why, sizeof(explore->why), format, arguments);
    va_end(arguments);
    return false;
}

const char *pcoll_explore_why(const struct pcoll_explore *explore)
{
    return explore->why;
}

enum pcoll_explore_fault pcoll_explore_fault(const struct pcoll_explore *explore)
{
    return explore->fault;
}
