/* Reductions: operators and types of all sorts, the same bits on all ranks and at all starts, and a
 * user's function that takes long while other threads use MPI.
 *
 *   -count=N (20000)   most elements of a vector
 *   -starts=N (60)     starts of one plan that must give the same bits
 *   -threads           only the test with threads, which needs MPI_THREAD_MULTIPLE */

#include "check.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const char *const algorithms[] = {NULL, "direct", "butterfly", "sliced", "mpich"};

enum { ALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0]) };

static MPI_Info info_of(int i)
{
    MPI_Info info = MPI_INFO_NULL;

    if (algorithms[i] != NULL) {
        MPI(MPI_Info_create(&info));
        MPI(MPI_Info_set(info, "coll_offload_algorithm", algorithms[i]));
    }
    return info;
}

static void info_free(MPI_Info info)
{
    if (info != MPI_INFO_NULL)
        MPI(MPI_Info_free(&info));
}

static void start_and_wait(MPI_Request *request)
{
    check_delay();
    MPI(MPI_Start(request));
    check_delay();
    MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
}

/* ---- equal bits ---- */

/* Numbers of such different sizes that every association of a sum has other bits. */
static double uneven(int rank, int i)
{
    const uint64_t x = check_key(7, (uint64_t)i, rank);

    return ldexp((double)(x >> 11) - 4503599627370496.0, (int)(x % 90) - 45);
}

static uint64_t hash(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < bytes; i++)
        h = (h ^ at[i]) * 1099511628211u;
    return h;
}

/* On MPICH's own path nothing is promised. */
static void equal_bits(int algorithm, int count, int starts, int in_place)
{
    double *send = check_alloc((size_t)count * sizeof(double) + 1);
    double *receive = check_alloc((size_t)count * sizeof(double) + 1);
    MPI_Info info = info_of(algorithm);
    MPI_Request request;
    uint64_t first = 0;

    MPI(MPI_Allreduce_init(in_place ? MPI_IN_PLACE : send, receive, count, MPI_DOUBLE, MPI_SUM,
                           MPI_COMM_WORLD, info, &request));
    for (int start = 0; start < starts; start++) {
        uint64_t bits, both[2];

        check_poison(receive, (size_t)count * sizeof(double));
        for (int i = 0; i < count; i++)
            (in_place ? receive : send)[i] = uneven(check.rank, i);
        start_and_wait(&request);
        bits = hash(receive, (size_t)count * sizeof(double));
        first = start == 0 ? bits : first;
        both[0] = bits;
        both[1] = ~bits;
        MPI(MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
        if (both[0] != ~both[1] || bits != first)
            check_fail(__FILE__, __LINE__, "%d doubles, start %d: bits differ between %s", count,
                       start, bits != first ? "starts" : "ranks");
    }
    MPI(MPI_Request_free(&request));
    info_free(info);
    check_free(send);
    check_free(receive);
}

/* ---- a user's operator that does not commute ---- */

struct matrix {
    uint32_t at[2][2];
};

static struct matrix product(struct matrix x, struct matrix y)
{
    struct matrix z;

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            z.at[i][k] = x.at[i][0] * y.at[0][k] + x.at[i][1] * y.at[1][k];
    return z;
}

static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    struct matrix *left = in, *right = inout;

    (void)type;
    for (int i = 0; i < *length; i++)
        right[i] = product(left[i], right[i]);
}

static struct matrix matrix_of(int rank, int step, int i)
{
    const uint64_t x = check_key((uint64_t)step, (uint64_t)i, rank);
    const struct matrix m = {{{(uint32_t)x, (uint32_t)(x >> 32)}, {(uint32_t)(x >> 16), 1}}};

    return m;
}

/* Type and operator are freed as soon as the plan exists. Four words make an element, or with gaps
 * six, which the backend leaves to MPICH. */
