/*
 * Helpers: the explorer's events of copies that several share. Private to offload/explore; help.c
 * describes the protocols.
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
    HELPER_HOLDS,   /* has read it from its source */
    HELPER_SIGNALS, /* has closed the notice, and is to signal: only a flawed one */
    HELPER_REFUSED, /* the owner waits until no chunk of its ticket is claimed */
    HELPER_ALONE    /* who then has read all of it */
};

/* The ticket of a rank, or the notice of an entry. */
struct explore_ticket {
    int32_t slot;      /* what is copied, plus 1; 0: nothing has been yet */
    uint32_t opening;  /* the word by which chunks are claimed: how often it has been opened, */
    uint32_t next;     /* and the next chunk */
    int32_t is_open;   /* the word permits claims */
    int32_t is_new;    /* it is still to be opened for this slot */
    uint32_t left;     /* chunks that have not been copied; of a notice, in the word */
    int32_t is_held;   /* a helper of this notice has a chunk; in the word */
    uint32_t returned; /* the chunk that a helper could not copy, plus 1 */
    int32_t is_left;   /* that helper stays away from this ticket */
    uint32_t given_up; /* chunks that nobody will copy */
};

struct explore_helper {
    int32_t errand; /* enum explore_errand */
    int32_t ticket;
    int32_t slot; /* as read from the ticket */
    uint32_t opening, next, left;
};

/* True if the entry is copied in chunks. */
bool pcoll_explore_is_bulk(const struct pcoll_explore *explore, const struct pcoll_entry *entry);

bool pcoll_explore_has_board(const struct pcoll_explore *explore);

/* The number of tickets of the ranks before that one; of helpers, with the owners. */
int pcoll_explore_count_tickets(const struct pcoll_explore *explore, int rank);
int pcoll_explore_count_helpers(const struct pcoll_explore *explore);

/* The most steps of helpers in a run, without those in vain; the most states of a helper between
 * two of these. */
size_t pcoll_explore_help_events(const struct pcoll_explore *explore);
size_t pcoll_explore_errands(const struct pcoll_explore *explore);

/* True if the owner may fire the slot, which is bulk: its ticket is free. */
bool pcoll_explore_can_take_ticket(const struct pcoll_explore *explore, int slot);
void pcoll_explore_take_ticket(struct pcoll_explore *explore, int slot);

/* Open the notices of the instance that the rank has just started. */
void pcoll_explore_open_notices(struct pcoll_explore *explore, int rank);

/* True if nothing keeps an entry behind that slot on the same trigger from firing, in order. */
bool pcoll_explore_lets_pass(const struct pcoll_explore *explore, int slot);

/* The local completion or the signal of a slot that is bulk: whether its copy permits it. False,
 * and a check has failed: on a board, signals of a rank's running instance are still to be given.
 */
bool pcoll_explore_is_copied(const struct pcoll_explore *explore, int slot, enum explore_kind kind);
bool pcoll_explore_check_signals(struct pcoll_explore *explore, int rank);

/* The events EXPLORE_OPEN, LOOK, HELP and REFUSE, as pcoll_explore_can and pcoll_explore_apply. */
bool pcoll_explore_can_help(const struct pcoll_explore *explore, struct explore_event event);
bool pcoll_explore_apply_help(struct pcoll_explore *explore, struct explore_event event);

void pcoll_explore_print_help(const struct pcoll_explore *explore, struct explore_event event);

#endif /* PCOLL_EXPLORE_HELP_H */
