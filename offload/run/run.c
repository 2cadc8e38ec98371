/* The part of the executor that need not be inline; the contract is in offload/run/run.h. */
#include "offload/run/run.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "algorithms/plan/pool.h"
#include "offload/run/fire.h"
#include "offload/yield.h"

#define BRIEF_USEC 50 /* a rank that may not be woken looks so often */

/* Returns whether an entry begins a queue. The plan is sorted by trigger. */
static bool begins_queue(const struct pcoll_plan *plan, const struct pcoll_phase *phase, int i)
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
    size_t max = 0;

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
        max = queues > max ? queues : max;
    }
    room.queues += max;
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
    run->max_targets = room.targets;
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
                                     size_t stride, struct pcoll_queue *queue)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        int trigger = plan->entries[i].trigger;

        if (begins_queue(plan, phase, i)) {
            queue->line = trigger == PCOLL_NONE ? NULL : pcoll_line_at(counters, stride, trigger);
            queue++->first = &run->steps[i];
        }
        queue[-1].end = &run->steps[i] + 1;
    }
    return queue;
}

void pcoll_run_cut(struct pcoll_run *run, const struct pcoll_plan *plan,
                   struct pcoll_line *counters, size_t stride)
{
    struct pcoll_queue *queue = run->queues;

    for (int p = 0; p < run->nphases; p++) {
        run->phases[p].queues = queue;
        queue = cut_phase(run, plan, &plan->phases[p], counters, stride, queue);
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

/* What a rank sleeps on. */
struct watch {
    struct pcoll_line *line;
    uint32_t value;
};

enum { MAX_WATCHES = 16 };

/* 0 if the step at the head of a queue is due: either it is pending, or its signal has just
 * arrived. */
static int watch_lines(const struct pcoll_run *run, struct watch *watches)
{
    const struct pcoll_queue *q = run->pending;
    int n = 0;

    for (; q != run->pending_end && n < MAX_WATCHES; q++) {
        const uint64_t value = atomic_load_explicit(&q->line->value, memory_order_seq_cst);

        if ((int64_t)(value - q->first->threshold) >= 0)
            return 0;
        watches[n++] = (struct watch){q->line, (uint32_t)value};
    }
    return n;
}

/* Returns false if the system cannot do that; Linux can since 5.16. */
static bool sleep_on_all(const struct watch *watches, int n, unsigned usec)
{
#if defined(SYS_futex_waitv) && defined(FUTEX_WAITV_MAX)
    static _Atomic bool refused;
    struct futex_waitv waits[MAX_WATCHES];
    struct timespec until;

    if (atomic_load_explicit(&refused, memory_order_relaxed))
        return false;
    for (int i = 0; i < n; i++)
        waits[i] = (struct futex_waitv){
            .val = watches[i].value,
            .uaddr = (uint64_t)(uintptr_t)pcoll_futex_word(watches[i].line),
            .flags = FUTEX_32,
        };
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += usec / 1000000;
    until.tv_nsec += (long)(usec % 1000000) * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (syscall(SYS_futex_waitv, waits, n, 0, &until, CLOCK_MONOTONIC) >= 0 || errno == EAGAIN ||
        errno == EINTR || errno == ETIMEDOUT)
        return true;
    atomic_store_explicit(&refused, true, memory_order_relaxed);
#endif
    (void)watches, (void)n, (void)usec;
    return false;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void sleep_on(const struct watch *watches, int n, unsigned usec)
{
    struct timespec limit;

    if (n > 1 && sleep_on_all(watches, n, usec))
        return;
    if (n > 1)
        usec = smaller(usec, BRIEF_USEC);
    limit = (struct timespec){usec / 1000000, (long)(usec % 1000000) * 1000};
    syscall(SYS_futex, pcoll_futex_word(watches[0].line), FUTEX_WAIT, watches[0].value, &limit,
            NULL, 0);
}

/* Call this before the sleeper is counted. */
static void publish_thresholds(const struct pcoll_run *run)
{
    const struct pcoll_queue *q = run->pending;

    for (int n = 0; q != run->pending_end && n < MAX_WATCHES; q++, n++)
        atomic_store_explicit(&q->line->wanted, (uint32_t)q->first->threshold,
                              memory_order_relaxed);
}

static void count_sleepers(const struct pcoll_run *run, uint32_t by)
{
    const struct pcoll_queue *q = run->pending;

    if (run->sleepers != NULL)
        atomic_fetch_add_explicit(run->sleepers, by, memory_order_relaxed);
    for (int n = 0; q != run->pending_end && n < MAX_WATCHES; q++, n++)
        atomic_fetch_add_explicit(&q->line->sleepers, by, memory_order_seq_cst);
}

void pcoll_run_rest(const struct pcoll_run *run, unsigned usec)
{
    struct watch watches[MAX_WATCHES];
    int n;

    if (usec == 0 || !pcoll_run_waits(run) || !pcoll_may_sleep()) {
        pcoll_yield();
        return;
    }
    if (run->sleepers == NULL || run->pending_end - run->pending > MAX_WATCHES)
        usec = smaller(usec, BRIEF_USEC);
    publish_thresholds(run);
    count_sleepers(run, 1);
    n = watch_lines(run, watches);
    if (n > 0)
        sleep_on(watches, n, usec);
    else
        pcoll_yield();
    count_sleepers(run, (uint32_t)-1);
}
