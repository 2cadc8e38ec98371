/*
 * Firing steps: inline, since every MPI_Start and MPI_Wait goes through here.
 *
 * Start, progress and spin take the function with which the medium fires a step as a constant, so
 * that the compiler makes one loop for each medium. Such a function returns
 *
 *     PCOLL_OK       the step has fired, and its threshold has been raised
 *     PCOLL_PENDING  the step stays at the head of its queue, which fires nothing else until then;
 *                    other queues continue, and the step is tried again at the next progress
 *     else           the plan has failed
 */
#ifndef PCOLL_FIRE_H
#define PCOLL_FIRE_H

#include <string.h>

#include "offload/run/run.h"

typedef enum pcoll_result pcoll_fire_step(struct pcoll_run *run, struct pcoll_step *step);

#define PCOLL_ALWAYS_INLINE static inline __attribute__((always_inline))

static inline void pcoll_copy_any(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else
        pcoll_copy(to, from, bytes);
}

/* Complete the firing of a step whose data has been moved. */
PCOLL_ALWAYS_INLINE void pcoll_step_signal(struct pcoll_step *step)
{
    step->threshold += step->gain;
    if (step->done != NULL)
        pcoll_signal(step->done, step->done_add);
    if (step->peer != NULL)
        pcoll_signal(step->peer, step->peer_add);
}

/* Fire what the counter of a queue, which is not empty, allows. Sets *moved_p if anything fired. */
PCOLL_ALWAYS_INLINE enum pcoll_result pcoll_run_drain(struct pcoll_run *run,
                                                      struct pcoll_queue *queue,
                                                      pcoll_fire_step *fire, bool *moved_p)
{
    uint64_t value = atomic_load_explicit(&queue->line->value, memory_order_acquire);
    struct pcoll_step *step = queue->first;
    enum pcoll_result result = PCOLL_OK;

    while ((int64_t)(value - step->threshold) >= 0) {
        result = fire(run, step);
        if (__builtin_expect(result != PCOLL_OK, 0))
            break;
        *moved_p = true;
        if (++step == queue->end)
            break;
    }
    queue->first = step;
    return result;
}

/* Fire what the counters allow. Returns PCOLL_OK if no queue is left. */
PCOLL_ALWAYS_INLINE enum pcoll_result pcoll_run_progress(struct pcoll_run *run,
                                                         pcoll_fire_step *fire)
{
    struct pcoll_queue *end = run->pending_end;
    enum pcoll_result result = PCOLL_OK;
    bool moved = true;

    while (moved && end != run->pending) {
        struct pcoll_queue *queue = run->pending;

        moved = false;
        while (queue != end) {
            result = pcoll_run_drain(run, queue, fire, &moved);
            if (__builtin_expect(result != PCOLL_OK, 0) && result != PCOLL_PENDING)
                return result;
            if (queue->first == queue->end)
                *queue = *--end;
            else
                queue++;
        }
        run->pending_end = end;
    }
    return end == run->pending ? PCOLL_OK : PCOLL_PENDING;
}

/* Make the steps from `step` on, which is pending although it waits for nothing, an ordinary queue
 * on a counter that has reached their threshold. */
void pcoll_run_put_off(struct pcoll_run *run, const struct pcoll_queue *queue,
                       struct pcoll_step *step);

/* Begin the next phase, then progress. */
PCOLL_ALWAYS_INLINE enum pcoll_result pcoll_run_start(struct pcoll_run *run, pcoll_fire_step *fire)
{
    const struct pcoll_run_phase *phase = &run->phases[run->phase];
    const struct pcoll_queue *queue = phase->queues;

    run->phase = run->phase + 1 == run->nphases ? 0 : run->phase + 1;
    run->pending_end = run->pending;
    if (queue != phase->end && queue->line == NULL) {
        for (struct pcoll_step *step = queue->first; step != queue->end; step++) {
            enum pcoll_result result = fire(run, step);

            if (__builtin_expect(result != PCOLL_OK, 0)) {
                if (result != PCOLL_PENDING)
                    return result;
                pcoll_run_put_off(run, queue, step);
                break;
            }
        }
        queue++;
    }
    while (queue != phase->end)
        *run->pending_end++ = *queue++;
    return pcoll_run_progress(run, fire);
}

#endif /* PCOLL_FIRE_H */
