/* Ordinary blocking collectives that plans may serve, between nonblocking and persistent ones:
 * random lengths, roots, types and operators, in place, on three communicators that are duplicated
 * and freed meanwhile. Every rank checks all data against what the standard says.
 *
 *   -rounds=N (60)    a communicator is new in each, and may die with its plans
 *   -calls=N (60)     of a round
 *   -threads=N (1)    threads of each rank that do all of this at the same time
 *   -counts           beforehand: which calls does the library promote? They must be promoted from
 *                     the first one on (PCOLL_TEST_PROMOTE_AFTER=0); -counts=exact: with that
 *                     setting
 *   -none             nothing must be promoted
 *   -comms=N          afterwards: communicators, created, used and freed one after the other, and
 *                     200 calls for each of them: nothing may grow
 *   -times=N          afterwards: calls on one communicator: nothing may grow
 *   -many=N           afterwards: communicators that are used in turn, each until it has plans
 */

#include "board.h"
#include "elements.h"
#include "layout.h"
#include "usage.h"
#include "workers.h"

enum { COMMS = 3, MAX_ELEMENTS = 12, MAX_PENDING = 5, ROOM = 1500 };
enum what { BARRIER, BCAST, REDUCE, ALLREDUCE, WHATS };
enum way { BLOCKING, NONBLOCKING, PERSISTENT };

/* A call and its memory. */
struct call {
    enum what what;
    const struct elements *e; /* of a reduction */
    MPI_Comm comm;
    int rank, n, root, in_place, step;
    long count;           /* elements, of a bcast bytes */
    struct layout layout; /* of this rank's buffer of a bcast */
    MPI_Datatype type;
    char *send, *receive;
    MPI_Request request;
    enum way way;
};

struct thread {
    struct worker *worker;
    MPI_Comm comms[COMMS];
    uint32_t *board; /* the last barrier that each rank has reached */
    int step, round;
};

static struct elements elements[MAX_ELEMENTS];
static int nelements;
static int rounds, calls;

static int draw(uint64_t *state, int n)
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

static void make_elements(void)
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

/* ---- memory ---- */

static size_t memory_bytes(const struct call *c)
{
    if (c->what == BCAST)
        return layout_span(&c->layout, (size_t)c->count);
    return (size_t)(c->count * c->e->form.extent);
}

static int receives(const struct call *c)
{
    return c->what == ALLREDUCE || (c->what == REDUCE && c->rank == c->root);
}

static void make_memory(struct call *c)
{
    c->send = c->receive = NULL;
    if (c->what == BARRIER)
        return;
    if (c->what == BCAST || !c->in_place)
        c->send = check_alloc(memory_bytes(c));
    if (c->what != BCAST && receives(c))
        c->receive = check_alloc(memory_bytes(c));
}

static char *address(const struct call *c)
{
    return c->what == BCAST ? c->send + layout_origin(&c->layout, (size_t)c->count) : c->send;
}

/* Byte i of what the root sends. */
static char byte_of(const struct call *c, long i)
{
    uint64_t key = check_key(5, (uint64_t)c->step, (int)i);

    return (char)(key >> 17);
}

static void fill_bytes(struct call *c)
{
    check_poison(c->send, memory_bytes(c));
    for (long i = 0; i < c->count && c->rank == c->root; i++)
        c->send[layout_place(&c->layout, (size_t)c->count, (size_t)i)] = byte_of(c, i);
}

static void fill_elements(struct call *c)
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

static void fail(const struct call *c, const char *what, long i)
{
    static const char *const names[] = {"barrier", "bcast", "reduce", "allreduce"};
    static const char *const ways[] = {"", "nonblocking ", "persistent "};

    check_fail(__FILE__, __LINE__, "%s%s of %ld (%s), root %d of %d, step %d: %s at %ld",
               ways[c->way], names[c->what], c->count, c->e ? c->e->name : "bytes", c->root, c->n,
               c->step, what, i);
}

static void verify_bytes(const struct call *c)
{
    for (long i = 0; i < c->count; i++)
        if (c->send[layout_place(&c->layout, (size_t)c->count, (size_t)i)] != byte_of(c, i)) {
            fail(c, "wrong byte", i);
            return;
        }
}

static void verify_elements(const struct call *c)
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

static void reach(struct thread *t, const struct call *c)
{
    __atomic_store_n(&t->board[check.rank], (uint32_t)c->step, __ATOMIC_RELEASE);
}

