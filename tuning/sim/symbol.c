/* Symbolic data; the contract is in symbol.h. */
#include "tuning/sim/symbol.h"

#include <stdlib.h>
#include <string.h>

/* Bytes [at, at + bytes) hold the bytes from `from` on of the message of `instance`; the message is
 * all ranks' SEND in a row, see message_at. After a reduction these are the bytes of the first of
 * 1 + `more` ranks. */
struct extent {
    uint64_t at, bytes, from;
    int64_t instance;
    uint64_t more;
};

/* Sorted by `at`, without overlaps. */
struct extents {
    struct extent *list;
    uint32_t count, room;
};

struct load {
    struct extents data;
    uint32_t next_free;
};

struct pcoll_symbols {
    struct pcoll_signature signature;
    int synchronizes;                             /* PCOLL_SYNCHRONIZES */
    struct extents (*buffers)[PCOLL_NUM_BUFFERS]; /* of each rank; if the collective synchronizes,
                                                   * RECV holds the ranks whose start it knows of */
    int32_t *instance;                            /* the running instance of each rank */
    struct load *loads;                           /* index 0 is unused */
    uint32_t nloads, room, free;
    int failed;
};

/* ---- lists of extents ---- */

static int extents_room(struct extents *extents, uint32_t more)
{
    uint32_t room = extents->room ? 2 * extents->room : 2;
    struct extent *list;

    if (extents->count + more <= extents->room)
        return 1;
    while (room < extents->count + more)
        room *= 2;
    list = realloc(extents->list, room * sizeof(*list));
    if (list == NULL)
        return 0;
    extents->list = list;
    extents->room = room;
    return 1;
}

