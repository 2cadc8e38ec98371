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
 */

#include "board.h"
#include "short_call.h"
#include "workers.h"

enum { COMMS = 3, MAX_PENDING = 5 };

struct thread {
    struct worker *worker;
    MPI_Comm comms[COMMS];
    uint32_t *board; /* the last barrier that each rank has reached */
    int step, round;
};

static int rounds, calls;

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
static int may_wait(const struct short_call *c)
{
    return c->what != BARRIER && c->way != BLOCKING;
}

static void renew_comm(struct thread *t, int i, int is_first)
{
    const int form = short_calls_draw(&t->worker->shared, 3),
              half = short_calls_draw(&t->worker->shared, 2);
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
    uint64_t *shared = &t->worker->shared;
    struct short_call pending[MAX_PENDING], c;
    int n = 0;

    renew_comm(t, short_calls_draw(shared, COMMS), 0);
    for (int i = 0; i < calls; i++) {
        short_call_make(&c, t->comms[short_calls_draw(shared, COMMS)], t->board, ++t->step,
                        t->round, shared, &t->worker->local);
        if (short_calls_draw(&t->worker->local, 40) == 0)
            check_delay();
        short_call_begin(&c);
        if (may_wait(&c) && n < MAX_PENDING)
            pending[n++] = c;
        else
            short_call_finish(&c);
        if (n > 0 && short_calls_draw(shared, 4) == 0)
            short_call_finish(&pending[--n]);
    }
    while (n > 0)
        short_call_finish(&pending[--n]);
    if (short_calls_draw(shared, 4) == 0)
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

/* Calls of each sort are all promoted, or none is; unknown for those that depend on cores that have
 * not been counted by the user. */
static void count_promoted(int is_exact)
{
    enum { UNKNOWN = -1 };
    static char in[1 << 17], out[1 << 17];
    const char *shares = getenv("MPIR_CVAR_COLL_OFFLOAD_OVERSUBSCRIBED");
    const int with_cores = shares ? strcmp(shares, "no") == 0 : UNKNOWN;
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
        {"1032 B of longs", 129, MPI_LONG, MPI_PROD, with_cores},
        {"4096 B of longs", 512, MPI_LONG, MPI_PROD, with_cores},
        {"4104 B of longs", 513, MPI_LONG, MPI_PROD, with_cores},
        {"65536 B of longs", 8192, MPI_LONG, MPI_PROD, with_cores},
        {"65544 B of longs", 8193, MPI_LONG, MPI_PROD, 0},
        {"a minimum", 1, MPI_DOUBLE, MPI_MIN, 1},
        {"a sum of doubles", 1, MPI_DOUBLE, MPI_SUM, !is_exact || check.size == 2},
        {"a product of doubles", 1, MPI_DOUBLE, MPI_PROD, !is_exact},
        {"a product of complex numbers", 1, MPI_C_FLOAT_COMPLEX, MPI_PROD, !is_exact},
        {"pairs with gaps", 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0},
    };
    enum { TIMES = 3 };

    for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
        MPI_Comm comm;

        if (sorts[i].promoted == UNKNOWN)
            continue;
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

/* A call of each kind; those to all ranks have blocks of one int. */
static void call_each(MPI_Comm comm, int *in, int *out, int *counts, int *displs)
{
    const MPI_Datatype type = MPI_INT;

    MPI(MPI_Barrier(comm));
    MPI(MPI_Bcast(in, 1, type, 0, comm));
    MPI(MPI_Gather(in, 1, type, out, 1, type, 0, comm));
    MPI(MPI_Scatter(in, 1, type, out, 1, type, 0, comm));
    MPI(MPI_Allgather(in, 1, type, out, 1, type, comm));
    MPI(MPI_Allgatherv(in, 1, type, out, counts, displs, type, comm));
    MPI(MPI_Alltoall(in, 1, type, out, 1, type, comm));
    MPI(MPI_Reduce(in, out, 1, type, MPI_SUM, 0, comm));
    MPI(MPI_Allreduce(in, out, 1, type, MPI_SUM, comm));
    MPI(MPI_Reduce_scatter_block(in, out, 1, type, MPI_SUM, comm));
    MPI(MPI_Scan(in, out, 1, type, MPI_SUM, comm));
    MPI(MPI_Exscan(in, out, 1, type, MPI_SUM, comm));
}

/* Calls of all kinds are promoted after the next review, which is a few calls away. An allgatherv
 * takes the plan of an allgather. */
static void count_kinds(void)
{
    enum { KINDS = 12, PLANS = KINDS - 1 };
    int *in = calloc((size_t)check.size, sizeof(int)),
        *out = calloc((size_t)check.size, sizeof(int)),
        *counts = calloc((size_t)check.size, sizeof(int)),
        *displs = calloc((size_t)check.size, sizeof(int));
    MPI_Comm comm;

    for (int r = 0; r < check.size; r++) {
        counts[r] = 1;
        displs[r] = r;
    }
    const long long plans = check_pvar("coll_offload_promoted_plans");

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    call_each(comm, in, out, counts, displs);
    call_each(comm, in, out, counts, displs);
    const long long calls_before = check_pvar("coll_offload_promoted_calls");

    call_each(comm, in, out, counts, displs);
    CHECK(check_pvar("coll_offload_promoted_calls") - calls_before == (check.size > 1 ? KINDS : 0));
    CHECK(check_pvar("coll_offload_promoted_plans") - plans == (check.size > 1 ? PLANS : 0));
    MPI(MPI_Comm_free(&comm));
    free(in);
    free(out);
    free(counts);
    free(displs);
}

int main(int argc, char **argv)
{
    const int nthreads = workers_init(&argc, &argv);

    rounds = (int)check_number("rounds", 60);
    calls = (int)check_number("calls", 60);
    short_calls_init();
    if (check_option("counts")) {
        count_promoted(strcmp(check_option("counts"), "exact") == 0);
        count_kinds();
    }
    check_phase("%d rounds in %d threads", rounds, nthreads);
    workers_run(nthreads, work);
    check_note("%lld calls have been promoted", check_pvar("coll_offload_promoted_calls"));
    if (check_option("none"))
        CHECK(check_pvar("coll_offload_promoted_calls") == 0);
    short_calls_free();
    return check_done();
}
