/* What the collective must achieve, traced backwards from each receive buffer at completion. */
#include "algorithms/proof/trace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The hashes of RECV of one rank in one phase, in runs of bytes with equal ones. */
struct runs {
    struct run {
        uint64_t end; /* in RECV */
        struct pcoll_hash hash;
    } * runs;
    int count, room;
};

struct meaning {
    const struct pcoll_flow *flow;
    const struct pcoll_local **locals;
    struct pcoll_leaf *word;   /* [nranks] */
    struct runs first, second; /* of the first of several receivers of the same, in phase 0, and of
                                * another one, or another phase */
};

static enum pcoll_result check_starts(const struct pcoll_flow *flow)
{
    int nranks = flow->check->nranks, nphases = flow->check->nphases;

    for (int i = 0; i < nphases * nranks * nranks; i++) {
        int late = i % nranks, early = i / nranks % nranks, phase = i / nranks / nranks;
        struct pcoll_order_event start = {PCOLL_START, late, phase, 0};
        struct pcoll_order_event end = {PCOLL_COMPLETE, early, phase, 0};

        if (!pcoll_order_before(flow->order, start, end))
            return pcoll_check_fail(flow->check, early, phase, PCOLL_NONE,
                                    "may complete before rank %d has started", late);
    }
    return PCOLL_OK;
}

static enum pcoll_result add_run(struct runs *runs, uint64_t end, struct pcoll_hash hash)
{
    if (runs->count > 0 && pcoll_same_hash(runs->runs[runs->count - 1].hash, hash)) {
        runs->runs[runs->count - 1].end = end;
        return PCOLL_OK;
    }
    if (runs->count == runs->room) {
        const int room = runs->room > 0 ? 2 * runs->room : 16;
        struct run *wider = realloc(runs->runs, (size_t)room * sizeof(*wider));

        if (wider == NULL)
            return PCOLL_ERR_NOMEM;
        runs->runs = wider;
        runs->room = room;
    }
    runs->runs[runs->count++] = (struct run){end, hash};
    return PCOLL_OK;
}

