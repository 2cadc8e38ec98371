#include "trial.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

const char *trial_name(enum trial_kind kind)
{
    static const char *const names[TRIAL_KINDS] = {"barrier",   "bcast",
                                                   "allgather", "allgather in place",
                                                   "gather",    "gather in place",
                                                   "scatter",   "scatter in place",
                                                   "alltoall",  "alltoall in place",
                                                   "allreduce", "allreduce in place"};

    return names[kind];
}

int trial_wanted(enum trial_kind kind)
{
    const char *name = check_option("only");

    if (name == NULL)
        return 1;
    for (size_t length; *name != '\0'; name += length + (name[length] == ',')) {
        length = strcspn(name, ",");
        if (strncmp(name, trial_name(kind), length) == 0)
            return 1;
    }
    return 0;
}

/* ---- the board ---- */

static uint32_t *map_board(int fd, int words)
{
    void *board =
        mmap(NULL, (size_t)words * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    close(fd);
    return board == MAP_FAILED ? NULL : board;
}

uint32_t *trial_board(int words, MPI_Comm comm)
{
    char path[] = "/tmp/board-XXXXXX";
    uint32_t *board;
    int rank, fd = -1;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        fd = mkstemp(path);
        if (fd < 0 || ftruncate(fd, (off_t)((size_t)words * sizeof(uint32_t))) != 0)
            check_fail(__FILE__, __LINE__, "no file in /tmp");
    }
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, comm);
    if (rank != 0)
        fd = open(path, O_RDWR);
    board = map_board(fd, words);
    if (board == NULL) {
        check_fail(__FILE__, __LINE__, "cannot map %s", path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(comm);
    if (rank == 0)
        unlink(path);
    return board;
}

void trial_board_free(uint32_t *board, int words)
{
    if (board != NULL)
        munmap(board, (size_t)words * sizeof(uint32_t));
}

static void verify_board(const struct trial *t)
{
    for (int r = 0; r < t->size; r++) {
        uint32_t entered = __atomic_load_n(&t->board[r], __ATOMIC_ACQUIRE);

        /* No rank is behind, and none can have left the next barrier without this one. */
        if (entered != (uint32_t)t->step && entered != (uint32_t)t->step + 1)
            check_fail(__FILE__, __LINE__, "rank %d is at barrier %u, this one is %u", r, entered,
                       (uint32_t)t->step);
    }
}

/* ---- one trial ---- */

static int in_place(const struct trial *t)
{
    switch (t->kind) {
        case TRIAL_ALLGATHER_IN_PLACE:
        case TRIAL_ALLTOALL_IN_PLACE:
        case TRIAL_ALLREDUCE_IN_PLACE:
            return 1;
        case TRIAL_GATHER_IN_PLACE:
        case TRIAL_SCATTER_IN_PLACE:
            return t->rank == t->root;
        default:
            return 0;
    }
}

/* The number of blocks that this rank sends, and of those that it receives; a broadcast's message
 * counts as received on all ranks. */
struct blocks {
    int sent, received;
};

static struct blocks blocks_of(const struct trial *t)
{
    int root = t->rank == t->root;

    switch (t->kind) {
        case TRIAL_BARRIER:
            return (struct blocks){0, 0};
        case TRIAL_BCAST:
            return (struct blocks){0, 1};
        case TRIAL_ALLGATHER:
        case TRIAL_ALLGATHER_IN_PLACE:
            return (struct blocks){1, t->size};
        case TRIAL_GATHER:
        case TRIAL_GATHER_IN_PLACE:
            return (struct blocks){1, root ? t->size : 0};
        case TRIAL_SCATTER:
        case TRIAL_SCATTER_IN_PLACE:
            return (struct blocks){root ? t->size : 0, root && in_place(t) ? 0 : 1};
        case TRIAL_ALLREDUCE:
        case TRIAL_ALLREDUCE_IN_PLACE:
            return (struct blocks){1, 1};
        default:
            return (struct blocks){t->size, t->size};
    }
}

/* Arguments that have no meaning are bad ones, which the library must not look at. */
static void init_blocks(struct trial *t, MPI_Comm comm, MPI_Info info)
{
    const void *send = in_place(t) && t->send == NULL ? MPI_IN_PLACE : t->send;
    void *receive = in_place(t) && t->receive == NULL ? MPI_IN_PLACE : t->receive;
    int count = (int)t->bytes, scount = t->send != NULL ? count : -1;
    int rcount = t->receive != NULL ? count : -1;
    MPI_Datatype stype = t->send != NULL ? MPI_BYTE : MPI_DATATYPE_NULL;
    MPI_Datatype rtype = t->receive != NULL ? MPI_BYTE : MPI_DATATYPE_NULL;

    if (t->kind <= TRIAL_ALLGATHER_IN_PLACE)
        MPI(MPI_Allgather_init(send, scount, stype, receive, rcount, rtype, comm, info,
                               &t->request));
    else if (t->kind <= TRIAL_GATHER_IN_PLACE)
        MPI(MPI_Gather_init(send, scount, stype, receive, rcount, rtype, t->root, comm, info,
                            &t->request));
    else if (t->kind <= TRIAL_SCATTER_IN_PLACE)
        MPI(MPI_Scatter_init(send, scount, stype, receive, rcount, rtype, t->root, comm, info,
                             &t->request));
    else
        MPI(MPI_Alltoall_init(send, scount, stype, receive, rcount, rtype, comm, info,
                              &t->request));
}

/* The composition of maps x -> a x + b mod 16, with odd a: associative, but not commutative. */
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

static int is_allreduce(const struct trial *t)
{
    return t->kind == TRIAL_ALLREDUCE || t->kind == TRIAL_ALLREDUCE_IN_PLACE;
}

/* The operator may be freed as soon as the plan exists. */
static void init_allreduce(struct trial *t, MPI_Comm comm, MPI_Info info)
{
    const int count = (int)t->bytes;
    MPI_Op op;

    if (t->kind == TRIAL_ALLREDUCE_IN_PLACE) {
        MPI(MPI_Allreduce_init(MPI_IN_PLACE, t->receive, count, MPI_UNSIGNED_CHAR, MPI_SUM, comm,
                               info, &t->request));
        return;
    }
    MPI(MPI_Op_create(compose_all, 0, &op));
    MPI(MPI_Allreduce_init(t->send, t->receive, count, MPI_UNSIGNED_CHAR, op, comm, info,
                           &t->request));
    MPI(MPI_Op_free(&op));
}

static void verify_allreduce(const struct trial *t)
{
    unsigned char *sum = malloc(2 * t->bytes + 1), *operand = sum + t->bytes;

    check_fill(sum, t->bytes, check_key(t->tag, t->step, 0));
    for (int r = 1; r < t->size; r++) {
        check_fill(operand, t->bytes, check_key(t->tag, t->step, r));
        for (size_t i = 0; i < t->bytes; i++)
            sum[i] = t->kind == TRIAL_ALLREDUCE ? compose(sum[i], operand[i])
                                                : (unsigned char)(sum[i] + operand[i]);
    }
    for (size_t i = 0; i < t->bytes; i++)
        if ((unsigned char)t->receive[i] != sum[i]) {
            check_fail(__FILE__, __LINE__, "%s of %zu bytes: byte %zu is %02x, not %02x",
                       trial_name(t->kind), t->bytes, i, (unsigned char)t->receive[i], sum[i]);
            break;
        }
    free(sum);
    if (t->kind == TRIAL_ALLREDUCE)
        check_compare(t->send, t->bytes, check_key(t->tag, t->step, t->rank));
}

void trial_init(struct trial *t, enum trial_kind kind, size_t bytes, int root, uint64_t tag,
                MPI_Comm comm, MPI_Info info)
{
    struct blocks n;

    *t = (struct trial){.kind = kind, .bytes = bytes, .root = root, .tag = tag};
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->size);
    t->request = MPI_REQUEST_NULL;
    n = blocks_of(t);
    if (n.sent > 0 && (!in_place(t) || n.received == 0))
        t->send = check_alloc(bytes * (size_t)n.sent);
    if (n.received > 0)
        t->receive = check_alloc(bytes * (size_t)n.received);
    if (kind == TRIAL_BARRIER) {
        t->board = trial_board(t->size, comm);
        MPI(MPI_Barrier_init(comm, info, &t->request));
    } else if (kind == TRIAL_BCAST) {
        MPI(MPI_Bcast_init(t->receive, (int)bytes, MPI_BYTE, root, comm, info, &t->request));
    } else if (is_allreduce(t)) {
        init_allreduce(t, comm, info);
    } else {
        init_blocks(t, comm, info);
    }
    check_want();
}

