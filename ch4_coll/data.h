/* The user's data, and the contiguous bytes that a plan works on: data.c, layout.c, type_pieces.c.
 */

#ifndef DATA_H_INCLUDED
#define DATA_H_INCLUDED

#include "mpidimpl.h"

#include "blocks.h"
#include "spans.h"

#include "offload/medium.h"
#include "offload/pieces.h"

/* `count` elements of `type` at `user`, or several blocks of such. If they are not contiguous, they
 * are packed: a buffer takes their place, with the bytes of their data or with spans, unless a
 * medium packs and unpacks on the way. */
struct MPIDI_PCOLL_data {
    void *user;
    MPI_Aint count;
    MPI_Datatype type; /* referenced if is_packed is set */
    MPI_Aint bytes;
    bool is_packed;                        /* false: the data is contiguous or empty */
    void *packed;                          /* that buffer; NULL: none, or not yet */
    bool owned;                            /* packed must be freed */
    bool is_copy;                          /* packed has another purpose, too */
    const struct MPIDI_PCOLL_spans *spans; /* those in `packed`, or NULL */
    struct pcoll_user_layout layout;       /* for that medium */
    struct pcoll_pieces pieces;            /* for the layout, of one block; empty: not listed */
    int nblocks;                           /* 0: there is only one block */
    struct MPIDI_PCOLL_data *blocks;       /* [nblocks], which follow each other */
    MPI_Aint first; /* of one of these: its position among the packed bytes */
};

/* An edge, and where its block is. */
struct MPIDI_PCOLL_edge {
    struct pcoll_edge edge;
    struct MPIDI_PCOLL_block block;
    char *data; /* where its first byte is, without gaps */
};

/* Describe user data; allocates `packed` if `outer` is NULL and the data is not contiguous. `outer`
 * is another, already packed, description that contains these bytes. */
int MPIDI_PCOLL_data_init(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                          MPI_Datatype type, void *outer);

/* As MPIDI_PCOLL_data_init, with spans. */
int MPIDI_PCOLL_data_init_spans(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                                MPI_Datatype type, const struct MPIDI_PCOLL_spans *spans,
                                void *outer);

/* As MPIDI_PCOLL_data_init, with `packed` also for contiguous data. */
int MPIDI_PCOLL_data_init_copy(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                               MPI_Datatype type);

/* Describe the blocks of n edges; sets `data`, `first` and `bytes` of each. They are packed if one
 * of them is not contiguous, if memory far from all of them lies in between, or if `is_copy` is
 * true; only then is there a buffer before it is settled. */
int MPIDI_PCOLL_data_init_blocks(struct MPIDI_PCOLL_data *data, struct MPIDI_PCOLL_edge *edges,
                                 int n, bool is_copy);
void MPIDI_PCOLL_data_fini(struct MPIDI_PCOLL_data *data);

/* The block in which byte `first` of the packed data lies, or the data itself if it is one block.
 */
const struct MPIDI_PCOLL_data *MPIDI_PCOLL_data_block(const struct MPIDI_PCOLL_data *data,
                                                      uint64_t first);

/* The bytes that the plan works on: `packed`, or the user's. */
void *MPIDI_PCOLL_data_address(const struct MPIDI_PCOLL_data *data);

/* Free `packed`, if it has no other purpose, and let the medium pack and unpack; the data must not
 * move from then on. NULL: it cannot, or there is nothing to pack; then settle it. */
const struct pcoll_user_layout *MPIDI_PCOLL_data_lay_out(struct MPIDI_PCOLL_data *data);

/* List, for the layout, the pieces of one block, unless they are short and irregular or memory is
 * scarce; the engine packs then. */
void MPIDI_PCOLL_data_find_pieces(struct MPIDI_PCOLL_data *block);

/* Returns whether packed data may have a layout in which a move may begin and end at any byte; the
 * engine cannot cut the elements of a basic type. */
bool MPIDI_PCOLL_data_can_be_cut(struct MPIDI_PCOLL_data *data);

/* Allocate the buffer of packed data, if that has not been done. */
int MPIDI_PCOLL_data_settle(struct MPIDI_PCOLL_data *data);

/* Returns whether an element begins at byte `first` of the packed data, or the data ends there. */
bool MPIDI_PCOLL_data_is_border(const struct MPIDI_PCOLL_data *data, uint64_t first);

/* Pack the user's data, one block or several. Returns an MPI error code. */
int MPIDI_PCOLL_data_pack_blocks(const struct MPIDI_PCOLL_data *data);

/* Unpack into the user's memory. Returns an MPI error code. */
int MPIDI_PCOLL_data_unpack_blocks(const struct MPIDI_PCOLL_data *data);

/* Pack what is to be packed. Inline, since every start asks. */
static inline int MPIDI_PCOLL_data_pack(const struct MPIDI_PCOLL_data *data)
{
    return data->packed ? MPIDI_PCOLL_data_pack_blocks(data) : MPI_SUCCESS;
}

/* Unpack what is to be unpacked. Inline, since every completion asks. */
static inline int MPIDI_PCOLL_data_unpack(const struct MPIDI_PCOLL_data *data)
{
    return data->packed ? MPIDI_PCOLL_data_unpack_blocks(data) : MPI_SUCCESS;
}

#endif /* DATA_H_INCLUDED */
