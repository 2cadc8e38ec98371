/* Neighbor collectives on degenerate topologies: tori with dimensions of 1 and 2 processes, open
 * boundaries, and graphs with multiple edges and self-loops; halo exchanges of strided faces; and
 * absolute addresses.
 *
 * Stock MPICH 4.0.2 delivers wrong data here, also in its blocking and nonblocking calls (the head
 * of ch4_coll/fallback_neighbor.c says why); persistent calls must be right on both paths.
 *
 *   -times=N (4)   starts of each request */

#include "trial.h"

static int times;

/* ---- any topology ---- */

static void exchange(MPI_Comm comm, const struct edges *edges, const char *where)
{
    static const size_t sizes[] = {8, 200, 24000};

    for (int kind = TRIAL_NEIGHBOR_ALLGATHER; kind < TRIAL_KINDS; kind++)
        for (int i = 0; i < 3; i++) {
            struct trial t;

            check_phase("%s, %zu bytes, %s", trial_name((enum trial_kind)kind), sizes[i], where);
            trial_init_on(&t, (enum trial_kind)kind, sizes[i], 0, sizes[i], comm, edges,
                          MPI_INFO_NULL);
            trial_run(&t, times);
            trial_free(&t);
        }
}

static void graph(int nedges, int among)
{
    struct edges edges;
    MPI_Comm comm = topology_graph(MPI_COMM_WORLD, nedges, among, &check.shared, &edges);
    char where[80];

    snprintf(where, sizeof(where), "graph of %d edges among %d ranks", nedges, among);
    exchange(comm, &edges, where);
    MPI(MPI_Comm_free(&comm));
}

/* ---- halos ---- */

enum { MAX_CELLS = 128 };

/* A block of cells with a layer of ghosts around it. Ranks pad their rows differently, so the types
 * of a face differ between its ends. */
struct halo {
    int ndims;
    int cells[MAX_DIMS], sizes[MAX_DIMS];
    struct edges edges;
    int *array;
    size_t n;
    struct call call;
    MPI_Request request;
};

static const int ghost = 0x5EED;

static int cell_value(int step, int rank, const int *at)
{
    return ((step * 64 + rank) * MAX_CELLS + at[0]) * MAX_CELLS * MAX_CELLS + at[1] * MAX_CELLS +
           at[2];
}

static void make_face(const struct halo *h, int dim, int layer, struct block *block)
{
    int subsizes[MAX_DIMS], starts[MAX_DIMS];

    for (int d = 0; d < h->ndims; d++) {
        subsizes[d] = d == dim ? 1 : h->cells[d];
        starts[d] = d == dim ? layer : 1;
    }
    *block = (struct block){0, 1, MPI_DATATYPE_NULL};
    MPI(MPI_Type_create_subarray(h->ndims, h->sizes, subsizes, starts, MPI_ORDER_C, MPI_INT,
                                 &block->type));
    MPI(MPI_Type_commit(&block->type));
}

static void halo_init(struct halo *h, MPI_Comm comm)
{
    const int nslots = 2 * h->ndims;
    struct block sent[2 * MAX_DIMS], received[2 * MAX_DIMS];

    h->n = 1;
    for (int d = 0; d < h->ndims; d++) {
        h->sizes[d] = h->cells[d] + 2 + (check.rank + d) % 3;
        h->n *= (size_t)h->sizes[d];
    }
    h->array = check_alloc(h->n * sizeof(int));
    for (int slot = 0; slot < nslots; slot++) {
        const int dim = slot / 2, last = h->cells[dim];

        make_face(h, dim, slot % 2 ? last : 1, &sent[slot]);
        make_face(h, dim, slot % 2 ? last + 1 : 0, &received[slot]);
    }
    h->call = (struct call){.coll = COLL_NEIGHBOR_ALLTOALLW,
                            .send = {h->array, nslots, sent},
                            .receive = {h->array, nslots, received},
                            .comm = comm,
                            .info = MPI_INFO_NULL};
    MPI(call_init(&h->call, &h->request));
    for (int slot = 0; slot < nslots; slot++) {
        MPI(MPI_Type_free(&sent[slot].type));
        MPI(MPI_Type_free(&received[slot].type));
    }
}

static void position(const struct halo *h, size_t i, int *at)
{
    at[0] = at[1] = at[2] = 0;
    for (int d = h->ndims - 1; d >= 0; d--) {
        at[d] = (int)(i % (size_t)h->sizes[d]);
        i /= (size_t)h->sizes[d];
    }
}

/* What a place must hold: a cell its own value; a ghost beside one face the value of the cell that
 * it stands for; edges, corners and padding what they held. */
static int halo_value(const struct halo *h, int step, size_t i)
{
    int at[MAX_DIMS], slot = -1, outside = 0;

    position(h, i, at);
    for (int d = 0; d < h->ndims; d++)
        if (at[d] == 0 || at[d] > h->cells[d]) {
            outside += at[d] > h->cells[d] + 1 ? 2 : 1;
            slot = 2 * d + (at[d] != 0);
        }
    if (outside == 0)
        return cell_value(step, check.rank, at);
    if (outside > 1 || h->edges.from[slot] == MPI_PROC_NULL)
        return ghost;
    at[slot / 2] = slot % 2 ? 1 : h->cells[slot / 2];
    return cell_value(step, h->edges.from[slot], at);
}

