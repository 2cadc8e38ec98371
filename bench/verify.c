/*
 * Checking what the collectives deliver, by the standard and not by a peer.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A number for what a rank has in a slot. */
static int block_of(int sender, int slot)
{
    return sender * 4099 + slot;
}

/* Word i of a block in `round`; it differs between any two blocks and rounds. */
static uint64_t pattern_word(uint64_t round, int block, size_t i)
{
    uint64_t number = round * 4099 * 4099 + (uint64_t)block + 1;
    return (number << 32 ^ (uint64_t)i) * UINT64_C(0x9e3779b97f4a7c15);
}

static void pattern_fill(char *at, size_t size, uint64_t round, int block)
{
    for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
        uint64_t word = pattern_word(round, block, done);
        size_t length = size - done < sizeof word ? size - done : sizeof word;
        memcpy(at + done, &word, length);
    }
}

static bool pattern_is(const char *at, size_t size, uint64_t round, int block)
{
    for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
        uint64_t word = pattern_word(round, block, done);
        size_t length = size - done < sizeof word ? size - done : sizeof word;
        if (memcmp(at + done, &word, length) != 0)
            return false;
    }
    return true;
}

/* Element i of a block of a vector: small integers, so that any association gives the same sum. */
static double element(uint64_t round, int block, size_t i)
{
    return (double)((round * 31 + (uint64_t)block * 1009 + i * 7) % 100003);
}

static void elements_fill(char *at, size_t size, uint64_t round, int block)
{
    for (size_t i = 0; i < size / sizeof(double); i++) {
        double value = element(round, block, i);
        memcpy(at + i * sizeof value, &value, sizeof value);
    }
}

static bool elements_are_sums(const char *at, size_t size, uint64_t round,
                              const struct block *block)
{
    for (size_t i = 0; i < size / sizeof(double); i++) {
        double sum = 0, value;
        for (int rank = 0; rank < block->terms; rank++)
            sum += element(round, block_of(rank, block->slot), i);
        memcpy(&value, at + i * sizeof value, sizeof value);
        if (value != sum)
            return false;
    }
    return true;
}

static size_t span(const struct block *blocks, int n, bool strided)
{
    size_t max = 0;
    for (int i = 0; i < n; i++) {
        size_t end = blocks[i].at + blocks[i].bytes * (strided ? 2 : 1);
        max = end > max ? end : max;
    }
    return max;
}

/* Set new data to send and poison the receive buffers; another rank is late each time. */
static void prepare_round(const struct subject *self, uint64_t round)
{
    const struct operation *op = &self->op;
    const struct job *job = op->job;
    const struct arguments *a = self->arguments;
    char *packed = malloc(op->size + sizeof(uint64_t));
    memset(a->recv, 0xEE, span(a->received, a->nrecv, collective_has(op->coll, STRIDED)));
    for (int slot = 0; slot < a->nsent; slot++) {
        const struct block *block = &a->sent[slot];
        int number = block_of(job->rank, slot);
        if (collective_has(op->coll, REDUCES))
            elements_fill(packed, block->bytes, round, number);
        else
            pattern_fill(packed, block->bytes, round, number);
        block_unpack(block, a->send, packed);
    }
    free(packed);
    if (round % (uint64_t)job->nranks == (uint64_t)job->rank)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    if (job->one_node)
        atomic_store(&job->arrived[job->rank].value, round);
}

/* No rank may leave a barrier before the last has arrived. */
static bool all_arrived(const struct job *job, uint64_t round)
{
    for (int rank = 0; job->one_node && rank < job->nranks; rank++)
        if (atomic_load(&job->arrived[rank].value) < round)
            return false;
    return true;
}

static bool round_is_right(const struct subject *self, uint64_t round)
{
    const struct operation *op = &self->op;
    const struct arguments *a = self->arguments;
    char *packed = malloc(op->size + sizeof(uint64_t));
    bool right = op->coll != BARRIER || all_arrived(op->job, round);
    for (int i = 0; i < a->nrecv; i++) {
        const struct block *block = &a->received[i];
        block_pack(block, a->recv, packed);
        if (!collective_has(op->coll, REDUCES))
            right &= pattern_is(packed, block->bytes, round, block_of(block->sender, block->slot));
        else if (block->terms > 0) /* otherwise the result is undefined */
            right &= elements_are_sums(packed, block->bytes, round, block);
    }
    free(packed);
    return right;
}

bool subject_verify(struct subject *self, int rounds)
{
    bool wrong = false;
    for (int i = 0; i < rounds; i++) {
        uint64_t round = ++self->op.job->verify_round;
        subject_move_on(self);
        prepare_round(self, round);
        subject_perform(self, 1);
        wrong |= !round_is_right(self, round);
    }
    return job_max(self->op.job, wrong) <= 0;
}
