/*
 * The word of a notice: who gets which chunk, one step after the other; then owners and helpers as
 * threads, which must copy every chunk of every instance exactly once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "offload/node/notice.h"
#include "test/unit/tap.h"

static uint64_t word_of(struct pcoll_notice *notice)
{
    return atomic_load(&notice->word);
}

static int claims(struct pcoll_notice *notice, unsigned helper, unsigned number)
{
    struct pcoll_chunk chunk = {.number = 99};

    return pcoll_notice_claim(notice, word_of(notice), helper, &chunk) && chunk.number == number;
}

static int gets_none(struct pcoll_notice *notice, unsigned helper)
{
    struct pcoll_chunk chunk;

    return !pcoll_notice_claim(notice, word_of(notice), helper, &chunk);
}

/* Member by member, as padding may differ. */
static int is_same(const struct pcoll_notice_state *a, const struct pcoll_notice_state *b)
{
    return a->epoch == b->epoch && a->helper == b->helper && a->is_open == b->is_open &&
           a->is_returned == b->is_returned && a->is_ending == b->is_ending && a->held == b->held &&
           a->done == b->done && a->next == b->next;
}

static void test_words(void)
{
    const struct pcoll_notice_state full = {.epoch = PCOLL_MAX_EPOCHS - 1,
                                            .helper = (1u << PCOLL_HELPER_BITS) - 1,
                                            .is_open = 1,
                                            .is_returned = 1,
                                            .is_ending = 1,
                                            .held = PCOLL_MAX_CHUNKS,
                                            .done = PCOLL_MAX_CHUNKS,
                                            .next = PCOLL_MAX_CHUNKS};
    struct pcoll_notice_state seen = pcoll_notice_read(pcoll_notice_word(full));

    tap_ok(pcoll_notice_word(full) == UINT64_MAX, "a full state fills the word");
    tap_ok(is_same(&seen, &full), "and is read from it");
    tap_ok(pcoll_notice_word((struct pcoll_notice_state){.is_open = 1}) != 0 &&
               pcoll_notice_read(0).is_open == 0,
           "in memory of zeros a notice is closed");
}

/* Chunks of whole units cover the bytes, and each begins where the last one ends. */
static int is_cut_well(uint64_t bytes, uint32_t nchunks, uint32_t unit)
{
    struct pcoll_notice notice = {.bytes = bytes, .nchunks = nchunks, .unit = unit};
    struct pcoll_chunk chunk;
    uint64_t end = 0;

    pcoll_notice_open(&notice, 0);
    while (pcoll_notice_claim(&notice, word_of(&notice), 0, &chunk)) {
        if (chunk.bytes > 0 && (chunk.first != end || (unit > 0 && chunk.bytes % unit != 0)))
            return 0;
        end += chunk.bytes;
    }
    return end == bytes;
}

static void test_chunks(void)
{
    int good = 1;

    for (uint64_t bytes = 0; bytes < 200; bytes++)
        for (uint32_t n = 1; n <= PCOLL_MAX_CHUNKS; n++)
            good = good && is_cut_well(bytes, n, 0) && is_cut_well(bytes, n, 1) &&
                   is_cut_well(3 * bytes, n, 3) && is_cut_well(16 * bytes, n, 16);
    tap_ok(good, "chunks of whole units cover all bytes once");
}

/* After so many chunks of helpers the owner gets the rest of the bytes. */
static int gets_rest(uint64_t bytes, uint32_t nchunks, uint32_t by_helpers)
{
    struct pcoll_notice notice = {.bytes = bytes, .nchunks = nchunks, .is_whole = 1};
    struct pcoll_chunk chunk;
    uint64_t end = 0;

    pcoll_notice_open(&notice, 0);
    for (uint32_t i = 0; i < by_helpers; i++) {
        (void)pcoll_notice_claim(&notice, word_of(&notice), 7, &chunk);
        (void)pcoll_notice_finish(&notice, 7, chunk.count);
        end += chunk.bytes;
    }
    return pcoll_notice_claim(&notice, word_of(&notice), 0, &chunk) && gets_none(&notice, 7) &&
           end + chunk.bytes == bytes && (chunk.bytes == 0 || chunk.first == end) &&
           pcoll_notice_finish(&notice, 0, chunk.count);
}

