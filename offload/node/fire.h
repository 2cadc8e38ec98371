/*
 * Firing a step within a node. Private to the media on offload/node.
 */
#ifndef PCOLL_NODE_FIRE_H
#define PCOLL_NODE_FIRE_H

#include "offload/node/bound.h"
#include "offload/run/fire.h"

static inline enum pcoll_result pcoll_node_fire(struct pcoll_run *run, struct pcoll_step *step)
{
    if (step->kind == PCOLL_STEP_COPY) {
        pcoll_copy_any(step->to, step->from, step->bytes);
    } else if (step->kind != PCOLL_STEP_SIGNAL) {
        enum pcoll_result result = pcoll_node_perform(run, step);

        if (__builtin_expect(result != PCOLL_OK, 0))
            return result;
    }
    pcoll_step_signal(step);
    return PCOLL_OK;
}

#endif /* PCOLL_NODE_FIRE_H */
