/*
 * Who accesses SEND and RECV of a plan's rank, and what follows for data that is packed.
 *
 * Peers may access them, too, and their entries are not in this rank's plan: a rank that others
 * read has no entry that says so. Every decision about user memory therefore asks pcoll_plan_use,
 * and no other code draws conclusions from a rank's entries. The proof checks that peers do nothing
 * else (proof/flow.c), and the explorer runs plans whose ranks keep blocks.
 */
#ifndef PCOLL_USER_H
#define PCOLL_USER_H

#include <stdbool.h>

#include "algorithms/plan/plan.h"

enum pcoll_use {
    PCOLL_OWN_READS = 1 << 0,
    PCOLL_OWN_WRITES = 1 << 1,
    PCOLL_PEERS_READ = 1 << 2,
    PCOLL_PEERS_WRITE = 1 << 3
};

/* What may happen to bytes [first, first + bytes) of SEND or RECV in an instance: enum pcoll_use.
 * Peers access only what the collective moves between ranks, and only if plan->user_rma is set. */
unsigned pcoll_plan_use(const struct pcoll_plan *plan, enum pcoll_buffer buffer, uint64_t first,
                        uint64_t bytes);

/* As pcoll_plan_use, but only what peers may do. */
unsigned pcoll_plan_peers_use(const struct pcoll_plan *plan, enum pcoll_buffer buffer,
                              uint64_t first, uint64_t bytes);

/* Returns whether an element begins at byte `at` of the packed data, or the data ends there. */
typedef bool pcoll_is_border(const void *data, enum pcoll_buffer buffer, uint64_t at);

/* Returns whether data can be packed and unpacked on its way: no peer accesses SEND or RECV, and
 * the entries move whole elements, read each byte of SEND at most once, so that this is no more
 * work than packing at start, and never read RECV or reduce. */
bool pcoll_plan_can_pack(const struct pcoll_plan *plan, pcoll_is_border *is_border,
                         const void *data);

/* A block that a rank has for itself: bytes [from, from + bytes) of SEND go to `to` in RECV. */
struct pcoll_kept {
    uint64_t from, to, bytes;
    bool is_read; /* the plan also reads them in SEND, on this rank or on others */
};

/* Returns whether these bytes of the packed data are a block, which can be packed by itself. */
typedef bool pcoll_is_block(const void *data, enum pcoll_buffer buffer, uint64_t first,
                            uint64_t bytes);

/* Take the copies of whole blocks out of the plan, `max` of them at most, so that the caller can
 * copy the user's data at start instead: nothing else accesses `to`. Returns their number. */
int pcoll_plan_keep(struct pcoll_plan *plan, pcoll_is_block *is_block, const void *data,
                    struct pcoll_kept *kept, int max);

#endif /* PCOLL_USER_H */
