/*
 * Running bound plans in shared memory: the path of every MPI_Start and MPI_Wait.
 *
 * A phase is a list of queues, one for each counter that its steps wait for.  Start copies the list
 * to `pending`; progress fires the steps at the head of each queue that its counter has reached and
 * drops queues that are empty.  The phase is complete when none is left, as moves are done when
 * they return.
 */
#include "offload/shm/shm.h"

#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "offload/shm/relay.h"
#include "offload/shm/run.h"

void pcoll_shm_wake(struct pcoll_shm_line *line)
{
    syscall(SYS_futex, pcoll_shm_futex_word(line), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Others may wait for this rank forever: tell them, once, through the block. */
enum pcoll_result pcoll_shm_fail(struct pcoll_shm_bound *bound, const struct pcoll_shm_step *step,
                                 int error)
{
    char text[200];

    snprintf(text, sizeof(text), "shared memory: %s of %zu bytes %s process %ld: %s",
             step->kind == PCOLL_SHM_READ ? "process_vm_readv" : "process_vm_writev", step->bytes,
             step->kind == PCOLL_SHM_READ ? "from" : "to", (long)step->pid, strerror(error));
    bound->group->report(bound->group->context, text);
    atomic_fetch_or_explicit(&bound->block->alarm, PCOLL_SHM_FAILED, memory_order_release);
    return PCOLL_ERR_SYSTEM;
}

/* Fire what the counter of a queue allows; *moved_p is set when something was. */
static inline enum pcoll_result drain(struct pcoll_shm_bound *bound, struct pcoll_shm_queue *queue,
                                      int *moved_p)
{
    uint64_t value = atomic_load_explicit(&queue->line->value, memory_order_acquire);

    while (queue->first != queue->end && (int64_t)(value - queue->first->threshold) >= 0) {
        enum pcoll_result result = pcoll_shm_fire(bound, queue->first);

        if (__builtin_expect(result != PCOLL_OK, 0))
            return result;
        queue->first++;
        *moved_p = 1;
    }
    return PCOLL_OK;
}

/* A step that is pending is tried again before anything else. */
void pcoll_shm_put_first(struct pcoll_shm_bound *bound, int i)
{
    struct pcoll_shm_queue first = bound->pending[i];

    bound->pending[i] = bound->pending[0];
    bound->pending[0] = first;
}

static inline enum pcoll_result progress(struct pcoll_shm_bound *bound)
{
    int moved = 1;

    while (moved && bound->npending > 0) {
        moved = 0;
        for (int i = 0; i < bound->npending; i++) {
            enum pcoll_result result = drain(bound, &bound->pending[i], &moved);

            if (__builtin_expect(result != PCOLL_OK, 0)) {
                pcoll_shm_put_first(bound, i);
                return result;
            }
            if (bound->pending[i].first == bound->pending[i].end)
                bound->pending[i--] = bound->pending[--bound->npending];
        }
    }
    return bound->npending == 0 ? PCOLL_OK : PCOLL_PENDING;
}

/* A step that should fire at start is pending, so the others wait as well: for a counter that has
 * reached all that they want. */
static enum pcoll_result start_later(struct pcoll_shm_bound *bound,
                                     const struct pcoll_shm_phase *phase,
                                     struct pcoll_shm_step *step)
{
    static struct pcoll_shm_line reached;

    memcpy(bound->pending, phase->queues, (size_t)phase->nqueues * sizeof(*phase->queues));
    bound->npending = phase->nqueues;
    bound->pending[0].line = &reached;
    bound->pending[0].first = step;
    return PCOLL_PENDING;
}

static enum pcoll_result shm_start(struct pcoll_bound *base)
{
    struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);
    const struct pcoll_shm_phase *phase = &bound->phases[bound->phase];
    int first = 0;

    bound->phase = bound->phase + 1 == bound->nphases ? 0 : bound->phase + 1;
    bound->npending = 0;
    if (phase->nqueues > 0 && phase->queues[0].line == NULL) {
        for (struct pcoll_shm_step *step = phase->queues[0].first; step != phase->queues[0].end;
             step++) {
            enum pcoll_result result = pcoll_shm_fire(bound, step);

            if (__builtin_expect(result == PCOLL_PENDING, 0))
                return start_later(bound, phase, step);
            if (__builtin_expect(result != PCOLL_OK, 0))
                return result;
        }
        first = 1;
    }
    for (int i = first; i < phase->nqueues; i++)
        bound->pending[bound->npending++] = phase->queues[i];
    return progress(bound);
}

static enum pcoll_result shm_progress(struct pcoll_bound *base)
{
    struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);
    enum pcoll_result result = progress(bound);

    return result == PCOLL_PENDING ? pcoll_shm_attend(bound) : result;
}

static enum pcoll_result shm_spin(struct pcoll_bound *base, unsigned spins)
{
    struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);
    enum pcoll_result result = progress(bound);

    while (result == PCOLL_PENDING && spins-- > 0) {
        pcoll_shm_relax();
        result = progress(bound);
    }
    return result == PCOLL_PENDING ? pcoll_shm_attend(bound) : result;
}

void pcoll_shm_rest(struct pcoll_bound *base, unsigned usec)
{
    const struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);
    struct timespec limit = {0, (long)usec * 1000};
    struct pcoll_shm_line *line;
    uint64_t value;

    if (usec == 0 || bound->npending == 0 || bound->asking != NULL) {
        sched_yield();
        return;
    }
    line = bound->pending[0].line;
    atomic_fetch_add_explicit(&line->sleepers, 1, memory_order_seq_cst);
    value = atomic_load_explicit(&line->value, memory_order_seq_cst);
    if ((int64_t)(value - bound->pending[0].first->threshold) < 0)
        syscall(SYS_futex, pcoll_shm_futex_word(line), FUTEX_WAIT, (uint32_t)value, &limit, NULL,
                0);
    atomic_fetch_sub_explicit(&line->sleepers, 1, memory_order_relaxed);
}

static int shm_suits(int one_node, const char *provider)
{
    (void)provider;
    return one_node;
}

const struct pcoll_medium pcoll_medium_shm = {
    .name = "shm",
    .suits = shm_suits,
    .poll = pcoll_nothing,
    .lingering = pcoll_none_lingers,
    .finalize = pcoll_nothing,
    .group_create = pcoll_shm_group_create,
    .group_destroy = pcoll_shm_group_destroy,
    .group_provides = pcoll_shm_group_provides,
    .group_rails = pcoll_one_rail,
    .combine = pcoll_shm_combine,
    .bind = pcoll_shm_bind,
    .unbind = pcoll_shm_unbind,
    .start = shm_start,
    .progress = shm_progress,
    .spin = shm_spin,
    .rest = pcoll_shm_rest,
};
