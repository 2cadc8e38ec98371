/* Random programs: communicators, datatypes, sizes, orders and ways of completion are all drawn
 * from one seed, so that a failure can be reproduced.
 *
 * A round creates a communicator and some plans on it, starts them a few times in a different order
 * on each rank, completes them in a different way on each rank, and frees everything in any order,
 * the communicator perhaps before its plans are started. Every rank knows every rank's datatypes
 * and data, so each byte of the receive buffers is compared, including gaps between elements.
 * Reductions have elements of one byte without gaps, and a user's operator that does not commute.
 *
 *   -rounds=N (40)    -starts=N (8)   most starts of each plan
 *   -threads=N (1)    threads of each rank that do all of this at the same time
 *   -bytes=N (20000)  most bytes of a message */

#include "layout.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_PLANS = 6, MAX_THREADS = 4, POISON = 0x5a };
enum kind {
    BARRIER,
    BCAST,
    ALLGATHER,
    ALLGATHER_IN_PLACE,
    GATHER,
    GATHER_IN_PLACE,
    SCATTER,
    SCATTER_IN_PLACE,
    ALLTOALL,
    ALLTOALL_IN_PLACE,
    ALLREDUCE,
    ALLREDUCE_IN_PLACE,
    KINDS
};

static const char *const names[KINDS] = {"barrier",   "bcast",
                                         "allgather", "allgather in place",
                                         "gather",    "gather in place",
                                         "scatter",   "scatter in place",
                                         "alltoall",  "alltoall in place",
                                         "allreduce", "allreduce in place"};

struct plan {
    enum kind kind;
    int root, rank, n, step;
    size_t bytes;  /* of the message, or of one block */
    uint64_t seed; /* for datatypes and data */
    struct layout sending, receiving;
    MPI_Datatype send_type, receive_type;
    unsigned char *send, *receive, *expected; /* all the memory that the layouts span */
    size_t send_span, receive_span;
    MPI_Request request;
};

struct thread {
    MPI_Comm world;
    uint64_t shared, local; /* random states: the same on all ranks, and different ones */
    unsigned long starts;
};

static int max_starts, max_bytes, rounds;
static atomic_ulong all_starts;

static int draw(uint64_t *state, int n)
{
    return (int)(check_random(state) % (uint64_t)n);
}

/* ---- data ---- */

static int reduces(const struct plan *p)
{
    return p->kind == ALLREDUCE || p->kind == ALLREDUCE_IN_PLACE;
}

/* What `rank` has for itself is where it receives, or (scatter) stays where it is sent from. */
static int in_place(const struct plan *p, int rank)
{
    if (p->kind == GATHER_IN_PLACE || p->kind == SCATTER_IN_PLACE)
        return rank == p->root;
    return p->kind == ALLGATHER_IN_PLACE || p->kind == ALLTOALL_IN_PLACE ||
           p->kind == ALLREDUCE_IN_PLACE;
}

/* The number of blocks that the rank sends, wherever they are, and that it receives. */
static int blocks_sent(const struct plan *p, int rank)
{
    switch (p->kind) {
        case BARRIER:
            return 0;
        case BCAST:
            return rank == p->root;
        case SCATTER:
        case SCATTER_IN_PLACE:
            return rank == p->root ? p->n : 0;
        case ALLTOALL:
        case ALLTOALL_IN_PLACE:
            return p->n;
        default:
            return 1;
    }
}

static int blocks_received(const struct plan *p)
{
    switch (p->kind) {
        case BARRIER:
            return 0;
        case BCAST:
            return p->rank != p->root;
        case GATHER:
        case GATHER_IN_PLACE:
            return p->rank == p->root ? p->n : 0;
        case SCATTER:
        case SCATTER_IN_PLACE:
            return !in_place(p, p->rank);
        case ALLREDUCE:
        case ALLREDUCE_IN_PLACE:
            return 1;
        default:
            return p->n;
    }
}

/* True if what `rank` sends lies in its receive buffer. */
static int sends_received(const struct plan *p, int rank)
{
    return in_place(p, rank) && p->kind != SCATTER_IN_PLACE;
}

static int sends(const struct plan *p)
{
    return blocks_sent(p, p->rank) > 0 && !sends_received(p, p->rank);
}

static size_t receive_bytes(const struct plan *p)
{
    return p->bytes * (size_t)blocks_received(p);
}

static size_t send_bytes(const struct plan *p, int rank)
{
    return p->bytes * (size_t)blocks_sent(p, rank);
}

/* The layout that `rank` sends from; all other ranks know it. */
static struct layout sending_layout(const struct plan *p, int rank)
{
    static const struct layout dense = {1, {1}, {0}, 1, 1, 0, 1};
    uint64_t state = check_key(p->seed, 0, rank);