static void test_rest(void)
{
    int good = 1;

    for (uint64_t bytes = 0; bytes < 200; bytes++)
        for (uint32_t n = 1; n <= PCOLL_MAX_CHUNKS; n++)
            for (uint32_t k = 0; k < n; k += n / 4 + 1)
                good = good && gets_rest(bytes, n, k);
    tap_ok(good, "an owner may get all chunks that are left, which are then done at once");
}

static void test_steps(void)
{
    struct pcoll_notice notice = {.bytes = 100, .nchunks = 3};
    struct pcoll_chunk chunk;
    uint64_t old;

    tap_ok(gets_none(&notice, 0) && gets_none(&notice, 7), "nothing to claim before it is opened");
    pcoll_notice_open(&notice, 5);
    tap_ok(claims(&notice, 7, 0) && gets_none(&notice, 7) && gets_none(&notice, 8),
           "a helper gets a chunk, and no helper another one meanwhile");
    tap_ok(!pcoll_notice_finish(&notice, 7, 1) && claims(&notice, 8, 1), "then the next one does");
    tap_ok(claims(&notice, 0, 2) && gets_none(&notice, 0), "the owner gets the last one");
    tap_ok(!pcoll_notice_finish(&notice, 0, 1) && pcoll_notice_is_open(&notice),
           "it is open as long as a helper holds a chunk");
    tap_ok(pcoll_notice_finish(&notice, 8, 1) &&
               pcoll_notice_read(word_of(&notice)).is_ending == 1 &&
               pcoll_notice_read(word_of(&notice)).helper == 8,
           "the helper that does the last chunk ends it");
    tap_ok(!pcoll_notice_take_back(&notice, word_of(&notice), &chunk),
           "nobody takes a chunk from a helper that ends it");
    pcoll_notice_close(&notice);
    tap_ok(!pcoll_notice_is_open(&notice) && gets_none(&notice, 0), "closed");

    pcoll_notice_open(&notice, 6);
    old = word_of(&notice);
    tap_ok(claims(&notice, 0, 0) && !pcoll_notice_claim(&notice, old, 7, &chunk),
           "what a helper read is too old after another claim");
    for (int i = 0; i < 2; i++)
        (void)claims(&notice, 0, (unsigned)i + 1);
    for (int i = 0; i < 3; i++)
        (void)pcoll_notice_finish(&notice, 0, 1);
    pcoll_notice_close(&notice);
    pcoll_notice_open(&notice, 7);
    tap_ok(!pcoll_notice_claim(&notice, old, 7, &chunk), "and in the next instance");

    tap_ok(claims(&notice, 7, 0) && claims(&notice, 0, 1), "a helper and the owner have one each");
    pcoll_notice_return(&notice);
    tap_ok(pcoll_notice_read(word_of(&notice)).is_returned && gets_none(&notice, 8),
           "returned, it is no other helper's");
    tap_ok(!pcoll_notice_finish(&notice, 0, 1) &&
               pcoll_notice_take_back(&notice, word_of(&notice), &chunk) && chunk.number == 0 &&
               !pcoll_notice_take_back(&notice, word_of(&notice), &chunk),
           "but the owner's, once");
    tap_ok(!pcoll_notice_finish(&notice, 0, 1) && claims(&notice, 0, 2) &&
               pcoll_notice_finish(&notice, 0, 1),
           "and then it ends");
    pcoll_notice_close(&notice);

    pcoll_notice_open(&notice, 8);
    (void)claims(&notice, 7, 0);
    old = word_of(&notice);
    tap_ok(!pcoll_notice_finish(&notice, 7, 1) && claims(&notice, 8, 1) &&
               !pcoll_notice_take_back(&notice, old, &chunk) &&
               pcoll_notice_read(word_of(&notice)).helper == 8,
           "what a dead helper held is not taken from the helper that came after it");
}

/* ---- threads ---- */

