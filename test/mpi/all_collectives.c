/* All 17 persistent collectives and the 5 neighbor ones, over 5 starts with changing data. The
 * expected values are computed one by one from the definition in the standard.
 *
 *   -count=N: ints per block (default: 1, 3,000 and 100,000; -few omits the last)
 *
 * Every rank sends send[i] = value(start, rank, i). All receive buffers are poisoned, and values
 * that the operation must not touch must still be poison afterwards. */

#include "check.h"

enum { STARTS = 5, POISON = (int)0xA5A5A5A5, LEFT = POISON };

struct call {
    int n, rank, root, count, step;
    int *send, *receive;
    int *counts, *displacements, *bytes; /* one per rank, for the v and w variants */
    MPI_Aint *neighbor_bytes;
    MPI_Datatype *types;
    MPI_Comm ring; /* directed: edges from the one or two ranks below, and to those above */
    int neighbors;
    MPI_Request request;
};

/* One collective: how to create it, and what receive[i] must hold afterwards. */
struct collective {
    const char *name;
    int (*init)(struct call *);
    int (*expect)(const struct call *, int i);
    int uses_root, root_data_in_receive;
};

static int value(int step, int rank, int i)
{
    return step * 7919 + rank * 104729 + i * 3;
}

/* Number of ints in the block of `rank`, and its offset: blocks differ in size and have gaps. */
static int v_count(const struct call *c, int rank)
{
    return c->count - (rank % 3 == 1 && c->count > 0 ? 1 : 0);
}

static int v_rank(const struct call *c, int i)
{
    int rank = i / (c->count + 1);

    return rank < c->n && i % (c->count + 1) < v_count(c, rank) ? rank : -1;
}

/* The reductions add, over the ranks first..last-1. */
static int sum(const struct call *c, int first, int last, int i)
{
    int total = 0;

    for (int r = first; r < last; r++)
        total += value(c->step, r, i);
    return total;
}

/* ---- plain ---- */

static int init_barrier(struct call *c)
{
    return MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}

static int expect_nothing(const struct call *c, int i)
{
    (void)c;
    (void)i;
    return LEFT;
}

static int init_bcast(struct call *c)
{
    return MPI_Bcast_init(c->receive, c->count, MPI_INT, c->root, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &c->request);
}

static int expect_bcast(const struct call *c, int i)
{
    return i < c->count ? value(c->step, c->root, i) : LEFT;
}