/* What `from` has for `to` in this step; the same for all ranks, where all receive the same. */
static uint64_t key_of(const struct trial *t, int from, int to)
{
    int differs = t->kind >= TRIAL_SCATTER && !is_allreduce(t);

    return check_key(t->tag, t->step, differs ? from * t->size + to : from);
}

static void fill(const struct trial *t, char *at, int n)
{
    for (int to = 0; to < n; to++)
        check_fill(at + (size_t)to * t->bytes, t->bytes, key_of(t, t->rank, to));
}

/* Where the rank's own data lies in its receive buffer. */
static char *own_place(const struct trial *t)
{
    int is_whole = t->kind == TRIAL_ALLTOALL_IN_PLACE || t->kind == TRIAL_ALLREDUCE_IN_PLACE;
    size_t first = is_whole ? 0 : (size_t)t->rank;

    return t->receive + first * t->bytes;
}

void trial_prepare(struct trial *t)
{
    struct blocks n = blocks_of(t);

    t->step++;
    if (t->kind == TRIAL_BARRIER)
        __atomic_store_n(&t->board[t->rank], (uint32_t)t->step, __ATOMIC_RELEASE);
    if (t->receive != NULL)
        check_poison(t->receive, t->bytes * (size_t)n.received);
    if (t->kind == TRIAL_BCAST && t->rank == t->root)
        fill(t, t->receive, 1);
    else if (t->send != NULL)
        fill(t, t->send, n.sent);
    else if (in_place(t))
        fill(t, own_place(t), n.sent);
}

