/* The word of a notice; the contract is in node/notice.h. */
#include "offload/node/notice.h"

#include "algorithms/util.h"

/* Returns whether the word was still `*word`, so that it is now `to`. */
static inline bool change(struct pcoll_notice *notice, uint64_t *word, struct pcoll_notice_state to)
{
    return atomic_compare_exchange_strong_explicit(&notice->word, word, pcoll_notice_word(to),
                                                   memory_order_acq_rel, memory_order_acquire);
}

/* The threshold comes before the word, and is not read after a claim. */
void pcoll_notice_open(struct pcoll_notice *notice, uint64_t threshold)
{
    const uint64_t word = atomic_load_explicit(&notice->word, memory_order_relaxed);
    struct pcoll_notice_state next = {.is_open = true};

    next.epoch = (pcoll_notice_read(word).epoch + 1) % PCOLL_MAX_EPOCHS;
    atomic_store_explicit(&notice->threshold, threshold, memory_order_relaxed);
    atomic_store_explicit(&notice->word, pcoll_notice_word(next), memory_order_release);
}

static struct pcoll_chunk chunks_of(const struct pcoll_notice *notice, unsigned number,
                                    unsigned count)
{
    const uint64_t unit = notice->unit > 0 ? notice->unit : 1;
    const uint64_t each = pcoll_round_up(pcoll_quotient_up(notice->bytes, notice->nchunks), unit);
    const uint64_t first = number * each < notice->bytes ? number * each : notice->bytes;
    const uint64_t left = notice->bytes - first;

    return (struct pcoll_chunk){number, count, first, left < count * each ? left : count * each};
}

bool pcoll_notice_claim(struct pcoll_notice *notice, uint64_t word, unsigned helper,
                        struct pcoll_chunk *chunk_p)
{
    for (;;) {
        struct pcoll_notice_state state = pcoll_notice_read(word);
        unsigned count;

        if (!state.is_open || state.next >= notice->nchunks || (helper > 0 && state.held > 0))
            return false;
        count = helper == 0 && notice->is_whole ? notice->nchunks - state.next : 1;
        *chunk_p = chunks_of(notice, state.next, count);
        state.next += count;
        if (helper > 0) {
            state.helper = helper;
            state.held = state.next;
            state.is_returned = false;
        }
        if (change(notice, &word, state))
            return true;
        if (helper > 0)
            return false;
    }
}

bool pcoll_notice_take_back(struct pcoll_notice *notice, uint64_t word, struct pcoll_chunk *chunk_p)
{
    struct pcoll_notice_state state = pcoll_notice_read(word);

    if (!state.is_open || state.held == 0 || state.is_ending)
        return false;
    *chunk_p = chunks_of(notice, state.held - 1, 1);
    state.helper = state.held = 0;
    state.is_returned = false;
    return change(notice, &word, state);
}

/* The owner may claim and finish chunks meanwhile. */
void pcoll_notice_return(struct pcoll_notice *notice)
{
    uint64_t word = atomic_load_explicit(&notice->word, memory_order_relaxed);
    struct pcoll_notice_state state;

    do {
        state = pcoll_notice_read(word);
        state.is_returned = true;
    } while (!change(notice, &word, state));
}

bool pcoll_notice_finish(struct pcoll_notice *notice, unsigned helper, unsigned count)
{
    uint64_t word = atomic_load_explicit(&notice->word, memory_order_relaxed);
    struct pcoll_notice_state state;
    bool is_last;

    do {
        state = pcoll_notice_read(word);
        state.done += count;
        is_last = state.done == notice->nchunks;
        if (helper > 0) {
            state.held = 0;
            state.is_ending = is_last;
            state.helper = is_last ? helper : 0;
        }
    } while (!change(notice, &word, state));
    return is_last;
}

/* Nobody else changes the word any more. */
void pcoll_notice_close(struct pcoll_notice *notice)
{
    struct pcoll_notice_state state =
        pcoll_notice_read(atomic_load_explicit(&notice->word, memory_order_relaxed));

    state.is_open = state.is_ending = false;
    state.helper = 0;
    atomic_store_explicit(&notice->word, pcoll_notice_word(state), memory_order_release);
}