static int compare_leaves(const void *left, const void *right)
{
    const struct pcoll_leaf *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static enum pcoll_result check_word(struct pcoll_quest *quest)
{
    const struct pcoll_check *check = quest->flow->check;

    if (quest->length != quest->nranks)
        return pcoll_check_fail(check, quest->receiver, quest->phase, PCOLL_NONE,
                                "receives %d operands for %d from byte %llu of rank %d on",
                                quest->length, quest->nranks, (unsigned long long)quest->offset,
                                quest->rank);
    if (check->plans[0]->signature.commutes)
        qsort(quest->word, (size_t)quest->length, sizeof(*quest->word), compare_leaves);
    for (int k = 0; k < quest->length; k++) {
        const struct pcoll_leaf *is = &quest->word[k];

        if (is->rank != quest->rank + k || is->offset != quest->offset)
            return pcoll_check_fail(check, quest->receiver, quest->phase, PCOLL_NONE,
                                    "receives byte %llu of rank %d for byte %llu of rank %d",
                                    (unsigned long long)is->offset, is->rank,
                                    (unsigned long long)quest->offset, quest->rank + k);
    }
    return PCOLL_OK;
}

/* All bytes of the range, which must be those that the quest looks for. */
static enum pcoll_result check_range(struct pcoll_quest *quest, struct pcoll_range range,
                                     struct runs *runs)
{
    const struct pcoll_order_event end = {PCOLL_COMPLETE, quest->receiver, quest->phase, 0};

    while (range.bytes > 0) {
        struct pcoll_value value = {0};
        enum pcoll_result result;

        quest->length = 0;
        result = pcoll_trace(quest, &range, end, &value);
        if (result == PCOLL_OK)
            result = check_word(quest);
        if (result == PCOLL_OK && quest->nranks > 1)
            result = add_run(runs, range.first + value.bytes, value.hash);
        if (result != PCOLL_OK)
            return result;
        range.first += value.bytes;
        range.bytes -= value.bytes;
        quest->offset += value.bytes;
    }
    return PCOLL_OK;
}

/* The blocks of the piece, or their fold, must be those of SEND that the row names. */
static enum pcoll_result check_piece(const struct meaning *m, int receiver, int phase,
                                     const struct pcoll_piece *piece, struct runs *runs)
{
    const int nblocks = piece->is_fold ? 1 : piece->nranks;

    for (int k = 0; k < nblocks; k++) {
        const struct pcoll_range range = {receiver, PCOLL_RECV,
                                          piece->first + (uint64_t)k * piece->bytes, piece->bytes};
        struct pcoll_quest quest = {
            .flow = m->flow,
            .receiver = receiver,
            .phase = phase,
            .rank = piece->rank + k,
            .nranks = piece->is_fold ? piece->nranks : 1,
            .offset = piece->from,
            .word = m->word,
        };
        enum pcoll_result result = check_range(&quest, range, runs);

        if (result != PCOLL_OK)
            return result;
    }
    return PCOLL_OK;
}

/* Ranks that receive the same reduction must receive the same trees, in every phase. */
static enum pcoll_result compare_runs(const struct meaning *m, int receiver, int phase)
{
    const struct runs *a = &m->first, *b = &m->second;
    int i = 0;

    while (i < a->count && i < b->count && a->runs[i].end == b->runs[i].end &&
           pcoll_same_hash(a->runs[i].hash, b->runs[i].hash))
        i++;
    if (i == a->count && i == b->count)
        return PCOLL_OK;
    return pcoll_check_fail(m->flow->check, receiver, phase, PCOLL_NONE,
                            "associates operands otherwise than the first receiver, from byte %llu "
                            "on at the latest",
                            (unsigned long long)(i > 0 ? a->runs[i - 1].end : 0));
}

static enum pcoll_result check_pieces(const struct meaning *m, int receiver, int phase,
                                      struct runs *runs)
{
    const struct pcoll_signature *signature = &m->flow->check->plans[0]->signature;
    struct pcoll_piece piece;

    runs->count = 0;
    for (int i = 0; pcoll_expect(signature, m->locals, receiver, i, &piece); i++) {
        enum pcoll_result result = check_piece(m, receiver, phase, &piece, runs);

        if (result != PCOLL_OK)
            return result;
    }
    return PCOLL_OK;
}

static enum pcoll_result check_receiver(struct meaning *m, int receiver, int phase)
{
    const struct pcoll_signature *signature = &m->flow->check->plans[0]->signature;
    const bool is_first =
        phase == 0 &&
        (receiver == 0 || !pcoll_expects_same(signature, m->locals, receiver - 1, receiver));
    enum pcoll_result result = check_pieces(m, receiver, phase, is_first ? &m->first : &m->second);

    return result == PCOLL_OK && !is_first ? compare_runs(m, receiver, phase) : result;
}

static enum pcoll_result check_receivers(struct meaning *m)
{
    const struct pcoll_check *check = m->flow->check;
    enum pcoll_result result = PCOLL_OK;

    for (int rank = 0; rank < check->nranks; rank++)
        m->locals[rank] = check->plans[rank]->local;
    for (int rank = 0; rank < check->nranks; rank++)
        for (int phase = 0; phase < check->nphases && result == PCOLL_OK; phase++)
            result = check_receiver(m, rank, phase);
    return result;
}

enum pcoll_result pcoll_meaning_check(const struct pcoll_flow *flow)
{
    const size_t nranks = (size_t)flow->check->nranks;
    struct meaning m = {.flow = flow};
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (pcoll_coll_has(flow->check->plans[0]->signature.coll, PCOLL_SYNCHRONIZES))
        return check_starts(flow);
    m.locals = calloc(nranks, sizeof(*m.locals));
    m.word = calloc(nranks, sizeof(*m.word));
    if (m.locals && m.word)
        result = check_receivers(&m);
    free(m.locals);
    free(m.word);
    free(m.first.runs);
    free(m.second.runs);
    return result;
}