/* Every rank of the communicator has reached this barrier. */
static void verify_barrier(struct thread *t, const struct call *c)
{
    MPI_Group all, some;
    int *ranks = calloc((size_t)c->n, sizeof(int)), *theirs = calloc((size_t)c->n, sizeof(int));

    for (int i = 0; i < c->n; i++)
        ranks[i] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(c->comm, &some);
    MPI_Group_translate_ranks(some, c->n, ranks, all, theirs);
    for (int i = 0; i < c->n; i++)
        if (__atomic_load_n(&t->board[theirs[i]], __ATOMIC_ACQUIRE) < (uint32_t)c->step)
            fail(c, "has not been reached by rank", i);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    free(ranks);
    free(theirs);
}

static const void *sent(const struct call *c)
{
    return c->in_place ? MPI_IN_PLACE : c->send;
}

static void prepare(struct thread *t, struct call *c)
{
    if (c->what == BARRIER)
        reach(t, c);
    else if (c->what == BCAST)
        fill_bytes(c);
    else
        fill_elements(c);
}

static void verify(struct thread *t, const struct call *c)
{
    if (c->what == BARRIER)
        verify_barrier(t, c);
    else if (c->what == BCAST)
        verify_bytes(c);
    else if (receives(c))
        verify_elements(c);
}

static void discard(struct call *c)
{
    check_free(c->send);
    check_free(c->receive);
    if (c->what == BCAST)
        MPI(MPI_Type_free(&c->type));
}

static int elements_of(const struct call *c)
{
    return (int)(c->what == BCAST ? c->count / c->layout.size : c->count);
}

static void run_blocking(struct call *c)
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

static void begin_nonblocking(struct call *c)
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

static void init_persistent(struct call *c)
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
    const long bytes = at[draw(state, 8)] + draw(state, 3) - 1;

    return draw(state, 3) == 0 ? draw(state, ROOM) : bytes < 0 ? 0 : bytes;
}

/* A layout in which a bcast of so many bytes has whole elements, another one on each rank. */
static void choose_layout(struct call *c, uint64_t *local)
{
    c->layout = layout_random(local, 0);
    if (c->count % c->layout.size != 0 || draw(local, 2)) {
        c->layout = (struct layout){.nblocks = 1, .size = 1, .extent = 1, .high = 1};
        c->layout.lengths[0] = 1;
    }
    c->type = layout_type(&c->layout);
}

static void make_call(struct thread *t, struct call *c)
{
    uint64_t *shared = &t->worker->shared;
    long bytes;
    int e;

    *c = (struct call){.step = ++t->step, .request = MPI_REQUEST_NULL, .type = MPI_BYTE};
    c->what = (enum what)draw(shared, WHATS);
    c->comm = t->comms[draw(shared, COMMS)];
    c->in_place = draw(shared, 3) == 0;
    c->way = draw(shared, 8) < 6 ? BLOCKING : draw(shared, 2) ? NONBLOCKING : PERSISTENT;
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_size(c->comm, &c->n);
    /* Ranks of different communicators draw the same numbers: their shared states must not part.
     * Most calls of a round have the same root. */
    c->root = (draw(shared, 4) ? t->round : draw(shared, 1000)) % c->n;
    bytes = random_bytes(shared);
    if (c->what == REDUCE) /* MPICH 4.0.2 itself crashes in place where another rank is the root of
                            * a long vector */
        c->in_place = c->in_place && c->rank == c->root && (c->root == 0 || bytes <= 2048);
    e = (draw(shared, 4) ? t->round + draw(shared, 2) : draw(shared, nelements)) % nelements;
    c->e = c->what >= REDUCE ? &elements[e] : NULL;
    c->count = c->what == BCAST ? bytes : c->e ? bytes / c->e->form.extent : 0;
    if (c->what == BCAST)
        choose_layout(c, &t->worker->local);
    else if (c->e)
        c->type = c->e->type;
    make_memory(c);
}

