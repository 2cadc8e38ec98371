/*
 * What each rank sends and receives: parts of its buffers.
 *
 * A neighborhood call with faces exchanges the surface of a cube of doubles in C order, and each
 * face has the size of the operation: normal to dimension 0 it is contiguous, normal to dimension 1
 * it has rows, normal to dimension 2 columns of one double. An edge has a double for each along the
 * side of the cube, a corner has one.
 */
#include "calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_ROW = 512 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- sizes and shapes ------------------------------------------------------------------------ */

static int number_of(enum blocks blocks, const struct operation *op)
{
    bool is_root = op->job->rank == op->root;
    switch (blocks) {
        case NONE:
            return 0;
        case ONE:
            return 1;
        case PER_RANK:
            return op->job->nranks;
        case ROOT_ONE:
            return is_root;
        case OTHERS_ONE:
            return !is_root;
        case ROOT_ALL:
            return is_root ? op->job->nranks : 0;
        default:
            return op->hood->n;
    }
}

/* Of an edge or, with 3 steps away, a corner. */
static size_t face_bytes(size_t size, int steps)
{
    size_t side = (size_t)sqrt((double)(size / sizeof(double)));
    size_t doubles = steps == 3 || side == 0 ? 1 : side;
    return steps == 1 ? size : least(size, doubles * sizeof(double));
}

/* Whole doubles, unless the size is less. The blocks of a reduction are equal on all ranks. */
static size_t unequal_bytes(const struct operation *op, int sender, int slot)
{
    static const int quarters[] = {4, 2, 1, 3};
    int key = collective_has(op->coll, REDUCES) ? slot : sender + slot;
    size_t bytes = op->size * (size_t)quarters[key % 4] / 4;
    bytes += (sizeof(double) - bytes % sizeof(double)) % sizeof(double);
    return least(bytes, op->size);
}

/* Opposite directions have the same shape, so it does not matter whether `slot` sends or
 * receives. */
static void shape_face(const struct operation *op, struct part *part, int slot)
{
    int step[3];
    neighborhood_step(op->hood, slot, step);
    part->bytes = face_bytes(op->size, abs(step[0]) + abs(step[1]) + abs(step[2]));
    size_t row = step[1] && !step[0] ? USUAL_ROW : part->bytes;
    size_t chunk = op->row > 0 ? op->row : step[2] ? sizeof(double) : row;
    bool cut = collective_has(op->coll, STRIDED) && part->bytes > chunk && part->bytes % chunk == 0;
    part->chunk = cut ? chunk : part->bytes;
}

static void shape_part(const struct operation *op, struct part *part, int i)
{
    part->bytes =
        collective_has(op->coll, UNEQUAL) ? unequal_bytes(op, part->sender, part->slot) : op->size;
    part->chunk = part->bytes;
    if (collective_has(op->coll, FACES))
        shape_face(op, part, i);
    part->stride = 2 * part->chunk;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static struct part received_part(const struct operation *op, int i)
{
    const struct collective_row *row = &collective_rows[op->coll];
    const struct job *job = op->job;
    if (row->traits & REDUCES)
        return (struct part){.slot = row->sends == PER_RANK ? job->rank : 0,
                             .terms = op->coll == SCAN     ? job->rank + 1
                                      : op->coll == EXSCAN ? job->rank
                                                           : job->nranks};
    if (row->traits & NEIGHBOR)
        return (struct part){.sender = op->hood->from[i],
                             .slot = row->sends == ONE ? 0 : neighborhood_arrives(op->hood, i),
                             .terms = 1};
    if (row->sends == ROOT_ONE || row->sends == ROOT_ALL)
        return (struct part){
            .sender = op->root, .slot = row->sends == ROOT_ALL ? job->rank : 0, .terms = 1};
    return (struct part){.sender = i, .slot = row->sends == ONE ? 0 : job->rank, .terms = 1};
}

struct part *parts_list(const struct operation *op, bool sent, int *n_p)
{
    const struct collective_row *row = &collective_rows[op->coll];
    int n = number_of(sent ? row->sends : row->receives, op);
    struct part *parts = calloc((size_t)n + 1, sizeof *parts);
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        parts[i] = sent ? (struct part){.sender = op->job->rank, .slot = i, .terms = 1}
                        : received_part(op, i);
        shape_part(op, &parts[i], i);
        parts[i].at = at;
        at += parts[i].bytes * (collective_has(op->coll, STRIDED) ? 2 : 1);
    }
    *n_p = n;
    return parts;
}

size_t collective_room(enum collective coll, int nranks, int neighbors, size_t size)
{
    enum blocks sends = collective_rows[coll].sends, receives = collective_rows[coll].receives;
    size_t edges = (size_t)(neighbors - NUM_FACES);
    if (collective_has(coll, FACES))
        return (NUM_FACES * size + edges * face_bytes(size, 2)) *
               (collective_has(coll, STRIDED) ? 2 : 1);
    if (receives == PER_NEIGHBOR)
        return (size_t)neighbors * size;
    return sends >= PER_RANK || receives >= PER_RANK ? (size_t)nranks * size : size;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The compiler makes a loop without calls for chunks of one double. */
static void copy_chunks(char *to, size_t to_stride, const char *from, size_t from_stride,
                        size_t chunk, size_t bytes)
{
    size_t n = chunk ? bytes / chunk : 0;
    if (chunk == sizeof(double))
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * to_stride, from + i * from_stride, sizeof(double));
    else
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * to_stride, from + i * from_stride, chunk);
}

void part_pack(const struct part *part, const char *base, char *packed)
{
    copy_chunks(packed, part->chunk, base + part->at, part->stride, part->chunk, part->bytes);
}

void part_unpack(const struct part *part, char *base, const char *packed)
{
    copy_chunks(base + part->at, part->stride, packed, part->chunk, part->chunk, part->bytes);
}

void part_copy(const struct part *to, char *to_base, const struct part *from, const char *from_base)
{
    copy_chunks(to_base + to->at, to->stride, from_base + from->at, from->stride, to->chunk,
                to->bytes);
}

void part_use(const struct part *part, char *base, bool writes)
{
    enum { LINE = 64 };
    for (size_t done = 0, at = part->at; done < part->bytes;
         done += part->chunk, at += part->stride)
        for (size_t i = 0; i < part->chunk; i += LINE) {
            volatile char *byte = base + at + i;
            char value = *byte;
            if (writes)
                *byte = value;
        }
}
