#include "short_call.h"

enum { MAX_ELEMENTS = 12, ROOM = 9000 };

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

/* ---- blocks ---- */

static int is_root(const struct short_call *c)
{
    return c->rank == c->root;
}

/* How many blocks this rank sends. */
static int nsent(const struct short_call *c)
{
    switch (c->what) {
        case BARRIER:
            return 0;
        case BCAST:
            return is_root(c);
        case SCATTER:
            return is_root(c) ? c->n : 0;
        case ALLTOALL:
        case REDUCE_SCATTER_BLOCK:
            return c->n;
        default:
            return 1;
    }
}

/* How many blocks it receives. */
static int nreceived(const struct short_call *c)
{
    switch (c->what) {
        case BARRIER:
            return 0;
        case BCAST:
            return !is_root(c);
        case GATHER:
            return is_root(c) ? c->n : 0;
        case SCATTER:
            return !c->in_place;
        case ALLGATHER:
        case ALLGATHERV:
        case ALLTOALL:
            return c->n;
        case REDUCE:
            return is_root(c);
        case EXSCAN:
            return c->rank > 0;
        default:
            return 1;
    }
}

/* In place, what it sends lies in its receive buffer. */
static int sends_received(const struct short_call *c)
{
    return c->in_place && c->what != SCATTER;
}

/* The room of the receive buffer, in blocks. MPI demands one where an exscan leaves it undefined.
 */
static int nheld(const struct short_call *c)
{
    if (c->what == EXSCAN)
        return 1;
    return sends_received(c) && nsent(c) > nreceived(c) ? nsent(c) : nreceived(c);
}

/* Where block k of those that it receives, or sends, lies. Blocks of an allgatherv may be in
 * reverse order. */
static int place_received(const struct short_call *c, int k)
{
    return c->what == ALLGATHERV && c->step % 2 == 0 ? c->n - 1 - k : k;
}

static int place_sent(const struct short_call *c, int k)
{
    if (!sends_received(c) || c->what == ALLTOALL || c->what >= REDUCE)
        return k;
    return place_received(c, c->rank);
}

/* Of the block of a rank. Some of an allgatherv may be empty. */
static long length(const struct short_call *c, int rank)
{
    const int some_are_empty = c->what == ALLGATHERV && c->step % 4 < 2;

    return some_are_empty && (c->step + rank) % 3 == 0 ? 0 : c->count;
}

/* ---- memory ---- */

static size_t memory_bytes(const struct short_call *c, int nblocks)
{
    if (c->what < REDUCE)
        return layout_span(&c->layout, (size_t)(nblocks * c->count));
    return (size_t)(nblocks * c->count * c->e->form.extent);
}

static void make_memory(struct short_call *c)
{
    c->send = c->receive = NULL;
    c->counts = calloc((size_t)c->n, sizeof(int));
    c->displs = calloc((size_t)c->n, sizeof(int));
    for (int r = 0; r < c->n && c->what == ALLGATHERV; r++) {
        c->counts[r] = (int)(length(c, r) / c->layout.size);
        c->displs[r] = (int)(place_received(c, r) * c->count / c->layout.size);
    }
    if (nsent(c) > 0 && !sends_received(c))
        c->send = check_alloc(memory_bytes(c, nsent(c)));
    if (nheld(c) > 0)
        c->receive = check_alloc(memory_bytes(c, nheld(c)));
}

/* The address of a buffer with so many blocks. */
static char *address(const struct short_call *c, char *memory, int nblocks)
{
    if (!memory || c->what >= REDUCE)
        return memory;
    return memory + layout_origin(&c->layout, (size_t)(nblocks * c->count));
}

/* Byte i of a buffer with so many blocks, in the block at a place. */
static char *byte_at(const struct short_call *c, char *memory, int nblocks, int place, long i)
{
    return memory +
           layout_place(&c->layout, (size_t)(nblocks * c->count), (size_t)(place * c->count + i));
}

/* Byte i of what a rank sends to another one, or to all. */
static char byte_of(const struct short_call *c, int sender, int receiver, long i)
{
    const int to = c->what == SCATTER || c->what == ALLTOALL ? receiver : 0;
    const uint64_t key = check_key(5 + (uint64_t)(sender * c->n + to), (uint64_t)c->step, (int)i);

    return (char)(key >> 17);
}

static void fill_bytes(struct short_call *c)
{
    const int n = sends_received(c) ? nheld(c) : nsent(c);
    char *memory = sends_received(c) ? c->receive : c->send;

    for (int k = 0; k < nsent(c); k++)
        for (long i = 0; i < length(c, c->rank); i++)
            *byte_at(c, memory, n, place_sent(c, k), i) = byte_of(c, c->rank, k, i);
}

