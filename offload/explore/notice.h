/*
 * Notices of entries that are copied chunk by chunk. Private to offload/explore. The protocol is
 * that of offload/node/notice.h; help.c says what owners and helpers do, and when.
 */
#ifndef PCOLL_EXPLORE_NOTICE_H
#define PCOLL_EXPLORE_NOTICE_H

#include "offload/explore/state.h"

/* The word of a notice. No value comes again. */
struct explore_word {
    uint32_t epoch;      /* how often the notice has been opened */
    uint32_t next;       /* the next chunk that is to be claimed */
    uint32_t left;       /* chunks that have not been copied */
    uint32_t held;       /* the chunk that a helper has claimed, plus 1; 0: no helper has one */
    int32_t is_returned; /* it could not copy that */
};

struct explore_notice {
    int32_t slot; /* what is copied, plus 1; 0: it has never been opened */
    struct explore_word word;
    int32_t is_unsignaled; /* it is closed, and its signals are to be given: only a flawed one */
};

static inline bool pcoll_explore_has_flaw(const struct pcoll_explore *explore,
                                          enum pcoll_explore_flaw flaw)
{
    return explore->options.flaw == flaw;
}

/* True if the entry is copied in chunks. */
bool pcoll_explore_is_bulk(const struct pcoll_explore *explore, const struct pcoll_entry *entry);

/* The number of these chunks. */
uint32_t pcoll_explore_nchunks(const struct pcoll_explore *explore, int slot);

/* The number of notices of the ranks before that one. */
int pcoll_explore_count_notices(const struct pcoll_explore *explore, int rank);

/* Open the notices of the instance that the rank has just started. */
void pcoll_explore_open_notices(struct pcoll_explore *explore, int rank);

/* True if nothing keeps an entry behind that slot on the same trigger from firing, in order. */
bool pcoll_explore_lets_pass(const struct pcoll_explore *explore, int slot);

/* True if the copy of a slot that is bulk permits its local completion or signal. */
bool pcoll_explore_is_copied(const struct pcoll_explore *explore, int slot, enum explore_kind kind);

/* False, and a check has failed, if the rank's running instance still has signals to give. */
bool pcoll_explore_check_signals(struct pcoll_explore *explore, int rank);

/* True if the notice is open, or about to be closed. */
static inline bool pcoll_explore_is_open(const struct pcoll_explore *explore,
                                         const struct explore_notice *notice)
{
    return notice->slot > 0 && !pcoll_explore_has(explore, notice->slot - 1, EXPLORE_DONE);
}

/* True if the entry's trigger has been reached. */
bool pcoll_explore_is_due(const struct pcoll_explore *explore, const struct explore_notice *notice);

/* True if a chunk can be claimed, by the owner or by a helper. */
bool pcoll_explore_has_chunk(const struct pcoll_explore *explore,
                             const struct explore_notice *notice, bool is_owner);

/* True if the owner can take back what a helper holds. */
bool pcoll_explore_has_lost(const struct pcoll_explore *explore,
                            const struct explore_notice *notice);

/* True if the notice still has that word. */
bool pcoll_explore_is_same(const struct pcoll_explore *explore, const struct explore_notice *notice,
                           const struct explore_word *word);

/* Claim a chunk; returns its number. */
uint32_t pcoll_explore_claim(struct explore_notice *notice, bool is_owner);

/* Take back the chunk that a helper holds; returns its number. */
uint32_t pcoll_explore_take_back(struct explore_notice *notice);

/* A chunk is done. True if it was the last. */
bool pcoll_explore_finish(struct pcoll_explore *explore, struct explore_notice *notice,
                          bool is_owner);

#endif /* PCOLL_EXPLORE_NOTICE_H */
