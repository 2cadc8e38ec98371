#include "short_call.h"

enum { MAX_ELEMENTS = 12, ROOM = 1500 };

static struct elements elements[MAX_ELEMENTS];
static int nelements;

int short_calls_draw(uint64_t *state, int n)
{
    return (int)(check_random(state) % (uint64_t)n);
}

/* ---- what is reduced ---- */

/* Halves of small integers: sums are exact. */
static double half(int rank, int step, long i)
{
    return (double)((long)(check_key(17, (uint64_t)step, rank) + 7 * (uint64_t)i) % 1000) / 2;
}

static void set_halves(const struct elements *e, void *dense, int rank, int step, long first,
                       long n)
{
    for (long i = 0; i < n; i++)
        if (e->size == sizeof(double))
            ((double *)dense)[i] = half(rank, step, first + i);
        else
            ((float *)dense)[i] = (float)half(rank, step, first + i);
}

static void fold_halves(const struct elements *e, const void *left, void *right, long n)
{
    MPI(MPI_Reduce_local(left, right, (int)n, e->type, e->op));
}

static struct elements halves(MPI_Datatype type, int size, MPI_Op op)
{
    return (struct elements){"halves",   (size_t)size, {.extent = size, .head = (size_t)size},
                             type,       op,           set_halves,
                             fold_halves};
}

void short_calls_init(void)
{
    struct elements *e = elements;

    *e++ = elements_integers(MPI_SUM, MPI_INT);
    *e++ = elements_integers(MPI_MIN, MPI_INT);
    *e++ = elements_integers(MPI_MAX, MPI_LONG);
    *e++ = elements_integers(MPI_BXOR, MPI_UNSIGNED_CHAR);
    *e++ = elements_integers(MPI_LAND, MPI_SHORT);
    *e++ = halves(MPI_DOUBLE, sizeof(double), MPI_SUM);
    *e++ = halves(MPI_FLOAT, sizeof(float), MPI_MIN);
    *e++ = elements_complex(MPI_SUM, MPI_C_DOUBLE_COMPLEX);
    *e++ = elements_pairs(MPI_MINLOC, MPI_DOUBLE_INT);
    *e++ = elements_matrices("matrices", (struct form){.extent = 16, .head = 16});
    nelements = (int)(e - elements);
}

void short_calls_free(void)
{
    elements_free(&elements[nelements - 1]);
}

/* ---- memory ---- */

static size_t memory_bytes(const struct short_call *c)
{
    if (c->what == BCAST)
        return layout_span(&c->layout, (size_t)c->count);
    return (size_t)(c->count * c->e->form.extent);
}

static int receives(const struct short_call *c)
{
    return c->what == ALLREDUCE || (c->what == REDUCE && c->rank == c->root);
}

static void make_memory(struct short_call *c)
{
    c->send = c->receive = NULL;
    if (c->what == BARRIER)
        return;
    if (c->what == BCAST || !c->in_place)
        c->send = check_alloc(memory_bytes(c));
    if (c->what != BCAST && receives(c))
        c->receive = check_alloc(memory_bytes(c));
}

static char *address(const struct short_call *c)
{
    return c->what == BCAST ? c->send + layout_origin(&c->layout, (size_t)c->count) : c->send;
}

/* Byte i of what the root sends. */
static char byte_of(const struct short_call *c, long i)
{
    uint64_t key = check_key(5, (uint64_t)c->step, (int)i);

    return (char)(key >> 17);
}

static void fill_bytes(struct short_call *c)
{
    check_poison(c->send, memory_bytes(c));
    for (long i = 0; i < c->count && c->rank == c->root; i++)
        c->send[layout_place(&c->layout, (size_t)c->count, (size_t)i)] = byte_of(c, i);
}

static void fill_elements(struct short_call *c)
{
    char *memory = c->in_place ? c->receive : c->send, *dense;

    if (c->receive)
        check_poison(c->receive, memory_bytes(c));
    check_poison(memory, memory_bytes(c));
    dense = malloc((size_t)c->count * c->e->size + 1);
    c->e->set(c->e, dense, c->rank, c->step, 0, c->count);
    elements_spread(c->e, memory, dense, c->count);
    free(dense);
}

