/* Inits whose data has gaps: plans of freed requests serve them, whatever the types are, if their
 * pieces are regular (ch4_coll/reuse.h). Each cycle has other types, which differ between ranks,
 * and other buffers and data. Types are freed before the start; nothing refers to them once the
 * request is freed, as their attributes show. */

#include "shapes.h"

enum { CYCLES = 64, MAX_RANKS = 64, LONG = 4096 };
enum kind { BCAST, ALLGATHER, GATHER, ALLTOALL, ALLTOALLW, KINDS };

static MPI_Comm comm;
static int keyval, deleted; /* types */

static long long reused(void)
{
    return check_pvar("coll_offload_reused_plans");
}

/* ---- one request ---- */

/* One block for each rank, or one for all. */
struct side {
    struct shape shape;
    int *buffer;
    size_t stride, all; /* ints between two blocks, and of the buffer */
};

struct exchange {
    enum kind kind;
    int ints; /* of a block */
    struct side send, receive;
    MPI_Request request;
};

static void open_side(struct side *side, int shape, int ints)
{
    shape_make(&side->shape, shape, ints);
    MPI(MPI_Type_set_attr(side->shape.type, keyval, NULL));
    side->stride = shape_stride(&side->shape);
    side->all = side->stride * (size_t)(check.size - 1) + side->shape.span;
    side->buffer = check_alloc(side->all * sizeof(int));
}

static void close_side(struct side *side)
{
    check_free(side->buffer);
    free(side->shape.place);
}

static int *block_of(const struct side *side, int rank)
{
    return side->buffer + side->stride * (size_t)rank;
}

static void list_blocks(const struct side *side, int *counts, int *displs, MPI_Datatype *types)
{
    for (int r = 0; r < check.size; r++) {
        counts[r] = side->shape.count;
        displs[r] = (int)(side->stride * sizeof(int)) * r;
        types[r] = side->shape.type;
    }
}

static void init_alltoallw(struct exchange *e)
{
    int counts[2][MAX_RANKS], displs[2][MAX_RANKS];
    MPI_Datatype types[2][MAX_RANKS];

    list_blocks(&e->send, counts[0], displs[0], types[0]);
    list_blocks(&e->receive, counts[1], displs[1], types[1]);
    MPI(MPI_Alltoallw_init(e->send.buffer, counts[0], displs[0], types[0], e->receive.buffer,
                           counts[1], displs[1], types[1], comm, MPI_INFO_NULL, &e->request));
}

/* The root's message of a broadcast is what it would send otherwise. */
static void init(struct exchange *e)
{
    const struct side *s = &e->send, *r = &e->receive, *m = check.rank == 0 ? s : r;

    if (e->kind == BCAST)
        MPI(MPI_Bcast_init(m->buffer, m->shape.count, m->shape.type, 0, comm, MPI_INFO_NULL,
                           &e->request));
    else if (e->kind == ALLGATHER)
        MPI(MPI_Allgather_init(s->buffer, s->shape.count, s->shape.type, r->buffer, r->shape.count,
                               r->shape.type, comm, MPI_INFO_NULL, &e->request));
    else if (e->kind == GATHER)
        MPI(MPI_Gather_init(s->buffer, s->shape.count, s->shape.type, r->buffer, r->shape.count,
                            r->shape.type, 0, comm, MPI_INFO_NULL, &e->request));
    else if (e->kind == ALLTOALL)
        MPI(MPI_Alltoall_init(s->buffer, s->shape.count, s->shape.type, r->buffer, r->shape.count,
                              r->shape.type, comm, MPI_INFO_NULL, &e->request));
    else
        init_alltoallw(e);
}

/* Block 0 alone goes to all ranks, except in alltoalls. */
static int number_of_block(const struct exchange *e, int to)
{
    return e->kind == ALLTOALL || e->kind == ALLTOALLW ? to : 0;
}

