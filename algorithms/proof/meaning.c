/*
 * What the collective must achieve, traced backwards from each receive buffer at completion.
 *
 * The value of a byte is a tree: a leaf is a byte of input, and an inner node a REDUCE. Only its
 * leaves from left to right, the *word*, count for the meaning, as operators are associative; a
 * hash of the tree tells whether two values also have equal bits.
 */
#include "algorithms/proof/private.h"

#include <stdlib.h>
#include <string.h>

/* A byte range of a rank's buffer, read in an instance. In place, SEND is named as part of RECV. */
struct range {
    int owner;
    enum pcoll_buffer buffer;
    uint64_t first, bytes;
};

/* A byte of input. */
struct letter {
    int rank;
    uint64_t offset; /* in SEND */
};

struct hash {
    uint64_t a, b;
};

/* What the trace looks for: bytes from `offset` on of the input of `nranks` ranks from `rank` on,
 * for `receiver`; and what it has found of them. */
struct quest {
    const struct pcoll_flow *flow;
    int receiver, phase;
    int rank, nranks;
    uint64_t offset;
    struct letter *word; /* [nranks] */
    int length;          /* of the word, which may be more than fits */
};

/* The hashes of RECV of one rank in one phase, in runs of bytes with equal ones. */
struct runs {
    struct run {
        uint64_t end; /* in RECV */
        struct hash hash;
    } * runs;
    int count, room;
};

struct meaning {
    const struct pcoll_flow *flow;
    const struct pcoll_local **locals;
    struct letter *word;       /* [nranks] */
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

static int covers(const struct pcoll_access *access, int phase, uint64_t at)
{
    return access->is_write && access->phase == phase && access->first <= at && at < access->end;
}

static int is_of_entry(const struct pcoll_access *access, struct pcoll_order_event event)
{
    return event.kind == PCOLL_FIRE && access->rank == event.rank && access->entry == event.entry;
}

/* The write of this instance whose byte `at` the `reader` reads, or NULL. A REDUCE reads before it
 * writes. */
static const struct pcoll_access *last_write(const struct pcoll_flow *flow,
                                             const struct range *range, int phase,
                                             struct pcoll_order_event reader)
{
    const struct pcoll_access *accesses, *last = NULL;
    int n = pcoll_flow_buffer(flow, range->owner, range->buffer, &accesses);

    for (int i = 0; i < n && accesses[i].first <= range->first; i++) {
        if (covers(&accesses[i], phase, range->first) && !is_of_entry(&accesses[i], reader) &&
            pcoll_order_before(flow->order, accesses[i].ends, reader) &&
            (last == NULL || pcoll_flow_before(flow, last, &accesses[i])))
            last = &accesses[i];
    }
    return last;
}

/* The nearer of `end` and `border`, seen from `at`. */
static uint64_t cut(uint64_t at, uint64_t end, uint64_t border)
{
    return at < border && border < end ? border : end;
}

/* The number of bytes from the start of the range on that have the same origin: one write, or
 * input. */
static uint64_t piece_bytes(const struct pcoll_flow *flow, const struct range *range)
{
    const struct pcoll_span input = pcoll_check_input_in_recv(flow->check, range->owner);
    const struct pcoll_access *accesses;
    int n = pcoll_flow_buffer(flow, range->owner, range->buffer, &accesses);
    uint64_t at = range->first, end = at + range->bytes;

    if (range->buffer == PCOLL_RECV)
        end = cut(at, cut(at, end, input.first), input.first + input.count);
    for (int i = 0; i < n && accesses[i].first < end; i++)
        if (accesses[i].is_write)
            end = cut(at, cut(at, end, accesses[i].first), accesses[i].end);
    return end - at;
}

static enum pcoll_result fail_missing(const struct quest *quest, const struct range *range,
                                      struct pcoll_order_event reader)
{
    const char *name = pcoll_check_buffer_name(range->buffer);