    if (reduces(p))
        return dense;
    return layout_random(&state, 1);
}

static unsigned char pattern(const struct plan *p, int rank, size_t place)
{
    uint64_t x = check_key(p->seed, (uint64_t)p->step, rank) + place * 0x9e3779b97f4a7c15u;

    return (unsigned char)((x ^ x >> 29) * 0xbf58476d1ce4e5b9u >> 56);
}

/* Byte i of what `rank` sends. In place, bytes are numbered by themselves, otherwise by their
 * position. */
static unsigned char sent(const struct plan *p, const struct layout *layout, int rank, size_t i)
{
    if (sends_received(p, rank))
        return pattern(p, rank, i);
    return pattern(p, rank, layout_place(layout, send_bytes(p, rank), i));
}

static size_t place_in_receive(const struct plan *p, size_t i)
{
    return layout_place(&p->receiving, receive_bytes(p), i);
}

/* Block `from` of what `rank` sends is block `block` of what is received here. */
static void expect_from(struct plan *p, int rank, size_t from, size_t block)
{
    struct layout layout = sending_layout(p, rank);

    for (size_t i = 0; i < p->bytes; i++)
        p->expected[place_in_receive(p, block * p->bytes + i)] =
            sent(p, &layout, rank, from * p->bytes + i);
}

static void expect_blocks(struct plan *p)
{
    int differ = p->kind >= SCATTER, n = blocks_received(p);

    for (int i = 0; i < n; i++)
        expect_from(p, n == p->n ? i : p->root, differ ? (size_t)p->rank : 0, (size_t)i);
}

/* The composition of maps x -> a x + b mod 16, with odd a. */
static unsigned char compose(unsigned char left, unsigned char right)
{
    const unsigned a = (left & 15) | 1, b = left >> 4, c = (right & 15) | 1, d = right >> 4;

    return (unsigned char)((a * c & 15) | ((a * d + b) & 15) << 4);
}

static void compose_all(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const unsigned char *left = in;
    unsigned char *right = inout;

    (void)type;
    for (int i = 0; i < *length; i++)
        right[i] = compose(left[i], right[i]);
}

static void expect_reduction(struct plan *p)
{
    for (size_t i = 0; i < p->bytes; i++) {
        p->expected[i] = pattern(p, 0, i);
        for (int r = 1; r < p->n; r++)
            p->expected[i] = compose(p->expected[i], pattern(p, r, i));
        if (p->kind == ALLREDUCE_IN_PLACE)
            p->receive[i] = pattern(p, p->rank, i);
    }
}

/* Sets new data, poisons the receive memory, and computes its expected contents. */
static void prepare(struct plan *p)
{
    size_t own = p->kind == ALLTOALL_IN_PLACE ? 0 : (size_t)p->rank * p->bytes;

    p->step++;
    for (size_t i = 0; i < p->send_span; i++)
        p->send[i] = pattern(p, p->rank, i);
    memset(p->receive, POISON + p->step % 64, p->receive_span);
    memcpy(p->expected, p->receive, p->receive_span);
    if (reduces(p))
        expect_reduction(p);
    else
        expect_blocks(p);
    for (size_t i = 0; sends_received(p, p->rank) && !reduces(p) && i < send_bytes(p, p->rank); i++)
        p->receive[place_in_receive(p, own + i)] = pattern(p, p->rank, i);
}

static void verify(const struct plan *p)
{
    size_t i = 0;

    if (memcmp(p->receive, p->expected, p->receive_span) == 0)
        return;
    while (p->receive[i] == p->expected[i])
        i++;
    check_fail(__FILE__, __LINE__,
               "%s of %zu bytes, root %d, %d ranks, start %d: place %zu of %zu is %02x, not %02x",
               names[p->kind], p->bytes, p->root, p->n, p->step, i, p->receive_span, p->receive[i],
               p->expected[i]);
}

/* ---- plans ---- */

static size_t random_bytes(uint64_t *state, int n)
{
    static const int small[] = {0, 0, 12, 24, 48, 60, 120, 504, 1020, 4092, 8196};
    int limit = max_bytes / (n > 4 ? n / 2 : 1);

    if (draw(state, 3) > 0)
        return (size_t)small[draw(state, 11)];
    return (size_t)draw(state, limit / LAYOUT_UNIT + 1) * LAYOUT_UNIT;
}

static int init_reduction(struct plan *p, MPI_Comm comm)
{
    const void *send = p->kind == ALLREDUCE_IN_PLACE ? MPI_IN_PLACE : p->send;
    MPI_Op op;
    int rc;

    MPI(MPI_Op_create(compose_all, 0, &op));
    rc = MPI_Allreduce_init(send, p->receive, (int)p->bytes, p->receive_type, op, comm,
                            MPI_INFO_NULL, &p->request);
    MPI(MPI_Op_free(&op));
    return rc;
}

