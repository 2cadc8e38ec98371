/*
 * Helpers: the explorer's events of copies that several share. Private to offload/explore; help.c
 * describes them.
 */
#ifndef PCOLL_EXPLORE_HELP_H
#define PCOLL_EXPLORE_HELP_H

#include "offload/explore/notice.h"

/* Where a helper is. Each step but IDLE is followed by an event EXPLORE_HELP. */
enum explore_errand {
    HELPER_IDLE,
    HELPER_LOOKED,  /* has read the word of a notice */
    HELPER_READY,   /* has read whether its trigger has been reached, which it has */
    HELPER_CLAIMED, /* owns a chunk */
    HELPER_HOLDS,   /* has read it from its source */
    HELPER_SIGNALS, /* has closed the notice, and is to signal: only a flawed one */
    HELPER_DOUBTS, /* the owner has read who holds a chunk, and asks whether that helper is alive */
    HELPER_DEAD
};

struct explore_helper {
    int32_t errand;           /* enum explore_errand */
    int32_t notice;           /* number of the notice */
    struct explore_word word; /* as read there; of a chunk that it has, only the epoch */
    int32_t task;             /* what it copies, */
    uint32_t chunk;           /* and which chunk */
    int32_t suspect;          /* the helper that may have died */
};

/* The number of helpers, with the owners. */
int pcoll_explore_count_helpers(const struct pcoll_explore *explore);

/* Returns whether an event EXPLORE_LOOK, HELP, REFUSE or DIE is possible. */
bool pcoll_explore_can_help(const struct pcoll_explore *explore, struct explore_event event);

/* Apply such an event, as pcoll_explore_apply does. *landed_p is the task of which this was the
 * last chunk, or -1. */
bool pcoll_explore_apply_help(struct pcoll_explore *explore, struct explore_event event,
                              int *landed_p);

void pcoll_explore_print_help(const struct pcoll_explore *explore, struct explore_event event);

#endif /* PCOLL_EXPLORE_HELP_H */
