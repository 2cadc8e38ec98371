/* How data that is not contiguous lies in the user's memory, for media that pack and unpack on the
 * way: by the datatype engine, or from a list of its pieces. */

#include "data.h"

#include "alloc_mem.h"
#include "mpich_version.h"

static const struct MPIDI_PCOLL_data *data_of(const struct pcoll_user_layout *layout)
{
    return pcoll_container_of(layout, struct MPIDI_PCOLL_data, layout);
}

const struct MPIDI_PCOLL_data *MPIDI_PCOLL_data_block(const struct MPIDI_PCOLL_data *data,
                                                      uint64_t first)
{
    int low = 0, high = data->nblocks - 1;

    if (data->nblocks == 0)
        return data;
    while (low < high) {
        const int middle = (low + high + 1) / 2;

        if ((uint64_t)data->blocks[middle].first <= first)
            low = middle;
        else
            high = middle - 1;
    }
    return &data->blocks[low];
}

/* The bytes from `first` on that lie in the same block. */
static size_t piece_of(const struct MPIDI_PCOLL_data *block, uint64_t first, size_t bytes)
{
    return MPL_MIN(bytes, (size_t)((uint64_t)(block->first + block->bytes) - first));
}

static enum pcoll_result pack_piece(const struct MPIDI_PCOLL_data *block, MPI_Aint first, void *to,
                                    size_t bytes)
{
    MPI_Aint done;

    if (block->pieces.nrows > 0) {
        pcoll_pieces_pack(&block->pieces, (uint64_t)first, to, bytes);
        return PCOLL_OK;
    }
    if (MPIDI_PCOLL_typerep_pack(block->user, block->count, block->type, first, to, bytes, &done) !=
        MPI_SUCCESS)
        return PCOLL_ERR_SYSTEM;
    return (size_t)done == bytes ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

static enum pcoll_result unpack_piece(const struct MPIDI_PCOLL_data *block, MPI_Aint first,
                                      const void *from, size_t bytes)
{
    MPI_Aint done;

    if (block->pieces.nrows > 0) {
        pcoll_pieces_unpack(&block->pieces, (uint64_t)first, from, bytes);
        return PCOLL_OK;
    }
    if (MPIDI_PCOLL_typerep_unpack(from, bytes, block->user, block->count, block->type, first,
                                   &done) != MPI_SUCCESS)
        return PCOLL_ERR_SYSTEM;
    return (size_t)done == bytes ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

static enum pcoll_result pack_range(const struct pcoll_user_layout *layout, uint64_t first,
                                    void *to, size_t bytes)
{
    enum pcoll_result result = PCOLL_OK;

    for (size_t n; bytes > 0 && result == PCOLL_OK; first += n, bytes -= n) {
        const struct MPIDI_PCOLL_data *block = MPIDI_PCOLL_data_block(data_of(layout), first);

        n = piece_of(block, first, bytes);
        result = pack_piece(block, (MPI_Aint)first - block->first, to, n);
        to = (char *)to + n;
    }
    return result;
}

static enum pcoll_result unpack_range(const struct pcoll_user_layout *layout, uint64_t first,
                                      const void *from, size_t bytes)
{
    enum pcoll_result result = PCOLL_OK;

    for (size_t n; bytes > 0 && result == PCOLL_OK; first += n, bytes -= n) {
        const struct MPIDI_PCOLL_data *block = MPIDI_PCOLL_data_block(data_of(layout), first);

        n = piece_of(block, first, bytes);
        result = unpack_piece(block, (MPI_Aint)first - block->first, from, n);
        from = (const char *)from + n;
    }
    return result;
}

/* In one pass, where all of it lies in one block on either side and both have pieces. */
static enum pcoll_result copy_range(const struct pcoll_user_layout *from, uint64_t first,
                                    const struct pcoll_user_layout *to, uint64_t to_first,
                                    size_t bytes)
{
    const struct MPIDI_PCOLL_data *source = MPIDI_PCOLL_data_block(data_of(from), first);
    const struct MPIDI_PCOLL_data *target = MPIDI_PCOLL_data_block(data_of(to), to_first);

    if (source->pieces.nrows == 0 || piece_of(source, first, bytes) < bytes ||
        target->pieces.nrows == 0 || piece_of(target, to_first, bytes) < bytes)
        return PCOLL_UNSUPPORTED;
    pcoll_pieces_copy(&source->pieces, first - (uint64_t)source->first, &target->pieces,
                      to_first - (uint64_t)target->first, bytes);
    return PCOLL_OK;
}

/* The datatype engine packs and unpacks whole elements of the basic type, if there is only one. */
static MPI_Aint uncut_bytes(MPI_Datatype type)
{
    MPIR_Datatype *derived;

    if (HANDLE_IS_BUILTIN(type))
        return MPIR_Datatype_get_basic_size(type);
    MPIR_Datatype_get_ptr(type, derived);
    return derived->builtin_element_size > 0 ? derived->builtin_element_size : derived->size;
}

static bool divides(MPI_Aint unit, MPI_Aint bytes)
{
    return (unit & (unit - 1)) == 0 ? (bytes & (unit - 1)) == 0 : bytes % unit == 0;
}

bool MPIDI_PCOLL_data_is_border(const struct MPIDI_PCOLL_data *data, uint64_t first)
{
    const struct MPIDI_PCOLL_data *block;

    if (!data->is_packed || first >= (uint64_t)data->bytes)
        return true;
    block = MPIDI_PCOLL_data_block(data, first);
    return divides(uncut_bytes(block->type), (MPI_Aint)first - block->first);
}

static bool may_lay_out(const struct MPIDI_PCOLL_data *data)
{
    return data->is_packed && data->owned && !data->is_copy && !data->spans;
}

/* Returns whether all blocks have pieces. */
static bool find_all_pieces(struct MPIDI_PCOLL_data *data)
{
    struct MPIDI_PCOLL_data *blocks = data->nblocks > 0 ? data->blocks : data;
    bool all = true;

    for (int i = 0; i < MPL_MAX(data->nblocks, 1); i++) {
        if (blocks[i].pieces.nrows == 0)
            MPIDI_PCOLL_data_find_pieces(&blocks[i]);
        all = all && blocks[i].pieces.nrows > 0;
    }
    return all;
}

bool MPIDI_PCOLL_data_can_be_cut(struct MPIDI_PCOLL_data *data)
{
    return may_lay_out(data) && find_all_pieces(data);
}

const struct pcoll_user_layout *MPIDI_PCOLL_data_lay_out(struct MPIDI_PCOLL_data *data)
{
    if (!may_lay_out(data))
        return NULL;
    MPIDI_PCOLL_buffer_put(data->packed);
    data->packed = NULL;
    find_all_pieces(data);
    data->layout = (struct pcoll_user_layout){pack_range, unpack_range, copy_range};
    return &data->layout;
}
