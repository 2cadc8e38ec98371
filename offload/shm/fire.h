/*
 * Firing a step in shared memory, for this medium and for media that have ranks on one node.
 * Private to the media.
 */
#ifndef PCOLL_SHM_FIRE_H
#define PCOLL_SHM_FIRE_H

#include "offload/run/fire.h"
#include "offload/shm/relay.h"
#include "offload/shm/state.h"

/* shm.c: perform a step of any kind except PCOLL_STEP_COPY, without its signals. */
enum pcoll_result pcoll_shm_perform(struct pcoll_run *run, struct pcoll_step *step);

static inline enum pcoll_result pcoll_shm_fire(struct pcoll_run *run, struct pcoll_step *step)
{
    if (step->kind == PCOLL_STEP_COPY) {
        pcoll_copy_any(step->to, step->from, step->bytes);
    } else if (step->kind != PCOLL_STEP_SIGNAL) {
        enum pcoll_result result = pcoll_shm_perform(run, step);

        if (__builtin_expect(result != PCOLL_OK, 0))
            return result;
    }
    pcoll_step_signal(step);
    return PCOLL_OK;
}

#endif /* PCOLL_SHM_FIRE_H */