static void finish(struct thread *t, struct call *c)
{
    MPI(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
    verify(t, c);
    if (c->way == PERSISTENT)
        MPI(MPI_Request_free(&c->request));
    discard(c);
}

/* An error on all ranks is no call. */
static void call_wrongly(const struct thread *t)
{
    MPI_Comm comm = t->comms[0];
    char byte = 0;

    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK(MPI_Bcast(&byte, 1, MPI_BYTE, -7, comm) != MPI_SUCCESS);
    CHECK(MPI_Allreduce(&byte, &byte, 1, MPI_BYTE, MPI_MAXLOC, comm) != MPI_SUCCESS);
}

/* A barrier that is under way leaves the board of later ones unread. */
static int may_wait(const struct call *c)
{
    return c->what != BARRIER || c->way == BLOCKING;
}

static void renew_comm(struct thread *t, int i, int is_first)
{
    const int form = draw(&t->worker->shared, 3), half = draw(&t->worker->shared, 2);
    int rank, n;

    if (!is_first)
        MPI(MPI_Comm_free(&t->comms[i]));
    MPI_Comm_rank(t->worker->world, &rank);
    MPI_Comm_size(t->worker->world, &n);
    if (form == 0)
        MPI(MPI_Comm_dup(t->worker->world, &t->comms[i]));
    else if (form == 1)
        MPI(MPI_Comm_split(t->worker->world, 0, n - rank, &t->comms[i]));
    else
        MPI(MPI_Comm_split(t->worker->world, rank % 2 == half, rank, &t->comms[i]));
}

static void run_round(struct thread *t)
{
    struct call pending[MAX_PENDING], c;
    int n = 0;

    renew_comm(t, draw(&t->worker->shared, COMMS), 0);
    for (int i = 0; i < calls; i++) {
        make_call(t, &c);
        if (c.way == PERSISTENT)
            init_persistent(&c);
        prepare(t, &c);
        if (draw(&t->worker->local, 40) == 0)
            check_delay();
        if (c.way == BLOCKING) {
            run_blocking(&c);
            verify(t, &c);
            discard(&c);
        } else {
            if (c.way == PERSISTENT)
                MPI(MPI_Start(&c.request));
            else
                begin_nonblocking(&c);
            if (may_wait(&c) && n < MAX_PENDING - 1)
                pending[n++] = c;
            else
                finish(t, &c);
        }
        if (n > 0 && draw(&t->worker->shared, 4) == 0)
            finish(t, &pending[--n]);
    }
    while (n > 0)
        finish(t, &pending[--n]);
    if (draw(&t->worker->shared, 4) == 0)
        call_wrongly(t);
    check_progress();
}

static void work(struct worker *worker)
{
    struct thread t = {.worker = worker, .board = board_map(check.size, worker->world)};

    for (int i = 0; i < COMMS; i++)
        renew_comm(&t, i, 1);
    for (t.round = 0; t.round < rounds; t.round++)
        run_round(&t);
    for (int i = 0; i < COMMS; i++)
        MPI(MPI_Comm_free(&t.comms[i]));
    board_unmap(t.board, check.size);
}

/* ---- what is promoted ---- */

/* Calls of each sort are all promoted, or none is. */
static void count_promoted(int is_exact)
{
    static char in[8192], out[8192];
    const struct {
        const char *name;
        int count;
        MPI_Datatype type;
        MPI_Op op;
        int promoted;
    } sorts[] = {
        {"no int", 0, MPI_INT, MPI_SUM, 0},
        {"ints", 7, MPI_INT, MPI_SUM, 1},
        {"1024 B of longs", 128, MPI_LONG, MPI_PROD, 1},
        {"1032 B of longs", 129, MPI_LONG, MPI_PROD, 0},
        {"a minimum", 1, MPI_DOUBLE, MPI_MIN, 1},
        {"a sum of doubles", 1, MPI_DOUBLE, MPI_SUM, !is_exact},
        {"a product of complex numbers", 1, MPI_C_FLOAT_COMPLEX, MPI_PROD, !is_exact},
        {"pairs with gaps", 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0},
    };
    enum { TIMES = 3 };

    for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
        MPI_Comm comm;

        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        const long long before = check_pvar("coll_offload_promoted_calls");

        for (int k = 0; k < TIMES; k++)
            MPI(MPI_Allreduce(in, out, sorts[i].count, sorts[i].type, sorts[i].op, comm));
        const long long more = check_pvar("coll_offload_promoted_calls") - before;

        if (before < 0 || more != (check.size > 1 ? TIMES * sorts[i].promoted : 0))
            check_fail(__FILE__, __LINE__, "%lld calls have been promoted: %s", more,
                       sorts[i].name);
        MPI(MPI_Comm_free(&comm));
    }
}

/* ---- what is used ---- */

/* Five calls; `i` tells what they deliver. */
static void call_each(MPI_Comm comm, int i)
{
    static char bytes[1024];
    const int root = i % 2 % check.size, n = check.size, length = i % 3 == 0 ? 1024 : 64;
    long in = check.rank + i, out = -1, all = -1;
    double largest = -1, own = check.rank == root ? i : -2;

    memset(bytes, check.rank == root ? i : ~i, (size_t)length);
    MPI(MPI_Barrier(comm));
    MPI(MPI_Bcast(bytes, length, MPI_BYTE, root, comm));
    MPI(MPI_Reduce(&in, &out, 1, MPI_LONG, MPI_SUM, root, comm));
    MPI(MPI_Allreduce(&in, &all, 1, MPI_LONG, MPI_SUM, comm));
    MPI(MPI_Allreduce(&own, &largest, 1, MPI_DOUBLE, MPI_MAX, comm));
    CHECK(bytes[0] == (char)i && bytes[length - 1] == (char)i);
    CHECK(all == (long)n * i + n * (n - 1) / 2 && (check.rank != root || out == all));
    CHECK(largest == i);
}

