/* Datatypes: derived, resized, with holes, freed after the init call, and different on every rank
 * with the same signature. Data travels as ints; the holes of a receive buffer must keep their
 * contents. */

#include "collectives.h"
#include "shapes.h"

enum { STARTS = 6 };

static void bcast(int shape, int ints, int root)
{
    struct shape l;
    MPI_Request request;
    int *buffer;

    shape_make(&l, shape, ints);
    buffer = check_alloc(l.span * sizeof(int));
    MPI(MPI_Bcast_init(buffer, l.count, l.type, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    MPI(MPI_Type_free(&l.type));
    for (int step = 0; step < STARTS; step++) {
        shape_clear(buffer, l.span);
        if (check.rank == root)
            shape_put(&l, ints, buffer, step);
        check_delay();
        MPI(MPI_Start(&request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        shape_take(&l, ints, buffer, step, root);
        shape_holes_only(buffer, l.span);
    }
    MPI(MPI_Request_free(&request));
    check_free(buffer);
    free(l.place);
}

static void allgather_runs(struct shape *s, struct shape *r, int ints, size_t between, int *send,
                           int *receive, MPI_Request *request)
{
    size_t all = between * (size_t)check.size + r->span;

    for (int step = 0; step < STARTS; step++) {
        shape_clear(receive, all);
        shape_put(s, ints, s == r ? receive + between * (size_t)check.rank : send, step);
        check_delay();
        MPI(MPI_Start(request));
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
        for (int rank = 0; rank < check.size; rank++)
            shape_take(r, ints, receive + between * (size_t)rank, step, rank);
        shape_holes_only(receive, all);
    }
}

static void allgather(int send_shape, int receive_shape, int ints, int in_place)
{
    struct shape s, r;
    MPI_Request request;
    int *send, *receive;
    size_t between;

    shape_make(&s, send_shape, ints);
    shape_make(&r, receive_shape, ints);
    between = shape_stride(&r);
    send = check_alloc(s.span * sizeof(int));
    receive = check_alloc((between * (size_t)check.size + r.span) * sizeof(int));
    MPI(MPI_Allgather_init(in_place ? MPI_IN_PLACE : send, s.count, s.type, receive, r.count,
                           r.type, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    MPI(MPI_Type_free(&s.type));
    MPI(MPI_Type_free(&r.type));
    allgather_runs(in_place ? &r : &s, &r, ints, between, send, receive, &request);
    MPI(MPI_Request_free(&request));
    check_free(send);
    check_free(receive);
    free(s.place);
    free(r.place);
}

/* ---- alltoallw ---- */

enum { WIDE = 4 };

/* In place, with types of different sizes: what ranks a and b exchange are pairs of ints if a + b
 * is even. MPICH 4.0.2's own schedule takes the size of another rank's type for that of a block,
 * and delivers wrong data. */
static void alltoallw_in_place(int ints)
{
    struct block *blocks = calloc((size_t)check.size, sizeof(*blocks));
    const size_t bytes = (size_t)ints * sizeof(int), all = bytes * (size_t)check.size;
    char *buffer = check_alloc(all);
    struct call call = {.coll = COLL_ALLTOALLW,
                        .in_place = 1,
                        .receive = {buffer, check.size, blocks},
                        .comm = MPI_COMM_WORLD,
                        .info = MPI_INFO_NULL};
    MPI_Datatype wide;
    MPI_Request request;

    check_phase("alltoallw in place, %d ints", ints);
    MPI(MPI_Type_contiguous(WIDE, MPI_INT, &wide));
    MPI(MPI_Type_commit(&wide));
    for (int r = 0; r < check.size; r++)
        blocks[r] = (check.rank + r) % 2 ? (struct block){r * (MPI_Aint)bytes, ints, MPI_INT}
                                         : (struct block){r * (MPI_Aint)bytes, ints / WIDE, wide};
    MPI(call_init(&call, &request));
    MPI(MPI_Type_free(&wide));
    for (int step = 0; step < STARTS; step++) {
        for (int r = 0; r < check.size; r++)
            check_fill(buffer + (size_t)r * bytes, bytes,
                       check_key((uint64_t)r, (uint64_t)step, check.rank));
        check_delay();
        MPI(MPI_Start(&request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int r = 0; r < check.size; r++)
            check_compare(buffer + (size_t)r * bytes, bytes,
                          check_key((uint64_t)check.rank, (uint64_t)step, r));
    }
    MPI(MPI_Request_free(&request));
    call_free(&call);
    check_free(buffer);
    free(blocks);
}

/* MPI_BOTTOM, and types that hold the addresses. */
static void alltoallw_absolute(int ints)
{
    struct block *sent = calloc((size_t)check.size, sizeof(*sent));
    struct block *received = calloc((size_t)check.size, sizeof(*received));
    const size_t bytes = (size_t)ints * sizeof(int), all = bytes * (size_t)check.size;
    char *send = check_alloc(all), *receive = check_alloc(all);
    struct call call = {.coll = COLL_ALLTOALLW,
                        .send = {MPI_BOTTOM, check.size, sent},
                        .receive = {MPI_BOTTOM, check.size, received},
                        .comm = MPI_COMM_WORLD,
                        .info = MPI_INFO_NULL};
    MPI_Request request;

    check_phase("alltoallw from MPI_BOTTOM, %d ints", ints);
    for (int r = 0; r < check.size; r++) {
        MPI_Aint at;

        MPI(MPI_Get_address(send + (size_t)r * bytes, &at));
        sent[r].count = received[r].count = 1;
        MPI(MPI_Type_create_hindexed(1, &ints, &at, MPI_INT, &sent[r].type));
        MPI(MPI_Get_address(receive + (size_t)(check.size - 1 - r) * bytes, &at));
        MPI(MPI_Type_create_hindexed(1, &ints, &at, MPI_INT, &received[r].type));
        MPI(MPI_Type_commit(&sent[r].type));
        MPI(MPI_Type_commit(&received[r].type));
    }
    MPI(call_init(&call, &request));
    for (int step = 0; step < STARTS; step++) {
        check_poison(receive, all);
        for (int r = 0; r < check.size; r++)
            check_fill(send + (size_t)r * bytes, bytes,
                       check_key((uint64_t)r, (uint64_t)step, check.rank));
        MPI(MPI_Start(&request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int r = 0; r < check.size; r++)
            check_compare(receive + (size_t)(check.size - 1 - r) * bytes, bytes,
                          check_key((uint64_t)check.rank, (uint64_t)step, r));
    }
    MPI(MPI_Request_free(&request));
    call_free(&call);
    for (int r = 0; r < check.size; r++) {
        MPI(MPI_Type_free(&sent[r].type));
        MPI(MPI_Type_free(&received[r].type));
    }
    check_free(send);
    check_free(receive);
    free(sent);
    free(received);
}

/* ---- rows ---- */

/* Rows of `length` ints, `stride` ints apart, backwards if that is negative. Each length divides
 * the ints of a block, which takes no more than twice their room. */
struct grid {
    int length, stride;
};

enum { GRIDS = 14 };
static const struct grid grids[GRIDS] = {{84, 89}, {120, 125}, {3, 6},   {1, 2},  {210, 215},
                                         {2, 3},   {140, 145}, {4, -7},  {1, -2}, {5, 6},
                                         {8, 9},   {14, -20},  {35, 36}, {60, 64}};

static struct block block_of_rows(int ints, struct grid grid, int number)
{
    const int rows = ints / grid.length, before = grid.stride < 0 ? (1 - rows) * grid.stride : 0;
    struct block block = {(number * 2 * (MPI_Aint)ints + before) * (MPI_Aint)sizeof(int), 1,
                          MPI_DATATYPE_NULL};

    MPI(MPI_Type_vector(rows, grid.length, grid.stride, MPI_INT, &block.type));
    MPI(MPI_Type_commit(&block.type));
    return block;
}

static size_t row_place(int ints, struct grid grid, int i)
{
    const int row = i / grid.length, last = ints / grid.length - 1;

    return (size_t)((grid.stride < 0 ? row - last : row) * grid.stride + i % grid.length);
}

/* In most turns it differs between the two ends, also where a rank sends to itself. */
static struct grid grid_of(int from, int to, int is_end, int turn)
{
    return grids[(from + 2 * to + turn + is_end * (turn % 3)) % GRIDS];
}

static void rows_start(MPI_Request *request, int *send, int *receive, int ints, int turn, int step)
{
    const size_t all = (size_t)check.size * 2 * (size_t)ints;

    shape_clear(receive, all);
    for (int r = 0; r < check.size; r++)
        for (int i = 0; i < ints; i++)
            send[2 * (size_t)r * (size_t)ints +
                 row_place(ints, grid_of(check.rank, r, 0, turn), i)] =
                shape_value(step, check.rank * check.size + r, i);
    check_delay();
    MPI(MPI_Start(request));
    MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    for (int r = 0; r < check.size; r++) {
        int *block = receive + 2 * (size_t)r * (size_t)ints, wrong = 0;

        for (int i = 0; i < ints; i++) {
            int *place = block + row_place(ints, grid_of(r, check.rank, 1, turn), i);

            wrong += *place != shape_value(step, r * check.size + check.rank, i);
            *place = shape_hole;
        }
        if (wrong)
            check_fail(__FILE__, __LINE__, "start %d: %d ints from rank %d wrong", step, wrong, r);
    }
    shape_holes_only(receive, all);
}

static void alltoallw_rows(int ints, int turn)
{
    struct block *sent = calloc((size_t)check.size, sizeof(*sent));
    struct block *received = calloc((size_t)check.size, sizeof(*received));
    const size_t all = (size_t)check.size * 2 * (size_t)ints * sizeof(int);
    int *send = check_alloc(all), *receive = check_alloc(all);
    struct call call = {.coll = COLL_ALLTOALLW,
                        .send = {send, check.size, sent},
                        .receive = {receive, check.size, received},
                        .comm = MPI_COMM_WORLD,
                        .info = MPI_INFO_NULL};
    MPI_Request request;

    check_phase("alltoallw of rows, %d ints, turn %d", ints, turn);
    for (int r = 0; r < check.size; r++) {
        sent[r] = block_of_rows(ints, grid_of(check.rank, r, 0, turn), r);
        received[r] = block_of_rows(ints, grid_of(r, check.rank, 1, turn), r);
    }
    MPI(call_init(&call, &request));
    for (int r = 0; r < check.size; r++) {
        MPI(MPI_Type_free(&sent[r].type));
        MPI(MPI_Type_free(&received[r].type));
    }
    for (int step = 0; step < STARTS; step++)
        rows_start(&request, send, receive, ints, turn, step);
    MPI(MPI_Request_free(&request));
    call_free(&call);
    check_free(send);
    check_free(receive);
    free(sent);
    free(received);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 4, 12, 16, 1024, 2052, 50000};

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; i < 7; i++)
        for (int shape = 0; shape < SHAPES; shape++) {
            int mine = (shape + check.rank) % SHAPES;
            int ints = sizes[i];

            check_phase("%d ints, shape %d on all ranks", ints, shape);
            bcast(shape, ints, i % check.size);
            allgather(shape, shape, ints, 0);
            allgather(shape, shape, ints, 1);
            check_phase("%d ints, shape %d here, others elsewhere", ints, mine);
            bcast(mine, ints, (i + 1) % check.size);
            allgather(mine, (mine + shape) % SHAPES, ints, 0);
        }
    for (int i = 0; i < 7; i++) {
        alltoallw_absolute(sizes[i]);
        if (coll_has_plans(COLL_ALLTOALLW))
            alltoallw_in_place(sizes[i]);
    }
    for (int turn = 0; turn < GRIDS; turn++)
        alltoallw_rows(2520, turn);
    alltoallw_rows(100800, 0);
    alltoallw_rows(100800, 3);
    return check_done();
}
