/*
 * A notice publishes an entry of a plan, a copy or a reduction, in shared memory, where others may
 * perform it. Private to offload/node.
 *
 * One word has all that changes while it is performed, so each step is one compare-and-swap:
 *
 *     epoch | helper | is open, returned, ending | held | done | next
 *
 * The owner opens it at each start, in a new epoch. Then chunk after chunk is claimed (`next`) and
 * done. A helper claims in its own name and holds one chunk: `held` is that chunk, plus 1. If it
 * cannot copy that, it returns it; if it dies, the owner takes it back. There is one helper at a
 * time, beside the owner. The one that does the last chunk gives the signals, and then closes the
 * notice. A helper is `ending` meanwhile: if it dies then, nobody can tell whether it has signaled.
 *
 * A claim fails if anything has changed since the word was read, so all that a helper read of the
 * notice before it claimed belongs to that epoch.
 */
#ifndef PCOLL_NODE_NOTICE_H
#define PCOLL_NODE_NOTICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/run/line.h"

enum {
    PCOLL_CHUNK_BITS = 6,
    PCOLL_MAX_CHUNKS = (1 << PCOLL_CHUNK_BITS) - 1,
    PCOLL_HELPER_BITS = 16,
    PCOLL_FLAG_BITS = 3,
    PCOLL_EPOCH_AT = 3 * PCOLL_CHUNK_BITS + PCOLL_FLAG_BITS + PCOLL_HELPER_BITS
};

#define PCOLL_MAX_EPOCHS (UINT64_C(1) << (64 - PCOLL_EPOCH_AT))

/* A state of the word. */
struct pcoll_notice_state {
    uint64_t epoch;
    unsigned helper; /* its number, plus 1; 0: nobody */
    bool is_open, is_returned, is_ending;
    unsigned held, done, next;
};

static inline uint64_t pcoll_notice_word(struct pcoll_notice_state s)
{
    return s.epoch << PCOLL_EPOCH_AT |
           (uint64_t)s.helper << (3 * PCOLL_CHUNK_BITS + PCOLL_FLAG_BITS) |
           (uint64_t)(s.is_open + 2 * s.is_returned + 4 * s.is_ending) << (3 * PCOLL_CHUNK_BITS) |
           (uint64_t)s.held << (2 * PCOLL_CHUNK_BITS) | (uint64_t)s.done << PCOLL_CHUNK_BITS |
           s.next;
}

static inline struct pcoll_notice_state pcoll_notice_read(uint64_t word)
{
    return (struct pcoll_notice_state){
        .epoch = word >> PCOLL_EPOCH_AT,
        .helper =
            word >> (3 * PCOLL_CHUNK_BITS + PCOLL_FLAG_BITS) & ((1u << PCOLL_HELPER_BITS) - 1),
        .is_open = word >> (3 * PCOLL_CHUNK_BITS) & 1,
        .is_returned = word >> (3 * PCOLL_CHUNK_BITS + 1) & 1,
        .is_ending = word >> (3 * PCOLL_CHUNK_BITS + 2) & 1,
        .held = word >> (2 * PCOLL_CHUNK_BITS) & PCOLL_MAX_CHUNKS,
        .done = word >> PCOLL_CHUNK_BITS & PCOLL_MAX_CHUNKS,
        .next = word & PCOLL_MAX_CHUNKS,
    };
}

/* Memory of a rank, as an address in its process, or of the extent, as an offset there. */
struct pcoll_notice_place {
    int64_t number; /* of the rank; PCOLL_NONE: in the extent */
    uint64_t at;
};

/* Two lines. The owner writes all but the word at bind, and the threshold at each start. Offsets in
 * the extent stand for counters; 0: none. */
struct pcoll_notice {
    _Atomic uint64_t word;
    _Atomic uint64_t threshold;
    uint64_t trigger;
    uint64_t done, done_add, peer, peer_add;
    struct pcoll_notice_place from, to;
    uint64_t bytes;
    uint64_t operands; /* of a reduction, in place of `from`: [noperands] places in the extent */
    uint32_t nchunks;
    uint32_t unit;       /* a chunk is whole units; 0: it has any length */
    uint16_t noperands;  /* 0: a copy */
    uint16_t overwrites; /* an operand, so that no chunk can be done again; */
    uint16_t detours;    /* and goes through scratch memory, or it would do so too early */
    uint16_t is_after;   /* not before the notice in front of this one has been closed */
    uint16_t is_public;  /* anybody may perform it; otherwise its two ends */
    uint16_t is_whole;   /* the owner claims all chunks that are left at once */
    char pad[2 * PCOLL_LINE_BYTES - 124];
};

_Static_assert(sizeof(struct pcoll_notice) == (size_t)2 * PCOLL_LINE_BYTES, "it is two lines");

/* What somebody has claimed: so many chunks from that number on, and their bytes. */
struct pcoll_chunk {
    unsigned number, count;
    uint64_t first, bytes;
};

/* Open the notice, for the owner, in the next instance. */
void pcoll_notice_open(struct pcoll_notice *notice, uint64_t threshold);

/* Claim a chunk, or all that are left if the notice says so: for the owner (helper 0), or one in
 * the name of a helper, which must have read what it knows of the notice after `word`. Returns
 * false if there is none, or something has changed. */
bool pcoll_notice_claim(struct pcoll_notice *notice, uint64_t word, unsigned helper,
                        struct pcoll_chunk *chunk_p);

/* Return the chunk that the calling helper holds. */
void pcoll_notice_return(struct pcoll_notice *notice);

/* Take back a chunk, for the owner, that a helper has returned, or that it held when it died: by
 * `word`, which was read before the owner found it dead. Otherwise that helper may have finished
 * its chunk before it died, and the chunk now held be that of a living one. Returns false if there
 * is none, or something has changed. */
bool pcoll_notice_take_back(struct pcoll_notice *notice, uint64_t word,
                            struct pcoll_chunk *chunk_p);

/* So many chunks of one claim are done. Returns whether they were the last: then the caller signals
 * and closes the notice. */
bool pcoll_notice_finish(struct pcoll_notice *notice, unsigned helper, unsigned count);

/* Close the notice, after the signals of the entry have been given. */
void pcoll_notice_close(struct pcoll_notice *notice);

/* Returns whether the owner has opened the notice, and it has not been closed since. */
static inline bool pcoll_notice_is_open(struct pcoll_notice *notice)
{
    return atomic_load_explicit(&notice->word, memory_order_acquire) >> (3 * PCOLL_CHUNK_BITS) & 1;
}

#endif /* PCOLL_NODE_NOTICE_H */