void trial_start(struct trial *t)
{
    trial_prepare(t);
    MPI(MPI_Start(&t->request));
}

/* What was sent has not changed. */
static void verify_sent(const struct trial *t, int n)
{
    for (int to = 0; to < n; to++)
        check_compare(t->send + (size_t)to * t->bytes, t->bytes, key_of(t, t->rank, to));
}

void trial_verify(const struct trial *t)
{
    struct blocks n = blocks_of(t);

    if (t->kind == TRIAL_BARRIER)
        verify_board(t);
    if (is_allreduce(t)) {
        verify_allreduce(t);
        return;
    }
    for (int i = 0; i < n.received; i++)
        check_compare(t->receive + (size_t)i * t->bytes, t->bytes,
                      key_of(t, n.received == t->size ? i : t->root, t->rank));
    if (t->send != NULL)
        verify_sent(t, n.sent);
}

void trial_wait(struct trial *t)
{
    MPI(MPI_Wait(&t->request, MPI_STATUS_IGNORE));
    CHECK(t->request != MPI_REQUEST_NULL);
    trial_verify(t);
}

void trial_run(struct trial *t, int times)
{
    for (int i = 0; i < times; i++) {
        check_delay();
        trial_start(t);
        check_delay();
        trial_wait(t);
    }
}

void trial_free(struct trial *t)
{
    MPI(MPI_Request_free(&t->request));
    CHECK(t->request == MPI_REQUEST_NULL);
    check_free(t->send);
    check_free(t->receive);
    trial_board_free(t->board, t->size);
}

void trial_all_kinds(size_t bytes, int root, uint64_t tag, int times, MPI_Comm comm, MPI_Info info)
{
    for (int kind = 0; kind < TRIAL_KINDS; kind++) {
        struct trial t;

        trial_init(&t, (enum trial_kind)kind, bytes, root, tag, comm, info);
        trial_run(&t, times);
        trial_free(&t);
    }
}
