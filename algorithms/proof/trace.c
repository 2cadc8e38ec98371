/* The trace of a byte; the contract is in trace.h. */
#include "algorithms/proof/trace.h"

#include <stdlib.h>

static int covers(const struct pcoll_access *access, int phase, uint64_t at)
{
    return access->is_write && access->phase == phase && access->first <= at && at < access->end;
}

static int replaces(const struct pcoll_access *access, int phase, uint64_t at)
{
    return covers(access, phase, at) && !access->is_sum;
}

static int is_of_entry(const struct pcoll_access *access, struct pcoll_order_event event)
{
    return event.kind == PCOLL_FIRE && access->rank == event.rank && access->entry == event.entry;
}

/* The write of this instance whose byte `at` the `reader` reads, or NULL; what is accumulated on it
 * later does not count. A REDUCE reads before it writes. */
static const struct pcoll_access *last_write(const struct pcoll_flow *flow,
                                             const struct pcoll_range *range, int phase,
                                             struct pcoll_order_event reader)
{
    const struct pcoll_access *accesses, *last = NULL;
    int n = pcoll_flow_buffer(flow, range->owner, range->buffer, &accesses);

    for (int i = 0; i < n && accesses[i].first <= range->first; i++) {
        if (replaces(&accesses[i], phase, range->first) && !is_of_entry(&accesses[i], reader) &&
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
static uint64_t piece_bytes(const struct pcoll_flow *flow, const struct pcoll_range *range)
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

static enum pcoll_result fail_missing(const struct pcoll_quest *quest,
                                      const struct pcoll_range *range,
                                      struct pcoll_order_event reader)
{
    const char *name = pcoll_check_buffer_name(range->buffer);

    return pcoll_check_fail(quest->flow->check, reader.rank, quest->phase,
                            reader.kind == PCOLL_FIRE ? reader.entry : PCOLL_NONE,
                            "byte %llu of %s of rank %d, wanted by rank %d, was not written before "
                            "in this instance",
                            (unsigned long long)range->first, name, range->owner, quest->receiver);
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    return z ^ z >> 32;
}

static struct pcoll_hash hash_of_leaf(int rank)
{
    const uint64_t x = (uint64_t)rank + 1;

    return (struct pcoll_hash){mix(x * 0x9e3779b97f4a7c15u), mix(x * 0xbf58476d1ce4e5b9u)};
}

/* Where the operator is exact, all trees with the same leaves give equal bits. */
static struct pcoll_hash hash_of_pair(const struct pcoll_quest *quest, struct pcoll_hash left,
                                      struct pcoll_hash right)
{
    if (quest->flow->check->plans[0]->signature.commutes == PCOLL_EXACT)
        return (struct pcoll_hash){left.a + right.a, left.b + right.b};
    return (struct pcoll_hash){mix(3 * left.a + mix(right.a + 1)),
                               mix(5 * left.b + mix(right.b + 2))};
}

static void add_leaf(struct pcoll_quest *quest, const struct pcoll_range *range)
{
    const struct pcoll_check *check = quest->flow->check;
    struct pcoll_leaf leaf = {range->owner, range->first};

    if (range->buffer == PCOLL_RECV)
        leaf.offset -= pcoll_check_input_in_recv(check, range->owner).first;
    if (quest->length < quest->nranks)
        quest->word[quest->length] = leaf;
    quest->length++;
}

/* The range of `rank` at that place that corresponds to `piece` of what `write` has written. */
static struct pcoll_range source_of(const struct pcoll_quest *quest,
                                    const struct pcoll_access *write,
                                    const struct pcoll_range *piece, int rank,
                                    struct pcoll_place place)
{
    place = pcoll_check_place(quest->flow->check, rank, place);
    return (struct pcoll_range){rank, place.buffer, place.offset + (piece->first - write->first),
                                piece->bytes};
}

/* The operands of a REDUCE: the word grows from left to right, and the tree from right to left. */
static enum pcoll_result trace_operands(struct pcoll_quest *quest, const struct pcoll_access *write,
                                        const struct pcoll_range *piece,
                                        struct pcoll_value *value_p)
{
    const struct pcoll_plan *plan = quest->flow->check->plans[write->rank];
    const struct pcoll_entry *entry = &plan->entries[write->entry];
    struct pcoll_value *values = calloc((size_t)entry->noperands, sizeof(*values));
    enum pcoll_result result = values ? PCOLL_OK : PCOLL_ERR_NOMEM;
    uint64_t bytes = piece->bytes;

    for (int k = 0; k < entry->noperands && result == PCOLL_OK; k++) {
        const struct pcoll_place place = plan->operands[entry->first_operand + k];
        const struct pcoll_range source = source_of(quest, write, piece, write->rank, place);

        result = pcoll_trace(quest, &source, write->begins, &values[k]);
        bytes = values[k].bytes < bytes ? values[k].bytes : bytes;
    }
    if (result == PCOLL_OK) {
        *value_p = (struct pcoll_value){bytes, values[entry->noperands - 1].hash};
        for (int k = entry->noperands - 2; k >= 0; k--)
            value_p->hash = hash_of_pair(quest, values[k].hash, value_p->hash);
    }
    free(values);
    return result;
}

/* What `write` has put there. Each step goes to a read that precedes the previous one, so the trace
 * ends. */
static enum pcoll_result trace_write(struct pcoll_quest *quest, const struct pcoll_access *write,
                                     const struct pcoll_range *piece, struct pcoll_value *value_p)
{
    const struct pcoll_entry *entry =
        &quest->flow->check->plans[write->rank]->entries[write->entry];
    struct pcoll_range source;

    if (entry->op == PCOLL_OP_REDUCE)
        return trace_operands(quest, write, piece, value_p);
    if (entry->op == PCOLL_OP_GET)
        source = source_of(quest, write, piece, entry->peer, entry->remote);
    else
        source = source_of(quest, write, piece, write->rank, entry->local);
    return pcoll_trace(quest, &source, write->begins, value_p);
}

/* ---- accumulators ---- */

/* Whether some entry, or some ACCUMULATE, writes the start of the range in any instance. */
static int is_written(const struct pcoll_flow *flow, const struct pcoll_range *range, int only_sums)
{
    const struct pcoll_access *accesses;
    const int n = pcoll_flow_buffer(flow, range->owner, range->buffer, &accesses);

    for (int i = 0; i < n; i++)
        if (covers(&accesses[i], accesses[i].phase, range->first) &&
            (accesses[i].is_sum || !only_sums))
            return 1;
    return 0;
}

static int is_identity(const struct pcoll_flow *flow, const struct pcoll_range *range)
{
    const struct pcoll_plan *plan = flow->check->plans[range->owner];

    return range->buffer == PCOLL_TEMP && (plan->needs & PCOLL_NEED_ACCUMULATE) &&
           !is_written(flow, range, 0);
}

/* The last write of a phase that does not accumulate, or NULL. */
static const struct pcoll_access *last_of_phase(const struct pcoll_flow *flow,
                                                const struct pcoll_range *range, int phase)
{
    const struct pcoll_access *accesses, *last = NULL;
    const int n = pcoll_flow_buffer(flow, range->owner, range->buffer, &accesses);

    for (int i = 0; i < n; i++)
        if (replaces(&accesses[i], phase, range->first) &&
            (last == NULL || pcoll_flow_before(flow, last, &accesses[i])))
            last = &accesses[i];
    return last;
}

static int copies_identity(const struct pcoll_quest *quest, const struct pcoll_access *write,
                           const struct pcoll_range *piece)
{
    const struct pcoll_entry *entry =
        &quest->flow->check->plans[write->rank]->entries[write->entry];
    const struct pcoll_range from = source_of(quest, write, piece, write->rank, entry->local);

    return entry->op == PCOLL_OP_COPY && is_identity(quest->flow, &from) &&
           piece_bytes(quest->flow, &from) == from.bytes;
}

/* The accumulator must hold the identity when the instance of the quest begins: the last that was
 * written there in the cycle before is a COPY of it. The first instances find what TEMP holds when
 * it is bound. */
static enum pcoll_result check_reset(const struct pcoll_quest *quest,
                                     const struct pcoll_range *piece)
{
    const struct pcoll_check *check = quest->flow->check;
    const struct pcoll_access *write = NULL;

    for (int back = 1; back <= check->nphases && write == NULL; back++)
        write = last_of_phase(quest->flow, piece,
                              (quest->phase + check->nphases - back) % check->nphases);
    if (write != NULL && copies_identity(quest, write, piece))
        return PCOLL_OK;
    return pcoll_check_fail(check, piece->owner, quest->phase, PCOLL_NONE,
                            "byte %llu of TEMP is accumulated to, but not reset before",
                            (unsigned long long)piece->first);
}

/* What has been accumulated on `write`, if it is not NULL. All of it must be there by now, as a
 * reset that follows may otherwise miss some. */
static enum pcoll_result add_sums(struct pcoll_quest *quest, const struct pcoll_access *write,
                                  const struct pcoll_range *piece, struct pcoll_order_event reader,
                                  struct pcoll_value *value_p)
{
    const struct pcoll_flow *flow = quest->flow;
    const struct pcoll_access *accesses;
    const int n = pcoll_flow_buffer(flow, piece->owner, piece->buffer, &accesses);
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < n && result == PCOLL_OK; i++) {
        const struct pcoll_access *sum = &accesses[i];
        struct pcoll_value value;

        if (!sum->is_sum || !covers(sum, sum->phase, piece->first))
            continue;
        if (sum->phase != quest->phase || !pcoll_order_before(flow->order, sum->ends, reader))
            return pcoll_check_fail(flow->check, sum->rank, sum->phase, sum->entry,
                                    "accumulates perhaps not before rank %d reads", piece->owner);
        if (write != NULL && pcoll_flow_before(flow, sum, write))
            continue;
        result = trace_write(quest, sum, piece, &value);
        if (result == PCOLL_OK) {
            value_p->bytes = value.bytes < value_p->bytes ? value.bytes : value_p->bytes;
            value_p->hash = hash_of_pair(quest, value_p->hash, value.hash);
        }
    }
    return result;
}

static enum pcoll_result trace_accumulator(struct pcoll_quest *quest,
                                           const struct pcoll_access *write,
                                           const struct pcoll_range *piece,
                                           struct pcoll_order_event reader,
                                           struct pcoll_value *value_p)
{
    enum pcoll_result result;

    *value_p = (struct pcoll_value){.bytes = piece->bytes};
    result = write != NULL ? trace_write(quest, write, piece, value_p) : check_reset(quest, piece);
    return result == PCOLL_OK ? add_sums(quest, write, piece, reader, value_p) : result;
}

enum pcoll_result pcoll_trace(struct pcoll_quest *quest, const struct pcoll_range *range,
                              struct pcoll_order_event reader, struct pcoll_value *value_p)
{
    const struct pcoll_flow *flow = quest->flow;
    const struct pcoll_access *write = last_write(flow, range, quest->phase, reader);
    struct pcoll_range piece = *range;

    piece.bytes = piece_bytes(flow, range);
    if (is_written(flow, range, 1))
        return trace_accumulator(quest, write, &piece, reader, value_p);
    if (write == NULL &&
        pcoll_check_is_input(flow->check, range->owner, range->buffer, range->first)) {
        add_leaf(quest, range);
        *value_p = (struct pcoll_value){piece.bytes, hash_of_leaf(range->owner)};
        return PCOLL_OK;
    }
    if (write == NULL && is_identity(flow, range)) {
        *value_p = (struct pcoll_value){.bytes = piece.bytes};
        return PCOLL_OK;
    }
    return write != NULL ? trace_write(quest, write, &piece, value_p)
                         : fail_missing(quest, range, reader);
}