    return pcoll_check_fail(quest->flow->check, reader.rank, quest->phase,
                            reader.kind == PCOLL_FIRE ? reader.entry : PCOLL_NONE,
                            "byte %llu of %s of rank %d, wanted by rank %d, was not written before "
                            "in this instance",
                            (unsigned long long)range->first, name, range->owner, quest->receiver);
}

/* ---- hashes ---- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    return z ^ z >> 32;
}

static struct hash hash_of_letter(int rank)
{
    const uint64_t x = (uint64_t)rank + 1;

    return (struct hash){mix(x * 0x9e3779b97f4a7c15u), mix(x * 0xbf58476d1ce4e5b9u)};
}

static struct hash hash_of_pair(struct hash left, struct hash right)
{
    return (struct hash){mix(3 * left.a + mix(right.a + 1)), mix(5 * left.b + mix(right.b + 2))};
}

static int same_hash(struct hash x, struct hash y)
{
    return x.a == y.a && x.b == y.b;
}

static enum pcoll_result add_run(struct runs *runs, uint64_t end, struct hash hash)
{
    if (runs->count > 0 && same_hash(runs->runs[runs->count - 1].hash, hash)) {
        runs->runs[runs->count - 1].end = end;
        return PCOLL_OK;
    }
    if (runs->count == runs->room) {
        const int room = runs->room ? 2 * runs->room : 16;
        struct run *wider = realloc(runs->runs, (size_t)room * sizeof(*wider));

        if (wider == NULL)
            return PCOLL_ERR_NOMEM;
        runs->runs = wider;
        runs->room = room;
    }
    runs->runs[runs->count++] = (struct run){end, hash};
    return PCOLL_OK;
}

/* ---- the trace ---- */

/* What a range holds. */
struct value {
    uint64_t bytes; /* of the range, from its start on, that have equal trees with leaves at equal
                     * distances */
    struct hash hash;
};

static enum pcoll_result trace(struct quest *quest, const struct range *range,
                               struct pcoll_order_event reader, struct value *value_p);

static void add_letter(struct quest *quest, const struct range *range)
{
    const struct pcoll_check *check = quest->flow->check;
    struct letter letter = {range->owner, range->first};

    if (range->buffer == PCOLL_RECV)
        letter.offset -= pcoll_check_input_in_recv(check, range->owner).first;
    if (quest->length < quest->nranks)
        quest->word[quest->length] = letter;
    quest->length++;
}

/* The range of `rank` at that place that corresponds to `piece` of what `write` has written. */
static struct range source_of(const struct quest *quest, const struct pcoll_access *write,
                              const struct range *piece, int rank, struct pcoll_place place)
{
    place = pcoll_check_place(quest->flow->check, rank, place);
    return (struct range){rank, place.buffer, place.offset + (piece->first - write->first),
                          piece->bytes};
}

/* The operands of a REDUCE: the word grows from left to right, and the tree from right to left. */
static enum pcoll_result trace_operands(struct quest *quest, const struct pcoll_access *write,
                                        const struct range *piece, struct value *value_p)
{
    const struct pcoll_plan *plan = quest->flow->check->plans[write->rank];
    const struct pcoll_entry *entry = &plan->entries[write->entry];
    struct value *values = calloc((size_t)entry->noperands, sizeof(*values));
    enum pcoll_result result = values ? PCOLL_OK : PCOLL_ERR_NOMEM;
    uint64_t bytes = piece->bytes;

    for (int k = 0; k < entry->noperands && result == PCOLL_OK; k++) {
        const struct pcoll_place place = plan->operands[entry->first_operand + k];
        const struct range source = source_of(quest, write, piece, write->rank, place);

        result = trace(quest, &source, write->begins, &values[k]);
        bytes = values[k].bytes < bytes ? values[k].bytes : bytes;
    }
    if (result == PCOLL_OK) {
        *value_p = (struct value){bytes, values[entry->noperands - 1].hash};
        for (int k = entry->noperands - 2; k >= 0; k--)
            value_p->hash = hash_of_pair(values[k].hash, value_p->hash);
    }
    free(values);
    return result;
}

/* Follow the start of a range through the entry that wrote it. Each step goes to a read that
 * precedes the previous one, so the trace ends. */
static enum pcoll_result trace(struct quest *quest, const struct range *range,
                               struct pcoll_order_event reader, struct value *value_p)
{
    const struct pcoll_flow *flow = quest->flow;
    const struct pcoll_access *write = last_write(flow, range, quest->phase, reader);
    const struct pcoll_entry *entry;
    struct range piece = *range, source;