enum { HELPERS = 3, MOST = PCOLL_MAX_CHUNKS };

static struct race {
    struct pcoll_notice notice;
    _Atomic int copied[MOST]; /* in this instance */
    _Atomic int stop, late, by_helpers;
} race;

static void copy(struct pcoll_chunk chunk)
{
    for (unsigned i = 0; i < chunk.count; i++)
        atomic_fetch_add(&race.copied[chunk.number + i], 1);
}

static void finish(unsigned helper, struct pcoll_chunk chunk)
{
    if (pcoll_notice_finish(&race.notice, helper, chunk.count))
        pcoll_notice_close(&race.notice);
}

/* One in eight chunks is returned. */
static void *help(void *argument)
{
    const unsigned self = *(const unsigned *)argument;
    unsigned seed = self;
    struct pcoll_chunk chunk;

    while (!atomic_load(&race.stop)) {
        const uint64_t word = word_of(&race.notice);

        if (rand_r(&seed) % 4 == 0)
            sched_yield();
        if (!pcoll_notice_claim(&race.notice, word, self, &chunk))
            continue;
        if (rand_r(&seed) % 8 == 0) {
            pcoll_notice_return(&race.notice);
            continue;
        }
        copy(chunk);
        atomic_fetch_add(&race.by_helpers, 1);
        finish(self, chunk);
    }
    return NULL;
}

/* What a helper has returned, or, one in two times, the next chunk, or all that are left. */
static int gets_chunk(unsigned *seed, struct pcoll_chunk *chunk_p)
{
    const uint64_t word = word_of(&race.notice);

    if (pcoll_notice_read(word).is_returned)
        return pcoll_notice_take_back(&race.notice, word, chunk_p);
    return rand_r(seed) % 2 == 0 && pcoll_notice_claim(&race.notice, word, 0, chunk_p);
}

static void work(unsigned *seed)
{
    struct pcoll_chunk chunk;

    while (pcoll_notice_is_open(&race.notice)) {
        if (gets_chunk(seed, &chunk)) {
            copy(chunk);
            finish(0, chunk);
        } else {
            sched_yield();
        }
    }
}

static int exercise_race(int instances)
{
    int wrong = 0;
    unsigned seed = 1;

    for (int i = 0; i < instances; i++) {
        for (int c = 0; c < MOST; c++)
            atomic_store(&race.copied[c], 0);
        pcoll_notice_open(&race.notice, 0);
        work(&seed);
        for (uint32_t c = 0; c < MOST; c++)
            wrong += atomic_load(&race.copied[c]) != (c < race.notice.nchunks);
    }
    return wrong;
}

static void test_race(uint32_t nchunks, bool is_whole, int instances)
{
    pthread_t threads[HELPERS];
    unsigned names[HELPERS];
    int wrong;

    memset(&race, 0, sizeof(race));
    race.notice.nchunks = nchunks;
    race.notice.bytes = 10 * nchunks;
    race.notice.is_whole = is_whole;
    for (unsigned i = 0; i < HELPERS; i++) {
        names[i] = i + 1;
        if (pthread_create(&threads[i], NULL, help, &names[i]) != 0)
            abort();
    }
    wrong = exercise_race(instances);
    atomic_store(&race.stop, 1);
    for (int i = 0; i < HELPERS; i++)
        pthread_join(threads[i], NULL);
    tap_ok(wrong == 0,
           "%d instances, %d helpers copy %d of %d chunks, the owner %s: %d not exactly once",
           instances, HELPERS, atomic_load(&race.by_helpers), instances * (int)nchunks,
           is_whole ? "all that are left" : "one by one", wrong);
}

int main(void)
{
    static const uint32_t numbers[] = {1, 2, 7, PCOLL_MAX_CHUNKS};
    const int n = tap_depth() == TAP_BRIEF ? 5000 : 50000;

    test_words();
    test_chunks();
    test_rest();
    test_steps();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        test_race(numbers[i], false, n / (int)numbers[i]);
        test_race(numbers[i], true, n / (int)numbers[i]);
    }
    return tap_done();
}
