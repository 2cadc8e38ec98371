/* What a rank keeps of data that is packed at start: a block for the rank itself is copied from
 * type to type, as its bytes go neither to a buffer nor to a network. */

#include "pcoll.h"

/* Block `from` of SEND, which may also go to others, is copied to block `to` of RECV. */
struct MPIDI_PCOLL_kept {
    struct MPIDI_PCOLL_data *from, *to;
};

/* The part that consists of these bytes of the packed data; NULL: there is none. */
static struct MPIDI_PCOLL_data *whole_part(const struct MPIDI_PCOLL_data *data, uint64_t first,
                                           uint64_t bytes)
{
    const struct MPIDI_PCOLL_data *part = MPIDI_PCOLL_data_part(data, first);

    return (uint64_t)part->first == first && (uint64_t)part->bytes == bytes
               ? &data->parts[part - data->parts]
               : NULL;
}

static bool is_own_copy(const struct pcoll_entry *entry)
{
    return entry->op == PCOLL_OP_COPY && entry->bytes > 0 && entry->trigger == PCOLL_NONE &&
           entry->done == PCOLL_NONE && entry->peer_counter == PCOLL_NONE &&
           entry->local.buffer == PCOLL_SEND && entry->remote.buffer == PCOLL_RECV;
}

/* Some entry that is left reads a byte of it. */
static bool is_read(const struct pcoll_plan *raw, const struct MPIDI_PCOLL_data *part)
{
    const uint64_t first = (uint64_t)part->first, end = first + (uint64_t)part->bytes;

    for (int i = 0; i < raw->nentries; i++) {
        const struct pcoll_entry *entry = &raw->entries[i];
        const struct pcoll_place *from = entry->op == PCOLL_OP_GET ? &entry->remote : &entry->local;

        if (pcoll_entry_has_data(entry) && from->buffer == PCOLL_SEND && from->offset < end &&
            from->offset + entry->bytes > first)
            return true;
    }
    return false;
}

/* Take the copy out of all phases. */
static void take_out(struct pcoll_plan *raw, const struct MPIDI_PCOLL_kept *kept)
{
    for (int i = 0; i < raw->nentries; i++) {
        struct pcoll_entry *entry = &raw->entries[i];

        if (is_own_copy(entry) && entry->local.offset == (uint64_t)kept->from->first &&
            entry->remote.offset == (uint64_t)kept->to->first)
            entry->bytes = 0;
    }
}

/* The copies of the first phase, which are those of all, between whole blocks; each has a target of
 * its own. */
static void find_kept(struct MPIDI_PCOLL_plan *plan, const struct pcoll_plan *raw)
{
    for (int i = 0; i < raw->phases[0].count; i++) {
        const struct pcoll_entry *entry = &raw->entries[raw->phases[0].first + i];
        struct MPIDI_PCOLL_kept kept;

        if (!is_own_copy(entry))
            continue;
        kept.from = whole_part(&plan->in, entry->local.offset, entry->bytes);
        kept.to = whole_part(&plan->out, entry->remote.offset, entry->bytes);
        if (kept.from && kept.to)
            plan->kept[plan->nkept++] = kept;
    }
}

static void find_pieces(struct MPIDI_PCOLL_data *part)
{
    if (part->pieces.nrows == 0)
        MPIDI_PCOLL_data_find_pieces(part);
}

int MPIDI_PCOLL_keep(struct MPIDI_PCOLL_plan *plan, struct pcoll_plan *raw)
{
    if (plan->in.nparts == 0 || plan->out.nparts == 0 || plan->in.is_copy)
        return MPI_SUCCESS;
    plan->kept = MPL_malloc(plan->out.nparts * sizeof(*plan->kept), MPL_MEM_COLL);
    if (!plan->kept)
        return MPI_ERR_NO_MEM;
    find_kept(plan, raw);
    for (int i = 0; i < plan->nkept; i++)
        take_out(raw, &plan->kept[i]);
    for (int i = 0; i < plan->nkept; i++) {
        const struct MPIDI_PCOLL_kept *kept = &plan->kept[i];

        if (!is_read(raw, kept->from))
            kept->from->packed = NULL;
        kept->to->packed = NULL;
        find_pieces(kept->from);
        find_pieces(kept->to);
    }
    return MPI_SUCCESS;
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

void MPIDI_PCOLL_forget_kept(struct MPIDI_PCOLL_plan *plan)
{
    MPL_free(plan->kept);
    plan->kept = NULL;
    plan->nkept = 0;
}
