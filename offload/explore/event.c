/*
 * The explorer: when an event may happen and what it does.
 */
#include "offload/explore/help.h"

#include <string.h>

static const char *const kind_name[EXPLORE_NUM_KINDS] = {"start", "fire",   "read",     "write",
                                                         "done",  "signal", "complete", "look",
                                                         "help",  "refuse", "die"};

static const char *const op_name[PCOLL_NUM_OPS] = {"ADD", "PUT", "GET", "COPY", "WAIT", "REDUCE"};

static uint64_t *counter_of(const struct pcoll_explore *explore, int rank, int counter)
{
    return &explore->counter[explore->rank[rank].first_counter + (size_t)counter];
}

/* The value that the trigger must have in the instance of this task. */
static uint64_t target(const struct pcoll_explore *explore, const struct explore_task *task)
{
    const struct pcoll_plan *plan = explore->rank[task->rank].plan;
    const uint64_t cycle =
        explore->options.first_cycle + (uint64_t)(task->instance / plan->nphases);

    return task->entry->threshold + cycle * plan->gain[task->entry->trigger];
}

static bool is_triggered(const struct pcoll_explore *explore, const struct explore_task *task)
{
    if (task->entry->trigger == PCOLL_NONE)
        return true;
    return (int64_t)(*counter_of(explore, task->rank, task->entry->trigger) -
                     target(explore, task)) >= 0;
}

static bool can_start(const struct pcoll_explore *explore, int rank)
{
    const int instance = explore->progress[rank].started;

    if (pcoll_explore_is_active(explore, rank) || instance >= explore->options.instances)
        return false;
    for (int r = 0; r < explore->nranks; r++)
        if (explore->progress[r].completed < instance - explore->options.ahead)
            return false;
    return true;
}

static bool can_fire(const struct pcoll_explore *explore, const struct explore_task *task)
{
    const struct explore_progress *progress = &explore->progress[task->rank];

    if (progress->started != task->instance + 1 || progress->completed != task->instance)
        return false;
    if (explore->ordered && task->previous >= 0 &&
        !pcoll_explore_lets_pass(explore, task->previous))
        return false;
    return is_triggered(explore, task);
}

/* Returns whether everything that this rank did to the peer before has arrived. */
static bool is_next(const struct pcoll_explore *explore, int index)
{
    return !explore->ordered ||
           explore->position[index] == explore->delivered[explore->task[index].connection] + 1;
}

int pcoll_explore_next_turn(const struct pcoll_explore *explore, int connection)
{
    const uint32_t delivered = connection < 0 ? 0 : explore->delivered[connection];

    if (connection < 0 || delivered >= explore->issued[connection])
        return -1;
    return explore->turn[explore->first_turn[connection] + (int)delivered];
}

/* What follows from a task that is copied in chunks. */
static bool can_after_copy(const struct pcoll_explore *explore, struct explore_event event)
{
    return (event.kind == EXPLORE_DONE || event.kind == EXPLORE_SIGNAL) &&
           pcoll_explore_is_copied(explore, event.index, event.kind) &&
           (event.kind == EXPLORE_DONE || is_next(explore, event.index));
}

bool pcoll_explore_can(const struct pcoll_explore *explore, struct explore_event event)
{
    const int i = event.index;
    bool is_put, moves;

    if (event.kind == EXPLORE_START)
        return can_start(explore, i);
    if (event.kind == EXPLORE_COMPLETE)
        return pcoll_explore_is_active(explore, i) && explore->progress[i].left == 0;
    if (event.kind > EXPLORE_COMPLETE)
        return pcoll_explore_can_help(explore, event);
    if (!(explore->all[i] & ~explore->happened[i] & 1 << event.kind))
        return false;
    if (event.kind > EXPLORE_FIRE && pcoll_explore_is_bulk(explore, explore->task[i].entry))
        return can_after_copy(explore, event);
    is_put = explore->task[i].entry->op == PCOLL_OP_PUT;
    moves = explore->all[i] & 1 << EXPLORE_READ;
    switch (event.kind) {
        case EXPLORE_FIRE:
            return can_fire(explore, &explore->task[i]);
        case EXPLORE_READ:
            return pcoll_explore_has(explore, i, EXPLORE_FIRE);
        case EXPLORE_WRITE:
            return pcoll_explore_has(explore, i, EXPLORE_READ) && (!is_put || is_next(explore, i));
        case EXPLORE_DONE:
            return pcoll_explore_has(explore, i,
                                     !moves   ? EXPLORE_FIRE
                                     : is_put ? EXPLORE_READ
                                              : EXPLORE_WRITE);
        default:
            return pcoll_explore_has(explore, i, moves ? EXPLORE_WRITE : EXPLORE_FIRE) &&
                   is_next(explore, i);
    }
}