static void fail(const struct short_call *c, const char *what, long i)
{
    static const char *const names[] = {"barrier", "bcast", "reduce", "allreduce"};
    static const char *const ways[] = {"", "nonblocking ", "persistent "};

    check_fail(__FILE__, __LINE__, "%s%s of %ld (%s), root %d of %d, step %d: %s at %ld",
               ways[c->way], names[c->what], c->count, c->e ? c->e->name : "bytes", c->root, c->n,
               c->step, what, i);
}

static void verify_bytes(const struct short_call *c)
{
    for (long i = 0; i < c->count; i++)
        if (c->send[layout_place(&c->layout, (size_t)c->count, (size_t)i)] != byte_of(c, i)) {
            fail(c, "wrong byte", i);
            return;
        }
}

static void verify_elements(const struct short_call *c)
{
    const size_t bytes = (size_t)c->count * c->e->size;
    char *right = malloc(bytes + 1), *left = malloc(bytes + 1), *got = malloc(bytes + 1);

    c->e->set(c->e, right, c->n - 1, c->step, 0, c->count);
    for (int rank = c->n - 2; rank >= 0; rank--) {
        c->e->set(c->e, left, rank, c->step, 0, c->count);
        if (c->count > 0)
            c->e->fold(c->e, left, right, c->count);
    }
    elements_gather(c->e, got, c->receive, c->count);
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != right[i]) {
            fail(c, "wrong byte", (long)i);
            break;
        }
    free(right);
    free(left);
    free(got);
}

/* ---- calls ---- */

static void reach(const struct short_call *c)
{
    __atomic_store_n(&c->board[check.rank], (uint32_t)c->step, __ATOMIC_RELEASE);
}

/* Every rank of the communicator has reached this barrier. */
static void verify_barrier(const struct short_call *c)
{
    MPI_Group all, some;
    int *ranks = calloc((size_t)c->n, sizeof(int)), *theirs = calloc((size_t)c->n, sizeof(int));

    for (int i = 0; i < c->n; i++)
        ranks[i] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(c->comm, &some);
    MPI_Group_translate_ranks(some, c->n, ranks, all, theirs);
    for (int i = 0; i < c->n; i++)
        if (__atomic_load_n(&c->board[theirs[i]], __ATOMIC_ACQUIRE) < (uint32_t)c->step)
            fail(c, "has not been reached by rank", i);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    free(ranks);
    free(theirs);
}

static const void *sent(const struct short_call *c)
{
    return c->in_place ? MPI_IN_PLACE : c->send;
}

static void prepare(struct short_call *c)
{
    if (c->what == BARRIER)
        reach(c);
    else if (c->what == BCAST)
        fill_bytes(c);
    else
        fill_elements(c);
}

static void verify(const struct short_call *c)
{
    if (c->what == BARRIER)
        verify_barrier(c);
    else if (c->what == BCAST)
        verify_bytes(c);
    else if (receives(c))
        verify_elements(c);
}

static void discard(struct short_call *c)
{
    check_free(c->send);
    check_free(c->receive);
    if (c->what == BCAST)
        MPI(MPI_Type_free(&c->type));
}

static int elements_of(const struct short_call *c)
{
    return (int)(c->what == BCAST ? c->count / c->layout.size : c->count);
}

static void run_blocking(struct short_call *c)
{
    const int n = elements_of(c);

    if (c->what == BARRIER)
        MPI(MPI_Barrier(c->comm));
    else if (c->what == BCAST)
        MPI(MPI_Bcast(address(c), n, c->type, c->root, c->comm));
    else if (c->what == REDUCE)
        MPI(MPI_Reduce(sent(c), c->receive, n, c->type, c->e->op, c->root, c->comm));
    else
        MPI(MPI_Allreduce(sent(c), c->receive, n, c->type, c->e->op, c->comm));
}

static void begin_nonblocking(struct short_call *c)
{
    const int n = elements_of(c);

    if (c->what == BARRIER)
        MPI(MPI_Ibarrier(c->comm, &c->request));
    else if (c->what == BCAST)
        MPI(MPI_Ibcast(address(c), n, c->type, c->root, c->comm, &c->request));
    else if (c->what == REDUCE)
        MPI(MPI_Ireduce(sent(c), c->receive, n, c->type, c->e->op, c->root, c->comm, &c->request));
    else
        MPI(MPI_Iallreduce(sent(c), c->receive, n, c->type, c->e->op, c->comm, &c->request));
}

