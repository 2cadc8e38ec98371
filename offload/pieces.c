/* Contiguous pieces of user memory; the contract is in pieces.h. */
#include "offload/pieces.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "offload/copy.h"

enum {
    FEWEST_ROWS = 4,
    UNROLLED = 16,   /* bytes of the longest pieces of which a loop copies four at a time */
    LONG_PIECE = 128 /* from here on, a call for each takes no longer */
};

/* ---- making ---- */

/* Returns whether the pieces of `more` continue the row, which they then do. */
static bool continue_row(struct pcoll_row *row, const struct pcoll_row *more)
{
    const uintptr_t first = (uintptr_t)row->at, next = (uintptr_t)more->at;
    const ptrdiff_t step = row->count > 1 ? row->step : (ptrdiff_t)(next - first);

    if (row->count == 1 && more->count == 1 && first + row->bytes == next) {
        row->bytes += more->bytes;
        return true;
    }
    if (row->layers > 1 || row->bytes != more->bytes ||
        first + row->count * (uintptr_t)step != next || (more->count > 1 && more->step != step))
        return false;
    row->step = step;
    row->count += more->count;
    return true;
}

static bool reserve_row(struct pcoll_pieces *pieces)
{
    const int room = pieces->room > 0 ? 2 * pieces->room : FEWEST_ROWS;
    struct pcoll_row *rows;

    if (pieces->nrows < pieces->room)
        return true;
    if (pieces->room > INT_MAX / 2)
        return false;
    rows = realloc(pieces->rows, (size_t)room * sizeof(*rows));
    if (rows == NULL)
        return false;
    pieces->rows = rows;
    pieces->room = room;
    return true;
}

enum pcoll_result pcoll_pieces_add_row(struct pcoll_pieces *pieces, char *at, size_t bytes,
                                       ptrdiff_t step, uint64_t count)
{
    struct pcoll_row row = {pieces->bytes, at, bytes, step, count, 0, 1};

    if (bytes == 0 || count == 0)
        return PCOLL_OK;
    if (step == (ptrdiff_t)bytes) {
        row.bytes = bytes * count;
        row.count = 1;
    }
    if (pieces->nrows == 0 || !continue_row(&pieces->rows[pieces->nrows - 1], &row)) {
        if (!reserve_row(pieces))
            return PCOLL_ERR_NOMEM;
        pieces->rows[pieces->nrows++] = row;
    }
    pieces->bytes += bytes * count;
    return PCOLL_OK;
}

enum pcoll_result pcoll_pieces_add(struct pcoll_pieces *pieces, char *at, size_t bytes)
{
    return pcoll_pieces_add_row(pieces, at, bytes, 0, 1);
}

/* A row of one piece becomes one of several. */
static void repeat_row(struct pcoll_row *row, uint64_t count, ptrdiff_t step)
{
    if (row->count > 1 && step == (ptrdiff_t)row->count * row->step) {
        row->count *= count;
    } else if (row->count > 1) {
        row->layers = count;
        row->layer_step = step;
    } else if (step == (ptrdiff_t)row->bytes) {
        row->bytes *= count;
    } else {
        row->count = count;
        row->step = step;
    }
}

bool pcoll_pieces_repeat(struct pcoll_pieces *pieces, uint64_t first, uint64_t count,
                         ptrdiff_t step)
{
    struct pcoll_row *row;

    if (pieces->nrows == 0)
        return false;
    row = &pieces->rows[pieces->nrows - 1];
    if (row->first != first || row->layers > 1)
        return false;
    pieces->bytes += (pieces->bytes - first) * (count - 1);
    repeat_row(row, count, step);
    return true;
}

void pcoll_pieces_fini(struct pcoll_pieces *pieces)
{
    free(pieces->rows);
    *pieces = (struct pcoll_pieces){0};
}

/* ---- rows of pieces of one length ---- */

/* n pieces of `bytes` bytes, in order. */
struct move {
    char *to;
    const char *from;
    ptrdiff_t to_step, from_step; /* from one piece to the next */
    size_t bytes, n;
};

#define INLINE static inline __attribute__((always_inline))

