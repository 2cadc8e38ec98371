/*
 * The explorer: what the user does with SEND and RECV, and what they must hold.
 *
 * A byte of a rank's data depends on rank, instance and position and lies in 1..251. All other
 * bytes have distinct values above that, which tell where they came from.
 */
#include "offload/explore/state.h"

#include <stdlib.h>
#include <string.h>

enum {
    PERIOD = 251,
    POISON_RECV = 252, /* at start */
    POISON_USER = 253, /* while the plan is inactive */
    POISON_OTHER = 254 /* initial contents of TEMP and CELL */
};

/* The pattern repeats after PERIOD bytes with another phase; this is it twice. */
static const unsigned char *pattern(uint64_t phase)
{
    static unsigned char twice[2 * PERIOD];

    if (twice[0] == 0)
        for (unsigned i = 0; i < 2 * PERIOD; i++)
            twice[i] = (unsigned char)(i % PERIOD + 1);
    return twice + phase % PERIOD;
}

/* Different for all ranks < 8, bytes < 7 and instances < 4, and for most beyond. */
static uint64_t phase_of(int rank, int instance, size_t byte)
{
    return 7 * (uint64_t)rank + 61 * (uint64_t)instance + byte / PERIOD * 3;
}

/* The number of bytes from byte `at` of the data on that lie in one stretch of the pattern. */
static size_t stretch(size_t at, size_t left)
{
    const size_t room = PERIOD - at % PERIOD;

    return left < room ? left : room;
}

/* Byte `at` of a rank's data, and those after it in its stretch. */
static const unsigned char *data_of(int rank, int instance, size_t at)
{
    return pattern(phase_of(rank, instance, at)) + at % PERIOD;
}

/* The rank's data from byte `from` on. */
static void fill_data(unsigned char *to, size_t bytes, int rank, int instance, size_t from)
{
    for (size_t at = 0, n; at < bytes; at += n) {
        n = stretch(from + at, bytes - at);
        memcpy(to + at, data_of(rank, instance, from + at), n);
    }
}

/* The position of the first of `bytes` bytes that differs from the rank's data from byte `from` on;
 * or `bytes`. */
static size_t first_wrong(const unsigned char *is, size_t bytes, int rank, int instance,
                          size_t from)
{
    for (size_t at = 0, n; at < bytes; at += n) {
        const unsigned char *ought = data_of(rank, instance, from + at);

        n = stretch(from + at, bytes - at);
        if (memcmp(is + at, ought, n) != 0)
            for (size_t i = 0;; i++)
                if (is[at + i] != ought[i])
                    return at + i;
    }
    return bytes;
}

static unsigned char *memory(struct pcoll_explore *explore, int rank, enum pcoll_buffer buffer)
{
    return explore->memory + explore->rank[rank].buffer[buffer].at;
}

static void set_all(struct pcoll_explore *explore, int rank, enum pcoll_buffer buffer, int value)
{
    memset(memory(explore, rank, buffer), value, explore->rank[rank].buffer[buffer].bytes);
}

static struct pcoll_explore_kept kept_of(const struct pcoll_explore *explore, int rank)
{
    return explore->options.kept ? explore->options.kept[rank] : (struct pcoll_explore_kept){0};
}

void pcoll_explore_fill(struct pcoll_explore *explore, int rank, int instance)
{
    set_all(explore, rank, PCOLL_RECV, POISON_RECV);
    fill_data(memory(explore, rank, PCOLL_SEND), explore->rank[rank].buffer[PCOLL_SEND].bytes, rank,
              instance, 0);
    for (int i = 0; i < kept_of(explore, rank).n; i++) {
        const struct pcoll_kept *kept = &kept_of(explore, rank).blocks[i];

        if (!kept->is_read)
            memset(memory(explore, rank, PCOLL_SEND) + kept->from, POISON_USER, kept->bytes);
    }
}

/* What the rank itself does with a block that it keeps. */
static bool copy_kept(struct pcoll_explore *explore, int rank, int instance,
                      const struct pcoll_kept *kept)
{
    unsigned char *to = memory(explore, rank, PCOLL_RECV) + kept->to;

    for (size_t i = 0; i < kept->bytes; i++)
        if (to[i] != POISON_RECV)
            return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_RESULT,
                                      "rank %d completes instance %d with RECV[%zu] written, which "
                                      "it keeps",
                                      rank, instance, (size_t)kept->to + i);
    fill_data(to, kept->bytes, rank, instance, kept->from);
    return true;
}

