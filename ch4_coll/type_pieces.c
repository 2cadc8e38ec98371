/* The contiguous pieces of user data, in the order in which a datatype lists them: rows of equal
 * pieces straight from the constructors of its type where these are regular, however many pieces
 * there are; otherwise as the datatype engine lists them, one by one. */

#include "data.h"

#include "mpich_version.h"

#include <sys/uio.h>

/* Mean bytes of what is listed: of rows from constructors, whatever the length of their pieces, or
 * of pieces that the engine lists. It packs shorter ones itself. */
enum {
    LONG = 256,
    FEW = 8 /* rows or pieces that are listed in any case: a call of the engine takes longer */
};

/* ---- by constructors ---- */

/* The arguments of the constructor of a type. Those of the `_c` functions are counts. */
struct constructor {
    int combiner;
    bool is_large;
    const int *ints;
    const MPI_Aint *addresses, *counts;
    MPI_Datatype old;
};

/* Returns false if the type has no constructor with one old type. */
static bool read_constructor(const MPIR_Datatype *type, struct constructor *c)
{
    MPI_Datatype *types;
    MPI_Aint *addresses, *counts;
    int *ints;

    if (!type->contents || type->contents->nr_types != 1)
        return false;
    MPIR_Datatype_access_contents(type->contents, &ints, &addresses, &counts, &types);
    *c = (struct constructor){.combiner = type->contents->combiner,
                              .is_large = type->contents->nr_counts > 0,
                              .ints = ints,
                              .addresses = addresses,
                              .counts = counts,
                              .old = types[0]};
    return true;
}

static MPI_Aint number_at(const struct constructor *c, int i)
{
    return c->is_large ? c->counts[i] : c->ints[i];
}

/* `count` blocks, `step` bytes apart, of `length` elements of `type` each. */
struct blocks {
    MPI_Aint count, step, length;
    MPI_Datatype type;
};

/* The list that constructors fill. */
struct list {
    struct pcoll_pieces *pieces;
    uint64_t rows; /* added to it; it may have joined them */
};

/* PCOLL_UNSUPPORTED: the rows are short. */
static enum pcoll_result add_row(struct list *list, char *at, MPI_Aint bytes, MPI_Aint step,
                                 MPI_Aint count)
{
    const enum pcoll_result result =
        pcoll_pieces_add_row(list->pieces, at, (size_t)bytes, step, (uint64_t)count);

    if (++list->rows > FEW && list->pieces->bytes / LONG < list->rows)
        return PCOLL_UNSUPPORTED;
    return result;
}

static enum pcoll_result add_element(struct list *list, char *at, MPI_Datatype type);

/* Let what has been added from byte `first` on come `count` times, `step` bytes apart. Returns
 * false if it is more than a row. */
static bool repeat(struct list *list, uint64_t first, MPI_Aint count, MPI_Aint step)
{
    return pcoll_pieces_repeat(list->pieces, first, (uint64_t)count, step);
}

/* Elements that are not contiguous, `step` bytes apart. */
static enum pcoll_result add_elements(struct list *list, char *at, MPI_Aint count, MPI_Aint step,
                                      MPI_Datatype type)
{
    const uint64_t first = list->pieces->bytes;
    enum pcoll_result result = PCOLL_OK;

    for (MPI_Aint i = 0; i < count && result == PCOLL_OK; i++) {
        result = add_element(list, at + i * step, type);
        if (i == 0 && result == PCOLL_OK && repeat(list, first, count, step))
            break;
    }
    return result;
}

static enum pcoll_result add_blocks(struct list *list, char *at, struct blocks blocks)
{
    const uint64_t first = list->pieces->bytes;
    enum pcoll_result result = PCOLL_OK;
    MPI_Aint bytes, true_lb, extent;
    int contiguous;

    MPIDI_Datatype_check_contig_size_lb(blocks.type, blocks.length, contiguous, bytes, true_lb);
    if (contiguous)
        return add_row(list, at + true_lb, bytes, blocks.step, blocks.count);
    MPIR_Datatype_get_extent_macro(blocks.type, extent);
    for (MPI_Aint i = 0; i < blocks.count && result == PCOLL_OK; i++) {
        result = add_elements(list, at + i * blocks.step, blocks.length, extent, blocks.type);
        if (i == 0 && result == PCOLL_OK && repeat(list, first, blocks.count, blocks.step))
            break;
    }
    return result;
}

/* Of dimension d of a subarray, counted from the one whose elements are adjacent. */
enum box_number { SIZE, SUBSIZE, START };
static MPI_Aint box_at(const struct constructor *c, enum box_number which, int d)
{
    const int n = c->ints[0], order = c->is_large ? c->ints[1] : c->ints[1 + 3 * n];
    const int i = (int)which * n + (order == MPI_ORDER_C ? n - 1 - d : d);

    return c->is_large ? c->counts[i] : c->ints[1 + i];
}

