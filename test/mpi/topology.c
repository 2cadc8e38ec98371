#include "topology.h"

MPI_Comm topology_torus(MPI_Comm comm, int ndims, const int *dims, const int *periods,
                        struct edges *edges_p)
{
    MPI_Comm torus;

    MPI(MPI_Cart_create(comm, ndims, dims, periods, 0, &torus));
    edges_p->nout = edges_p->nin = 2 * ndims;
    for (int slot = 0; slot < 2 * ndims; slot++) {
        int below, above;

        MPI(MPI_Cart_shift(torus, slot / 2, 1, &below, &above));
        edges_p->to[slot] = edges_p->from[slot] = slot % 2 == 0 ? below : above;
        edges_p->slot[slot] = slot ^ 1;
    }
    return torus;
}

static MPI_Comm create_graph(MPI_Comm comm, const struct edges *edges)
{
    MPI_Comm graph;

    MPI(MPI_Dist_graph_create_adjacent(comm, edges->nin, edges->from, MPI_UNWEIGHTED, edges->nout,
                                       edges->to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    return graph;
}

MPI_Comm topology_star(MPI_Comm comm, int center, int is_outward, struct edges *edges_p)
{
    int rank, n;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    n = n < MAX_EDGES ? n : MAX_EDGES;
    edges_p->nout = edges_p->nin = 0;
    for (int other = 0; other < n; other++) {
        const int from = is_outward ? center : other, to = is_outward ? other : center;

        if (from == rank)
            edges_p->to[edges_p->nout++] = to;
        if (to == rank) {
            edges_p->slot[edges_p->nin] = is_outward ? other : 0;
            edges_p->from[edges_p->nin++] = from;
        }
    }
    return create_graph(comm, edges_p);
}

/* All ranks draw the same edges. Each lists the edges that concern it in the order in which they
 * were drawn; for all edges of a pair that order is the same on both sides. */
MPI_Comm topology_graph(MPI_Comm comm, int nedges, int among, uint64_t *state,
                        struct edges *edges_p)
{
    int rank, nout[MAX_EDGES] = {0};

    MPI_Comm_rank(comm, &rank);
    edges_p->nout = edges_p->nin = 0;
    for (int i = 0; i < nedges; i++) {
        int a = (int)(check_random(state) % (uint64_t)among);
        int b = (int)(check_random(state) % (uint64_t)among);

        if (a == rank)
            edges_p->to[edges_p->nout++] = b;
        if (b == rank) {
            edges_p->slot[edges_p->nin] = nout[a];
            edges_p->from[edges_p->nin++] = a;
        }
        nout[a]++;
    }
    return create_graph(comm, edges_p);
}

MPI_Comm topology_any(MPI_Comm comm, uint64_t tag, struct edges *edges_p)
{
    const int periods[3][2] = {{1, 1}, {0, 1}, {1, 0}};
    uint64_t state = tag;
    int n, dims[2] = {0, 0};

    MPI_Comm_size(comm, &n);
    if (tag % 2 == 1)
        return topology_graph(comm, 2 * n + 2 < MAX_EDGES ? 2 * n + 2 : MAX_EDGES, n, &state,
                              edges_p);
    MPI(MPI_Dims_create(n, 2, dims));
    return topology_torus(comm, 2, dims, periods[tag / 2 % 3], edges_p);
}
