/*
 * Helpers: the explorer's events of cooperative copies. Private to offload/explore; help.c
 * describes the protocol.
 */
#ifndef PCOLL_EXPLORE_HELP_H
#define PCOLL_EXPLORE_HELP_H

#include "offload/explore/state.h"

/* Where a helper is. Each step but IDLE is followed by an event EXPLORE_HELP. */
enum explore_errand {
    HELPER_IDLE,
    HELPER_LOOKED,  /* has read the word by which chunks are claimed */
    HELPER_READY,   /* has read what is copied */
    HELPER_CLAIMED, /* owns a chunk */
    HELPER_HOLDS    /* has read it from its source */
};

/* A rank's ticket. */
struct explore_ticket {
    int32_t slot;     /* what is copied, plus 1; 0: nothing has been yet */
    uint32_t opening; /* the word by which chunks are claimed: how often it has been opened, */
    uint32_t next;    /* and the next chunk */
    int32_t is_open;  /* the word permits claims */
    int32_t is_new;   /* it is still to be opened for this slot */
    uint32_t left;    /* chunks that have not been copied */
};

struct explore_helper {
    int32_t errand; /* enum explore_errand */
    int32_t rank;   /* whose ticket */
    int32_t slot;   /* as read from the ticket */
    uint32_t opening, next;
};

/* True if the entry is copied in chunks. */
bool pcoll_explore_is_bulk(const struct pcoll_explore *explore, const struct pcoll_entry *entry);

/* The most steps of helpers in a run, without those in vain. */
size_t pcoll_explore_help_events(const struct pcoll_explore *explore);

/* True if the owner may fire the slot, which is bulk: its ticket is free. */
bool pcoll_explore_can_take_ticket(const struct pcoll_explore *explore, int slot);
void pcoll_explore_take_ticket(struct pcoll_explore *explore, int slot);

/* True if nothing keeps an entry behind that slot on the same trigger from firing, in order. */
bool pcoll_explore_lets_pass(const struct pcoll_explore *explore, int slot);

/* The events EXPLORE_OPEN, LOOK and HELP, as pcoll_explore_can and pcoll_explore_apply. */
bool pcoll_explore_can_help(const struct pcoll_explore *explore, struct explore_event event);
bool pcoll_explore_apply_help(struct pcoll_explore *explore, struct explore_event event);

void pcoll_explore_print_help(const struct pcoll_explore *explore, struct explore_event event);

/* The local completion or the signal of a slot that is bulk: whether its copy permits it. */
bool pcoll_explore_is_copied(const struct pcoll_explore *explore, int slot, enum explore_kind kind);

#endif /* PCOLL_EXPLORE_HELP_H */