static void init_persistent(struct short_call *c)
{
    const int n = elements_of(c);

    if (c->what == BARRIER)
        MPI(MPI_Barrier_init(c->comm, MPI_INFO_NULL, &c->request));
    else if (c->what == BCAST)
        MPI(MPI_Bcast_init(address(c), n, c->type, c->root, c->comm, MPI_INFO_NULL, &c->request));
    else if (c->what == REDUCE)
        MPI(MPI_Reduce_init(sent(c), c->receive, n, c->type, c->e->op, c->root, c->comm,
                            MPI_INFO_NULL, &c->request));
    else
        MPI(MPI_Allreduce_init(sent(c), c->receive, n, c->type, c->e->op, c->comm, MPI_INFO_NULL,
                               &c->request));
}

/* The bytes of a class, one less, one more; and others. */
static long random_bytes(uint64_t *state)
{
    static const long at[] = {0, 1, 8, 16, 48, 256, 512, 1024};
    const long bytes = at[short_calls_draw(state, 8)] + short_calls_draw(state, 3) - 1;

    return short_calls_draw(state, 3) == 0 ? short_calls_draw(state, ROOM) : bytes < 0 ? 0 : bytes;
}

/* A layout in which a bcast of so many bytes has whole elements, another one on each rank. */
static void choose_layout(struct short_call *c, uint64_t *local)
{
    c->layout = layout_random(local, 0);
    if (c->count % c->layout.size != 0 || short_calls_draw(local, 2)) {
        c->layout = (struct layout){.nblocks = 1, .size = 1, .extent = 1, .high = 1};
        c->layout.lengths[0] = 1;
    }
    c->type = layout_type(&c->layout);
}

void short_call_make(struct short_call *c, MPI_Comm comm, uint32_t *board, int step, int round,
                     uint64_t *shared, uint64_t *local)
{
    long bytes;
    int e;

    *c = (struct short_call){
        .comm = comm, .board = board, .step = step, .request = MPI_REQUEST_NULL, .type = MPI_BYTE};
    c->what = (enum what)short_calls_draw(shared, WHATS);
    c->in_place = short_calls_draw(shared, 3) == 0;
    c->way = short_calls_draw(shared, 8) < 6 ? BLOCKING
             : short_calls_draw(shared, 2)   ? NONBLOCKING
                                             : PERSISTENT;
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_size(c->comm, &c->n);
    /* Ranks of different communicators draw the same numbers: their shared states must not part.
     * Most calls of a round have the same root. */
    c->root = (short_calls_draw(shared, 4) ? round : short_calls_draw(shared, 1000)) % c->n;
    bytes = random_bytes(shared);
    if (c->what == REDUCE) /* MPICH 4.0.2 itself crashes in place where another rank is the root of
                            * a long vector */
        c->in_place = c->in_place && c->rank == c->root && (c->root == 0 || bytes <= 2048);
    e = (short_calls_draw(shared, 4) ? round + short_calls_draw(shared, 2)
                                     : short_calls_draw(shared, nelements)) %
        nelements;
    c->e = c->what >= REDUCE ? &elements[e] : NULL;
    c->count = c->what == BCAST ? bytes : c->e ? bytes / c->e->form.extent : 0;
    if (c->what == BCAST)
        choose_layout(c, local);
    else if (c->e)
        c->type = c->e->type;
    make_memory(c);
}

void short_call_begin(struct short_call *c)
{
    if (c->way == PERSISTENT)
        init_persistent(c);
    prepare(c);
    if (c->way == BLOCKING)
        run_blocking(c);
    else if (c->way == NONBLOCKING)
        begin_nonblocking(c);
    else
        MPI(MPI_Start(&c->request));
}

void short_call_finish(struct short_call *c)
{
    MPI(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
    verify(c);
    if (c->way == PERSISTENT)
        MPI(MPI_Request_free(&c->request));
    discard(c);
}