static void fill(const struct exchange *e, int step)
{
    shape_clear(e->send.buffer, e->send.all);
    shape_clear(e->receive.buffer, e->receive.all);
    for (int to = number_of_block(e, check.size - 1); to >= 0; to--)
        shape_put(&e->send.shape, e->ints, block_of(&e->send, to), step * MAX_RANKS + to);
}

static void look(const struct exchange *e, int step)
{
    const int number = step * MAX_RANKS + number_of_block(e, check.rank);

    if (e->kind == BCAST && check.rank > 0)
        shape_take(&e->receive.shape, e->ints, e->receive.buffer, number, 0);
    for (int from = 0; from < check.size; from++)
        if (e->kind > GATHER || e->kind == ALLGATHER || (e->kind == GATHER && check.rank == 0))
            shape_take(&e->receive.shape, e->ints, block_of(&e->receive, from), number, from);
    shape_holes_only(e->receive.buffer, e->receive.all);
}

/* Returns how many plans of freed requests were taken. */
static int cycle(enum kind kind, int ints, int sent, int received, int number)
{
    const int before = deleted;
    struct exchange e = {.kind = kind, .ints = ints};
    const long long reused_before = reused();
    int taken;

    open_side(&e.send, sent, ints);
    open_side(&e.receive, received, ints);
    init(&e);
    taken = (int)(reused() - reused_before);
    MPI(MPI_Type_free(&e.send.shape.type));
    MPI(MPI_Type_free(&e.receive.shape.type));
    for (int step = number * 3; step < number * 3 + 1 + (number + 1) % 3; step++) {
        fill(&e, step);
        check_delay();
        MPI(MPI_Start(&e.request));
        MPI(MPI_Wait(&e.request, MPI_STATUS_IGNORE));
        look(&e, step);
    }
    MPI(MPI_Request_free(&e.request));
    CHECK(deleted == before + 2);
    close_side(&e.send);
    close_side(&e.receive);
    return taken;
}

/* ---- many ---- */

enum { CONTIGUOUS = 0 };
static const int regular[] = {1, 4, 5, 6, 7, 8, 9, 10, 11, 12}, irregular[] = {2, 3};

#define ONE_OF(list, i) (list)[(unsigned)(i) % (sizeof(list) / sizeof((list)[0]))]

/* On all ranks, gaps or none on each side. Long blocks may be packed into memory that the ranks
 * map; such plans are not kept. */
static void regular_types(enum kind kind, int ints)
{
    for (int gaps = 0; gaps < 4; gaps++)
        for (int i = 0; i < CYCLES / 4; i++) {
            const int n = i * check.size + check.rank;
            const int taken =
                cycle(kind, ints, gaps & 1 ? ONE_OF(regular, n) : CONTIGUOUS,
                      gaps & 2 ? ONE_OF(regular, n * 7 + i) : CONTIGUOUS, gaps * CYCLES + i);

            if (check.size > 1 && ints < LONG && taken != (i > 0))
                check_fail(__FILE__, __LINE__, "gaps %d, cycle %d: %d plans were taken again", gaps,
                           i, taken);
        }
}

/* Some are regular, or have no gaps, on some ranks only. */
static void any_types(enum kind kind, int ints)
{
    for (int i = 0; i < CYCLES; i++) {
        const int n = i / 3 * check.size + check.rank;

        cycle(kind, ints, i % 3 == 0 ? ONE_OF(irregular, n) : n % SHAPES, n * 5 % SHAPES, i);
    }
}

static int count_deleted(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static const char *const names[KINDS] = {"bcast", "allgather", "gather", "alltoall",
                                             "alltoallw"};

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count_deleted, &keyval, NULL));
    for (int k = 0; k < KINDS; k++)
        for (int ints = 4; ints <= LONG; ints *= 32) {
            check_phase("%s of %d ints", names[k], ints);
            MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            regular_types((enum kind)k, ints);
            any_types((enum kind)k, ints);
            MPI(MPI_Comm_free(&comm));
        }
    MPI(MPI_Type_free_keyval(&keyval));
    return check_done();
}