INLINE void move_each(struct move m, size_t width)
{
    for (; m.n > 0; m.n--, m.to += m.to_step, m.from += m.from_step)
        memcpy(m.to, m.from, width);
}

/* Pieces of `width` bytes, which is a constant: a load and a store each. To count them takes longer
 * than these (64 KiB of doubles: 2.0 us one by one, 1.2 so). To fetch memory ahead gains nothing,
 * whatever the step. */
INLINE void move_exact(struct move m, size_t width)
{
    char a[UNROLLED], b[UNROLLED], c[UNROLLED], d[UNROLLED];

    for (; width <= UNROLLED && m.n >= 4; m.n -= 4) {
        memcpy(a, m.from, width);
        memcpy(b, m.from + m.from_step, width);
        memcpy(c, m.from + 2 * m.from_step, width);
        memcpy(d, m.from + 3 * m.from_step, width);
        memcpy(m.to, a, width);
        memcpy(m.to + m.to_step, b, width);
        memcpy(m.to + 2 * m.to_step, c, width);
        memcpy(m.to + 3 * m.to_step, d, width);
        m.to += 4 * m.to_step;
        m.from += 4 * m.from_step;
    }
    move_each(m, width);
}

/* Pieces of more than `width` bytes, and fewer than twice as many: the first and the last `width`
 * of each. */
INLINE void move_ends(struct move m, size_t width)
{
    const size_t last = m.bytes - width;

    for (; m.n > 0; m.n--, m.to += m.to_step, m.from += m.from_step) {
        memcpy(m.to, m.from, width);
        memcpy(m.to + last, m.from + last, width);
    }
}

INLINE void move_width(struct move m, size_t width)
{
    if (m.bytes == width)
        move_exact(m, width);
    else
        move_ends(m, width);
}

/* Like memcpy for each of them, which takes a call. */
static void move_short(struct move m)
{
    if (m.bytes >= 64)
        move_width(m, 64);
    else if (m.bytes >= 32)
        move_width(m, 32);
    else if (m.bytes >= 16)
        move_width(m, 16);
    else if (m.bytes >= 8)
        move_width(m, 8);
    else if (m.bytes >= 4)
        move_width(m, 4);
    else if (m.bytes >= 2)
        move_width(m, 2);
    else
        move_exact(m, 1);
}

static void move_long(struct move m)
{
    for (; m.n > 0; m.n--, m.to += m.to_step, m.from += m.from_step)
        pcoll_copy(m.to, m.from, m.bytes);
}

static inline void move_pieces(struct move m)
{
    if (m.n == 1 || m.bytes >= LONG_PIECE)
        move_long(m);
    else
        move_short(m);
}

/* ---- copying ---- */

/* What is left of the piece in which copying has arrived. */
struct cursor {
    const struct pcoll_row *row;
    uint64_t layers; /* of the row, with this one */
    uint64_t left;   /* pieces of the layer, with this one */
    char *at;
    size_t bytes;
};

static struct cursor cursor_at(const struct pcoll_pieces *pieces, uint64_t first)
{
    int low = 0, high = pieces->nrows - 1;
    const struct pcoll_row *row;
    uint64_t number, layer;
    size_t inside;

