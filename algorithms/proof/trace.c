/* The trace of a byte; the contract is in trace.h. */
#include "algorithms/proof/trace.h"

#include <stdbool.h>
#include <stdlib.h>

static bool covers(const struct pcoll_access *access, int phase, uint64_t at)
{
    return access->is_write && access->phase == phase && access->first <= at && at < access->end;
}

static bool is_of_entry(const struct pcoll_access *access, struct pcoll_order_event event)
{
    return event.kind == PCOLL_FIRE && access->rank == event.rank && access->entry == event.entry;
}

/* The write of this instance whose byte `at` the `reader` reads, or NULL. A REDUCE reads before it
 * writes. */
static const struct pcoll_access *last_write(const struct pcoll_flow *flow,
                                             const struct pcoll_range *range, int phase,
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

static struct pcoll_hash hash_of_pair(struct pcoll_hash left, struct pcoll_hash right)
{
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
        const struct pcoll_operand *operand = &plan->operands[entry->first_operand + k];
        const struct pcoll_range source =
            source_of(quest, write, piece, operand->rank, pcoll_operand_place(operand));

        result = pcoll_trace(quest, &source, write->begins, &values[k]);
        bytes = values[k].bytes < bytes ? values[k].bytes : bytes;
    }
    if (result == PCOLL_OK) {
        *value_p = (struct pcoll_value){bytes, values[entry->noperands - 1].hash};
        for (int k = entry->noperands - 2; k >= 0; k--)
            value_p->hash = hash_of_pair(values[k].hash, value_p->hash);
    }
    free(values);
    return result;
}

/* Follow the start of a range through the entry that wrote it. Each step goes to a read that
 * precedes the previous one, so the trace ends. */
enum pcoll_result pcoll_trace(struct pcoll_quest *quest, const struct pcoll_range *range,
                              struct pcoll_order_event reader, struct pcoll_value *value_p)
{
    const struct pcoll_flow *flow = quest->flow;
    const struct pcoll_access *write = last_write(flow, range, quest->phase, reader);
    const struct pcoll_entry *entry;
    struct pcoll_range piece = *range, source;

    piece.bytes = piece_bytes(flow, range);
    if (write == NULL &&
        pcoll_check_is_input(flow->check, range->owner, range->buffer, range->first)) {
        add_leaf(quest, range);
        *value_p = (struct pcoll_value){piece.bytes, hash_of_leaf(range->owner)};
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
    return pcoll_trace(quest, &source, write->begins, value_p);
}
