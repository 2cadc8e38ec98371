/* Agreements of ranks; the contract is in bootstrap.h. */
#include "offload/bootstrap.h"

#include <assert.h>
#include <string.h>

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
    return circle->rank_of ? circle->rank_of(circle->list, i % circle->nranks) : i % circle->nranks;
}

/* Exchange with the ranks `distance` before and behind this one, which may be the same rank. */
static enum pcoll_result swap_round(const struct pcoll_bootstrap *bootstrap,
                                    const struct pcoll_circle *circle, int distance,
                                    uint64_t *words, int n)
{
    uint64_t mine[2 * PCOLL_COMBINE_WORDS], theirs[2 * PCOLL_COMBINE_WORDS];
    const size_t bytes = (size_t)n * sizeof(*words);
    const int a = rank_of(circle, circle->mine + distance);
    const int b = rank_of(circle, circle->mine + circle->nranks - distance);
    const int others[] = {a < b ? a : b, a < b ? b : a}, count = a == b ? 1 : 2;
    enum pcoll_result result;

    memcpy(mine, words, bytes);
    memcpy(mine + n, words, bytes);
    result = bootstrap->swap(bootstrap->context, others, count, mine, theirs, bytes);
    for (int i = 0; result == PCOLL_OK && i < count * n; i++)
        if (theirs[i] > words[i % n])
            words[i % n] = theirs[i];
    return result;
}

/* After each round a rank knows the maxima of three times as many ranks around it; ranks that are
 * counted twice do no harm. */
enum pcoll_result pcoll_combine_by_swap(const struct pcoll_bootstrap *bootstrap,
                                        const struct pcoll_circle *circle, uint64_t *words, int n)
{
    enum pcoll_result result = PCOLL_OK;

    assert(n <= PCOLL_COMBINE_WORDS);
    for (int64_t known = 1; result == PCOLL_OK && known < circle->nranks; known *= 3)
        result = swap_round(bootstrap, circle, (int)known, words, n);
    return result;
}
