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
    int32_t task; /* what is copied, plus 1; 0: it has never been opened */
    struct explore_word word;
    int32_t is_unsignaled; /* it is closed, and its signals are to be given: only a flawed one */
};

static inline bool pcoll_explore_has_flaw(const struct pcoll_explore *explore,
                                          enum pcoll_explore_flaw flaw)
{
    return explore->options.flaw == flaw;
}

/* Returns whether the entry is copied in chunks. */
bool pcoll_explore_is_bulk(const struct pcoll_explore *explore, const struct pcoll_entry *entry);

/* The number of these chunks. */
uint32_t pcoll_explore_nchunks(const struct pcoll_explore *explore, int task);

/* The number of notices of the ranks before that one. */
int pcoll_explore_count_notices(const struct pcoll_explore *explore, int rank);

/* Open the notices of the instance that the rank has just started. */
void pcoll_explore_open_notices(struct pcoll_explore *explore, int rank);

/* Returns whether nothing keeps an entry behind that task on the same trigger from firing, in
 * order. */
bool pcoll_explore_lets_pass(const struct pcoll_explore *explore, int task);

/* Returns whether the copy of a task that is bulk permits its local completion or signal. */
bool pcoll_explore_is_copied(const struct pcoll_explore *explore, int task, enum explore_kind kind);

/* Returns false, and a check has failed, if the rank's running instance still has signals to give.
 */
bool pcoll_explore_check_signals(struct pcoll_explore *explore, int rank);

/* Returns whether the notice is open, or about to be closed. */
static inline bool pcoll_explore_is_open(const struct pcoll_explore *explore,
                                         const struct explore_notice *notice)
{
    return notice->task > 0 && !pcoll_explore_has(explore, notice->task - 1, EXPLORE_DONE);
}

/* Returns whether the entry's trigger has been reached. */
bool pcoll_explore_is_due(const struct pcoll_explore *explore, const struct explore_notice *notice);

/* Returns whether a chunk can be claimed, by the owner or by a helper. */
bool pcoll_explore_has_chunk(const struct pcoll_explore *explore,
                             const struct explore_notice *notice, bool is_owner);

/* Returns whether the owner can take back what a helper holds. */
bool pcoll_explore_has_lost(const struct pcoll_explore *explore,
                            const struct explore_notice *notice);

/* Returns whether the notice still has that word. */
bool pcoll_explore_is_same(const struct pcoll_explore *explore, const struct explore_notice *notice,
                           const struct explore_word *word);

/* Claim a chunk; returns its number. */
uint32_t pcoll_explore_claim(struct explore_notice *notice, bool is_owner);

/* Take back the chunk that a helper holds; returns its number. */
uint32_t pcoll_explore_take_back(struct explore_notice *notice);

/* A chunk is done. Returns whether it was the last. */
bool pcoll_explore_finish(struct pcoll_explore *explore, struct explore_notice *notice,
                          bool is_owner);

#endif /* PCOLL_EXPLORE_NOTICE_H */