static void print(const struct pcoll_explore *explore, struct explore_event event)
{
    const struct explore_task *task;
    FILE *out = explore->options.trace;

    if (event.kind == EXPLORE_START || event.kind == EXPLORE_COMPLETE) {
        fprintf(out, "rank %d  instance %d  %s\n", event.index,
                explore->progress[event.index].completed, kind_name[event.kind]);
        return;
    }
    if (event.kind > EXPLORE_COMPLETE) {
        pcoll_explore_print_help(explore, event);
        return;
    }
    task = &explore->task[event.index];
    fprintf(out, "rank %d  instance %d  entry %td  %s %s", task->rank, task->instance,
            task->entry - explore->rank[task->rank].plan->entries, op_name[task->entry->op],
            kind_name[event.kind]);
    if (event.kind == EXPLORE_SIGNAL)
        fprintf(out, "  +%llu on counter %d of rank %d", (unsigned long long)task->entry->peer_add,
                task->entry->peer_counter, task->entry->peer);
    fputc('\n', out);
}

static bool touch(struct pcoll_explore *explore, struct explore_event event)
{
    unsigned char *way = explore->memory + explore->task[event.index].data;
    const int n = pcoll_explore_naccesses(explore, event);
    bool ok = true;

    for (int i = explore->dry ? 0 : n; i-- > 0 && ok;) {
        const struct explore_access access = pcoll_explore_access(explore, event, i);
        unsigned char *memory = explore->memory + access.at;

        if (event.kind == EXPLORE_WRITE) {
            memcpy(memory, way, access.bytes);
            if (explore->compares)
                memset(way, 0, access.bytes);
        } else if (i == n - 1) {
            memcpy(way, memory, access.bytes);
        } else {
            pcoll_explore_operate(explore, way, memory, way, access.bytes);
        }
        ok = pcoll_explore_check_access(explore, event, &access);
    }
    return ok;
}

static void start(struct pcoll_explore *explore, int rank)
{
    struct explore_progress *progress = &explore->progress[rank];

    progress->left = pcoll_explore_phase(explore, rank, progress->started)->count;
    if (!explore->dry)
        pcoll_explore_fill(explore, rank, progress->started);
    progress->started++;
    pcoll_explore_open_notices(explore, rank);
}

static bool complete(struct pcoll_explore *explore, int rank)
{
    struct explore_progress *progress = &explore->progress[rank];

    if (!explore->dry && !pcoll_explore_verify(explore, rank, progress->completed))
        return false;
    if (!pcoll_explore_check_signals(explore, rank))
        return false;
    if (!explore->dry)
        pcoll_explore_scribble(explore, rank);
    progress->completed++;
    return true;
}

/* The task's turn ends when its data and its signal have arrived. */
static bool ends_turn(const struct pcoll_explore *explore, struct explore_event event)
{
    const struct pcoll_entry *entry = explore->task[event.index].entry;

    if (!explore->ordered || explore->position[event.index] == 0)
        return false;
    return event.kind == (pcoll_explore_signals(entry) ? EXPLORE_SIGNAL : EXPLORE_WRITE);
}

/* What is copied in chunks takes its turn when it lands. */
static bool queues_at(const struct pcoll_explore *explore, const struct pcoll_entry *entry,
                      enum explore_kind kind)
{
    if (!pcoll_explore_is_bulk(explore, entry))
        return pcoll_explore_queues_at(entry, kind);
    return kind == EXPLORE_WRITE && (entry->op == PCOLL_OP_PUT || pcoll_explore_signals(entry));
}

