/* Which block of a neighbor collective matches which: tori with dimensions of 1 and 2 processes,
 * open boundaries, and graphs with multiple edges and self-loops (MPI 4.1, sections 8.6 and 8.7).
 *
 *   Cartesian: a block sent in slot x arrives in slot x ^ 1 of the neighbor.
 *   Graph:     the k-th edge to a process matches the k-th edge from it.
 *
 * With int counts, MPICH 4.0.2's binding of neighbor_alltoallw (not the collective below it)
 * confuses in- and outdegree when it widens the counts, so unequal degrees are tested with _c.
 *
 *   -times=N (5)   starts of each request */

#include "check.h"

enum { MAX_EDGES = 64, MAX_DIMS = 3, NOTHING = -1 };

enum kind { ALLTOALL, ALLTOALLV, ALLTOALLW, ALLGATHER, ALLGATHERV, KINDS };
static const char *const names[KINDS] = {"alltoall", "alltoallv", "alltoallw", "allgather",
                                         "allgatherv"};

/* What this rank sends and receives in each slot: the number of an edge, or NOTHING. */
struct edges {
    int nout, nin;
    int out[MAX_EDGES], in[MAX_EDGES];
    int from[MAX_EDGES]; /* in[l] comes from this rank */
};

struct call {
    enum kind kind;
    struct edges edges;
    MPI_Comm comm;
    int step;
    int max; /* number of ints in the longest block */
    int *send, *receive;
    int scounts[MAX_EDGES], rcounts[MAX_EDGES], sdispls[MAX_EDGES], rdispls[MAX_EDGES];
    MPI_Aint sbytes[MAX_EDGES], rbytes[MAX_EDGES];
    MPI_Count scounts_c[MAX_EDGES], rcounts_c[MAX_EDGES];
    MPI_Datatype stypes[MAX_EDGES], rtypes[MAX_EDGES], pair;
    MPI_Request request;
};

static int gathers(const struct call *c)
{
    return c->kind == ALLGATHER || c->kind == ALLGATHERV;
}

/* Number of ints in an edge's block; an allgatherv has one block for all edges of a rank. */
static int length(const struct call *c, int id)
{
    if (id == NOTHING)
        return 2;
    if (c->kind == ALLTOALL || gathers(c))
        return c->max;
    return id % 4 * c->max / 4 * 2;
}

static size_t block_bytes(const struct call *c, int id)
{
    return (size_t)length(c, id) * sizeof(int);
}

/* Displacements with gaps and in decreasing order, if the collective takes displacements. */
static int place(const struct call *c, int i, int n)
{
    if (c->kind == ALLTOALL || c->kind == ALLGATHER)
        return i * c->max;
    return (n - 1 - i) * (2 * c->max + 2);
}

static uint64_t key(const struct call *c, int id)
{
    return check_key(77, (uint64_t)c->step, id);
}

/* ---- the five calls ---- */

/* One side may use pairs where the other uses ints. */
static void choose_types(struct call *c)
{
    for (int k = 0; k < c->edges.nout; k++) {
        int two = c->edges.out[k] % 2 == 0;

        c->sbytes[k] = c->sdispls[k] * (MPI_Aint)sizeof(int);
        c->stypes[k] = two ? c->pair : MPI_INT;
        c->scounts[k] /= c->kind == ALLTOALLW && two ? 2 : 1;
        c->scounts_c[k] = c->scounts[k];
    }
    for (int k = 0; k < c->edges.nin; k++) {
        int two = c->edges.in[k] % 3 == 0;

        c->rbytes[k] = c->rdispls[k] * (MPI_Aint)sizeof(int);
        c->rtypes[k] = two ? c->pair : MPI_INT;
        c->rcounts[k] /= c->kind == ALLTOALLW && two ? 2 : 1;
        c->rcounts_c[k] = c->rcounts[k];
    }
}

static void describe(struct call *c)
{
    for (int k = 0; k < c->edges.nout; k++) {
        c->scounts[k] = length(c, c->edges.out[k]);
        c->sdispls[k] = gathers(c) ? 0 : place(c, k, c->edges.nout);
    }
    for (int k = 0; k < c->edges.nin; k++) {
        c->rcounts[k] = length(c, c->edges.in[k]);
        c->rdispls[k] = place(c, k, c->edges.nin);
    }
    choose_types(c);
}

static int init(struct call *c)
{
    switch (c->kind) {
        case ALLTOALL:
            return MPI_Neighbor_alltoall_init(c->send, c->max, MPI_INT, c->receive, c->max, MPI_INT,
                                              c->comm, MPI_INFO_NULL, &c->request);
        case ALLTOALLV:
            return MPI_Neighbor_alltoallv_init(c->send, c->scounts, c->sdispls, MPI_INT, c->receive,
                                               c->rcounts, c->rdispls, MPI_INT, c->comm,
                                               MPI_INFO_NULL, &c->request);
        case ALLTOALLW:
            if (c->edges.nin != c->edges.nout) /* see the head of this file */
                return MPI_Neighbor_alltoallw_init_c(c->send, c->scounts_c, c->sbytes, c->stypes,
                                                     c->receive, c->rcounts_c, c->rbytes, c->rtypes,
                                                     c->comm, MPI_INFO_NULL, &c->request);
            return MPI_Neighbor_alltoallw_init(c->send, c->scounts, c->sbytes, c->stypes,
                                               c->receive, c->rcounts, c->rbytes, c->rtypes,
                                               c->comm, MPI_INFO_NULL, &c->request);
        case ALLGATHER:
            return MPI_Neighbor_allgather_init(c->send, c->max, MPI_INT, c->receive, c->max,
                                               MPI_INT, c->comm, MPI_INFO_NULL, &c->request);
        default:
            return MPI_Neighbor_allgatherv_init(c->send, c->max, MPI_INT, c->receive, c->rcounts,
                                                c->rdispls, MPI_INT, c->comm, MPI_INFO_NULL,
                                                &c->request);
    }
}

