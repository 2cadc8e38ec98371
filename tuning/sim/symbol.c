/* Symbolic data; the contract is in symbol.h. */
#include "tuning/sim/symbol.h"

#include "algorithms/teams.h"
#include "tuning/sim/contents.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What has been read. A message is all ranks' SEND in a row, see message_at. */
struct load {
    struct pcoll_contents data;
    uint32_t next_free;
};

struct pcoll_symbols {
    struct pcoll_signature signature;
    bool synchronizes; /* PCOLL_SYNCHRONIZES */

    /* Of each rank; if the collective synchronizes, RECV holds the ranks whose start it knows
     * of. */
    struct pcoll_contents (*buffers)[PCOLL_NUM_BUFFERS];
    int32_t *instance;  /* the running instance of each rank */
    struct load *loads; /* index 0 is unused */
    uint32_t nloads, room, free;
    bool failed;
};

/* ---- loads ---- */

static uint32_t load_create(struct pcoll_symbols *symbols)
{
    uint32_t load = symbols->free;

    if (load != 0) {
        symbols->free = symbols->loads[load].next_free;
        symbols->loads[load].data.count = 0;
        return load;
    }
    if (symbols->nloads == symbols->room) {
        uint32_t room = symbols->room ? 2 * symbols->room : 64;
        struct load *loads = realloc(symbols->loads, room * sizeof(*loads));

        if (loads == NULL)
            return 0;
        symbols->loads = loads;
        symbols->room = room;
    }
    memset(&symbols->loads[symbols->nloads], 0, sizeof(*symbols->loads));
    return symbols->nloads++;
}

static void load_destroy(struct pcoll_symbols *symbols, uint32_t load)
{
    symbols->loads[load].next_free = symbols->free;
    symbols->free = load;
}

/* ---- ranks ---- */

enum pcoll_result pcoll_symbols_create(const struct pcoll_signature *signature,
                                       struct pcoll_symbols **symbols_p)
{
    struct pcoll_symbols *symbols = calloc(1, sizeof(*symbols));
    size_t n = (size_t)signature->nranks;

    if (symbols == NULL)
        return PCOLL_ERR_NOMEM;
    symbols->signature = *signature;
    symbols->synchronizes = pcoll_coll_has(signature->coll, PCOLL_SYNCHRONIZES);
    symbols->buffers = calloc(n, sizeof(*symbols->buffers));
    symbols->instance = calloc(n, sizeof(*symbols->instance));
    if (symbols->buffers == NULL || symbols->instance == NULL || load_create(symbols) != 0 ||
        symbols->nloads != 1) {
        pcoll_symbols_destroy(symbols);
        return PCOLL_ERR_NOMEM;
    }
    *symbols_p = symbols;
    return PCOLL_OK;
}

void pcoll_symbols_destroy(struct pcoll_symbols *symbols)
{
    if (symbols == NULL)
        return;
    for (int r = 0; symbols->buffers != NULL && r < symbols->signature.nranks; r++)
        for (int b = 0; b < PCOLL_NUM_BUFFERS; b++)
            free(symbols->buffers[r][b].list);
    for (uint32_t i = 0; i < symbols->nloads; i++)
        free(symbols->loads[i].data.list);
    free(symbols->loads);
    free(symbols->instance);
    free(symbols->buffers);
    free(symbols);
}

/* The number under which a start is known: instance * nranks + rank. */
static uint64_t start_of(const struct pcoll_symbols *symbols, int rank, int instance)
{
    return (uint64_t)instance * (uint64_t)symbols->signature.nranks + (uint64_t)rank;
}

/* The position of byte `at` of a rank's SEND in the message of an instance: in rank order, or where
 * operands may be swapped in that of places (teams.h), so that those of a node are adjacent. */
static uint64_t message_at(const struct pcoll_signature *signature, int rank, uint64_t at)
{
    const struct pcoll_teams teams = pcoll_teams_to_reduce(signature);
    const int place = signature->commutes ? pcoll_teams_place(&teams, rank) : rank;

    return (uint64_t)place * pcoll_collective_of(signature)->send_bytes(signature, NULL, rank) + at;
}