void pcoll_explore_scribble(struct pcoll_explore *explore, int rank)
{
    set_all(explore, rank, PCOLL_SEND, POISON_USER);
    set_all(explore, rank, PCOLL_RECV, POISON_USER);
}

/* Block k of the piece. */
static bool verify_block(struct pcoll_explore *explore, int rank, int instance,
                         const struct pcoll_piece *piece, int k)
{
    const size_t bytes = piece->bytes, at = piece->first + (size_t)k * bytes;
    const unsigned char *is = memory(explore, rank, PCOLL_RECV) + at;
    const size_t wrong = first_wrong(is, bytes, piece->rank + k, instance, piece->from);

    if (wrong == bytes)
        return true;
    return pcoll_explore_fail(
        explore, PCOLL_EXPLORE_FAULT_RESULT,
        "rank %d completes instance %d with RECV[%zu] = %d%s, not byte %zu of "
        "rank %d",
        rank, instance, at + wrong, is[wrong],
        is[wrong] == POISON_RECV    ? " (never written)"
        : is[wrong] == POISON_USER  ? " (inactive user memory)"
        : is[wrong] == POISON_OTHER ? " (TEMP or CELL never written)"
                                    : "",
        (size_t)piece->from + wrong, piece->rank + k);
}

/* ---- reductions ---- */

static uint32_t word_at(const unsigned char *at)
{
    uint32_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

/* 8 bytes are the map x -> a x + b mod 2^32, with odd a; the product is the composition. */
static void compose(unsigned char *to, const unsigned char *left, const unsigned char *right)
{
    const uint32_t a = word_at(left) | 1, b = word_at(left + 4);
    const uint32_t c = word_at(right) | 1, d = word_at(right + 4);
    const uint32_t product[2] = {a * c, a * d + b};

    memcpy(to, product, sizeof(product));
}

/* Bytes that are reduced at once, each for itself. */
typedef unsigned char lanes __attribute__((vector_size(16)));

static lanes load(const unsigned char *from, size_t left)
{
    lanes x = {0};

    if (left >= sizeof(x))
        memcpy(&x, from, sizeof(x));
    else
        memcpy(&x, from, left);
    return x;
}

static void store(unsigned char *to, lanes x, size_t left)
{
    if (left >= sizeof(x))
        memcpy(to, &x, sizeof(x));
    else
        memcpy(to, &x, left);
}

/* The same as compose() mod 16 in the halves of a byte, for other units. */
static lanes compose_bytes(lanes left, lanes right)
{
    const lanes a = left | 1, b = left >> 4, c = right | 1, d = right >> 4;

    return (a * c & 15) | (a * d + b) << 4;
}

static lanes scramble(lanes left, lanes right)
{
    const lanes x = (left * 5 + 7) ^ (right * 11 + 3);

    return x * 29 + (x >> 3);
}

void pcoll_explore_operate(const struct pcoll_explore *explore, unsigned char *to,
                           const unsigned char *left, const unsigned char *right, size_t bytes)
{
    const struct pcoll_signature *signature = &explore->rank[0].plan->signature;
    const bool is_tree = explore->options.algebra == PCOLL_EXPLORE_TREE;
    const bool is_wide = !is_tree && !signature->commutes && signature->unit == 8;

    for (size_t i = 0; is_wide && i < bytes; i += 8)
        compose(to + i, left + i, right + i);
    for (size_t i = 0; !is_wide && i < bytes; i += sizeof(lanes)) {
        const lanes l = load(left + i, bytes - i), r = load(right + i, bytes - i);

        store(to + i,
              is_tree               ? scramble(l, r)
              : signature->commutes ? l + r
                                    : compose_bytes(l, r),
              bytes - i);
    }
}

/* What a serial fold gives for at most FOLD_BYTES of the piece, from byte `at` of it on. */
enum { FOLD_BYTES = 1024 };

static void fold(const struct pcoll_explore *explore, int instance, const struct pcoll_piece *piece,
                 size_t at, size_t bytes, unsigned char *to)
{
    unsigned char operand[FOLD_BYTES];

    for (int k = 0; k < piece->nranks; k++) {
        fill_data(k == 0 ? to : operand, bytes, piece->rank + k, instance, piece->from + at);
        if (k > 0)
            pcoll_explore_operate(explore, to, to, operand, bytes);
    }
}

static bool verify_fold(struct pcoll_explore *explore, int rank, int instance,
                        const struct pcoll_piece *piece)
{
    const unsigned char *is = memory(explore, rank, PCOLL_RECV) + piece->first;
    unsigned char ought[FOLD_BYTES];

    for (size_t at = 0; at < piece->bytes; at += FOLD_BYTES) {
        const size_t left = piece->bytes - at, n = left < FOLD_BYTES ? left : FOLD_BYTES;

        fold(explore, instance, piece, at, n, ought);
        if (memcmp(is + at, ought, n) != 0)
            return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_RESULT,
                                      "rank %d completes instance %d with a wrong reduction in "
                                      "RECV[%zu .. %zu)",
                                      rank, instance, (size_t)piece->first + at,
                                      (size_t)piece->first + at + n);
    }
    return true;
}

