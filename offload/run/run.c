/* The part of the executor that need not be inline; the contract is in offload/run/run.h. */
#include "offload/run/run.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "algorithms/plan/pool.h"
#include "offload/run/fire.h"

/* True if an entry begins a queue. The plan is sorted by trigger. */
static int begins_queue(const struct pcoll_plan *plan, const struct pcoll_phase *phase, int i)
{
    return i == phase->first || plan->entries[i].trigger != plan->entries[i - 1].trigger;
}

/* How many elements the arrays of a run need. */
struct room {
    size_t queues;  /* those of all phases, and once more those of the largest, to be pending */
    size_t targets; /* of the entries' signals, and this rank's own counters, which it names if it
                     * transfers other ranks' signals to them */
};

static struct room room_of(const struct pcoll_plan *plan)
{
    struct room room = {.targets = (size_t)plan->ncounters};
    size_t most = 0;

    for (int p = 0; p < plan->nphases; p++) {
        const struct pcoll_phase *phase = &plan->phases[p];
        size_t queues = 0;

        for (int i = phase->first; i < phase->first + phase->count; i++) {
            const struct pcoll_entry *entry = &plan->entries[i];

            queues += (size_t)begins_queue(plan, phase, i);
            room.targets += (size_t)(entry->done != PCOLL_NONE);
            room.targets += (size_t)(entry->peer_counter != PCOLL_NONE);
        }
        room.queues += queues;
        most = queues > most ? queues : most;
    }
    room.queues += most;
    return room;
}

/* An init writes all of this for each entry of the plan, so nothing is cleared that is filled in
 * later. */
enum pcoll_result pcoll_run_init(struct pcoll_run *run, const struct pcoll_plan *plan,
                                 const struct pcoll_operator *op)
{
    const struct room room = room_of(plan);
    enum pcoll_result result = pcoll_reductions_init(&run->reductions, plan, op);

    run->steps = pcoll_pool_get(((size_t)plan->nentries + 1) * sizeof(*run->steps));
    run->queues = pcoll_pool_get((room.queues + 1) * sizeof(*run->queues));
    run->targets = pcoll_pool_get((room.targets + 1) * sizeof(*run->targets));
    run->phases = malloc((size_t)plan->nphases * sizeof(*run->phases));
    run->nphases = plan->nphases;
    run->most_targets = room.targets;
    if (!run->steps || !run->queues || !run->targets || !run->phases)
        result = PCOLL_ERR_NOMEM;
    return result;
}

void pcoll_run_fini(struct pcoll_run *run)
{
    pcoll_pool_put(run->steps);
    pcoll_pool_put(run->queues);
    pcoll_pool_put(run->targets);
    pcoll_reductions_fini(&run->reductions);
    free(run->phases);
}

/* Returns the end of the last queue. */
static struct pcoll_queue *cut_phase(struct pcoll_run *run, const struct pcoll_plan *plan,
                                     const struct pcoll_phase *phase, struct pcoll_line *counters,
                                     struct pcoll_queue *queue)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        int trigger = plan->entries[i].trigger;

        if (begins_queue(plan, phase, i)) {
            queue->line = trigger == PCOLL_NONE ? NULL : counters + trigger;
            queue++->first = &run->steps[i];
        }
        queue[-1].end = &run->steps[i] + 1;
    }
    return queue;
}

void pcoll_run_cut(struct pcoll_run *run, const struct pcoll_plan *plan,
                   struct pcoll_line *counters)
{
    struct pcoll_queue *queue = run->queues;

    for (int p = 0; p < run->nphases; p++) {
        run->phases[p].queues = queue;
        queue = cut_phase(run, plan, &plan->phases[p], counters, queue);
        run->phases[p].end = queue;
    }
    run->pending = run->pending_end = queue;
}

void pcoll_run_put_off(struct pcoll_run *run, const struct pcoll_queue *queue,
                       struct pcoll_step *step)
{
    static struct pcoll_line reached; /* at 0, the threshold of steps without trigger */

    *run->pending_end++ = (struct pcoll_queue){&reached, step, queue->end};
}

uint64_t pcoll_run_position(const struct pcoll_run *run)
{
    uint64_t position = (uint64_t)(run->pending_end - run->pending);

    for (const struct pcoll_queue *queue = run->pending; queue != run->pending_end; queue++)
        position = position * 31 + (uint64_t)(queue->first - run->steps);
    return position;
}

void pcoll_wake(struct pcoll_line *line)
{
    syscall(SYS_futex, pcoll_futex_word(line), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void pcoll_run_rest(const struct pcoll_run *run, unsigned usec)
{
    struct timespec limit = {0, (long)usec * 1000};
    struct pcoll_line *line;
    uint64_t value;

    if (usec == 0 || !pcoll_run_waits(run)) {
        sched_yield();
        return;
    }
    line = run->pending[0].line;
    atomic_fetch_add_explicit(&line->sleepers, 1, memory_order_seq_cst);
    value = atomic_load_explicit(&line->value, memory_order_seq_cst);
    if ((int64_t)(value - run->pending[0].first->threshold) < 0)
        syscall(SYS_futex, pcoll_futex_word(line), FUTEX_WAIT, (uint32_t)value, &limit, NULL, 0);
    else
        sched_yield(); /* the step at its head is pending */
    atomic_fetch_sub_explicit(&line->sleepers, 1, memory_order_relaxed);
}
