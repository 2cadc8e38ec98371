/*
 * Firing a step in shared memory, for this medium and for media that have ranks on one node.
 * Private to the media.
 */
#ifndef PCOLL_SHM_FIRE_H
#define PCOLL_SHM_FIRE_H

#include "offload/run/fire.h"
#include "offload/shm/relay.h"
#include "offload/shm/state.h"

/* Handles steps whose memory is not mapped here. */
static inline enum pcoll_result pcoll_shm_reach(struct pcoll_run *run, struct pcoll_step *step)
{
    int error;

    if (step->kind == PCOLL_SHM_READ)
        error = pcoll_cma_read(step->pid, step->to, step->from, step->bytes);
    else if (step->kind == PCOLL_SHM_WRITE)
        error = pcoll_cma_write(step->pid, step->to, step->from, step->bytes);
    else
        return pcoll_shm_ask(pcoll_shm_bound_of_run(run), step);
    if (__builtin_expect(error != 0, 0))
        return pcoll_shm_refused(pcoll_shm_bound_of_run(run), step, error);
    return PCOLL_OK;
}

static inline enum pcoll_result pcoll_shm_fire(struct pcoll_run *run, struct pcoll_step *step)
{
    if (step->kind == PCOLL_STEP_COPY) {
        pcoll_copy_any(step->to, step->from, step->bytes);
    } else if (step->kind == PCOLL_STEP_STREAM) {
        pcoll_stream(step->to, step->from, step->bytes);
    } else if (step->kind != PCOLL_STEP_SIGNAL) {
        enum pcoll_result result = step->kind == PCOLL_STEP_REDUCE ? pcoll_reduce(step->reduction)
                                                                   : pcoll_shm_reach(run, step);

        if (__builtin_expect(result != PCOLL_OK, 0))
            return result;
    }
    pcoll_step_signal(step);
    return PCOLL_OK;
}

#endif /* PCOLL_SHM_FIRE_H */