static int init_gather(struct call *c)
{
    return MPI_Gather_init(c->send, c->count, MPI_INT, c->receive, c->count, MPI_INT, c->root,
                           MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}

static int expect_allgather(const struct call *c, int i)
{
    return i < c->n * c->count ? value(c->step, i / c->count, i % c->count) : LEFT;
}

static int expect_gather(const struct call *c, int i)
{
    return c->rank == c->root ? expect_allgather(c, i) : LEFT;
}

static int init_gatherv(struct call *c)
{
    return MPI_Gatherv_init(c->send, v_count(c, c->rank), MPI_INT, c->receive, c->counts,
                            c->displacements, MPI_INT, c->root, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &c->request);
}

static int expect_allgatherv(const struct call *c, int i)
{
    int from = v_rank(c, i);

    return from < 0 ? LEFT : value(c->step, from, i - c->displacements[from]);
}

static int expect_gatherv(const struct call *c, int i)
{
    return c->rank == c->root ? expect_allgatherv(c, i) : LEFT;
}

static int init_scatter(struct call *c)
{
    return MPI_Scatter_init(c->send, c->count, MPI_INT, c->receive, c->count, MPI_INT, c->root,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}

static int expect_scatter(const struct call *c, int i)
{
    return i < c->count ? value(c->step, c->root, c->rank * c->count + i) : LEFT;
}

static int init_scatterv(struct call *c)
{
    return MPI_Scatterv_init(c->send, c->counts, c->displacements, MPI_INT, c->receive,
                             v_count(c, c->rank), MPI_INT, c->root, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &c->request);
}

static int expect_scatterv(const struct call *c, int i)
{
    return i < v_count(c, c->rank) ? value(c->step, c->root, c->displacements[c->rank] + i) : LEFT;
}

static int init_allgather(struct call *c)
{
    return MPI_Allgather_init(c->send, c->count, MPI_INT, c->receive, c->count, MPI_INT,
                              MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}

static int init_allgatherv(struct call *c)
{
    return MPI_Allgatherv_init(c->send, v_count(c, c->rank), MPI_INT, c->receive, c->counts,
                               c->displacements, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &c->request);
}

/* ---- all to all: the size of a block follows from the sum of the two ranks, so that both sides
 * agree on it ---- */

static int init_alltoall(struct call *c)
{
    return MPI_Alltoall_init(c->send, c->count, MPI_INT, c->receive, c->count, MPI_INT,
                             MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}

static int expect_alltoall(const struct call *c, int i)
{
    return i < c->n * c->count ? value(c->step, i / c->count, c->rank * c->count + i % c->count)
                               : LEFT;
}

static void pair_counts(struct call *c)
{
    for (int r = 0; r < c->n; r++)
        c->counts[r] = v_count(c, c->rank + r);
}

static int init_alltoallv(struct call *c)
{
    pair_counts(c);
    return MPI_Alltoallv_init(c->send, c->counts, c->displacements, MPI_INT, c->receive, c->counts,
                              c->displacements, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &c->request);
}

static int init_alltoallw(struct call *c)
{
    pair_counts(c);
    return MPI_Alltoallw_init(c->send, c->counts, c->bytes, c->types, c->receive, c->counts,
                              c->bytes, c->types, MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}

static int expect_alltoallv(const struct call *c, int i)
{
    int from = i / (c->count + 1), at = i % (c->count + 1);

    return from < c->n && at < v_count(c, c->rank + from)
               ? value(c->step, from, c->displacements[c->rank] + at)
               : LEFT;
}

/* ---- reductions ---- */

static int init_reduce(struct call *c)
{
    return MPI_Reduce_init(c->send, c->receive, c->count, MPI_INT, MPI_SUM, c->root, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &c->request);
}

static int init_allreduce(struct call *c)
{
    return MPI_Allreduce_init(c->send, c->receive, c->count, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &c->request);
}

static int expect_allreduce(const struct call *c, int i)
{
    return i < c->count ? sum(c, 0, c->n, i) : LEFT;
}

static int expect_reduce(const struct call *c, int i)
{
    return c->rank == c->root ? expect_allreduce(c, i) : LEFT;
}

static int init_reduce_scatter_block(struct call *c)
{
    return MPI_Reduce_scatter_block_init(c->send, c->receive, c->count, MPI_INT, MPI_SUM,
                                         MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}

static int expect_reduce_scatter_block(const struct call *c, int i)
{
    return i < c->count ? sum(c, 0, c->n, c->rank * c->count + i) : LEFT;
}

static int init_reduce_scatter(struct call *c)
{
    return MPI_Reduce_scatter_init(c->send, c->receive, c->counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &c->request);
}

static int expect_reduce_scatter(const struct call *c, int i)
{
    int begin = 0;

    for (int r = 0; r < c->rank; r++)
        begin += v_count(c, r);
    return i < v_count(c, c->rank) ? sum(c, 0, c->n, begin + i) : LEFT;
}

static int init_scan(struct call *c)
{
    return MPI_Scan_init(c->send, c->receive, c->count, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &c->request);
}

static int expect_scan(const struct call *c, int i)
{
    return i < c->count ? sum(c, 0, c->rank + 1, i) : LEFT;
}

static int init_exscan(struct call *c)
{
    return MPI_Exscan_init(c->send, c->receive, c->count, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &c->request);
}

/* Rank 0's buffer is undefined: any value is right. */
static int expect_exscan(const struct call *c, int i)
{
    if (c->rank == 0)
        return c->receive[i];
    return i < c->count ? sum(c, 0, c->rank, i) : LEFT;
}

/* ---- neighbors ---- */

static int neighbor(const struct call *c, int k)
{
    return (c->rank + c->n - (1 + k) % c->n) % c->n;
}

static int init_neighbor_allgather(struct call *c)
{
    return MPI_Neighbor_allgather_init(c->send, c->count, MPI_INT, c->receive, c->count, MPI_INT,
                                       c->ring, MPI_INFO_NULL, &c->request);
}

static int expect_neighbor_allgather(const struct call *c, int i)
{
    return i < c->neighbors * c->count ? value(c->step, neighbor(c, i / c->count), i % c->count)
                                       : LEFT;
}

static int init_neighbor_allgatherv(struct call *c)
{
    for (int k = 0; k < c->neighbors; k++)
        c->counts[k] = v_count(c, neighbor(c, k));
    return MPI_Neighbor_allgatherv_init(c->send, v_count(c, c->rank), MPI_INT, c->receive,
                                        c->counts, c->displacements, MPI_INT, c->ring,
                                        MPI_INFO_NULL, &c->request);
}

static int expect_neighbor_allgatherv(const struct call *c, int i)
{
    int k = i / (c->count + 1), at = i % (c->count + 1);

    return k < c->neighbors && at < v_count(c, neighbor(c, k)) ? value(c->step, neighbor(c, k), at)
                                                               : LEFT;
}

static int init_neighbor_alltoall(struct call *c)
{
    return MPI_Neighbor_alltoall_init(c->send, c->count, MPI_INT, c->receive, c->count, MPI_INT,
                                      c->ring, MPI_INFO_NULL, &c->request);
}

/* Neighbor k below me has me as its neighbor k above. */
static int expect_neighbor_alltoall(const struct call *c, int i)
{
    return i < c->neighbors * c->count ? value(c->step, neighbor(c, i / c->count), i) : LEFT;
}

static int init_neighbor_alltoallv(struct call *c)
{
    return MPI_Neighbor_alltoallv_init(c->send, c->counts, c->displacements, MPI_INT, c->receive,
                                       c->counts, c->displacements, MPI_INT, c->ring, MPI_INFO_NULL,
                                       &c->request);
}

static int init_neighbor_alltoallw(struct call *c)
{
    return MPI_Neighbor_alltoallw_init(c->send, c->counts, c->neighbor_bytes, c->types, c->receive,
                                       c->counts, c->neighbor_bytes, c->types, c->ring,
                                       MPI_INFO_NULL, &c->request);
}

static int expect_neighbor_alltoallv(const struct call *c, int i)
{
    int k = v_rank(c, i);

    return k >= 0 && k < c->neighbors ? value(c->step, neighbor(c, k), i) : LEFT;
}

static const struct collective collectives[] = {
    {"barrier", init_barrier, expect_nothing, 0, 0},
    {"bcast", init_bcast, expect_bcast, 1, 1},
    {"gather", init_gather, expect_gather, 1, 0},
    {"gatherv", init_gatherv, expect_gatherv, 1, 0},
    {"scatter", init_scatter, expect_scatter, 1, 0},
    {"scatterv", init_scatterv, expect_scatterv, 1, 0},
    {"allgather", init_allgather, expect_allgather, 0, 0},
    {"allgatherv", init_allgatherv, expect_allgatherv, 0, 0},
    {"alltoall", init_alltoall, expect_alltoall, 0, 0},
    {"alltoallv", init_alltoallv, expect_alltoallv, 0, 0},
    {"alltoallw", init_alltoallw, expect_alltoallv, 0, 0},
    {"reduce", init_reduce, expect_reduce, 1, 0},
    {"allreduce", init_allreduce, expect_allreduce, 0, 0},
    {"reduce_scatter_block", init_reduce_scatter_block, expect_reduce_scatter_block, 0, 0},
    {"reduce_scatter", init_reduce_scatter, expect_reduce_scatter, 0, 0},
    {"scan", init_scan, expect_scan, 0, 0},
    {"exscan", init_exscan, expect_exscan, 0, 0},
    {"neighbor_allgather", init_neighbor_allgather, expect_neighbor_allgather, 0, 0},
    {"neighbor_allgatherv", init_neighbor_allgatherv, expect_neighbor_allgatherv, 0, 0},
    {"neighbor_alltoall", init_neighbor_alltoall, expect_neighbor_alltoall, 0, 0},
    {"neighbor_alltoallv", init_neighbor_alltoallv, expect_neighbor_alltoallv, 0, 0},
    {"neighbor_alltoallw", init_neighbor_alltoallw, expect_neighbor_alltoallv, 0, 0}};

/* ---- running them ---- */

static int ints(const struct call *c)
{
    return c->n * (c->count + 1);
}

static void fill(struct call *c, const struct collective *coll)
{
    for (int i = 0; i < ints(c); i++) {
        c->send[i] = value(c->step, c->rank, i);
        c->receive[i] = POISON;
    }
    if (coll->root_data_in_receive && c->rank == c->root)
        memcpy(c->receive, c->send, (size_t)c->count * sizeof(int));
}

static void verify(const struct call *c, const struct collective *coll)
{
    int wrong = 0, first = -1;

    for (int i = 0; i < ints(c); i++)
        if (c->receive[i] != coll->expect(c, i) || c->send[i] != value(c->step, c->rank, i))
            first = wrong++ ? first : i;
    if (wrong)
        check_fail(__FILE__, __LINE__, "start %d: %d of %d ints wrong, first is %d", c->step, wrong,
                   ints(c), first);
}

static void even_displacements(struct call *c)
{
    for (int r = 0; r < c->n; r++) {
        c->counts[r] = v_count(c, r);
        c->displacements[r] = r * (c->count + 1);
        c->bytes[r] = c->displacements[r] * (int)sizeof(int);
        c->neighbor_bytes[r] = c->bytes[r];
        c->types[r] = MPI_INT;
    }
}

static void run(struct call *c, const struct collective *coll)
{
    even_displacements(c);
    if (coll->init(c) != MPI_SUCCESS) {
        check_fail(__FILE__, __LINE__, "init failed");
        return;
    }
    for (c->step = 1; c->step <= STARTS; c->step++) {
        fill(c, coll);
        check_delay();
        MPI(MPI_Start(&c->request));
        MPI(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
        verify(c, coll);
    }
    MPI(MPI_Request_free(&c->request));
}

static void run_all(struct call *c)
{
    const char *only = check_option("only");

    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++) {
        const struct collective *coll = &collectives[i];
        int roots = coll->uses_root && c->n > 1 ? 2 : 1;

        for (int k = 0; k < roots && (only == NULL || strcmp(only, coll->name) == 0); k++) {
            c->root = k ? c->n - 1 : 0;
            check_phase("%s, %d ints, root %d", coll->name, c->count, c->root);
            run(c, coll);
        }
    }
}

static void run_count(struct call *c, int count)
{
    size_t bytes;

    c->count = count;
    bytes = (size_t)ints(c) * sizeof(int);
    c->send = check_alloc(bytes);
    c->receive = check_alloc(bytes);
    run_all(c);
    check_free(c->send);
    check_free(c->receive);
}

static void create(struct call *c)
{
    size_t n = (size_t)check.size;
    int below[2], above[2];

    c->n = check.size;
    c->rank = check.rank;
    c->counts = malloc(n * sizeof(int) + 8);
    c->displacements = malloc(n * sizeof(int));
    c->bytes = malloc(n * sizeof(int));
    c->neighbor_bytes = malloc(n * sizeof(MPI_Aint));
    c->types = malloc(n * sizeof(MPI_Datatype));
    c->neighbors = c->n > 2 ? 2 : 1;
    for (int k = 0; k < c->neighbors; k++) {
        below[k] = neighbor(c, k);
        above[k] = (c->rank + 1 + k) % c->n;
    }
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, c->neighbors, below, MPI_UNWEIGHTED,
                                       c->neighbors, above, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &c->ring));
}

static void destroy(struct call *c)
{
    MPI(MPI_Comm_free(&c->ring));
    free(c->counts);
    free(c->displacements);
    free(c->bytes);
    free(c->neighbor_bytes);
    free(c->types);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 3000, 100000};
    struct call c;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    create(&c);
    if (check_option("count") != NULL)
        run_count(&c, (int)check_number("count", 1));
    else
        for (int i = 0; i < (check_option("few") != NULL ? 2 : 3); i++)
            run_count(&c, counts[i]);
    destroy(&c);
    return check_done();
}