/* The rank knows of its own start, and forgets older instances. */
static bool learn_own_start(struct pcoll_symbols *symbols, int rank, int instance)
{
    struct pcoll_contents *known = &symbols->buffers[rank][PCOLL_RECV];
    const uint64_t first = start_of(symbols, 0, instance), own = start_of(symbols, rank, instance);

    if (!pcoll_contents_room(known, 1))
        return false;
    pcoll_contents_clear(known, 0, first);
    return pcoll_contents_put(known, (struct pcoll_content){.at = own, .bytes = 1, .from = own});
}

static bool put_input(struct pcoll_symbols *symbols, int rank, int instance)
{
    const struct pcoll_span input = pcoll_input_in_recv(&symbols->signature, NULL, rank);
    const struct pcoll_content own = {.at = input.first,
                                      .bytes = input.count,
                                      .from = message_at(&symbols->signature, rank, 0),
                                      .instance = instance};

    symbols->buffers[rank][PCOLL_RECV].count = 0;
    return pcoll_contents_put(&symbols->buffers[rank][PCOLL_RECV], own);
}

void pcoll_symbols_start(struct pcoll_symbols *symbols, int rank, int instance)
{
    symbols->instance[rank] = instance;
    symbols->failed |= symbols->synchronizes ? !learn_own_start(symbols, rank, instance)
                                             : !put_input(symbols, rank, instance);
}

/* SEND is not stored: it holds the rank's part of the message while the instance runs. */
static bool read_send(const struct pcoll_symbols *symbols, int rank, uint64_t at, uint64_t bytes,
                      struct pcoll_contents *to)
{
    const uint64_t from = message_at(&symbols->signature, rank, at);

    return pcoll_contents_put(to,
                              (struct pcoll_content){0, bytes, from, symbols->instance[rank], 0});
}

uint32_t pcoll_symbols_read(struct pcoll_symbols *symbols, int rank, struct pcoll_place place,
                            uint64_t bytes)
{
    const struct pcoll_contents *known = &symbols->buffers[rank][PCOLL_RECV];
    uint32_t load = load_create(symbols);
    struct pcoll_contents *to = &symbols->loads[load].data;
    bool got;

    if (load == 0) {
        symbols->failed = true;
        return 0;
    }
    if (symbols->synchronizes)
        got = pcoll_contents_get(known, 0, UINT64_MAX, to);
    else if (place.buffer == PCOLL_SEND)
        got = read_send(symbols, rank, place.offset, bytes, to);
    else
        got = pcoll_contents_get(&symbols->buffers[rank][place.buffer], place.offset, bytes, to);
    symbols->failed |= !got;
    return load;
}

/* The distance in the message of the vectors that are reduced. */
static uint64_t step_of(const struct pcoll_symbols *symbols)
{
    return pcoll_collective_of(&symbols->signature)->send_bytes(&symbols->signature, NULL, 0);
}

/* What two operands give where they overlap; false: nothing. */
static bool reduce_extents(const struct pcoll_symbols *symbols, struct pcoll_content left,
                           struct pcoll_content right, struct pcoll_content *to)
{
    const uint64_t step = step_of(symbols), all = step * (uint64_t)symbols->signature.nranks;
    const uint64_t at = left.at > right.at ? left.at : right.at;
    const uint64_t left_end = left.at + left.bytes, right_end = right.at + right.bytes;
    uint64_t next;

    if (at >= left_end || at >= right_end || left.instance != right.instance)
        return false;
    pcoll_content_drop_front(&left, at - left.at);
    pcoll_content_drop_front(&right, at - right.at);
    left.bytes = left_end < right_end ? left.bytes : right.bytes;
    next = left.from + (left.more + 1) * step;
    if (symbols->signature.commutes && right.from + (right.more + 1) * step == left.from)
        left.from = right.from; /* in the other order */
    else if (next != right.from && !(symbols->signature.commutes && next == right.from + all))
        return false;
    left.more += right.more + 1;
    *to = left;
    return true;
}

uint32_t pcoll_symbols_reduce(struct pcoll_symbols *symbols, uint32_t left, uint32_t right)
{
    const uint32_t load = load_create(symbols);
    const struct pcoll_contents *a = &symbols->loads[left].data, *b = &symbols->loads[right].data;
    struct pcoll_content one;

    for (uint32_t i = 0; load != 0 && i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++)
            if (reduce_extents(symbols, a->list[i], b->list[k], &one))
                symbols->failed |= !pcoll_contents_put(&symbols->loads[load].data, one);
    symbols->failed |= load == 0;
    load_destroy(symbols, left);
    load_destroy(symbols, right);
    return load;
}

