/* Rounds of agreement; the contract is in agree.h. The first word of a round names it and carries
 * the result. */
#include "offload/agree.h"

#include <assert.h>
#include <string.h>

static uint64_t first_word(enum pcoll_round round, enum pcoll_result mine)
{
    return (uint64_t)round << 8 | (uint64_t)mine;
}

/* Ranks that are in different rounds would take each other's words for something else. */
static enum pcoll_result result_of(enum pcoll_round round, uint64_t first)
{
    assert(pcoll_round_of(first) == round);
    (void)round;
    return (enum pcoll_result)(first & 0xff);
}

/* Returns the number of words. */
static int write_terms(const struct pcoll_bootstrap *bootstrap, const struct pcoll_term *terms,
                       int n, uint64_t *words)
{
    int at = 0;

    for (int i = 0; i < n; i++) {
        const enum pcoll_term_kind kind = terms[i].kind;

        assert(at + (kind == PCOLL_TERM_SAME) < PCOLL_TERM_WORDS);
        if (kind == PCOLL_TERM_RANK_0 && bootstrap->rank != 0)
            words[at++] = 0;
        else
            words[at++] = kind == PCOLL_TERM_MIN ? ~terms[i].value : terms[i].value;
        if (kind == PCOLL_TERM_SAME)
            words[at++] = ~terms[i].value;
    }
    return at;
}

static void read_terms(struct pcoll_term *terms, int n, const uint64_t *words)
{
    for (int i = 0; i < n; i++) {
        terms[i].value = terms[i].kind == PCOLL_TERM_MIN ? ~*words : *words;
        words++;
        if (terms[i].kind == PCOLL_TERM_SAME)
            terms[i].differs = terms[i].value != ~*words++;
    }
}

enum pcoll_result pcoll_agree(const struct pcoll_bootstrap *bootstrap, enum pcoll_round round,
                              enum pcoll_result mine, struct pcoll_term *terms, int n)
{
    uint64_t words[PCOLL_COMBINE_WORDS];
    const int nwords = 1 + write_terms(bootstrap, terms, n, words + 1);
    enum pcoll_result result;

    words[0] = first_word(round, mine);
    result = bootstrap->combine(bootstrap->context, words, nwords);
    if (result != PCOLL_OK)
        return result;
    read_terms(terms, n, words + 1);
    return result_of(round, words[0]);
}

enum pcoll_result pcoll_tell(const struct pcoll_bootstrap *bootstrap, enum pcoll_round round,
                             enum pcoll_result mine, bool tells, void *data, size_t bytes)
{
    uint64_t words[PCOLL_COMBINE_WORDS] = {first_word(round, mine)};
    const size_t nwords = 1 + (bytes + sizeof(*words) - 1) / sizeof(*words);
    enum pcoll_result result;

    assert(nwords <= PCOLL_COMBINE_WORDS);
    if (tells)
        memcpy(words + 1, data, bytes);
    result = bootstrap->combine(bootstrap->context, words, (int)nwords);
    if (result != PCOLL_OK)
        return result;
    memcpy(data, words + 1, bytes);
    return result_of(round, words[0]);
}