/* Dimensions d, .. 0; elements of dimension d are `stride` bytes apart. */
static enum pcoll_result add_box(struct list *list, char *at, const struct constructor *c, int d,
                                 MPI_Aint stride)
{
    const MPI_Aint layers = box_at(c, SUBSIZE, d);
    const uint64_t first = list->pieces->bytes;
    enum pcoll_result result = PCOLL_OK;

    at += box_at(c, START, d) * stride;
    if (d == 0)
        return add_blocks(list, at, (struct blocks){1, 0, layers, c->old});
    for (MPI_Aint i = 0; i < layers && result == PCOLL_OK; i++) {
        result = add_box(list, at + i * stride, c, d - 1, stride / box_at(c, SIZE, d - 1));
        if (i == 0 && result == PCOLL_OK && repeat(list, first, layers, stride))
            break;
    }
    return result;
}

static enum pcoll_result add_subarray(struct list *list, char *at, const struct constructor *c,
                                      MPI_Aint extent)
{
    const int last = c->ints[0] - 1;
    MPI_Aint stride = extent;

    for (int d = 0; d < last; d++)
        stride *= box_at(c, SIZE, d);
    return add_box(list, at, c, last, stride);
}

/* An element of a type that is not contiguous. PCOLL_UNSUPPORTED: it is irregular. */
static enum pcoll_result add_element(struct list *list, char *at, MPI_Datatype type)
{
    struct constructor c;
    MPIR_Datatype *derived;
    MPI_Aint extent;

    MPIR_Datatype_get_ptr(type, derived);
    if (!read_constructor(derived, &c))
        return PCOLL_UNSUPPORTED;
    MPIR_Datatype_get_extent_macro(c.old, extent);
    switch (c.combiner) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_RESIZED:
            return add_blocks(list, at, (struct blocks){1, 0, 1, c.old});
        case MPI_COMBINER_CONTIGUOUS:
            return add_blocks(list, at, (struct blocks){1, 0, number_at(&c, 0), c.old});
        case MPI_COMBINER_VECTOR:
            return add_blocks(list, at,
                              (struct blocks){number_at(&c, 0), number_at(&c, 2) * extent,
                                              number_at(&c, 1), c.old});
        case MPI_COMBINER_HVECTOR:
            return add_blocks(list, at,
                              (struct blocks){number_at(&c, 0),
                                              c.is_large ? c.counts[2] : c.addresses[0],
                                              number_at(&c, 1), c.old});
        case MPI_COMBINER_SUBARRAY:
            return add_subarray(list, at, &c, extent);
        default:
            return PCOLL_UNSUPPORTED;
    }
}

/* ---- by the engine ---- */

/* All elements of a block, each with the pieces iov[n]. */
static enum pcoll_result add_listed(struct MPIDI_PCOLL_data *block, const struct iovec *iov,
                                    MPI_Aint n, MPI_Aint extent)
{
    for (MPI_Aint i = 0; i < block->count; i++)
        for (MPI_Aint k = 0; k < n; k++)
            if (pcoll_pieces_add(&block->pieces,
                                 (char *)block->user + i * extent + (MPI_Aint)iov[k].iov_base,
                                 iov[k].iov_len) != PCOLL_OK)
                return PCOLL_ERR_NOMEM;
    return PCOLL_OK;
}

/* The n pieces of each element, or fewer if some are adjacent. */
static enum pcoll_result list_pieces(struct MPIDI_PCOLL_data *block, const MPIR_Datatype *type,
                                     MPI_Aint n)
{
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    struct iovec *iov = MPL_malloc(n * sizeof(*iov), MPL_MEM_COLL);

    if (iov && MPIR_Typerep_to_iov_offset(NULL, 1, block->type, 0, iov, n, &n) == MPI_SUCCESS)
        result = add_listed(block, iov, n, type->extent);
    MPL_free(iov);
    return result;
}

/* ---- the whole ---- */

static bool are_short(const struct MPIDI_PCOLL_data *block, const MPIR_Datatype *type, MPI_Aint n)
{
    return n <= 0 || (n * block->count > FEW && type->size / n < LONG);
}

/* PCOLL_UNSUPPORTED: the pieces are short and irregular. */
static enum pcoll_result add_pieces(struct MPIDI_PCOLL_data *block)
{
    const struct blocks all = {1, 0, block->count, block->type};
    struct list list = {&block->pieces, 0};
    enum pcoll_result result = add_blocks(&list, block->user, all);
    MPIR_Datatype *type;
    MPI_Aint n;

    if (result != PCOLL_UNSUPPORTED)
        return result;
    MPIR_Datatype_get_ptr(block->type, type);
    n = type->typerep.num_contig_blocks;
    if (are_short(block, type, n))
        return PCOLL_UNSUPPORTED;
    pcoll_pieces_fini(&block->pieces);
    return list_pieces(block, type, n);
}

void MPIDI_PCOLL_data_find_pieces(struct MPIDI_PCOLL_data *block)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(block->type, size);
    if (add_pieces(block) != PCOLL_OK || block->pieces.bytes != (uint64_t)(size * block->count))
        pcoll_pieces_fini(&block->pieces);
}