    while (low < high) {
        const int middle = (low + high + 1) / 2;

        if (pieces->rows[middle].first <= first)
            low = middle;
        else
            high = middle - 1;
    }
    row = &pieces->rows[low];
    number = (first - row->first) / row->bytes;
    inside = (size_t)((first - row->first) % row->bytes);
    layer = row->layers > 1 ? number / row->count : 0;
    number -= layer * row->count;
    return (struct cursor){
        .row = row,
        .layers = row->layers - layer,
        .left = row->count - number,
        .at = row->at + (ptrdiff_t)layer * row->layer_step + (ptrdiff_t)number * row->step + inside,
        .bytes = row->bytes - inside,
    };
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns whether pieces of so many bytes are those of the row, from here on. */
static inline bool are_whole(const struct cursor *c, size_t bytes)
{
    return c->bytes == bytes && c->row->bytes == bytes;
}

/* At most so many pieces of `bytes` bytes, which the cursor has at least, lie from here on at one
 * distance: those of the row, or parts of one. */
static inline size_t pieces_of(const struct cursor *c, size_t bytes, ptrdiff_t *step_p)
{
    if (are_whole(c, bytes)) {
        *step_p = c->row->step;
        return c->left;
    }
    *step_p = (ptrdiff_t)bytes;
    return c->bytes == bytes ? 1 : c->bytes / bytes;
}

static inline void enter_layer(struct cursor *c)
{
    if (--c->layers > 0) {
        c->at = c->row->at + (ptrdiff_t)(c->row->layers - c->layers) * c->row->layer_step;
    } else {
        c->row++;
        c->layers = c->row->layers;
        c->at = c->row->at;
    }
    c->left = c->row->count;
}

/* Passes n such pieces; enters the next layer or row at the end of one if `more` shall be copied.
 */
static inline void pass(struct cursor *c, size_t bytes, size_t n, bool more)
{
    size_t whole = n;

    if (!are_whole(c, bytes)) {
        c->bytes -= n * bytes;
        c->at += n * bytes;
        if (c->bytes > 0)
            return;
        c->at -= c->row->bytes;
        whole = 1;
    }
    c->left -= whole;
    if (c->left > 0)
        c->at += (ptrdiff_t)whole * c->row->step;
    else if (more)
        enter_layer(c);
    c->bytes = c->row->bytes;
}

static void copy(struct cursor *to, struct cursor *from, size_t bytes)
{
    while (bytes > 0) {
        struct move m = {.to = to->at, .from = from->at};

        m.bytes = least(least(to->bytes, from->bytes), bytes);
        m.n = least(pieces_of(to, m.bytes, &m.to_step), pieces_of(from, m.bytes, &m.from_step));
        m.n = least(m.n, bytes / m.bytes);
        move_pieces(m);
        bytes -= m.n * m.bytes;
        pass(to, m.bytes, m.n, bytes > 0);
        pass(from, m.bytes, m.n, bytes > 0);
    }
}

/* Contiguous memory as a list of one piece. */
static struct pcoll_row row_of(void *memory, size_t bytes)
{
    return (struct pcoll_row){.at = memory, .bytes = bytes, .count = 1, .layers = 1};
}

static struct cursor cursor_in(const struct pcoll_row *row)
{
    return (struct cursor){row, row->layers, row->count, row->at, row->bytes};
}

/* Where byte `first` of a list of one piece is; NULL: there are more. */
static inline char *contiguous_at(const struct pcoll_pieces *pieces, uint64_t first)
{
    const struct pcoll_row *row = pieces->rows;

    return row->bytes == pieces->bytes ? row->at + first : NULL;
}

void pcoll_pieces_pack(const struct pcoll_pieces *pieces, uint64_t first, void *to, size_t bytes)
{
    const char *from = contiguous_at(pieces, first);
    struct pcoll_row packed;
    struct cursor source, target;

    if (from != NULL) {
        memcpy(to, from, bytes);
        return;
    }
    packed = row_of(to, bytes);
    source = cursor_at(pieces, first);
    target = cursor_in(&packed);
    copy(&target, &source, bytes);
}

void pcoll_pieces_unpack(const struct pcoll_pieces *pieces, uint64_t first, const void *from,
                         size_t bytes)
{
    char *to = contiguous_at(pieces, first);
    struct pcoll_row packed;
    struct cursor source, target;

    if (to != NULL) {
        memcpy(to, from, bytes);
        return;
    }
    packed = row_of((void *)(uintptr_t)from, bytes);
    source = cursor_in(&packed);
    target = cursor_at(pieces, first);
    copy(&target, &source, bytes);
}

void pcoll_pieces_copy(const struct pcoll_pieces *from, uint64_t first,
                       const struct pcoll_pieces *to, uint64_t to_first, size_t bytes)
{
    char *source_at = contiguous_at(from, first), *target_at = contiguous_at(to, to_first);
    struct cursor source, target;

    if (target_at != NULL) {
        pcoll_pieces_pack(from, first, target_at, bytes);
    } else if (source_at != NULL) {
        pcoll_pieces_unpack(to, to_first, source_at, bytes);
    } else {
        source = cursor_at(from, first);
        target = cursor_at(to, to_first);
        copy(&target, &source, bytes);
    }
}
