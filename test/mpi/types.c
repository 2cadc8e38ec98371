/* Datatypes: derived, resized, with holes, freed after the init call, and different on every rank
 * with the same signature. Data travels as ints; the holes of a receive buffer must keep their
 * contents. */

#include "collectives.h"

enum { STARTS = 6, SHAPES = 8 };

/* One way to place `ints` ints (a multiple of 4) in memory. */
struct layout {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t span;   /* at least the number of ints that `count` of them cover */
    size_t *place; /* place[i] is the position of int number i */
};

static void place_all(struct layout *l, int ints, const int *in_one, int per_one, int extent)
{
    l->place = malloc((size_t)ints * sizeof(size_t) + 1);
    l->count = ints / per_one;
    l->span = 0;
    for (int i = 0; i < ints; i++) {
        l->place[i] = (size_t)(i / per_one * extent + in_one[i % per_one]);
        if (l->place[i] >= l->span)
            l->span = l->place[i] + 1;
    }
    MPI(MPI_Type_commit(&l->type));
}

static void make_contiguous(struct layout *l, int ints)
{
    MPI(MPI_Type_contiguous(4, MPI_INT, &l->type));
    place_all(l, ints, (const int[]){0, 1, 2, 3}, 4, 4);
}

static void make_vector(struct layout *l, int ints)
{
    MPI(MPI_Type_vector(2, 2, 3, MPI_INT, &l->type));
    place_all(l, ints, (const int[]){0, 1, 3, 4}, 4, 5);
}

/* The second block precedes the first. */
static void make_indexed(struct layout *l, int ints)
{
    MPI(MPI_Type_indexed(3, (const int[]){1, 2, 1}, (const int[]){5, 0, 3}, MPI_INT, &l->type));
    place_all(l, ints, (const int[]){5, 0, 1, 3}, 4, 6);
}

static void make_struct(struct layout *l, int ints)
{
    const int lengths[2] = {1, 3};
    const MPI_Aint at[2] = {8, 20};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};

    MPI(MPI_Type_create_struct(2, lengths, at, types, &l->type));
    place_all(l, ints, (const int[]){2, 5, 6, 7}, 4, 6);
}

static void make_resized(struct layout *l, int ints)
{
    MPI(MPI_Type_create_resized(MPI_INT, 0, 12, &l->type));
    place_all(l, ints, (const int[]){0}, 1, 3);
}

/* The lower bound lies below the data, and the type is built from another derived type. */
static void make_nested(struct layout *l, int ints)
{
    MPI_Datatype inner, outer;

    MPI(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
    MPI(MPI_Type_create_hvector(2, 1, 16, inner, &outer));
    MPI(MPI_Type_create_resized(outer, -4, 36, &l->type));
    MPI(MPI_Type_free(&inner));
    MPI(MPI_Type_free(&outer));
    place_all(l, ints, (const int[]){0, 2, 4, 6}, 4, 9);
}

/* Four rows, two in each of two layers. */
static void place_box(struct layout *l, int ints, const MPI_Count sizes[3])
{
    const int row = ints / 4, width = (int)sizes[2], layer = width * (int)sizes[1];
    int *in_one = malloc((size_t)ints * sizeof(int) + 1);

    for (int i = 0; i < ints; i++)
        in_one[i] = i / row / 2 * layer + (1 + i / row % 2) * width + 1 + i % row;
    place_all(l, ints, in_one, ints, 2 * layer);
    free(in_one);
}

static void make_box(struct layout *l, int ints)
{
    const int sizes[3] = {2, 4, ints / 4 + 3}, subsizes[3] = {2, 2, ints / 4};
    const int starts[3] = {0, 1, 1};

    MPI(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &l->type));
    place_box(l, ints, (const MPI_Count[3]){2, 4, sizes[2]});
}

/* The same in the order of Fortran, with large counts. */
static void make_large_box(struct layout *l, int ints)
{
    const MPI_Count sizes[3] = {ints / 4 + 3, 4, 2}, subsizes[3] = {ints / 4, 2, 2};
    const MPI_Count starts[3] = {1, 1, 0};

    MPI(MPI_Type_create_subarray_c(3, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT,
                                   &l->type));
    place_box(l, ints, (const MPI_Count[3]){2, 4, sizes[0]});
}

static void make_layout(struct layout *l, int shape, int ints)
{
    static const struct {
        const char *name;
        void (*make)(struct layout *, int);
    } shapes[SHAPES] = {{"contiguous", make_contiguous},
                        {"vector", make_vector},
                        {"indexed", make_indexed},
                        {"struct", make_struct},
                        {"resized", make_resized},
                        {"nested", make_nested},
                        {"box", make_box},
                        {"large box", make_large_box}};

    if (ints == 0) /* a subarray is not empty */
        shape = 0;
    l->name = shapes[shape].name;
    shapes[shape].make(l, ints);
}

static int value(int step, int rank, int i)
{
    return (step * 64 + rank) * 1000003 + i;
}

static void put(const struct layout *l, int ints, int *buffer, int step)
{
    for (int i = 0; i < ints; i++)
        buffer[l->place[i]] = value(step, check.rank, i);
}

static const int hole = 0x5EED;

static void clear(int *buffer, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buffer[i] = hole;
}

