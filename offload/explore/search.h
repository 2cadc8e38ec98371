/*
 * The inside of the search through all orders (explore.c, settle.c).
 */
#ifndef PCOLL_EXPLORE_SEARCH_H
#define PCOLL_EXPLORE_SEARCH_H

#include "offload/explore/state.h"
#include "offload/explore/visited.h"

struct explorer {
    struct pcoll_explore *explore;
    const struct pcoll_explore_limits *limits;
    struct pcoll_explore_stats *stats;
    struct pcoll_visited visited; /* from the first state on that has several choices */
    uint64_t nalone;              /* states before it, none of which can come again */
    struct explore_event *path;   /* taken to reach the current state */
    int path_length, path_room;
    struct explore_event *possible; /* loud events of the current state */
    int npossible;
    unsigned char *control; /* saved during a dry run */
    struct explore_event
        *happened; /* since settle() began: what follows from them is still to come */
    int nhappened;
    const struct explore_event *left_out; /* of a dry run; NULL: the run is not dry */
    bool clashes;                         /* something depends on left_out */
};

/* A PUT that takes its turn when it fires is not silent. */
bool pcoll_explore_fire_is_silent(const struct pcoll_explore *explore, int task);

/* Let the event happen in a state in which no silent event is possible, and then all silent events
 * that it makes possible. Returns false if a check failed. */
bool pcoll_explore_step(struct explorer *x, struct explore_event event);

/* Returns whether t, one of x->possible, is independent of everything that can happen before it. */
bool pcoll_explore_is_independent(struct explorer *x, const struct explore_event *t);

#endif /* PCOLL_EXPLORE_SEARCH_H */
