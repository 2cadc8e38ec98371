/* Contiguous pieces of user memory; the contract is in pieces.h. */
#include "offload/pieces.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_ROWS = 4 };

/* ---- making ---- */

/* True if the pieces of `more` continue the row, which they then do. */
static int continue_row(struct pcoll_row *row, const struct pcoll_row *more)
{
    const uintptr_t first = (uintptr_t)row->at, next = (uintptr_t)more->at;
    const ptrdiff_t step = row->count > 1 ? row->step : (ptrdiff_t)(next - first);

    if (row->count == 1 && more->count == 1 && first + row->bytes == next) {
        row->bytes += more->bytes;
        return 1;
    }
    if (row->bytes != more->bytes || first + row->count * (uintptr_t)step != next ||
        (more->count > 1 && more->step != step))
        return 0;
    row->step = step;
    row->count += more->count;
    return 1;
}

static int reserve_row(struct pcoll_pieces *pieces)
{
    const int room = pieces->room > 0 ? 2 * pieces->room : FEWEST_ROWS;
    struct pcoll_row *rows;

    if (pieces->nrows < pieces->room)
        return 1;
    if (pieces->room > INT_MAX / 2)
        return 0;
    rows = realloc(pieces->rows, (size_t)room * sizeof(*rows));
    if (rows == NULL)
        return 0;
    pieces->rows = rows;
    pieces->room = room;
    return 1;
}

enum pcoll_result pcoll_pieces_add_row(struct pcoll_pieces *pieces, char *at, size_t bytes,
                                       ptrdiff_t step, uint64_t count)
{
    struct pcoll_row row = {pieces->bytes, at, bytes, step, count};

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

void pcoll_pieces_fini(struct pcoll_pieces *pieces)
{
    free(pieces->rows);
    *pieces = (struct pcoll_pieces){0};
}

/* ---- copying ---- */

/* What is left of the piece in which copying has arrived. */
struct cursor {
    const struct pcoll_row *row;
    uint64_t left; /* pieces of the row, with this one */
    char *at;
    size_t bytes;
};

static struct cursor cursor_at(const struct pcoll_pieces *pieces, uint64_t first)
{
    int low = 0, high = pieces->nrows - 1;
    const struct pcoll_row *row;
    uint64_t number;
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
    return (struct cursor){
        .row = row,
        .left = row->count - number,
        .at = row->at + (ptrdiff_t)number * row->step + inside,
        .bytes = row->bytes - inside,
    };
}

/* Passes n bytes of the piece; enters the next one at its end if more than that shall be copied. */
static inline void pass(struct cursor *c, size_t n, size_t left)
{
    c->at += n;
    c->bytes -= n;
    if (c->bytes > 0 || n == left)
        return;
    if (--c->left > 0) {
        c->at += c->row->step - (ptrdiff_t)c->row->bytes;
    } else {
        c->row++;
        c->left = c->row->count;
        c->at = c->row->at;
    }
    c->bytes = c->row->bytes;
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void pcoll_pieces_pack(const struct pcoll_pieces *pieces, uint64_t first, void *to, size_t bytes)
{
    struct cursor c = cursor_at(pieces, first);

    for (size_t n; bytes > 0; bytes -= n) {
        n = least(c.bytes, bytes);
        memcpy(to, c.at, n);
        to = (char *)to + n;
        pass(&c, n, bytes);
    }
}

void pcoll_pieces_unpack(const struct pcoll_pieces *pieces, uint64_t first, const void *from,
                         size_t bytes)
{
    struct cursor c = cursor_at(pieces, first);

    for (size_t n; bytes > 0; bytes -= n) {
        n = least(c.bytes, bytes);
        memcpy(c.at, from, n);
        from = (const char *)from + n;
        pass(&c, n, bytes);
    }
}

void pcoll_pieces_copy(const struct pcoll_pieces *from, uint64_t first,
                       const struct pcoll_pieces *to, uint64_t to_first, size_t bytes)
{
    struct cursor source = cursor_at(from, first), target = cursor_at(to, to_first);

    for (size_t n; bytes > 0; bytes -= n) {
        n = least(least(source.bytes, target.bytes), bytes);
        memcpy(target.at, source.at, n);
        pass(&source, n, bytes);
        pass(&target, n, bytes);
    }
}
