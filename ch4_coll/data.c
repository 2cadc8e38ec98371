/* User data as contiguous bytes. */

#include "data.h"

#include "alloc_mem.h"
#include "mpich_version.h"

int MPIDI_PCOLL_data_init(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                          MPI_Datatype type, void *outer)
{
    int contiguous, mpi_errno = MPI_SUCCESS;
    MPI_Aint true_lb;

    MPIDI_Datatype_check_contig_size_lb(type, count, contiguous, data->bytes, true_lb);
    data->count = count;
    data->type = type;
    data->is_packed = false;
    data->packed = NULL;
    data->owned = false;
    data->is_copy = false;
    data->nblocks = 0;
    data->pieces = (struct pcoll_pieces){0};
    data->spans = NULL;
    data->user = user;
    if (data->bytes == 0)
        goto fn_exit;
    if (contiguous && !outer) {
        data->user = (char *)user + true_lb;
        goto fn_exit;
    }
    data->packed = outer ? outer : MPIDI_PCOLL_buffer_get(data->bytes, false);
    MPIR_ERR_CHKANDJUMP(!data->packed, mpi_errno, MPI_ERR_OTHER, "**nomem");
    data->is_packed = true;
    data->owned = !outer;
    MPIR_Datatype_add_ref_if_not_builtin(type);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* Gaps that nobody fills travel, too: they are zeros, so that checkers of memory have no reason to
 * complain. */
int MPIDI_PCOLL_data_init_spans(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                                MPI_Datatype type, const struct MPIDI_PCOLL_spans *spans,
                                void *outer)
{
    int mpi_errno = MPI_SUCCESS;

    *data = (struct MPIDI_PCOLL_data){.user = user,
                                      .count = count,
                                      .type = type,
                                      .bytes = count * spans->unit,
                                      .owned = !outer,
                                      .spans = spans};
    if (data->bytes == 0)
        goto fn_exit;
    data->packed = outer ? outer : MPIDI_PCOLL_buffer_get(data->bytes, true);
    MPIR_ERR_CHKANDJUMP(!data->packed, mpi_errno, MPI_ERR_OTHER, "**nomem");
    data->is_packed = true;
    MPIR_Datatype_add_ref_if_not_builtin(type);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIDI_PCOLL_data_init_copy(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                               MPI_Datatype type)
{
    int mpi_errno = MPIDI_PCOLL_data_init(data, user, count, type, NULL);
    MPIR_ERR_CHECK(mpi_errno);

    if (data->is_packed)
        data->is_copy = true;
    if (data->bytes == 0 || data->is_packed)
        goto fn_exit;
    data->user = user;
    data->packed = MPIDI_PCOLL_buffer_get(data->bytes, false);
    MPIR_ERR_CHKANDJUMP(!data->packed, mpi_errno, MPI_ERR_OTHER, "**nomem");
    data->is_packed = true;
    data->owned = true;
    data->is_copy = true;
    MPIR_Datatype_add_ref_if_not_builtin(type);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* ---- several blocks ---- */

/* What the blocks take together. */
struct extent {
    char *low, *high; /* of those that are not empty */
    MPI_Aint bytes;   /* blocks that are the same count once */
    bool contiguous;  /* each of them */
};

static bool is_same_block(const struct MPIDI_PCOLL_block *a, const struct MPIDI_PCOLL_block *b)
{
    return a->user == b->user && a->count == b->count && a->type == b->type;
}

/* Sets `data` and `bytes` of each edge, and `first` to its position among packed blocks. */
static struct extent measure(struct MPIDI_PCOLL_edge *edges, int n)
{
    struct extent all = {.contiguous = true};

    for (int i = 0; i < n; i++) {
        struct MPIDI_PCOLL_block *block = &edges[i].block;
        MPI_Aint bytes, true_lb;
        int contiguous;

        MPIDI_Datatype_check_contig_size_lb(block->type, block->count, contiguous, bytes, true_lb);
        edges[i].edge.bytes = (uint64_t)bytes;
        edges[i].edge.first = (uint64_t)all.bytes;
        edges[i].data = block->user + true_lb;
        if (bytes == 0)
            continue;
        if (i > 0 && is_same_block(block, &edges[i - 1].block)) {
            edges[i].edge.first = edges[i - 1].edge.first;
            continue;
        }
        if (all.bytes == 0 || edges[i].data < all.low)
            all.low = edges[i].data;
        if (all.bytes == 0 || edges[i].data + bytes > all.high)
            all.high = edges[i].data + bytes;
        all.bytes += bytes;
        all.contiguous = all.contiguous && contiguous;
    }
    return all;
}

/* Memory between the blocks is registered with them, so there should not be much. */
static bool is_near(const struct extent *all)
{
    enum { PAGES = 64 << 10 };

    return all->high - all->low <= 2 * all->bytes + PAGES;
}

/* The positions of blocks that stay where they are. */
static void use_in_place(struct MPIDI_PCOLL_edge *edges, int n, char *low)
{
    for (int i = 0; i < n; i++)
        edges[i].edge.first = edges[i].edge.bytes > 0 ? (uint64_t)(edges[i].data - low) : 0;
}

/* One of several blocks, settled with the others. */
static void init_block(struct MPIDI_PCOLL_data *data, const struct MPIDI_PCOLL_edge *edge)
{
    const struct MPIDI_PCOLL_block *block = &edge->block;

    *data = (struct MPIDI_PCOLL_data){
        .user = block->user,
        .count = block->count,
        .type = block->type,
        .bytes = (MPI_Aint)edge->edge.bytes,
        .is_packed = true,
        .first = (MPI_Aint)edge->edge.first,
    };
    MPIR_Datatype_add_ref_if_not_builtin(block->type);
}

static int use_packed(struct MPIDI_PCOLL_data *data, const struct MPIDI_PCOLL_edge *edges, int n)
{
    int mpi_errno = MPI_SUCCESS;

    data->blocks = MPL_malloc(n * sizeof(*data->blocks), MPL_MEM_COLL);
    MPIR_ERR_CHKANDJUMP(!data->blocks, mpi_errno, MPI_ERR_OTHER, "**nomem");
    data->is_packed = true;
    data->owned = true;
    for (int i = 0; i < n; i++)
        if (edges[i].edge.bytes > 0 &&
            (i == 0 || !is_same_block(&edges[i].block, &edges[i - 1].block)))
            init_block(&data->blocks[data->nblocks++], &edges[i]);
    if (data->is_copy)
        mpi_errno = MPIDI_PCOLL_data_settle(data);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIDI_PCOLL_data_init_blocks(struct MPIDI_PCOLL_data *data, struct MPIDI_PCOLL_edge *edges,
                                 int n, bool is_copy)
{
    const struct extent all = measure(edges, n);

    *data = (struct MPIDI_PCOLL_data){.user = all.low, .bytes = all.bytes, .is_copy = is_copy};
    if (all.bytes == 0)
        return MPI_SUCCESS;
    if (is_copy || !all.contiguous || !is_near(&all))
        return use_packed(data, edges, n);
    use_in_place(edges, n, all.low);
    return MPI_SUCCESS;
}

/* ---- all data ---- */

int MPIDI_PCOLL_data_settle(struct MPIDI_PCOLL_data *data)
{
    int mpi_errno = MPI_SUCCESS;

    if (!data->is_packed)
        goto fn_exit;
    if (!data->packed)
        data->packed = MPIDI_PCOLL_buffer_get(data->bytes, false);
    MPIR_ERR_CHKANDJUMP(!data->packed, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < data->nblocks; i++)
        data->blocks[i].packed = (char *)data->packed + data->blocks[i].first;

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

void MPIDI_PCOLL_data_fini(struct MPIDI_PCOLL_data *data)
{
    if (!data->is_packed)
        return;
    for (int i = 0; i < data->nblocks; i++)
        MPIDI_PCOLL_data_fini(&data->blocks[i]);
    pcoll_pieces_fini(&data->pieces);
    if (data->nblocks > 0)
        MPL_free(data->blocks);
    else
        MPIR_Datatype_release_if_not_builtin(data->type);
    if (data->owned)
        MPIDI_PCOLL_buffer_put(data->packed);
    data->packed = NULL;
    data->is_packed = false;
}

void *MPIDI_PCOLL_data_address(const struct MPIDI_PCOLL_data *data)
{
    return data->packed ? data->packed : data->user;
}

int MPIDI_PCOLL_data_pack_blocks(const struct MPIDI_PCOLL_data *data)
{
    MPI_Aint packed = 0;
    int mpi_errno = MPI_SUCCESS;

    if (data->nblocks > 0) {
        for (int i = 0; i < data->nblocks && mpi_errno == MPI_SUCCESS; i++)
            mpi_errno = MPIDI_PCOLL_data_pack(&data->blocks[i]);
        goto fn_exit;
    }
    if (data->spans) {
        MPIDI_PCOLL_spans_fill(data->spans, data->packed, data->user, data->count);
        goto fn_exit;
    }
    mpi_errno = MPIDI_PCOLL_typerep_pack(data->user, data->count, data->type, 0, data->packed,
                                         data->bytes, &packed);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(packed != data->bytes, mpi_errno, MPI_ERR_TYPE, "**dtypemismatch");

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIDI_PCOLL_data_unpack_blocks(const struct MPIDI_PCOLL_data *data)
{
    MPI_Aint unpacked = 0;
    int mpi_errno = MPI_SUCCESS;

    if (data->nblocks > 0) {
        for (int i = 0; i < data->nblocks && mpi_errno == MPI_SUCCESS; i++)
            mpi_errno = MPIDI_PCOLL_data_unpack(&data->blocks[i]);
        goto fn_exit;
    }
    if (data->spans) {
        MPIDI_PCOLL_spans_empty(data->spans, data->packed, data->user, data->count);
        goto fn_exit;
    }
    mpi_errno = MPIDI_PCOLL_typerep_unpack(data->packed, data->bytes, data->user, data->count,
                                           data->type, 0, &unpacked);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(unpacked != data->bytes, mpi_errno, MPI_ERR_TYPE, "**dtypemismatch");

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}