/* Compares the block of `rank` and replaces it with holes. */
static void take(const struct layout *l, int ints, int *buffer, int step, int rank)
{
    int wrong = 0;

    for (int i = 0; i < ints; i++) {
        wrong += buffer[l->place[i]] != value(step, rank, i);
        buffer[l->place[i]] = hole;
    }
    if (wrong)
        check_fail(__FILE__, __LINE__, "%s, start %d: %d of %d ints from rank %d wrong", l->name,
                   step, wrong, ints, rank);
}

static void holes_only(const int *buffer, size_t n)
{
    int wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong += buffer[i] != hole;
    if (wrong)
        check_fail(__FILE__, __LINE__, "%d ints written into holes", wrong);
}

static void bcast(int shape, int ints, int root)
{
    struct layout l;
    MPI_Request request;
    int *buffer;

    make_layout(&l, shape, ints);
    buffer = check_alloc(l.span * sizeof(int));
    MPI(MPI_Bcast_init(buffer, l.count, l.type, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    MPI(MPI_Type_free(&l.type));
    for (int step = 0; step < STARTS; step++) {
        clear(buffer, l.span);
        if (check.rank == root)
            put(&l, ints, buffer, step);
        check_delay();
        MPI(MPI_Start(&request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        take(&l, ints, buffer, step, root);
        holes_only(buffer, l.span);
    }
    MPI(MPI_Request_free(&request));
    check_free(buffer);
    free(l.place);
}

/* The distance in ints between the blocks of two ranks. */
static size_t stride(const struct layout *l)
{
    MPI_Aint lower, extent;

    MPI_Type_get_extent(l->type, &lower, &extent);
    return (size_t)extent / sizeof(int) * (size_t)l->count;
}

static void allgather_runs(struct layout *s, struct layout *r, int ints, size_t between, int *send,
                           int *receive, MPI_Request *request)
{
    size_t all = between * (size_t)check.size + r->span;

    for (int step = 0; step < STARTS; step++) {
        clear(receive, all);
        put(s, ints, s == r ? receive + between * (size_t)check.rank : send, step);
        check_delay();
        MPI(MPI_Start(request));
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
        for (int rank = 0; rank < check.size; rank++)
            take(r, ints, receive + between * (size_t)rank, step, rank);
        holes_only(receive, all);
    }
}

static void allgather(int send_shape, int receive_shape, int ints, int in_place)
{
    struct layout s, r;
    MPI_Request request;
    int *send, *receive;
    size_t between;

    make_layout(&s, send_shape, ints);
    make_layout(&r, receive_shape, ints);
    between = stride(&r);
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

enum { LENGTHS = 5, GAP = 5 };

/* Rows of so many ints with gaps between them; each length divides the ints of a block. Most are
 * long enough to be copied one by one. */
static const int lengths[LENGTHS] = {84, 120, 3, 210, 140};

static struct block block_of_rows(int ints, int length, int number)
{
    struct block block = {number * 8 * (MPI_Aint)ints, 1, MPI_DATATYPE_NULL};

    MPI(MPI_Type_vector(ints / length, length, length == 3 ? 2 * length : length + GAP, MPI_INT,
                        &block.type));
    MPI(MPI_Type_commit(&block.type));
    return block;
}

static size_t row_place(int length, int i)
{
    return (size_t)(i / length) * (size_t)(length == 3 ? 2 * length : length + GAP) +
           (size_t)(i % length);
}

/* The length differs between the two ends, also where a rank sends to itself. */
static int length_of(int from, int to, int is_end)
{
    return lengths[(from + 2 * to + is_end) % LENGTHS];
}

static void rows_start(MPI_Request *request, int *send, int *receive, int ints, int step)
{
    const size_t all = (size_t)check.size * 2 * (size_t)ints;

    clear(receive, all);
    for (int r = 0; r < check.size; r++)
        for (int i = 0; i < ints; i++)
            send[2 * (size_t)r * (size_t)ints + row_place(length_of(check.rank, r, 0), i)] =
                value(step, check.rank * check.size + r, i);
    check_delay();
    MPI(MPI_Start(request));
    MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    for (int r = 0; r < check.size; r++) {
        int *block = receive + 2 * (size_t)r * (size_t)ints, wrong = 0;

        for (int i = 0; i < ints; i++) {
            int *place = block + row_place(length_of(r, check.rank, 1), i);

            wrong += *place != value(step, r * check.size + check.rank, i);
            *place = hole;
        }
        if (wrong)
            check_fail(__FILE__, __LINE__, "start %d: %d ints from rank %d wrong", step, wrong, r);
    }
    holes_only(receive, all);
}

static void alltoallw_rows(int ints)
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

    check_phase("alltoallw of rows, %d ints", ints);
    for (int r = 0; r < check.size; r++) {
        sent[r] = block_of_rows(ints, length_of(check.rank, r, 0), r);
        received[r] = block_of_rows(ints, length_of(r, check.rank, 1), r);
    }
    MPI(call_init(&call, &request));
    for (int r = 0; r < check.size; r++) {
        MPI(MPI_Type_free(&sent[r].type));
        MPI(MPI_Type_free(&received[r].type));
    }
    for (int step = 0; step < STARTS; step++)
        rows_start(&request, send, receive, ints, step);
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
    alltoallw_rows(2520);
    alltoallw_rows(100800); /* up to 1200 rows that are copied one by one */
    return check_done();
}