static MPI_Request init_matrices(struct matrix *send, struct matrix *receive, int count,
                                 MPI_Info info)
{
    MPI_Request request;
    MPI_Datatype type;
    MPI_Op op;

    MPI(MPI_Type_contiguous(4, MPI_UINT32_T, &type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Op_create(multiply, 0, &op));
    MPI(MPI_Allreduce_init(send ? (void *)send : MPI_IN_PLACE, receive, count, type, op,
                           MPI_COMM_WORLD, info, &request));
    MPI(MPI_Op_free(&op));
    MPI(MPI_Type_free(&type));
    return request;
}

static void compare_matrices(const struct matrix *is, int count, int step)
{
    for (int i = 0; i < count; i++) {
        struct matrix ought = matrix_of(0, step, i);

        for (int r = 1; r < check.size; r++)
            ought = product(ought, matrix_of(r, step, i));
        if (memcmp(&is[i], &ought, sizeof(ought)) != 0) {
            check_fail(__FILE__, __LINE__, "matrix %d of %d, start %d, is wrong", i, count, step);
            return;
        }
    }
}

static void matrices(int algorithm, int count, int in_place)
{
    const size_t bytes = (size_t)count * sizeof(struct matrix);
    struct matrix *send = check_alloc(bytes), *receive = check_alloc(bytes);
    MPI_Info info = info_of(algorithm);
    MPI_Request request = init_matrices(in_place ? NULL : send, receive, count, info);

    for (int step = 0; step < 5; step++) {
        check_poison(receive, bytes);
        for (int i = 0; i < count; i++)
            (in_place ? receive : send)[i] = matrix_of(check.rank, step, i);
        start_and_wait(&request);
        compare_matrices(receive, count, step);
    }
    MPI(MPI_Request_free(&request));
    info_free(info);
    check_free(send);
    check_free(receive);
}

/* ---- predefined operators ---- */

/* Against MPI_Reduce_local in rank order: for integers any order gives the same. */
static void predefined(MPI_Op op, MPI_Datatype type, int count, int algorithm)
{
    MPI_Info info = info_of(algorithm);
    MPI_Request request;
    MPI_Aint lb, extent;
    unsigned char *send, *receive, *ought;
    size_t bytes;

    MPI(MPI_Type_get_extent(type, &lb, &extent));
    bytes = (size_t)count * (size_t)extent;
    send = check_alloc(bytes);
    receive = check_alloc(bytes);
    ought = calloc(bytes + 1, 1);
    memset(receive, 0, bytes);
    MPI(MPI_Allreduce_init(send, receive, count, type, op, MPI_COMM_WORLD, info, &request));
    for (int step = 0; step < 3; step++) {
        for (int r = check.size - 1; r >= 0; r--) {
            memset(send, 0, bytes);
            check_fill(send, bytes, check_key(9, (uint64_t)step, r));
            if (r == check.size - 1)
                memcpy(ought, send, bytes);
            else
                MPI(MPI_Reduce_local(send, ought, count, type, op));
        }
        check_fill(send, bytes, check_key(9, (uint64_t)step, check.rank));
        start_and_wait(&request);
        CHECK(memcmp(receive, ought, bytes) == 0);
    }
    MPI(MPI_Request_free(&request));
    info_free(info);
    check_free(send);
    check_free(receive);
    free(ought);
}

static void all_predefined(int algorithm, int count)
{
    const MPI_Datatype types[] = {MPI_INT,      MPI_LONG,     MPI_SIGNED_CHAR, MPI_UNSIGNED_SHORT,
                                  MPI_UINT64_T, MPI_UINT32_T, MPI_INT16_T,     MPI_UNSIGNED_CHAR};
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                          MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};

    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++)
            predefined(ops[o], types[t], count, algorithm);
    predefined(MPI_MINLOC, MPI_2INT, count, algorithm);
    predefined(MPI_MAXLOC, MPI_2INT, count, algorithm);
    predefined(MPI_BXOR, MPI_BYTE, count, algorithm);
}

/* A type with gaps: the bytes between the elements stay as they are. */
static void with_gaps(int algorithm, int count)
{
    struct pair {
        double value;
        int index;
    } *send = check_alloc((size_t)count * sizeof(*send)),
      *receive = check_alloc((size_t)count * sizeof(*receive));
    MPI_Info info = info_of(algorithm);
    MPI_Request request;

    MPI(MPI_Allreduce_init(send, receive, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD, info,
                           &request));
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < count; i++)
            send[i] = (struct pair){(check.rank * 7 + i + step) % (check.size + 2), check.rank};
        start_and_wait(&request);
        for (int i = 0; i < count; i++) {
            struct pair most = {-1, -1};

            for (int r = check.size - 1; r >= 0; r--)
                if ((r * 7 + i + step) % (check.size + 2) >= most.value)
                    most = (struct pair){(r * 7 + i + step) % (check.size + 2), r};
            CHECK(receive[i].value == most.value && receive[i].index == most.index);
        }
    }
    MPI(MPI_Request_free(&request));
    info_free(info);
    check_free(send);
    check_free(receive);
}

