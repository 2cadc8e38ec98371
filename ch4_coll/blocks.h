/* The arguments of an MPI call: the blocks that a rank sends and receives. And the neighbors of a
 * rank. */

#ifndef BLOCKS_H_INCLUDED
#define BLOCKS_H_INCLUDED

#include "mpidimpl.h"

/* `count` elements of `type` at `user`. */
struct MPIDI_PCOLL_block {
    char *user;
    MPI_Aint count;
    MPI_Datatype type;
};

/* All blocks of a buffer. A NULL array: the value is the same for all blocks; without
 * displacements they are adjacent. */
struct MPIDI_PCOLL_blocks {
    char *buffer;
    MPI_Aint count;
    const MPI_Aint *counts, *displs; /* bytes where there are types, else extents of the type */
    MPI_Datatype type;
    const MPI_Datatype *types;
    bool is_one; /* one block, the same for all ranks */
};

/* One block for each rank, or for the only peer. */
static inline struct MPIDI_PCOLL_blocks MPIDI_PCOLL_equal(const void *buffer, MPI_Aint count,
                                                          MPI_Datatype type)
{
    return (struct MPIDI_PCOLL_blocks){.buffer = (char *)buffer, .count = count, .type = type};
}

static inline struct MPIDI_PCOLL_blocks MPIDI_PCOLL_unequal(const void *buffer,
                                                            const MPI_Aint counts[],
                                                            const MPI_Aint displs[],
                                                            MPI_Datatype type)
{
    return (struct MPIDI_PCOLL_blocks){
        .buffer = (char *)buffer, .counts = counts, .displs = displs, .type = type};
}

/* Not all arguments are significant on all ranks, so datatypes are not looked at before a block is
 * asked for. Inline, since every promoted call asks, and every init for each edge. */
static inline struct MPIDI_PCOLL_block MPIDI_PCOLL_block(const struct MPIDI_PCOLL_blocks *blocks,
                                                         int i)
{
    const MPI_Aint displ = blocks->displs ? blocks->displs[i] : i * blocks->count;
    MPI_Aint unit = 1;

    if (blocks->is_one)
        unit = 0;
    else if (!blocks->types)
        MPIR_Datatype_get_extent_macro(blocks->type, unit);
    return (struct MPIDI_PCOLL_block){.user = blocks->buffer + displ * unit,
                                      .count = blocks->counts ? blocks->counts[i] : blocks->count,
                                      .type = blocks->types ? blocks->types[i] : blocks->type};
}

/* The arguments of a call, as they are; what the call lacks is 0. */
struct MPIDI_PCOLL_arguments {
    struct MPIDI_PCOLL_blocks send, receive; /* `receive` is also the message of a broadcast, and
                                              * describes the vectors of a reduction */
    MPI_Op op;
    int root;
    MPIR_Comm *comm;
    MPIR_Info *info;
};

/* The neighbors of the calling rank in the order of the blocks, MPI_PROC_NULL included. */
struct MPIDI_PCOLL_neighbors {
    int *sources, *destinations;
    int nsources, ndestinations;
    int flip; /* a block sent in slot x arrives in slot x ^ flip: 1 on a Cartesian communicator,
               * otherwise 0 */
};

int MPIDI_PCOLL_neighbors_init(struct MPIDI_PCOLL_neighbors *neighbors, MPIR_Comm *comm);
void MPIDI_PCOLL_neighbors_fini(struct MPIDI_PCOLL_neighbors *neighbors);

#endif /* BLOCKS_H_INCLUDED */
