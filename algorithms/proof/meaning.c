/* What the collective must achieve, traced backwards from each receive buffer at completion. */
#include "algorithms/proof/private.h"

/* A byte range of a rank's buffer as it is read in an instance. */
struct range {
    int owner;
    enum pcoll_buffer buffer;
    uint64_t first, bytes;
};

/* What the trace is after: bytes from `offset` on of the input of `rank`, wanted by `receiver`. */
struct quest {
    int receiver, phase;
    int rank;
    uint64_t offset;
};

static enum pcoll_result check_barrier(const struct pcoll_flow *flow)
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

/* The write of this instance that `reader` finds in byte `at`, or NULL. */
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

/* How many bytes from the start of the range on are written, or are input, alike. */
static uint64_t piece_bytes(const struct pcoll_flow *flow, const struct range *range)
{
    const struct pcoll_signature *sig = &flow->check->plans[0]->signature;
    const struct pcoll_access *accesses;
    int n = pcoll_flow_buffer(flow, range->owner, range->buffer, &accesses);
    uint64_t at = range->first, end = at + range->bytes;

    if (range->buffer == PCOLL_RECV && sig->coll == PCOLL_ALLGATHER &&
        sig->bytes - at % sig->bytes < end - at)
        end = at + (sig->bytes - at % sig->bytes);
    for (int i = 0; i < n; i++) {
        if (accesses[i].is_write && at < accesses[i].first && accesses[i].first < end)
            end = accesses[i].first;
        if (accesses[i].is_write && at < accesses[i].end && accesses[i].end < end)
            end = accesses[i].end;
    }
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
        offset %= flow->check->plans[0]->signature.bytes;
    if (range->owner == quest->rank && offset == quest->offset)
        return PCOLL_OK;
    return pcoll_check_fail(flow->check, quest->receiver, quest->phase, PCOLL_NONE,
                            "receives byte %llu of rank %d for byte %llu of rank %d",
                            (unsigned long long)offset, range->owner,
                            (unsigned long long)quest->offset, quest->rank);
}

static enum pcoll_result trace(const struct pcoll_flow *flow, struct range range,
                               struct pcoll_order_event reader, struct quest quest);

/* Follow one piece, written alike, through the move that wrote it. */
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

/* Each step goes to a read that precedes the one before, so it ends. */
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

/* Block `block` of the receive buffer of `receiver` holds the input of rank `source`. */
static enum pcoll_result check_block(const struct pcoll_flow *flow, int receiver, int phase,
                                     int block, int source)
{
    uint64_t bytes = flow->check->plans[0]->signature.bytes;
    struct range range = {receiver, PCOLL_RECV, (uint64_t)block * bytes, bytes};
    struct pcoll_order_event end = {PCOLL_COMPLETE, receiver, phase, 0};

    return trace(flow, range, end, (struct quest){receiver, phase, source, 0});
}

static enum pcoll_result check_receiver(const struct pcoll_flow *flow, int receiver, int phase)
{
    const struct pcoll_signature *sig = &flow->check->plans[0]->signature;

    if (sig->coll == PCOLL_BCAST)
        return receiver == sig->root ? PCOLL_OK : check_block(flow, receiver, phase, 0, sig->root);
    for (int source = 0; source < sig->nranks; source++) {
        enum pcoll_result result = check_block(flow, receiver, phase, source, source);

        if (result != PCOLL_OK)
            return result;
    }
    return PCOLL_OK;
}

enum pcoll_result pcoll_meaning_check(const struct pcoll_flow *flow)
{
    if (flow->check->plans[0]->signature.coll == PCOLL_BARRIER)
        return check_barrier(flow);
    for (int receiver = 0; receiver < flow->check->nranks; receiver++) {
        for (int phase = 0; phase < flow->check->nphases; phase++) {
            enum pcoll_result result = check_receiver(flow, receiver, phase);

            if (result != PCOLL_OK)
                return result;
        }
    }
    return PCOLL_OK;
}