/* The first of the ranks that expect the same as this one. */
static int first_like(const struct pcoll_explore *explore, int rank)
{
    const struct pcoll_signature *signature = &explore->rank[rank].plan->signature;

    while (rank > 0 && pcoll_expects_same(signature, explore->locals, rank - 1, rank))
        rank--;
    return rank;
}

/* The first result of the instance is right by definition. */
static bool verify_tree(struct pcoll_explore *explore, int rank, int instance,
                        const struct pcoll_piece *piece)
{
    const unsigned char *is = memory(explore, rank, PCOLL_RECV) + piece->first;
    unsigned char **result = &explore->results[(size_t)instance * (size_t)explore->nranks +
                                               (size_t)first_like(explore, rank)];

    if (*result == NULL) {
        *result = malloc(piece->bytes);
        if (*result == NULL)
            return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_RESULT, "out of memory");
        memcpy(*result, is, piece->bytes);
    }
    if (memcmp(is, *result, piece->bytes) == 0)
        return true;
    return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_RESULT,
                              "rank %d completes instance %d with another result than the first "
                              "rank: operands are associated otherwise",
                              rank, instance);
}

static bool verify_piece(struct pcoll_explore *explore, int rank, int instance,
                         const struct pcoll_piece *piece)
{
    if (piece->is_fold && piece->nranks > 1)
        return explore->options.algebra == PCOLL_EXPLORE_TREE
                   ? verify_tree(explore, rank, instance, piece)
                   : verify_fold(explore, rank, instance, piece);
    for (int k = 0; k < piece->nranks; k++)
        if (!verify_block(explore, rank, instance, piece, k))
            return false;
    return true;
}

static bool verify_starts(struct pcoll_explore *explore, int rank, int instance)
{
    for (int r = 0; r < explore->nranks; r++)
        if (explore->progress[r].started <= instance)
            return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_RESULT,
                                      "rank %d completes barrier %d, which rank %d has not started",
                                      rank, instance, r);
    return true;
}

bool pcoll_explore_verify(struct pcoll_explore *explore, int rank, int instance)
{
    const struct pcoll_signature *signature = &explore->rank[rank].plan->signature;
    struct pcoll_piece piece;

    if (explore->synchronizes)
        return verify_starts(explore, rank, instance);
    for (int i = 0; i < kept_of(explore, rank).n; i++)
        if (!copy_kept(explore, rank, instance, &kept_of(explore, rank).blocks[i]))
            return false;
    for (int i = 0; pcoll_expect(signature, explore->locals, rank, i, &piece); i++)
        if (!verify_piece(explore, rank, instance, &piece))
            return false;
    return true;
}

void pcoll_explore_reset(struct pcoll_explore *explore)
{
    memset(explore->memory, 0, explore->compares ? explore->memory_bytes : explore->control_bytes);
    for (int r = 0; r < explore->nranks; r++) {
        const struct explore_rank *mine = &explore->rank[r];

        for (int c = 0; c < mine->plan->ncounters; c++)
            explore->counter[mine->first_counter + (size_t)c] =
                explore->options.first_cycle * mine->plan->gain[c];
        pcoll_explore_scribble(explore, r);
        set_all(explore, r, PCOLL_TEMP, POISON_OTHER);
        set_all(explore, r, PCOLL_CELL, POISON_OTHER);
    }
    explore->fault = PCOLL_EXPLORE_FAULT_NONE;
    explore->why[0] = '\0';
}
