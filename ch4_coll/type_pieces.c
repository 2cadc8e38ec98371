/* The contiguous pieces of user data, in the order in which a datatype lists them: rows of equal
 * pieces straight from the constructors of its type where these are regular, however many pieces
 * there are; otherwise as the datatype engine lists them, one by one. */

#include "pcoll.h"

#include <sys/uio.h>

/* Mean bytes of pieces that are copied one by one. MPICH's engine packs rows of doubles, 64 KiB in
 * all, in 1.3 us whatever their length; piece by piece that takes 1.5 us with rows of 64 bytes, 0.8
 * with rows of 128 or more. */
enum {
    LONG_PIECE = 256,
    FEW_PIECES = 8 /* copied so in any case: a call of the engine takes longer */
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

/* False: the type has no constructor with one old type. */
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

static enum pcoll_result add_element(struct pcoll_pieces *pieces, char *at, MPI_Datatype type);

static enum pcoll_result add_blocks(struct pcoll_pieces *pieces, char *at, struct blocks blocks)
{
    enum pcoll_result result = PCOLL_OK;
    MPI_Aint bytes, true_lb, extent;
    int contiguous;

    MPIDI_Datatype_check_contig_size_lb(blocks.type, blocks.length, contiguous, bytes, true_lb);
    if (contiguous)
        return pcoll_pieces_add_row(pieces, at + true_lb, (size_t)bytes, blocks.step,
                                    (uint64_t)blocks.count);
    MPIR_Datatype_get_extent_macro(blocks.type, extent);
    for (MPI_Aint i = 0; i < blocks.count && result == PCOLL_OK; i++)
        for (MPI_Aint k = 0; k < blocks.length && result == PCOLL_OK; k++)
            result = add_element(pieces, at + i * blocks.step + k * extent, blocks.type);
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
static enum pcoll_result add_box(struct pcoll_pieces *pieces, char *at, const struct constructor *c,
                                 int d, MPI_Aint stride)
{
    const MPI_Aint inner = d > 0 ? stride / box_at(c, SIZE, d - 1) : 0;
    enum pcoll_result result = PCOLL_OK;

    at += box_at(c, START, d) * stride;
    if (d == 0)
        return add_blocks(pieces, at, (struct blocks){1, 0, box_at(c, SUBSIZE, 0), c->old});
    if (d == 1)
        return add_blocks(
            pieces, at + box_at(c, START, 0) * inner,
            (struct blocks){box_at(c, SUBSIZE, 1), stride, box_at(c, SUBSIZE, 0), c->old});
    for (MPI_Aint i = 0; i < box_at(c, SUBSIZE, d) && result == PCOLL_OK; i++)
        result = add_box(pieces, at + i * stride, c, d - 1, inner);
    return result;
}

static enum pcoll_result add_subarray(struct pcoll_pieces *pieces, char *at,
                                      const struct constructor *c, MPI_Aint extent)
{
    const int last = c->ints[0] - 1;
    MPI_Aint stride = extent;

    for (int d = 0; d < last; d++)
        stride *= box_at(c, SIZE, d);
    return add_box(pieces, at, c, last, stride);
}

/* An element of a type that is not contiguous. PCOLL_UNSUPPORTED: it is irregular. */
static enum pcoll_result add_element(struct pcoll_pieces *pieces, char *at, MPI_Datatype type)
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
            return add_blocks(pieces, at, (struct blocks){1, 0, 1, c.old});
        case MPI_COMBINER_CONTIGUOUS:
            return add_blocks(pieces, at, (struct blocks){1, 0, number_at(&c, 0), c.old});
        case MPI_COMBINER_VECTOR:
            return add_blocks(pieces, at,
                              (struct blocks){number_at(&c, 0), number_at(&c, 2) * extent,
                                              number_at(&c, 1), c.old});
        case MPI_COMBINER_HVECTOR:
            return add_blocks(pieces, at,
                              (struct blocks){number_at(&c, 0),
                                              c.is_large ? c.counts[2] : c.addresses[0],
                                              number_at(&c, 1), c.old});
        case MPI_COMBINER_SUBARRAY:
            return add_subarray(pieces, at, &c, extent);
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
    return n <= 0 || (n * block->count > FEW_PIECES && type->size / n < LONG_PIECE);
}

/* PCOLL_UNSUPPORTED: the pieces are short. */
static enum pcoll_result add_pieces(struct MPIDI_PCOLL_data *block)
{
    const struct blocks all = {1, 0, block->count, block->type};
    enum pcoll_result result;
    MPIR_Datatype *type;
    MPI_Aint n;
    int contiguous;

    MPIDI_Datatype_check_contig(block->type, contiguous);
    if (contiguous)
        return add_blocks(&block->pieces, block->user, all);
    MPIR_Datatype_get_ptr(block->type, type);
    n = type->typerep.num_contig_blocks;
    if (are_short(block, type, n))
        return PCOLL_UNSUPPORTED;
    result = add_blocks(&block->pieces, block->user, all);
    if (result != PCOLL_UNSUPPORTED)
        return result;
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