/* ---- threads ---- */

static atomic_int in_function, calls;

static void slow_sum(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int *left = in, *right = inout;

    (void)type;
    atomic_fetch_add(&in_function, 1);
    usleep(2000);
    for (int i = 0; i < *length; i++)
        right[i] += left[i];
    atomic_fetch_sub(&in_function, 1);
    atomic_fetch_add(&calls, 1);
}

enum { SLOW_COUNT = 300, SLOW_STARTS = 20 };

static MPI_Request init_slow(int *send, int *receive, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Op op;

    MPI(MPI_Op_create(slow_sum, 0, &op));
    MPI(MPI_Allreduce_init(send, receive, SLOW_COUNT, MPI_INT, op, comm, MPI_INFO_NULL, &request));
    MPI(MPI_Op_free(&op));
    return request;
}

/* Every third instance is freed while it runs. */
static void *use_slowly(void *argument)
{
    int send[SLOW_COUNT], receive[2 * SLOW_STARTS][SLOW_COUNT];
    MPI_Comm comm = *(MPI_Comm *)argument;

    for (int step = 0; step < SLOW_STARTS; step++) {
        MPI_Request request = init_slow(send, receive[step], comm);

        for (int i = 0; i < SLOW_COUNT; i++)
            send[i] = check.rank + i + step;
        MPI(MPI_Start(&request));
        if (step % 3 == 2) {
            int flag;

            MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            if (flag) {
                MPI(MPI_Request_free(&request));
                continue;
            }
        }
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < SLOW_COUNT; i++)
            CHECK(receive[step][i] == check.size * (i + step) + check.size * (check.size - 1) / 2);
        MPI(MPI_Request_free(&request));
    }
    return NULL;
}

/* Meanwhile: plans come and go, and a plan with a slow function is freed while it is active. */
static void *use_otherwise(void *argument)
{
    static int send[SLOW_COUNT], freed[SLOW_STARTS][SLOW_COUNT];
    MPI_Comm comm = *(MPI_Comm *)argument;

    for (int step = 0; step < SLOW_STARTS; step++) {
        MPI_Request slow = init_slow(send, freed[step], comm), quick;
        int one = 1, sum = 0;

        MPI(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &quick));
        MPI(MPI_Start(&slow));
        MPI(MPI_Request_free(&slow));
        for (int i = 0; i < 20; i++) {
            sum = 0;
            MPI(MPI_Start(&quick));
            MPI(MPI_Wait(&quick, MPI_STATUS_IGNORE));
            CHECK(sum == check.size);
        }
        MPI(MPI_Request_free(&quick));
    }
    MPI(MPI_Barrier(comm));
    return NULL;
}

static void with_threads(void)
{
    pthread_t threads[3];
    MPI_Comm comms[3];

    check_phase("slow function, other threads");
    for (int i = 0; i < 3; i++)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, i == 2 ? use_otherwise : use_slowly, &comms[i]) ==
              0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    /* What was freed while it was active ends by itself. */
    for (int round = 0; round < 200; round++) {
        int flag;

        MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        usleep(1000);
    }
    CHECK(in_function == 0 && (check.size == 1 || calls > 0));
    for (int i = 0; i < 3; i++)
        MPI(MPI_Comm_free(&comms[i]));
}

/* ---- all ---- */

static void without_threads(int count, int starts)
{
    const int counts[] = {0, 1, 3, 6, 7, 100, 1000, count};

    for (int a = 0; a < ALGORITHMS; a++) {
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && counts[i] <= count; i++) {
            check_phase("%d elements, %s", counts[i], algorithms[a] ? algorithms[a] : "auto");
            for (int in_place = 0; in_place <= 1; in_place++) {
                matrices(a, counts[i], in_place);
                if (algorithms[a] == NULL || strcmp(algorithms[a], "mpich") != 0)
                    equal_bits(a, counts[i], counts[i] > 1000 ? starts / 4 : starts, in_place);
            }
            with_gaps(a, counts[i]);
        }
        all_predefined(a, 130);
        all_predefined(a, 1);
    }
}

int main(int argc, char **argv)
{
    int threads = 0;

    for (int i = 1; i < argc; i++)
        threads |= strcmp(argv[i], "-threads") == 0;
    check_init(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (threads)
        with_threads();
    else
        without_threads((int)check_number("count", 20000), (int)check_number("starts", 60));
    return check_done();
}