    piece.bytes = piece_bytes(flow, range);
    if (write == NULL &&
        pcoll_check_is_input(flow->check, range->owner, range->buffer, range->first)) {
        add_letter(quest, range);
        *value_p = (struct value){piece.bytes, hash_of_letter(range->owner)};
        return PCOLL_OK;
    }
    if (write == NULL)
        return fail_missing(quest, range, reader);
    entry = &flow->check->plans[write->rank]->entries[write->entry];
    if (entry->op == PCOLL_OP_REDUCE)
        return trace_operands(quest, write, &piece, value_p);
    if (entry->op == PCOLL_OP_GET)
        source = source_of(quest, write, &piece, entry->peer, entry->remote);
    else
        source = source_of(quest, write, &piece, write->rank, entry->local);
    return trace(quest, &source, write->begins, value_p);
}

/* ---- what was found ---- */

static int compare_letters(const void *left, const void *right)
{
    const struct letter *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static enum pcoll_result check_word(struct quest *quest)
{
    const struct pcoll_check *check = quest->flow->check;

    if (quest->length != quest->nranks)
        return pcoll_check_fail(check, quest->receiver, quest->phase, PCOLL_NONE,
                                "receives %d operands for %d from byte %llu of rank %d on",
                                quest->length, quest->nranks, (unsigned long long)quest->offset,
                                quest->rank);
    if (check->plans[0]->signature.commutes)
        qsort(quest->word, (size_t)quest->length, sizeof(*quest->word), compare_letters);
    for (int k = 0; k < quest->length; k++) {
        const struct letter *is = &quest->word[k];

        if (is->rank != quest->rank + k || is->offset != quest->offset)
            return pcoll_check_fail(check, quest->receiver, quest->phase, PCOLL_NONE,
                                    "receives byte %llu of rank %d for byte %llu of rank %d",
                                    (unsigned long long)is->offset, is->rank,
                                    (unsigned long long)quest->offset, quest->rank + k);
    }
    return PCOLL_OK;
}

/* All bytes of the range, which must be those that the quest looks for. */
static enum pcoll_result check_range(struct quest *quest, struct range range, struct runs *runs)
{
    const struct pcoll_order_event end = {PCOLL_COMPLETE, quest->receiver, quest->phase, 0};

    while (range.bytes > 0) {
        struct value value = {0};
        enum pcoll_result result;

        quest->length = 0;
        result = trace(quest, &range, end, &value);
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
        const struct range range = {receiver, PCOLL_RECV, piece->first + (uint64_t)k * piece->bytes,
                                    piece->bytes};
        struct quest quest = {
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

/* Whoever receives the same reduction must receive the same trees, in every phase. */
static enum pcoll_result compare_runs(const struct meaning *m, int receiver, int phase)
{
    const struct runs *a = &m->first, *b = &m->second;
    int i = 0;

    while (i < a->count && i < b->count && a->runs[i].end == b->runs[i].end &&
           same_hash(a->runs[i].hash, b->runs[i].hash))
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
    const struct pcoll_collective *row = pcoll_collective_of(signature);
    struct pcoll_piece piece;

    runs->count = 0;
    for (int i = 0; row->expect(signature, m->locals, receiver, i, &piece); i++) {
        enum pcoll_result result = check_piece(m, receiver, phase, &piece, runs);

        if (result != PCOLL_OK)
            return result;
    }
    return PCOLL_OK;
}

static enum pcoll_result check_receiver(struct meaning *m, int receiver, int phase)
{
    const struct pcoll_signature *signature = &m->flow->check->plans[0]->signature;
    const int is_first =
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