struct usage {
    long resident_kib, shared_kib;
    int descriptors;
};

static struct usage usage_now(void)
{
    return (struct usage){usage_resident_kib(), (long)(usage_shared_bytes() / 1024),
                          usage_descriptors()};
}

/* `extra`: KiB that may come on top. */
static void must_be_flat(const struct usage *before, int extra)
{
    const struct usage after = usage_now();

    check_note("resident, shared KiB, descriptors: %ld, %ld, %d, then %ld, %ld, %d",
               before->resident_kib, before->shared_kib, before->descriptors, after.resident_kib,
               after.shared_kib, after.descriptors);
    CHECK(after.resident_kib <= before->resident_kib + 2048 + extra);
    CHECK(after.shared_kib <= before->shared_kib + 2048);
    CHECK(after.descriptors <= before->descriptors + 2);
}

/* After a quarter of the communicators everything has reached its final size. */
static void stay_flat(int comms)
{
    enum { OF_EACH = 20 };
    struct usage before = usage_now();
    MPI_Comm lasting;

    check_phase("%d communicators, one after the other", comms);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &lasting));
    for (int i = 0; i < comms && check.errors == 0; i++) {
        MPI_Comm comm;

        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int k = 0; k < OF_EACH; k++) {
            call_each(comm, i + k);
            call_each(lasting, i + k);
        }
        MPI(MPI_Comm_free(&comm));
        if (i == comms / 4)
            before = usage_now();
        check_progress();
    }
    MPI(MPI_Comm_free(&lasting));
    must_be_flat(&before, comms / 8);
}

/* After half of the calls all plans exist. */
static void call_often(long times)
{
    enum { CALLS = 5 };
    struct usage before = usage_now();
    const long long promoted = check_pvar("coll_offload_promoted_calls");

    check_phase("%ld calls on a communicator", times);
    for (long i = 0; i < times / CALLS && check.errors == 0; i++) {
        call_each(MPI_COMM_WORLD, (int)i);
        if (i == times / CALLS / 2)
            before = usage_now();
        check_progress();
    }
    check_note("of %ld calls, %lld were promoted", times,
               check_pvar("coll_offload_promoted_calls") - promoted);
    must_be_flat(&before, 0);
}

/* The handles of the same communicator differ: how often each rank finds the count of another one
 * in its place does, too. */
static void use_many(int comms)
{
    enum { TIMES = 30 };
    MPI_Comm *own = calloc((size_t)check.rank + 1, sizeof(*own)),
             *shared = calloc((size_t)comms, sizeof(*shared));
    const long long promoted = check_pvar("coll_offload_promoted_calls");

    check_phase("%d communicators in turn", comms);
    for (int i = 0; i < check.rank; i++)
        MPI(MPI_Comm_dup(MPI_COMM_SELF, &own[i]));
    for (int i = 0; i < comms; i++)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &shared[i]));
    for (int k = 0; k < TIMES && check.errors == 0; k++)
        for (int i = 0; i < comms; i++) {
            call_each(shared[i], i + k);
            check_progress();
        }
    for (int i = 0; i < comms; i++)
        MPI(MPI_Comm_free(&shared[i]));
    for (int i = 0; i < check.rank; i++)
        MPI(MPI_Comm_free(&own[i]));
    free(own);
    free(shared);
    check_note("%lld calls have been promoted",
               check_pvar("coll_offload_promoted_calls") - promoted);
}

int main(int argc, char **argv)
{
    const int nthreads = workers_init(&argc, &argv);

    rounds = (int)check_number("rounds", 60);
    calls = (int)check_number("calls", 60);
    make_elements();
    if (check_option("counts"))
        count_promoted(strcmp(check_option("counts"), "exact") == 0);
    check_phase("%d rounds in %d threads", rounds, nthreads);
    workers_run(nthreads, work);
    if (check_option("comms"))
        stay_flat((int)check_number("comms", 0));
    if (check_option("times"))
        call_often(check_number("times", 0));
    if (check_option("many"))
        use_many((int)check_number("many", 0));
    check_note("%lld calls have been promoted", check_pvar("coll_offload_promoted_calls"));
    if (check_option("none"))
        CHECK(check_pvar("coll_offload_promoted_calls") == 0);
    elements_free(&elements[nelements - 1]);
    return check_done();
}