static void fill_elements(struct short_call *c)
{
    const long count = nsent(c) * c->count;
    char *dense = malloc((size_t)count * c->e->size + 1);

    c->e->set(c->e, dense, c->rank, c->step, 0, count);
    elements_spread(c->e, c->in_place ? c->receive : c->send, dense, count);
    free(dense);
}

static void fail(const struct short_call *c, const char *what, long i)
{
    static const char *const names[] = {
        "barrier",    "bcast",    "gather", "scatter",   "allgather",
        "allgatherv", "alltoall", "reduce", "allreduce", "reduce_scatter_block",
        "scan",       "exscan"};
    static const char *const ways[] = {"", "nonblocking ", "persistent "};

    check_fail(__FILE__, __LINE__, "%s%s of %ld (%s)%s, root %d of %d, step %d: %s at %ld",
               ways[c->way], names[c->what], c->count, c->e ? c->e->name : "bytes",
               c->in_place ? " in place" : "", c->root, c->n, c->step, what, i);
}

/* Block k of what was received. The room of an empty one is untouched. */
static void verify_block(const struct short_call *c, int k)
{
    static const char poison = (char)0xA5;
    const int sender = c->what == BCAST || c->what == SCATTER ? c->root : k;
    const long bytes = length(c, sender);

    for (long i = 0; i < c->count; i++) {
        const char is = *byte_at(c, c->receive, nheld(c), place_received(c, k), i);

        if (is != (i < bytes ? byte_of(c, sender, c->rank, i) : poison)) {
            fail(c, i < bytes ? "wrong byte" : "byte was written", k * c->count + i);
            return;
        }
    }
}

/* The ranks whose data is reduced: all of them, those up to this one, or those before it. */
static int last_operand(const struct short_call *c)
{
    return c->what == SCAN ? c->rank : c->what == EXSCAN ? c->rank - 1 : c->n - 1;
}

