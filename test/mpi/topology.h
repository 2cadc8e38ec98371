/* Communicators with a topology, and which block of a neighbor collective matches which (MPI 4.1,
 * sections 8.6 and 8.7):
 *
 *   Cartesian: a block sent in slot x arrives in slot x ^ 1 of the neighbor.
 *   Graph:     the k-th edge to a process matches the k-th edge from it. */

#ifndef TOPOLOGY_H_INCLUDED
#define TOPOLOGY_H_INCLUDED

#include "check.h"

enum { MAX_EDGES = 64, MAX_DIMS = 3 };

/* The edges of this rank, in the order of its blocks; ranks may be MPI_PROC_NULL. */
struct edges {
    int nout, nin;
    int to[MAX_EDGES], from[MAX_EDGES];
    int slot[MAX_EDGES]; /* in edge l is this out edge of from[l] */
};

/* Both are collective over `comm`; ranks keep their order. */
MPI_Comm topology_torus(MPI_Comm comm, int ndims, const int *dims, const int *periods,
                        struct edges *edges_p);
/* Random edges, also multiple ones and from a rank to itself, among the first `among` ranks; at
 * most MAX_EDGES of each. All ranks pass the same random state. */
MPI_Comm topology_graph(MPI_Comm comm, int nedges, int among, uint64_t *state,
                        struct edges *edges_p);
/* One edge from rank `center` to each rank, also to itself; or one from each rank to it. */
MPI_Comm topology_star(MPI_Comm comm, int center, int is_outward, struct edges *edges_p);
/* One of these, of a size that fits the communicator; every kind occurs among the first tags. */
MPI_Comm topology_any(MPI_Comm comm, uint64_t tag, struct edges *edges_p);

#endif /* TOPOLOGY_H_INCLUDED */
