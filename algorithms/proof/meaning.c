/* What the collective must achieve, traced backwards from each receive buffer at completion. */
#include "algorithms/proof/private.h"

#include <stdlib.h>

/* A byte range of a rank's buffer, read in an instance. */
struct range {
    int owner;
    enum pcoll_buffer buffer;
    uint64_t first, bytes;
};

/* What the trace looks for: bytes from `offset` on of the input of `rank`, for `receiver`. */
struct quest {
    int receiver, phase;
    int rank;
    uint64_t offset;
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

/* The write of this instance whose byte `at` the `reader` reads, or NULL. */
static const struct pcoll_access *last_write(const struct pcoll_flow *flow,
                                             const struct range *range, int phase,
                                             struct pcoll_order_event reader)
{
    const struct pcoll_access *accesses, *last = NULL;
    int n = pcoll_flow_buffer(flow, range->owner, range->buffer, &accesses);

    for (int i = 0; i < n && accesses[i].first <= range->first; i++) {
        if (covers(&accesses[i], phase, range->first) &&
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
    for (int i = 0; i < n; i++)
        if (accesses[i].is_write)
            end = cut(at, cut(at, end, accesses[i].first), accesses[i].end);
    return end - at;
}

static enum pcoll_result fail_missing(const struct pcoll_flow *flow, const struct range *range,
                                      struct pcoll_order_event reader, const struct quest *quest)
{
    const char *name = pcoll_check_buffer_name(range->buffer);

    return pcoll_check_fail(flow->check, reader.rank, quest->phase,
                            reader.kind == PCOLL_FIRE ? reader.entry : PCOLL_NONE,
                            "byte %llu of %s of rank %d, wanted by rank %d, was not written before "
                            "in this instance",
                            (unsigned long long)range->first, name, range->owner, quest->receiver);
}

static enum pcoll_result check_input(const struct pcoll_flow *flow, const struct range *range,
                                     const struct quest *quest)
{
    uint64_t offset = range->first;

    if (range->buffer == PCOLL_RECV)
        offset -= pcoll_check_input_in_recv(flow->check, range->owner).first;
    if (range->owner == quest->rank && offset == quest->offset)
        return PCOLL_OK;
    return pcoll_check_fail(flow->check, quest->receiver, quest->phase, PCOLL_NONE,
                            "receives byte %llu of rank %d for byte %llu of rank %d",
                            (unsigned long long)offset, range->owner,
                            (unsigned long long)quest->offset, quest->rank);
}

static enum pcoll_result trace(const struct pcoll_flow *flow, struct range range,
                               struct pcoll_order_event reader, struct quest quest);

/* Follow a piece that has one origin through the move that wrote it. */
static enum pcoll_result trace_piece(const struct pcoll_flow *flow, const struct range *piece,
                                     struct pcoll_order_event reader, const struct quest *quest)
{
    const struct pcoll_access *write;
    const struct pcoll_entry *entry;
    struct pcoll_place from;
    struct range source;

    if (pcoll_check_is_input(flow->check, piece->owner, piece->buffer, piece->first))
        return check_input(flow, piece, quest);
    write = last_write(flow, piece, quest->phase, reader);
    if (write == NULL)
        return fail_missing(flow, piece, reader, quest);
    entry = &flow->check->plans[write->rank]->entries[write->entry];
    from = entry->op == PCOLL_OP_GET ? entry->remote : entry->local;
    source.owner = entry->op == PCOLL_OP_GET ? entry->peer : write->rank;
    source.buffer = from.buffer;
    source.first = from.offset + (piece->first - write->first);
    source.bytes = piece->bytes;
    return trace(flow, source, write->begins, *quest);
}

/* Each step goes to a read that precedes the previous one, so the trace ends. */
static enum pcoll_result trace(const struct pcoll_flow *flow, struct range range,
                               struct pcoll_order_event reader, struct quest quest)
{
    while (range.bytes > 0) {
        struct range piece = range;
        enum pcoll_result result;

        piece.bytes = piece_bytes(flow, &range);
        result = trace_piece(flow, &piece, reader, &quest);
        if (result != PCOLL_OK)
            return result;
        range.first += piece.bytes;
        range.bytes -= piece.bytes;
        quest.offset += piece.bytes;
    }
    return PCOLL_OK;
}

/* The blocks of the piece must be those of SEND that the row names. */
static enum pcoll_result check_piece(const struct pcoll_flow *flow, int receiver, int phase,
                                     const struct pcoll_piece *piece)
{
    const struct pcoll_order_event end = {PCOLL_COMPLETE, receiver, phase, 0};

    if (piece->is_fold && piece->nranks > 1)
        return pcoll_check_fail(flow->check, receiver, phase, PCOLL_NONE,
                                "wants a fold of %d ranks, but entries only move", piece->nranks);
    for (int k = 0; k < piece->nranks; k++) {
        const struct range range = {receiver, PCOLL_RECV, piece->first + (uint64_t)k * piece->bytes,
                                    piece->bytes};
        const struct quest quest = {receiver, phase, piece->rank + k, piece->from};
        enum pcoll_result result = trace(flow, range, end, quest);

        if (result != PCOLL_OK)
            return result;
    }
    return PCOLL_OK;
}

static enum pcoll_result check_receiver(const struct pcoll_flow *flow,
                                        const struct pcoll_local *const *locals, int receiver,
                                        int phase)
{
    const struct pcoll_signature *signature = &flow->check->plans[0]->signature;
    const struct pcoll_collective *row = pcoll_collective_of(signature);
    struct pcoll_piece piece;

    for (int i = 0; row->expect(signature, locals, receiver, i, &piece); i++) {
        enum pcoll_result result = check_piece(flow, receiver, phase, &piece);

        if (result != PCOLL_OK)
            return result;
    }
    return PCOLL_OK;
}

enum pcoll_result pcoll_meaning_check(const struct pcoll_flow *flow)
{
    const struct pcoll_check *check = flow->check;
    const struct pcoll_local **locals;
    enum pcoll_result result = PCOLL_OK;

    if (pcoll_coll_has(check->plans[0]->signature.coll, PCOLL_SYNCHRONIZES))
        return check_starts(flow);
    locals = calloc((size_t)check->nranks, sizeof(*locals));
    if (locals == NULL)
        return PCOLL_ERR_NOMEM;
    for (int rank = 0; rank < check->nranks; rank++)
        locals[rank] = check->plans[rank]->local;
    for (int i = 0; i < check->nranks * check->nphases && result == PCOLL_OK; i++)
        result = check_receiver(flow, locals, i / check->nphases, i % check->nphases);
    free(locals);
    return result;
}