/* ---- data ---- */

/* A block that belongs to no edge keeps its contents. */
static uint64_t expected(const struct call *c, int l)
{
    if (c->edges.in[l] == NOTHING)
        return key(c, 1000);
    return key(c, gathers(c) ? 2000 + c->edges.from[l] : c->edges.in[l]);
}

static void fill(struct call *c, size_t bytes)
{
    check_poison(c->receive, bytes);
    for (int l = 0; l < c->edges.nin; l++)
        if (c->edges.in[l] == NOTHING)
            check_fill(c->receive + c->rdispls[l], block_bytes(c, NOTHING), key(c, 1000));
    if (gathers(c))
        check_fill(c->send, block_bytes(c, 0), key(c, 2000 + check.rank));
    for (int k = 0; k < c->edges.nout && !gathers(c); k++)
        if (c->edges.out[k] != NOTHING)
            check_fill(c->send + c->sdispls[k], block_bytes(c, c->edges.out[k]),
                       key(c, c->edges.out[k]));
}

static void verify(const struct call *c)
{
    for (int l = 0; l < c->edges.nin; l++)
        check_compare(c->receive + c->rdispls[l], block_bytes(c, c->edges.in[l]), expected(c, l));
}

static void run(struct call *c, const char *where)
{
    size_t bytes = (size_t)(MAX_EDGES * (2 * c->max + 2)) * sizeof(int);

    check_phase("neighbor_%s, %d ints, %s", names[c->kind], c->max, where);
    c->send = check_alloc(bytes);
    c->receive = check_alloc(bytes);
    describe(c);
    MPI(init(c));
    for (c->step = 1; c->step <= check_number("times", 5); c->step++) {
        fill(c, bytes);
        check_delay();
        MPI(MPI_Start(&c->request));
        MPI(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
        verify(c);
    }
    MPI(MPI_Request_free(&c->request));
    check_free(c->send);
    check_free(c->receive);
}

static void run_all(struct call *c, const char *where)
{
    static const int lengths[] = {2, 20, 6000};

    MPI(MPI_Type_contiguous(2, MPI_INT, &c->pair));
    MPI(MPI_Type_commit(&c->pair));
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 3; i++) {
            c->kind = (enum kind)kind;
            c->max = lengths[i];
            run(c, where);
        }
    MPI(MPI_Type_free(&c->pair));
}

/* ---- Cartesian ---- */

static void connect_torus(struct call *c, int ndims)
{
    struct edges *edges = &c->edges;

    edges->nout = edges->nin = 2 * ndims;
    for (int d = 0; d < ndims; d++) {
        MPI(MPI_Cart_shift(c->comm, d, 1, &edges->from[2 * d], &edges->from[2 * d + 1]));
        for (int slot = 2 * d; slot < 2 * d + 2; slot++) {
            int peer = edges->from[slot];

            edges->out[slot] = peer == MPI_PROC_NULL ? NOTHING : check.rank * 2 * ndims + slot;
            edges->in[slot] = peer == MPI_PROC_NULL ? NOTHING : peer * 2 * ndims + (slot ^ 1);
        }
    }
}

static void torus(int ndims, const int *dims, const int *periods)
{
    struct call c = {.comm = MPI_COMM_NULL};
    char where[80];

    MPI(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &c.comm));
    snprintf(where, sizeof(where), "torus %d x %d x %d, periodic %d %d %d", dims[0],
             ndims > 1 ? dims[1] : 1, ndims > 2 ? dims[2] : 1, periods[0], periods[1], periods[2]);
    connect_torus(&c, ndims);
    run_all(&c, where);
    MPI(MPI_Comm_free(&c.comm));
}

static void tori(void)
{
    static const int periodic[] = {1, 1, 1}, open[] = {0, 1, 0};

    for (int ndims = 1; ndims <= MAX_DIMS; ndims++)
        for (int where = 0; where < ndims; where++) {
            int dims[MAX_DIMS] = {1, 1, 1};

            dims[where] = check.size;
            if (check.size % 2 == 0 && ndims > 1) {
                dims[where] = check.size / 2;
                dims[(where + 1) % ndims] = 2;
            }
            torus(ndims, dims, periodic);
            torus(ndims, dims, open);
        }
}

/* ---- graphs ---- */

/* All ranks draw the same edges. Each lists the edges that concern it in the order in which they
 * were drawn; for all edges of a pair that order is the same on both sides. */
static void graph(int nedges, int among)
{
    struct call c = {.comm = MPI_COMM_NULL};
    int to[MAX_EDGES];
    char where[80];

    for (int id = 0; id < nedges; id++) {
        int a = (int)(check_random(&check.shared) % (uint64_t)among);
        int b = (int)(check_random(&check.shared) % (uint64_t)among);

        if (a == check.rank) {
            to[c.edges.nout] = b;
            c.edges.out[c.edges.nout++] = id;
        }
        if (b == check.rank) {
            c.edges.from[c.edges.nin] = a;
            c.edges.in[c.edges.nin++] = id;
        }
    }
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, c.edges.nin, c.edges.from, MPI_UNWEIGHTED,
                                       c.edges.nout, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &c.comm));
    snprintf(where, sizeof(where), "graph of %d edges among %d ranks", nedges, among);
    run_all(&c, where);
    MPI(MPI_Comm_free(&c.comm));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    tori();
    graph(3, check.size);
    graph(12, check.size);
    graph(40, check.size > 1 ? 2 : 1);
    graph(60, check.size);
    return check_done();
}