static int init_data(struct plan *p, MPI_Comm comm)
{
    void *send = p->send + (sends(p) ? layout_origin(&p->sending, send_bytes(p, p->rank)) : 0);
    void *receive = p->receive + layout_origin(&p->receiving, receive_bytes(p));
    int scount = (int)p->bytes / p->sending.size, rcount = (int)p->bytes / p->receiving.size;
    MPI_Datatype stype = p->send_type, rtype = p->receive_type;

    if (reduces(p))
        return init_reduction(p, comm);
    if (sends_received(p, p->rank))
        send = MPI_IN_PLACE;
    else if (in_place(p, p->rank))
        receive = MPI_IN_PLACE;
    switch (p->kind) {
        case BCAST:
            if (p->rank == p->root)
                return MPI_Bcast_init(send, scount, stype, p->root, comm, MPI_INFO_NULL,
                                      &p->request);
            return MPI_Bcast_init(receive, rcount, rtype, p->root, comm, MPI_INFO_NULL,
                                  &p->request);
        case ALLGATHER:
        case ALLGATHER_IN_PLACE:
            return MPI_Allgather_init(send, scount, stype, receive, rcount, rtype, comm,
                                      MPI_INFO_NULL, &p->request);
        case GATHER:
        case GATHER_IN_PLACE:
            return MPI_Gather_init(send, scount, stype, receive, rcount, rtype, p->root, comm,
                                   MPI_INFO_NULL, &p->request);
        case SCATTER:
        case SCATTER_IN_PLACE:
            return MPI_Scatter_init(send, scount, stype, receive, rcount, rtype, p->root, comm,
                                    MPI_INFO_NULL, &p->request);
        default:
            return MPI_Alltoall_init(send, scount, stype, receive, rcount, rtype, comm,
                                     MPI_INFO_NULL, &p->request);
    }
}

/* The datatypes may be freed as soon as the plan exists. */
static void plan_init(struct plan *p, struct thread *t, uint64_t *state, MPI_Comm comm)
{
    MPI_Comm_rank(comm, &p->rank);
    MPI_Comm_size(comm, &p->n);
    p->kind = (enum kind)draw(state, KINDS);
    p->root = draw(state, p->n);
    p->bytes = p->kind == BARRIER ? 0 : random_bytes(state, p->n);
    p->seed = check_random(state);
    p->step = 0;
    p->sending = sending_layout(p, p->rank);
    p->receiving = reduces(p) ? p->sending : layout_random(&t->local, 0);
    p->send_span = sends(p) ? layout_span(&p->sending, send_bytes(p, p->rank)) : 0;
    p->receive_span = layout_span(&p->receiving, receive_bytes(p));
    p->send = check_alloc(p->send_span);
    p->receive = check_alloc(p->receive_span);
    p->expected = malloc(p->receive_span + 1);
    if (p->kind == BARRIER) {
        MPI(MPI_Barrier_init(comm, MPI_INFO_NULL, &p->request));
        return;
    }
    p->send_type = layout_type(&p->sending);
    p->receive_type = layout_type(&p->receiving);
    MPI(init_data(p, comm));
    MPI(MPI_Type_free(&p->send_type));
    MPI(MPI_Type_free(&p->receive_type));
}

static void plan_free(struct plan *p)
{
    MPI(MPI_Request_free(&p->request));
    check_free(p->send);
    check_free(p->receive);
    free(p->expected);
}

/* ---- completion ---- */

static void wait_some(MPI_Request *requests, int n, int test)
{
    int indices[MAX_PLANS], count = 0, left = n;

    while (left > 0) {
        if (test)
            MPI(MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE));
        else
            MPI(MPI_Waitsome(n, requests, &count, indices, MPI_STATUSES_IGNORE));
        if (count == MPI_UNDEFINED)
            break;
        left -= count;
    }
}

static void wait_any(MPI_Request *requests, int n, int test)
{
    int index, done = 1;

    for (int left = n; left > 0; left -= done) {
        if (test)
            MPI(MPI_Testany(n, requests, &index, &done, MPI_STATUS_IGNORE));
        else
            MPI(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
        if (done && index == MPI_UNDEFINED)
            break;
    }
}

static void test_each(MPI_Request *requests, int n, int look)
{
    for (int i = n - 1, done; i >= 0; i--) {
        do {
            if (look)
                MPI(MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE));
            else
                MPI(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
        } while (!done);
        if (look)
            MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    }
}

static void complete(MPI_Request *requests, int n, int way)
{
    int done = 0;

    switch (way) {
        case 0:
            for (int i = n - 1; i >= 0; i--)
                MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            break;
        case 1:
            MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
            break;
        case 2:
            while (!done)
                MPI(MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE));
            break;
        case 3:
        case 4:
            wait_any(requests, n, way == 4);
            break;
        case 5:
        case 6:
            wait_some(requests, n, way == 6);
            break;
        default:
            test_each(requests, n, way == 8);
    }
}

