/*
 * Shots: probes of two ranks, bound to a medium and ready to be fired in batches.
 */
#ifndef PCOLL_TUNE_SHOTS_H
#define PCOLL_TUNE_SHOTS_H

#include <stdbool.h>

#include "tools/tune.h"

enum shot_name {
    PING_FEW,
    PING_MANY,
    STREAM_FEW,
    STREAM_MANY,
    PUT_FEW,
    PUT_MANY,
    PUT_SHORT,
    PUT_LONG,
    GET_SHORT,
    GET_LONG,
    COPY_SHORT,
    COPY_LONG,
    COPY_LONGEST,
    EMPTY,
    NUM_SHOTS
};

#define SHOT_FEW 2 /* entries of a shot that has few */

struct shot {
    struct pcoll_plan *plan; /* NULL: the medium cannot run it */
    struct pcoll_bound *bound;
    struct pcoll_params params;
    uint64_t bytes;
    int batch;
    double whole, start; /* us per instance, in the last batch */
};

/* All shots of one medium. */
struct shots {
    MPI_Comm comm; /* of two ranks */
    const struct pcoll_medium *medium;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_topology *topology;
    struct pcoll_group *group; /* of the sitting */
    struct pcoll_memory memory;
    int many;
    bool in_node; /* entries of a shot that has many */
    int rounds;   /* that the plans have been fired */
    struct shot list[NUM_SHOTS];
};

/* Everything except the group and the plans. Fini also releases what a failed init left. */
enum pcoll_result shots_init(struct shots *shots, MPI_Comm *comm, const struct pcoll_medium *medium,
                             const struct tune_options *options) PCOLL_MUST_CHECK;
void shots_fini(struct shots *shots);

/* Collective over the two ranks: make the group and the plans, and choose how many instances are a
 * batch. A shot that the medium cannot run has no plan. */
enum pcoll_result shots_load(struct shots *shots) PCOLL_MUST_CHECK;
void shots_unload(struct shots *shots);

/* Fire a batch of every shot, one after the other. The longest, which evicts the data of the others
 * from the caches, keeps its time for some rounds. */
void shots_fire(struct shots *shots);

#endif /* PCOLL_TUNE_SHOTS_H */