void pcoll_symbols_write(struct pcoll_symbols *symbols, int rank, struct pcoll_place place,
                         uint64_t bytes, uint32_t load)
{
    const bool synchronizes = symbols->synchronizes;
    const struct pcoll_contents *data = &symbols->loads[load].data;
    struct pcoll_contents *to = &symbols->buffers[rank][synchronizes ? PCOLL_RECV : place.buffer];
    bool put = true;

    if (load == 0)
        return;
    if (!synchronizes && bytes > 0 && pcoll_contents_room(to, 1))
        pcoll_contents_clear(to, place.offset, place.offset + bytes);
    for (uint32_t i = 0; i < data->count; i++) {
        struct pcoll_content one = data->list[i];

        one.at += synchronizes ? 0 : place.offset;
        put &= pcoll_contents_put(to, one);
    }
    symbols->failed |= !put;
    load_destroy(symbols, load);
}

/* If the collective synchronizes, only extents of known ranks are merged. */
static bool holds(const struct pcoll_contents *contents, struct pcoll_content whole)
{
    uint32_t i = pcoll_contents_find(contents, whole.at);
    const struct pcoll_content *one = &contents->list[i];

    return i < contents->count && one->at <= whole.at &&
           one->at + one->bytes >= whole.at + whole.bytes &&
           one->from - one->at == whole.from - whole.at && one->instance == whole.instance &&
           one->more == whole.more;
}

/* The fold of all ranks begins with the first one, or, if the operator commutes, with any. */
static bool holds_fold(const struct pcoll_symbols *symbols, const struct pcoll_contents *recv,
                       const struct pcoll_piece *piece, int instance)
{
    uint64_t at = 0;

    for (uint32_t i = pcoll_contents_find(recv, piece->first); i < recv->count && at < piece->bytes;
         i++) {
        struct pcoll_content one = recv->list[i];
        const uint64_t from = message_at(&symbols->signature, piece->rank, piece->from + at);

        if (one.at < piece->first)
            pcoll_content_drop_front(&one, piece->first - one.at);
        if (one.at != piece->first + at || one.instance != instance ||
            one.more != (uint64_t)piece->nranks - 1 ||
            (symbols->signature.commutes ? one.from % step_of(symbols) != from % step_of(symbols)
                                         : one.from != from))
            return false;
        at += one.bytes;
    }
    return at >= piece->bytes;
}

/* Blocks that are the whole SEND are adjacent in the message, too. */
static bool holds_piece(const struct pcoll_symbols *symbols, int rank, int instance,
                        const struct pcoll_piece *piece)
{
    const struct pcoll_signature *signature = &symbols->signature;
    const struct pcoll_contents *recv = &symbols->buffers[rank][PCOLL_RECV];
    const uint64_t step = message_at(signature, piece->rank + piece->nranks - 1, piece->from) -
                          message_at(signature, piece->rank, piece->from);
    const bool is_whole = step == (uint64_t)(piece->nranks - 1) * piece->bytes;
    struct pcoll_content block = {piece->first, piece->bytes, 0, instance, 0};

    if (piece->is_fold)
        return holds_fold(symbols, recv, piece, instance);
    for (int k = 0; k < piece->nranks; k++) {
        block.from = message_at(signature, piece->rank + k, piece->from);
        if (is_whole)
            block.bytes = (uint64_t)piece->nranks * piece->bytes;
        if (!holds(recv, block))
            return false;
        if (is_whole)
            break;
        block.at += piece->bytes;
    }
    return true;
}

bool pcoll_symbols_complete(const struct pcoll_symbols *symbols, int rank, int instance)
{
    const struct pcoll_signature *signature = &symbols->signature;
    const uint64_t n = (uint64_t)signature->nranks, first = start_of(symbols, 0, instance);
    struct pcoll_piece piece;

    if (symbols->synchronizes)
        return holds(&symbols->buffers[rank][PCOLL_RECV],
                     (struct pcoll_content){first, n, first, 0, 0});
    for (int i = 0; pcoll_expect(signature, NULL, rank, i, &piece); i++)
        if (!holds_piece(symbols, rank, instance, &piece))
            return false;
    return true;
}

bool pcoll_symbols_failed(const struct pcoll_symbols *symbols)
{
    return symbols->failed;
}