static void verify_elements(const struct short_call *c)
{
    const size_t bytes = (size_t)c->count * c->e->size;
    const long first = c->what == REDUCE_SCATTER_BLOCK ? c->rank * c->count : 0;
    char *right = malloc(bytes + 1), *left = malloc(bytes + 1), *got = malloc(bytes + 1);

    c->e->set(c->e, right, last_operand(c), c->step, first, c->count);
    for (int rank = last_operand(c) - 1; rank >= 0; rank--) {
        c->e->set(c->e, left, rank, c->step, first, c->count);
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

static void prepare(struct short_call *c)
{
    if (c->send)
        check_poison(c->send, memory_bytes(c, nsent(c)));
    if (c->receive)
        check_poison(c->receive, memory_bytes(c, nheld(c)));
    if (c->what == BARRIER)
        reach(c);
    else if (c->what < REDUCE)
        fill_bytes(c);
    else
        fill_elements(c);
}

static void verify(const struct short_call *c)
{
    if (c->what == BARRIER)
        verify_barrier(c);
    for (int k = 0; k < nreceived(c) && c->what < REDUCE; k++)
        verify_block(c, k);
    if (nreceived(c) > 0 && c->what >= REDUCE)
        verify_elements(c);
}

static void discard(struct short_call *c)
{
    check_free(c->send);
    check_free(c->receive);
    free(c->counts);
    free(c->displs);
    if (c->what < REDUCE)
        MPI(MPI_Type_free(&c->type));
}

/* Call MPI in the way of c. */
#define CALL(c, Name, name, ...)                                                                   \
    MPI((c)->way == BLOCKING      ? MPI_##Name(__VA_ARGS__)                                        \
        : (c)->way == NONBLOCKING ? MPI_I##name(__VA_ARGS__, &(c)->request)                        \
                                  : MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &(c)->request))

/* A rank that has no such buffer passes a type that would not fit. */
static void move(struct short_call *c, const void *from, void *to)
{
    const int n = (int)(c->count / c->layout.size),
              sent = c->what == ALLGATHERV ? c->counts[c->rank] : n;
    const MPI_Datatype sent_type = from ? c->type : MPI_DOUBLE, type = to ? c->type : MPI_DOUBLE;

    if (c->what == BCAST)
        CALL(c, Bcast, bcast, is_root(c) ? (void *)from : to, n, c->type, c->root, c->comm);
    else if (c->what == GATHER)
        CALL(c, Gather, gather, from, n, sent_type, to, n, type, c->root, c->comm);
    else if (c->what == SCATTER)
        CALL(c, Scatter, scatter, from, n, sent_type, to, n, type, c->root, c->comm);
    else if (c->what == ALLGATHER)
        CALL(c, Allgather, allgather, from, n, c->type, to, n, c->type, c->comm);
    else if (c->what == ALLGATHERV)
        CALL(c, Allgatherv, allgatherv, from, sent, c->type, to, c->counts, c->displs, c->type,
             c->comm);
    else
        CALL(c, Alltoall, alltoall, from, n, c->type, to, n, c->type, c->comm);
}

static void reduce(struct short_call *c, const void *from, void *to)
{
    const int n = (int)c->count;
    const MPI_Op op = c->e->op;

    if (c->what == REDUCE)
        CALL(c, Reduce, reduce, from, to, n, c->type, op, c->root, c->comm);
    else if (c->what == ALLREDUCE)
        CALL(c, Allreduce, allreduce, from, to, n, c->type, op, c->comm);
    else if (c->what == REDUCE_SCATTER_BLOCK)
        CALL(c, Reduce_scatter_block, reduce_scatter_block, from, to, n, c->type, op, c->comm);
    else if (c->what == SCAN)
        CALL(c, Scan, scan, from, to, n, c->type, op, c->comm);
    else
        CALL(c, Exscan, exscan, from, to, n, c->type, op, c->comm);
}

static void make_call(struct short_call *c)
{
    const void *from =
        sends_received(c) ? MPI_IN_PLACE : (const void *)address(c, c->send, nsent(c));
    void *to = c->in_place && c->what == SCATTER ? MPI_IN_PLACE : address(c, c->receive, nheld(c));

    if (c->what == BARRIER)
        CALL(c, Barrier, barrier, c->comm);
    else if (c->what < REDUCE)
        move(c, from, to);
    else
        reduce(c, from, to);
}

/* The bytes of a class, one less, one more; and others. Those of long calls are the same in a
 * round, as each has a plan of its own. */
static long random_bytes(uint64_t *state, int round)
{
    static const long at[] = {0, 1, 8, 16, 48, 256, 512, 1024, 2048, 4096, 8192, 32768, 65536};
    const long near = at[short_calls_draw(state, 13)], more = short_calls_draw(state, 3);
    const long bytes = near + (near > 4096 ? round % 3 : more) - 1;

    return short_calls_draw(state, 3) == 0 ? short_calls_draw(state, ROOM) : bytes < 0 ? 0 : bytes;
}

/* Whether MPICH delivers right data if ranks have different types: it cuts the blocks of long
 * allgathervs by the extent of each rank's own. */
static int may_differ(const struct short_call *c)
{
    return c->what != ALLGATHERV || c->count <= ROOM;
}

/* A layout in which a block of so many bytes has whole elements, another one on each rank. */
static void choose_layout(struct short_call *c, uint64_t *local)
{
    c->layout = layout_random(local, 0);
    if (c->count % c->layout.size != 0 || short_calls_draw(local, 2) || !may_differ(c)) {
        c->layout = (struct layout){.nblocks = 1, .size = 1, .extent = 1, .high = 1};
        c->layout.lengths[0] = 1;
    }
    c->type = layout_type(&c->layout);
}

/* MPICH 4.0.2 itself crashes in place where another rank is the root of a reduction of a long
 * vector. */
static int may_be_in_place(const struct short_call *c, long bytes)
{
    if (c->what == BARRIER || c->what == BCAST)
        return 0;
    if (c->what == REDUCE)
        return is_root(c) && (c->root == 0 || bytes <= 2048);
    return is_root(c) || (c->what != GATHER && c->what != SCATTER);
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
    bytes = random_bytes(shared, round);
    c->in_place = c->in_place && may_be_in_place(c, bytes);
    e = (short_calls_draw(shared, 4) ? round + short_calls_draw(shared, 2)
                                     : short_calls_draw(shared, nelements)) %
        nelements;
    c->e = c->what >= REDUCE ? &elements[e] : NULL;
    c->count = c->e ? bytes / c->e->form.extent : c->what == BARRIER ? 0 : bytes;
    if (c->e)
        c->type = c->e->type;
    else
        choose_layout(c, local);
    make_memory(c);
}

void short_call_begin(struct short_call *c)
{
    if (c->way == PERSISTENT)
        make_call(c);
    prepare(c);
    if (c->way == PERSISTENT)
        MPI(MPI_Start(&c->request));
    else
        make_call(c);
}

void short_call_finish(struct short_call *c)
{
    MPI(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
    verify(c);
    if (c->way == PERSISTENT)
        MPI(MPI_Request_free(&c->request));
    discard(c);
}
