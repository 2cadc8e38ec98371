/* Neighbors; the contract is in blocks.h. */

#include "blocks.h"

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
