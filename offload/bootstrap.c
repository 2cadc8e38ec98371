/* Agreements of ranks; the contract is in bootstrap.h. */
#include "offload/bootstrap.h"

#include <assert.h>
#include <string.h>

/* A rank exchanges with this many ranks on either side at once: more cost more messages, fewer cost
 * more rounds, and a round takes longer than eight messages where processes wait for cores. */
#define REACH 4

enum pcoll_result pcoll_agree(const struct pcoll_bootstrap *bootstrap, enum pcoll_result mine,
                              uint64_t *values, int n)
{
    uint64_t words[PCOLL_COMBINE_WORDS] = {(uint64_t)mine};
    enum pcoll_result result;

    assert(n < PCOLL_COMBINE_WORDS);
    for (int i = 0; i < n; i++)
        words[1 + i] = values[i];
    result = bootstrap->combine(bootstrap->context, words, n + 1);
    if (result != PCOLL_OK)
        return result;
    for (int i = 0; i < n; i++)
        values[i] = words[1 + i];
    return (enum pcoll_result)words[0];
}

enum pcoll_result pcoll_tell(const struct pcoll_bootstrap *bootstrap, void *data, size_t bytes)
{
    uint64_t words[PCOLL_COMBINE_WORDS] = {0};
    enum pcoll_result result;

    assert(bytes <= sizeof(words));
    if (bootstrap->rank == 0)
        memcpy(words, data, bytes);
    result = bootstrap->combine(bootstrap->context, words,
                                (int)((bytes + sizeof(*words) - 1) / sizeof(*words)));
    if (result == PCOLL_OK)
        memcpy(data, words, bytes);
    return result;
}

static int rank_of(const struct pcoll_circle *circle, int i)
{
    return circle->rank_of ? circle->rank_of(circle->list, i) : i;
}

/* The ranks of a round: 1 .. reach times `distance` before and behind this one on the circle, each
 * of them once, in ascending order. A rank that this one names also names this one. */
static int find_others(const struct pcoll_circle *circle, int64_t distance, int reach,
                       int others[2 * REACH])
{
    int count = 0;

    for (int d = -reach; d <= reach; d++) {
        const int64_t n = circle->nranks, there = ((circle->mine + d * distance) % n + n) % n;
        int at = count;

        while (at > 0 && others[at - 1] > there)
            at--;
        if (there == circle->mine || (at > 0 && others[at - 1] == there))
            continue;
        memmove(&others[at + 1], &others[at], (size_t)(count - at) * sizeof(*others));
        others[at] = (int)there;
        count++;
    }
    for (int i = 0; i < count; i++)
        others[i] = rank_of(circle, others[i]);
    return count;
}

static enum pcoll_result swap_round(const struct pcoll_bootstrap *bootstrap,
                                    const struct pcoll_circle *circle, int64_t distance, int reach,
                                    uint64_t *words, int n)
{
    uint64_t mine[2 * REACH * PCOLL_COMBINE_WORDS] = {0}, theirs[2 * REACH * PCOLL_COMBINE_WORDS];
    const size_t bytes = (size_t)n * sizeof(*words);
    int others[2 * REACH];
    const int count = find_others(circle, distance, reach, others);
    enum pcoll_result result;

    for (int i = 0; i < count; i++)
        memcpy(mine + (ptrdiff_t)i * n, words, bytes);
    result = bootstrap->swap(bootstrap->context, others, count, mine, theirs, bytes);
    for (int i = 0; result == PCOLL_OK && i < count * n; i++)
        if (theirs[i] > words[i % n])
            words[i % n] = theirs[i];
    return result;
}

/* After each round a rank knows the maxima of 2 reach + 1 times as many ranks around it; ranks that
 * are counted twice do no harm. */
enum pcoll_result pcoll_combine_by_swap(const struct pcoll_bootstrap *bootstrap,
                                        const struct pcoll_circle *circle, uint64_t *words, int n)
{
    enum pcoll_result result = PCOLL_OK;
    int64_t known = 1;

    assert(n <= PCOLL_COMBINE_WORDS);
    while (result == PCOLL_OK && known < circle->nranks) {
        int reach = 1;

        while (reach < REACH && known * (2 * reach + 1) < circle->nranks)
            reach++;
        result = swap_round(bootstrap, circle, known, reach, words, n);
        known *= 2 * reach + 1;
    }
    return result;
}
