/* The blocks that a rank sends or receives in a collective whose blocks differ, as the arguments of
 * MPI calls describe them, and the neighbors of a rank. */

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
    const MPI_Aint *counts, *displs;
    MPI_Aint unit; /* bytes per unit of a displacement */
    MPI_Datatype type;
    const MPI_Datatype *types;
};

struct MPIDI_PCOLL_blocks MPIDI_PCOLL_equal_blocks(const void *buffer, MPI_Aint count,
                                                   MPI_Datatype type);
struct MPIDI_PCOLL_blocks MPIDI_PCOLL_unequal_blocks(const void *buffer, const MPI_Aint counts[],
                                                     const MPI_Aint displs[], MPI_Datatype type);
/* Displacements are in bytes. */
struct MPIDI_PCOLL_blocks MPIDI_PCOLL_typed_blocks(const void *buffer, const MPI_Aint counts[],
                                                   const MPI_Aint displs[],
                                                   const MPI_Datatype types[]);
/* The same block, sent to all. */
struct MPIDI_PCOLL_blocks MPIDI_PCOLL_one_block(const void *buffer, MPI_Aint count,
                                                MPI_Datatype type);

struct MPIDI_PCOLL_block MPIDI_PCOLL_block(const struct MPIDI_PCOLL_blocks *blocks, int i);

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
