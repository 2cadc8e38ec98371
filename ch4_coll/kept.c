/* What a rank keeps of data that is packed at start: a block for the rank itself is copied from
 * type to type, as its bytes go neither to a buffer nor to a network. */

#include "plan.h"

#include "algorithms/plan/user.h"

/* Block `from` of SEND, which may also go to others, is copied to block `to` of RECV. */
struct MPIDI_PCOLL_kept {
    struct MPIDI_PCOLL_data *from, *to;
};

static struct MPIDI_PCOLL_data *block_at(const struct MPIDI_PCOLL_data *data, uint64_t first)
{
    return &data->blocks[MPIDI_PCOLL_data_block(data, first) - data->blocks];
}

static bool is_block(const void *plan, enum pcoll_buffer buffer, uint64_t first, uint64_t bytes)
{
    const struct MPIDI_PCOLL_plan *p = plan;
    const struct MPIDI_PCOLL_data *block = block_at(buffer == PCOLL_SEND ? &p->in : &p->out, first);

    return (uint64_t)block->first == first && (uint64_t)block->bytes == bytes;
}

static void find_pieces(struct MPIDI_PCOLL_data *block)
{
    if (block->pieces.nrows == 0)
        MPIDI_PCOLL_data_find_pieces(block);
}

/* What nobody else reads is not packed, and what nobody else writes is not unpacked. */
static struct MPIDI_PCOLL_kept keep_block(const struct MPIDI_PCOLL_plan *plan,
                                          const struct pcoll_kept *own)
{
    struct MPIDI_PCOLL_kept kept = {block_at(&plan->in, own->from), block_at(&plan->out, own->to)};

    if (!own->is_read)
        kept.from->packed = NULL;
    kept.to->packed = NULL;
    find_pieces(kept.from);
    find_pieces(kept.to);
    return kept;
}

int MPIDI_PCOLL_keep(struct MPIDI_PCOLL_plan *plan, struct pcoll_plan *raw)
{
    struct pcoll_kept *blocks;

    if (plan->in.nblocks == 0 || plan->out.nblocks == 0 || plan->in.is_copy)
        return MPI_SUCCESS;
    blocks = MPL_malloc(plan->out.nblocks * sizeof(*blocks), MPL_MEM_COLL);
    plan->kept = MPL_malloc(plan->out.nblocks * sizeof(*plan->kept), MPL_MEM_COLL);
    if (blocks && plan->kept)
        plan->nkept = pcoll_plan_keep(raw, is_block, plan, blocks, plan->out.nblocks);
    for (int i = 0; i < plan->nkept; i++)
        plan->kept[i] = keep_block(plan, &blocks[i]);
    MPL_free(blocks);
    return blocks && plan->kept ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int MPIDI_PCOLL_copy_kept(const struct MPIDI_PCOLL_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < plan->nkept && mpi_errno == MPI_SUCCESS; i++) {
        const struct MPIDI_PCOLL_data *from = plan->kept[i].from, *to = plan->kept[i].to;

        if (from->pieces.nrows > 0 && to->pieces.nrows > 0)
            pcoll_pieces_copy(&from->pieces, 0, &to->pieces, 0, (size_t)from->bytes);
        else
            mpi_errno =
                MPIR_Localcopy(from->user, from->count, from->type, to->user, to->count, to->type);
    }
    return mpi_errno;
}

void MPIDI_PCOLL_free_kept(struct MPIDI_PCOLL_plan *plan)
{
    MPL_free(plan->kept);
    plan->kept = NULL;
    plan->nkept = 0;
}