/* An event of a task, without moving data. */
static void step(struct pcoll_explore *explore, struct explore_event event)
{
    const struct explore_task *task = &explore->task[event.index];
    const struct pcoll_entry *entry = task->entry;

    explore->happened[event.index] |= (uint8_t)(1 << event.kind);
    if (explore->ordered && queues_at(explore, entry, event.kind)) {
        explore
            ->turn[explore->first_turn[task->connection] + (int)explore->issued[task->connection]] =
            event.index;
        explore->position[event.index] = ++explore->issued[task->connection];
    }
    if (ends_turn(explore, event))
        explore->delivered[task->connection]++;
    if (event.kind == EXPLORE_DONE)
        explore->progress[task->rank].left--;
    if (event.kind == EXPLORE_DONE && entry->done != PCOLL_NONE)
        *counter_of(explore, task->rank, entry->done) += entry->done_add;
    if (event.kind == EXPLORE_SIGNAL)
        *counter_of(explore, entry->peer, entry->peer_counter) += entry->peer_add;
}

/* With its last chunk, all of a task has been written. */
static bool apply_help(struct pcoll_explore *explore, struct explore_event event)
{
    int landed;
    const bool ok = pcoll_explore_apply_help(explore, event, &landed);

    if (landed >= 0)
        step(explore, (struct explore_event){EXPLORE_WRITE, landed});
    return ok;
}

bool pcoll_explore_apply(struct pcoll_explore *explore, struct explore_event event)
{
    if (explore->options.trace && !explore->dry)
        print(explore, event);
    if (event.kind == EXPLORE_COMPLETE)
        return complete(explore, event.index);
    if (event.kind == EXPLORE_START) {
        start(explore, event.index);
        return true;
    }
    if (event.kind > EXPLORE_COMPLETE)
        return apply_help(explore, event);
    step(explore, event);
    return (event.kind != EXPLORE_READ && event.kind != EXPLORE_WRITE) || touch(explore, event);
}

static bool fail_deadlock(struct pcoll_explore *explore, int rank)
{
    const struct pcoll_plan *plan = explore->rank[rank].plan;
    const int instance = explore->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, instance);

    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const int index = pcoll_explore_task(explore, rank, instance, i);
        const struct explore_task *task = &explore->task[index];

        if (!pcoll_explore_has(explore, index, EXPLORE_FIRE) && !is_triggered(explore, task))
            return pcoll_explore_fail(
                explore, PCOLL_EXPLORE_FAULT_DEADLOCK,
                "deadlock: rank %d, instance %d: entry %d (%s) waits for counter "
                "%d = %llu to reach %llu",
                rank, instance, i, op_name[task->entry->op], task->entry->trigger,
                (unsigned long long)*counter_of(explore, rank, plan->entries[i].trigger),
                (unsigned long long)target(explore, task));
    }
    return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_DEADLOCK,
                              "deadlock: rank %d, instance %d", rank, instance);
}

/* After whole cycles the value of every counter is a multiple of its gain. */
static bool check_counters(struct pcoll_explore *explore, int rank)
{
    const struct pcoll_plan *plan = explore->rank[rank].plan;
    const uint64_t cycle = (uint64_t)(explore->options.instances / plan->nphases);

    if (explore->options.instances % plan->nphases != 0)
        return true;
    for (int c = 0; c < plan->ncounters; c++) {
        const uint64_t is = *counter_of(explore, rank, c);
        const uint64_t ought = (explore->options.first_cycle + cycle) * plan->gain[c];

        if (is != ought)
            return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_LEFTOVER,
                                      "rank %d: counter %d ends at %llu, not %llu", rank, c,
                                      (unsigned long long)is, (unsigned long long)ought);
    }
    return true;
}

bool pcoll_explore_end(struct pcoll_explore *explore)
{
    for (int r = 0; r < explore->nranks; r++)
        if (pcoll_explore_is_active(explore, r))
            return fail_deadlock(explore, r);
    for (int r = 0; r < explore->nranks; r++)
        if (!check_counters(explore, r))
            return false;
    return true;
}