/* ---- rounds ---- */

static void shuffle(int *order, int n, uint64_t *state)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = draw(state, i + 1), other = order[k];

        order[k] = order[i];
        order[i] = other;
    }
}

/* Each rank starts all plans in its own order; the completion of a plan may wait only for another
 * rank's start of the same plan. */
static void start_and_complete(struct plan *plans, int n, struct thread *t)
{
    MPI_Request requests[MAX_PLANS];
    int order[MAX_PLANS];

    shuffle(order, n, &t->local);
    for (int i = 0; i < n; i++) {
        prepare(&plans[order[i]]);
        requests[i] = plans[order[i]].request;
    }
    if (draw(&t->local, 2))
        MPI(MPI_Startall(n, requests));
    else
        for (int i = 0; i < n; i++)
            MPI(MPI_Start(&requests[i]));
    if (draw(&t->local, 4) == 0)
        check_delay();
    complete(requests, n, draw(&t->local, 9));
    for (int i = 0; i < n; i++)
        verify(&plans[i]);
    t->starts += (unsigned long)n;
}

/* A communicator of all ranks in another order, or of some of them. */
static MPI_Comm random_comm(struct thread *t)
{
    int form = draw(&t->shared, 4), colors = 1 + draw(&t->shared, 3), color = 0, key = 0;
    MPI_Comm comm;
    int rank, n;

    MPI_Comm_rank(t->world, &rank);
    MPI_Comm_size(t->world, &n);
    for (int i = 0; i < n; i++) {
        int its_color = draw(&t->shared, colors), its_key = draw(&t->shared, 1000);

        color = i == rank ? its_color : color;
        key = i == rank ? its_key : key;
    }
    if (form == 0)
        MPI(MPI_Comm_dup(t->world, &comm));
    else
        MPI(MPI_Comm_split(t->world, form == 1 ? 0 : color, key, &comm));
    return comm;
}

static void run_round(struct thread *t, int round)
{
    struct plan plans[MAX_PLANS];
    MPI_Comm comm = random_comm(t);
    uint64_t state = check_random(&t->shared);
    int n = 1 + draw(&state, MAX_PLANS), starts = draw(&state, max_starts + 1);
    int early = draw(&state, 3) == 0, order[MAX_PLANS];

    (void)round;
    for (int i = 0; i < n; i++)
        plan_init(&plans[i], t, &state, comm);
    if (early)
        MPI(MPI_Comm_free(&comm));
    for (int k = 0; k < starts; k++)
        start_and_complete(plans, n, t);
    shuffle(order, n, &t->local);
    for (int i = 0; i < n; i++)
        plan_free(&plans[order[i]]);
    if (!early)
        MPI(MPI_Comm_free(&comm));
}

static void *thread_main(void *argument)
{
    struct thread *t = argument;

    for (int round = 0; round < rounds; round++)
        run_round(t, round);
    all_starts += t->starts;
    return NULL;
}

static void run_threads(int nthreads)
{
    struct thread threads[MAX_THREADS];
    pthread_t handles[MAX_THREADS];

    for (int i = 0; i < nthreads; i++) {
        threads[i] = (struct thread){.shared = check_random(&check.shared),
                                     .local = check_random(&check.local)};
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].world));
    }
    for (int i = 1; i < nthreads; i++)
        CHECK(pthread_create(&handles[i], NULL, thread_main, &threads[i]) == 0);
    thread_main(&threads[0]);
    for (int i = 1; i < nthreads; i++)
        pthread_join(handles[i], NULL);
    for (int i = 0; i < nthreads; i++)
        MPI(MPI_Comm_free(&threads[i].world));
}

int main(int argc, char **argv)
{
    int nthreads = 1;

    for (int i = 1; i < argc; i++)
        if (sscanf(argv[i], "-threads=%d", &nthreads) == 1 && nthreads > MAX_THREADS)
            nthreads = MAX_THREADS;
    check_init(&argc, &argv, nthreads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    rounds = (int)check_number("rounds", 40);
    max_starts = (int)check_number("starts", 8);
    max_bytes = (int)check_number("bytes", 20000);
    check_phase("%d rounds in %d threads", rounds, nthreads);
    run_threads(nthreads);
    check_note("%lu starts", (unsigned long)all_starts);
    return check_done();
}
