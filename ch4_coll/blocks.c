/* Blocks and neighbors; the contract is in blocks.h. */

#include "blocks.h"

struct MPIDI_PCOLL_blocks MPIDI_PCOLL_equal_blocks(const void *buffer, MPI_Aint count,
                                                   MPI_Datatype type)
{
    struct MPIDI_PCOLL_blocks blocks = {.buffer = (char *)buffer, .count = count, .type = type};

    MPIR_Datatype_get_extent_macro(type, blocks.unit);
    return blocks;
}

struct MPIDI_PCOLL_blocks MPIDI_PCOLL_unequal_blocks(const void *buffer, const MPI_Aint counts[],
                                                     const MPI_Aint displs[], MPI_Datatype type)
{
    struct MPIDI_PCOLL_blocks blocks = MPIDI_PCOLL_equal_blocks(buffer, 0, type);

    blocks.counts = counts;
    blocks.displs = displs;
    return blocks;
}

struct MPIDI_PCOLL_blocks MPIDI_PCOLL_typed_blocks(const void *buffer, const MPI_Aint counts[],
                                                   const MPI_Aint displs[],
                                                   const MPI_Datatype types[])
{
    return (struct MPIDI_PCOLL_blocks){
        .buffer = (char *)buffer, .counts = counts, .displs = displs, .unit = 1, .types = types};
}

struct MPIDI_PCOLL_blocks MPIDI_PCOLL_one_block(const void *buffer, MPI_Aint count,
                                                MPI_Datatype type)
{
    return (struct MPIDI_PCOLL_blocks){.buffer = (char *)buffer, .count = count, .type = type};
}

struct MPIDI_PCOLL_block MPIDI_PCOLL_block(const struct MPIDI_PCOLL_blocks *blocks, int i)
{
    MPI_Aint displ = blocks->displs ? blocks->displs[i] : i * blocks->count;

    return (struct MPIDI_PCOLL_block){.user = blocks->buffer + displ * blocks->unit,
                                      .count = blocks->counts ? blocks->counts[i] : blocks->count,
                                      .type = blocks->types ? blocks->types[i] : blocks->type};
}

int MPIDI_PCOLL_neighbors_init(struct MPIDI_PCOLL_neighbors *neighbors, MPIR_Comm *comm)
{
    int weighted, mpi_errno = MPI_SUCCESS;

    neighbors->sources = NULL;
    mpi_errno =
        MPIR_Topo_canon_nhb_count(comm, &neighbors->nsources, &neighbors->ndestinations, &weighted);
    MPIR_ERR_CHECK(mpi_errno);
    neighbors->sources = MPL_malloc(
        (size_t)(neighbors->nsources + neighbors->ndestinations + 1) * sizeof(int), MPL_MEM_COLL);
    MPIR_ERR_CHKANDJUMP(!neighbors->sources, mpi_errno, MPI_ERR_OTHER, "**nomem");
    neighbors->destinations = neighbors->sources + neighbors->nsources;
    neighbors->flip = MPIR_Topology_get(comm)->kind == MPI_CART;
    mpi_errno =
        MPIR_Topo_canon_nhb(comm, neighbors->nsources, neighbors->sources, MPI_UNWEIGHTED,
                            neighbors->ndestinations, neighbors->destinations, MPI_UNWEIGHTED);

fn_fail:
    return mpi_errno;
}

void MPIDI_PCOLL_neighbors_fini(struct MPIDI_PCOLL_neighbors *neighbors)
{
    MPL_free(neighbors->sources);
}