static void halo_start(struct halo *h, int step)
{
    int at[MAX_DIMS], wrong = 0;

    for (size_t i = 0; i < h->n; i++) {
        int inside = 1;

        position(h, i, at);
        for (int d = 0; d < h->ndims; d++)
            inside &= at[d] > 0 && at[d] <= h->cells[d];
        h->array[i] = inside ? cell_value(step, check.rank, at) : ghost;
    }
    check_delay();
    MPI(MPI_Start(&h->request));
    MPI(MPI_Wait(&h->request, MPI_STATUS_IGNORE));
    for (size_t i = 0; i < h->n; i++)
        wrong += h->array[i] != halo_value(h, step, i);
    if (wrong)
        check_fail(__FILE__, __LINE__, "start %d: %d of %zu places are wrong", step, wrong, h->n);
}

static void halo(MPI_Comm comm, int ndims, const struct edges *edges, const int *cells)
{
    struct halo h = {.ndims = ndims, .edges = *edges};

    check_phase("halo, %d dimensions, %d cells", ndims, cells[0]);
    memcpy(h.cells, cells, sizeof(h.cells));
    halo_init(&h, comm);
    for (int step = 1; step <= times; step++)
        halo_start(&h, step);
    MPI(MPI_Request_free(&h.request));
    call_free(&h.call);
    check_free(h.array);
}

/* ---- tori ---- */

static void torus(int ndims, const int *dims, const int *periods)
{
    struct edges edges;
    MPI_Comm comm = topology_torus(MPI_COMM_WORLD, ndims, dims, periods, &edges);
    char where[80];

    snprintf(where, sizeof(where), "torus %d x %d x %d, periodic %d %d %d", dims[0],
             ndims > 1 ? dims[1] : 1, ndims > 2 ? dims[2] : 1, periods[0], periods[1], periods[2]);
    exchange(comm, &edges, where);
    halo(comm, ndims, &edges, (const int[]){4, 3, 2});
    halo(comm, ndims, &edges, (const int[]){5, 90, 122}); /* long rows are copied one by one */
    if (ndims == MAX_DIMS)
        halo(comm, ndims, &edges, (const int[]){30, 29, 28});
    MPI(MPI_Comm_free(&comm));
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

/* ---- absolute addresses ---- */

enum { ABSOLUTE_INTS = 700 };

/* MPI_BOTTOM, and each block in memory of its own. */
static void absolute_addresses(void)
{
    struct edges edges;
    MPI_Comm comm = topology_graph(MPI_COMM_WORLD, 10, check.size, &check.shared, &edges);
    struct block sent[MAX_EDGES + 1] = {{0, 0, MPI_INT}},
                                  received[MAX_EDGES + 1] = {{0, 0, MPI_INT}};
    int *out[MAX_EDGES], *in[MAX_EDGES];
    struct call call = {.coll = COLL_NEIGHBOR_ALLTOALLW,
                        .send = {MPI_BOTTOM, edges.nout, sent},
                        .receive = {MPI_BOTTOM, edges.nin, received},
                        .comm = comm,
                        .info = MPI_INFO_NULL};
    MPI_Request request;
    const size_t bytes = ABSOLUTE_INTS * sizeof(int);

    check_phase("absolute addresses");
    for (int k = 0; k < edges.nout; k++) {
        out[k] = check_alloc(bytes);
        sent[k] = (struct block){0, ABSOLUTE_INTS, MPI_INT};
        MPI(MPI_Get_address(out[k], &sent[k].place));
    }
    for (int l = 0; l < edges.nin; l++) {
        in[l] = check_alloc(bytes);
        received[l] = (struct block){0, ABSOLUTE_INTS, MPI_INT};
        MPI(MPI_Get_address(in[l], &received[l].place));
    }
    MPI(call_init(&call, &request));
    for (int step = 1; step <= times; step++) {
        for (int k = 0; k < edges.nout; k++)
            check_fill(out[k], bytes, check_key(78, (uint64_t)step, check.rank * MAX_EDGES + k));
        for (int l = 0; l < edges.nin; l++)
            check_poison(in[l], bytes);
        MPI(MPI_Start(&request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int l = 0; l < edges.nin; l++)
            check_compare(in[l], bytes,
                          check_key(78, (uint64_t)step, edges.from[l] * MAX_EDGES + edges.slot[l]));
    }
    MPI(MPI_Request_free(&request));
    call_free(&call);
    for (int k = 0; k < edges.nout; k++)
        check_free(out[k]);
    for (int l = 0; l < edges.nin; l++)
        check_free(in[l]);
    MPI(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    times = (int)check_number("times", 4);
    tori();
    graph(3, check.size);
    graph(12, check.size);
    graph(40, check.size > 1 ? 2 : 1);
    graph(60, check.size);
    absolute_addresses();
    return check_done();
}