/* The first extent that ends after `at`. */
static uint32_t extents_find(const struct extents *extents, uint64_t at)
{
    uint32_t low = 0, high = extents->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (extents->list[middle].at + extents->list[middle].bytes <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void open_gap(struct extents *extents, uint32_t i)
{
    memmove(extents->list + i + 1, extents->list + i,
            (extents->count - i) * sizeof(*extents->list));
    extents->count++;
}

static void close_gap(struct extents *extents, uint32_t i, uint32_t n)
{
    memmove(extents->list + i, extents->list + i + n,
            (extents->count - i - n) * sizeof(*extents->list));
    extents->count -= n;
}

static void drop_front(struct extent *extent, uint64_t bytes)
{
    extent->at += bytes;
    extent->from += bytes;
    extent->bytes -= bytes;
}

/* Remove everything in [at, end); returns the index at which an extent beginning at `at` belongs.
 * There must be room for one more extent. */
static uint32_t extents_clear(struct extents *extents, uint64_t at, uint64_t end)
{
    uint32_t i = extents_find(extents, at), last;

    if (i < extents->count && extents->list[i].at < at) {
        open_gap(extents, i);
        extents->list[i].bytes = at - extents->list[i].at;
        drop_front(&extents->list[i + 1], extents->list[i].bytes);
        i++;
    }
    last = i;
    while (last < extents->count && extents->list[last].at + extents->list[last].bytes <= end)
        last++;
    close_gap(extents, i, last - i);
    if (i < extents->count && extents->list[i].at < end)
        drop_front(&extents->list[i], end - extents->list[i].at);
    return i;
}

static int continues(const struct extent *a, const struct extent *b)
{
    return a->at + a->bytes == b->at && a->from + a->bytes == b->from &&
           a->instance == b->instance && a->more == b->more;
}

/* Merge list[i] with its successor if they are contiguous. */
static void extents_merge(struct extents *extents, uint32_t i)
{
    if (i + 1 >= extents->count || !continues(&extents->list[i], &extents->list[i + 1]))
        return;
    extents->list[i].bytes += extents->list[i + 1].bytes;
    close_gap(extents, i + 1, 1);
}

static int extents_put(struct extents *extents, struct extent extent)
{
    uint32_t i;

    if (extent.bytes == 0)
        return 1;
    if (!extents_room(extents, 2))
        return 0;
    i = extents_clear(extents, extent.at, extent.at + extent.bytes);
    open_gap(extents, i);
    extents->list[i] = extent;
    extents_merge(extents, i);
    if (i > 0)
        extents_merge(extents, i - 1);
    return 1;
}

/* Copy the contents of [at, at + bytes) to `to`, starting at 0. */
static int extents_get(const struct extents *extents, uint64_t at, uint64_t bytes,
                       struct extents *to)
{
    for (uint32_t i = extents_find(extents, at); i < extents->count; i++) {
        struct extent one = extents->list[i];

        if (one.at >= at + bytes)
            break;
        if (one.at < at)
            drop_front(&one, at - one.at);
        if (one.at + one.bytes > at + bytes)
            one.bytes = at + bytes - one.at;
        one.at -= at;
        if (!extents_put(to, one))
            return 0;
    }
    return 1;
}

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

/* The position of byte `at` of a rank's SEND in the message of an instance. */
static uint64_t message_at(const struct pcoll_signature *signature, int rank, uint64_t at)
{
    return (uint64_t)rank * pcoll_collective_of(signature)->send_bytes(signature, NULL, rank) + at;
}

/* The rank knows of its own start, and forgets older instances. */
static int learn_own_start(struct pcoll_symbols *symbols, int rank, int instance)
{
    struct extents *known = &symbols->buffers[rank][PCOLL_RECV];
    const uint64_t first = start_of(symbols, 0, instance), own = start_of(symbols, rank, instance);

    if (!extents_room(known, 1))
        return 0;
    extents_clear(known, 0, first);
    return extents_put(known, (struct extent){.at = own, .bytes = 1, .from = own});
}

static int put_input(struct pcoll_symbols *symbols, int rank, int instance)
{
    const struct pcoll_span input = pcoll_input_in_recv(&symbols->signature, NULL, rank);
    const struct extent own = {.at = input.first,
                               .bytes = input.count,
                               .from = message_at(&symbols->signature, rank, 0),
                               .instance = instance};

    symbols->buffers[rank][PCOLL_RECV].count = 0;
    return extents_put(&symbols->buffers[rank][PCOLL_RECV], own);
}

void pcoll_symbols_start(struct pcoll_symbols *symbols, int rank, int instance)
{
    symbols->instance[rank] = instance;
    symbols->failed |= symbols->synchronizes ? !learn_own_start(symbols, rank, instance)
                                             : !put_input(symbols, rank, instance);
}

/* SEND is not stored: it holds the rank's part of the message while the instance runs. */
static int read_send(const struct pcoll_symbols *symbols, int rank, uint64_t at, uint64_t bytes,
                     struct extents *to)
{
    const uint64_t from = message_at(&symbols->signature, rank, at);

    return extents_put(to, (struct extent){0, bytes, from, symbols->instance[rank], 0});
}

uint32_t pcoll_symbols_read(struct pcoll_symbols *symbols, int rank, struct pcoll_place place,
                            uint64_t bytes)
{
    const struct extents *known = &symbols->buffers[rank][PCOLL_RECV];
    uint32_t load = load_create(symbols);
    struct extents *to = &symbols->loads[load].data;
    int got;

    if (load == 0) {
        symbols->failed = 1;
        return 0;
    }
    if (symbols->synchronizes)
        got = extents_get(known, 0, UINT64_MAX, to);
    else if (place.buffer == PCOLL_SEND)
        got = read_send(symbols, rank, place.offset, bytes, to);
    else
        got = extents_get(&symbols->buffers[rank][place.buffer], place.offset, bytes, to);
    symbols->failed |= !got;
    return load;
}

/* The distance in the message of the vectors that are reduced. */
static uint64_t step_of(const struct pcoll_symbols *symbols)
{
    return message_at(&symbols->signature, 1, 0);
}

/* What two operands give where they overlap; 0: nothing. */
static int reduce_extents(const struct pcoll_symbols *symbols, struct extent left,
                          struct extent right, struct extent *to)
{
    const uint64_t step = step_of(symbols), all = step * (uint64_t)symbols->signature.nranks;
    const uint64_t at = left.at > right.at ? left.at : right.at;
    const uint64_t left_end = left.at + left.bytes, right_end = right.at + right.bytes;
    uint64_t next;

    if (at >= left_end || at >= right_end || left.instance != right.instance)
        return 0;
    drop_front(&left, at - left.at);
    drop_front(&right, at - right.at);
    left.bytes = left_end < right_end ? left.bytes : right.bytes;
    next = left.from + (left.more + 1) * step;
    if (symbols->signature.commutes && right.from + (right.more + 1) * step == left.from)
        left.from = right.from; /* in the other order */
    else if (next != right.from && !(symbols->signature.commutes && next == right.from + all))
        return 0;
    left.more += right.more + 1;
    *to = left;
    return 1;
}

uint32_t pcoll_symbols_reduce(struct pcoll_symbols *symbols, uint32_t left, uint32_t right)
{
    const uint32_t load = load_create(symbols);
    const struct extents *a = &symbols->loads[left].data, *b = &symbols->loads[right].data;
    struct extent one;

    for (uint32_t i = 0; load != 0 && i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++)
            if (reduce_extents(symbols, a->list[i], b->list[k], &one))
                symbols->failed |= !extents_put(&symbols->loads[load].data, one);
    symbols->failed |= load == 0;
    load_destroy(symbols, left);
    load_destroy(symbols, right);
    return load;
}

void pcoll_symbols_write(struct pcoll_symbols *symbols, int rank, struct pcoll_place place,
                         uint64_t bytes, uint32_t load)
{
    const int synchronizes = symbols->synchronizes;
    const struct extents *data = &symbols->loads[load].data;
    struct extents *to = &symbols->buffers[rank][synchronizes ? PCOLL_RECV : place.buffer];
    int put = 1;

    if (load == 0)
        return;
    if (!synchronizes && bytes > 0 && extents_room(to, 1))
        extents_clear(to, place.offset, place.offset + bytes);
    for (uint32_t i = 0; i < data->count; i++) {
        struct extent one = data->list[i];

        one.at += synchronizes ? 0 : place.offset;
        put &= extents_put(to, one);
    }
    symbols->failed |= !put;
    load_destroy(symbols, load);
}

/* If the collective synchronizes, only extents of known ranks are merged. */
static int holds(const struct extents *extents, struct extent whole)
{
    uint32_t i = extents_find(extents, whole.at);
    const struct extent *one = &extents->list[i];

    return i < extents->count && one->at <= whole.at &&
           one->at + one->bytes >= whole.at + whole.bytes &&
           one->from - one->at == whole.from - whole.at && one->instance == whole.instance &&
           one->more == whole.more;
}

/* The fold of all ranks begins with the first one, or, if the operator commutes, with any. */
static int holds_fold(const struct pcoll_symbols *symbols, const struct extents *recv,
                      const struct pcoll_piece *piece, int instance)
{
    uint64_t at = 0;

    for (uint32_t i = extents_find(recv, piece->first); i < recv->count && at < piece->bytes; i++) {
        struct extent one = recv->list[i];
        const uint64_t from = message_at(&symbols->signature, piece->rank, piece->from + at);

        if (one.at < piece->first)
            drop_front(&one, piece->first - one.at);
        if (one.at != piece->first + at || one.instance != instance ||
            one.more != (uint64_t)piece->nranks - 1 ||
            (symbols->signature.commutes ? (one.from - from) % step_of(symbols) != 0
                                         : one.from != from))
            return 0;
        at += one.bytes;
    }
    return at >= piece->bytes;
}

/* Blocks that are the whole SEND are adjacent in the message, too. */
static int holds_piece(const struct pcoll_symbols *symbols, int rank, int instance,
                       const struct pcoll_piece *piece)
{
    const struct pcoll_signature *signature = &symbols->signature;
    const struct extents *recv = &symbols->buffers[rank][PCOLL_RECV];
    const uint64_t step = message_at(signature, piece->rank + piece->nranks - 1, piece->from) -
                          message_at(signature, piece->rank, piece->from);
    const int is_whole = step == (uint64_t)(piece->nranks - 1) * piece->bytes;
    struct extent block = {piece->first, piece->bytes, 0, instance, 0};

    if (piece->is_fold)
        return holds_fold(symbols, recv, piece, instance);
    for (int k = 0; k < piece->nranks; k++) {
        block.from = message_at(signature, piece->rank + k, piece->from);
        if (is_whole)
            block.bytes = (uint64_t)piece->nranks * piece->bytes;
        if (!holds(recv, block))
            return 0;
        if (is_whole)
            break;
        block.at += piece->bytes;
    }
    return 1;
}

int pcoll_symbols_complete(const struct pcoll_symbols *symbols, int rank, int instance)
{
    const struct pcoll_signature *signature = &symbols->signature;
    const uint64_t n = (uint64_t)signature->nranks, first = start_of(symbols, 0, instance);
    struct pcoll_piece piece;

    if (symbols->synchronizes)
        return holds(&symbols->buffers[rank][PCOLL_RECV], (struct extent){first, n, first, 0, 0});
    for (int i = 0; pcoll_collective_of(signature)->expect(signature, NULL, rank, i, &piece); i++)
        if (!holds_piece(symbols, rank, instance, &piece))
            return 0;
    return 1;
}

int pcoll_symbols_failed(const struct pcoll_symbols *symbols)
{
    return symbols->failed;
}
