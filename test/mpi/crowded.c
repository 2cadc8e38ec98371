/* Where ranks outnumber cores, a waiting rank yields its core, whatever it waits for. With plans
 * and without, the ranks complete a round without burning time slices. The test measures CPU time,
 * which other programs on the machine hardly change. A rank that spins until the kernel takes its
 * core away burns milliseconds in each round.
 *
 *   -rounds=N (100) of each kind, five times   -limit=US (2000) of CPU time per round and rank
 *
 * With a late rank, there are a tenth of the rounds, and each rank that waits for it may take three
 * quarters of its share of one core, which it would use up if it never slept; so may one that waits
 * in two rounds for a late message before any plan has started, and two waiting threads of a rank
 * together 85 %. What they take depends on how long a yield takes: 35 to 55 %, and with threads on
 * two ranks 60 to 65. Ranks that compute between tests of a request do not sleep, and neither do
 * those whose waits in ordinary calls are short.
 *
 *   -spins   ranks have been told that they need not share their cores, so one that waits for a
 * late rank spins: nothing else is measured
 *   -threads=2   of each rank wait for late messages: nothing else is measured */

#include "trial.h"
#include "workers.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct trial gather;
static MPI_Win window;

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int left(void)
{
    return (check.rank + check.size - 1) % check.size;
}

static int right(void)
{
    return (check.rank + 1) % check.size;
}

static void round_of_barrier(void)
{
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* A token goes around: at any time all ranks except one wait. */
static void round_of_messages(void)
{
    int token = 7;

    if (check.rank == 0)
        MPI(MPI_Send(&token, 1, MPI_INT, right(), 1, MPI_COMM_WORLD));
    MPI(MPI_Recv(&token, 1, MPI_INT, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (check.rank != 0)
        MPI(MPI_Send(&token, 1, MPI_INT, right(), 1, MPI_COMM_WORLD));
}

static void round_of_tests(void)
{
    MPI_Request request;
    int token = 7, done = 0;

    MPI(MPI_Irecv(&token, 1, MPI_INT, left(), 2, MPI_COMM_WORLD, &request));
    if (check.rank == 0)
        MPI(MPI_Send(&token, 1, MPI_INT, right(), 2, MPI_COMM_WORLD));
    while (!done)
        MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (check.rank != 0)
        MPI(MPI_Send(&token, 1, MPI_INT, right(), 2, MPI_COMM_WORLD));
}

static void round_of_probes(void)
{
    int token = 7;

    if (check.rank == 0)
        MPI(MPI_Send(&token, 1, MPI_INT, right(), 3, MPI_COMM_WORLD));
    MPI(MPI_Probe(left(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Recv(&token, 1, MPI_INT, left(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (check.rank != 0)
        MPI(MPI_Send(&token, 1, MPI_INT, right(), 3, MPI_COMM_WORLD));
}

enum { LATE_MESSAGE_USEC = 100000 };

static void round_of_late_message(void)
{
    int token = 7;

    if (check.rank != 0)
        MPI(MPI_Recv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    else
        usleep(LATE_MESSAGE_USEC);
    for (int i = 1; check.rank == 0 && i < check.size; i++)
        MPI(MPI_Send(&token, 1, MPI_INT, i, 4, MPI_COMM_WORLD));
}

static void *receive_late(void *tag)
{
    int token;

    MPI(MPI_Recv(&token, 1, MPI_INT, 0, *(const int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return NULL;
}

/* Two threads of each rank wait for one message each. */
static void round_of_late_messages(void)
{
    enum { THREADS = 2 };
    static int tags[THREADS] = {8, 9};
    pthread_t threads[THREADS];

    if (check.rank == 0)
        usleep(LATE_MESSAGE_USEC);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 1; check.rank == 0 && i < check.size; i++)
            MPI(MPI_Send(&tags[t], 1, MPI_INT, i, tags[t], MPI_COMM_WORLD));
        if (check.rank != 0)
            CHECK(pthread_create(&threads[t], NULL, receive_late, &tags[t]) == 0);
    }
    for (int t = 0; check.rank != 0 && t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

static void round_of_exposure(void)
{
    MPI(MPI_Win_fence(0, window));
}

/* The usual form of a benchmark: a barrier, then the operation. */
static void round_of_plans(void)
{
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Start(&gather.request));
    MPI(MPI_Wait(&gather.request, MPI_STATUS_IGNORE));
}

/* A rank that waits for long must not take its share of a core that others may need. */
enum { LATE_USEC = 10000 };

static void round_of_late_rank(void)
{
    if (check.rank == 0)
        usleep(LATE_USEC);
    MPI(MPI_Start(&gather.request));
    MPI(MPI_Wait(&gather.request, MPI_STATUS_IGNORE));
}

static double cpu_of(void (*round)(void), int rounds)
{
    double begin = cpu_seconds();

    for (int i = 0; i < rounds; i++)
        round();
    return (cpu_seconds() - begin) / rounds * 1e6;
}

/* The best of five: the first rounds set up memory and connections, and other programs may have
 * occupied the core. */
static void measure(const char *what, void (*round)(void), int rounds, double limit)
{
    double least = cpu_of(round, rounds);

    check_phase("%s", what);
    for (int i = 1; i < 5; i++) {
        double next = cpu_of(round, rounds);

        least = next < least ? next : least;
    }
    check_note("%-20s %8.2f us of CPU time", what, least);
    if (least > limit)
        check_fail(__FILE__, __LINE__, "%s: %.0f us of CPU time in a round, more than %.0f", what,
                   least, limit);
}

/* An application that looks at a request between computations, long before it completes, must not
 * be put to sleep, which would be seen as so many voluntary switches. */
enum { SLICES = 15000, SLICE_USEC = 3 };

static void compute_between_tests(void)
{
    struct rusage before, after;
    int token = 7, done = 0;
    MPI_Request request;
    long sleeps;

    check_phase("computation between tests");
    MPI(MPI_Irecv(&token, 1, MPI_INT, check.rank, 5, MPI_COMM_WORLD, &request));
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < SLICES; i++) {
        const double end = cpu_seconds() + 1e-6 * SLICE_USEC;

        while (cpu_seconds() < end)
            ;
        MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
    getrusage(RUSAGE_SELF, &after);
    MPI(MPI_Send(&token, 1, MPI_INT, check.rank, 5, MPI_COMM_WORLD));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    sleeps = after.ru_nvcsw - before.ru_nvcsw;
    check_note("%-20s %8ld sleeps", "computation", sleeps);
    if (sleeps > SLICES / 100)
        check_fail(__FILE__, __LINE__, "%ld sleeps in %d tests", sleeps, SLICES);
}

/* Few waits are long in these calls, which complete no request. */
static void call_shortly(void)
{
    enum { CALLS = 20000 };
    struct rusage before, after;
    long sleeps;

    check_phase("short calls");
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < CALLS; i++) {
        const int mine = check.rank + i % 7;
        int most;

        MPI(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        CHECK(most == check.size - 1 + i % 7);
    }
    getrusage(RUSAGE_SELF, &after);
    sleeps = after.ru_nvcsw - before.ru_nvcsw;
    check_note("%-20s %8ld sleeps", "short calls", sleeps);
    if (sleeps > CALLS / 10)
        check_fail(__FILE__, __LINE__, "%ld sleeps in %d calls", sleeps, CALLS);
}

static void begin_plans(void)
{
    trial_init(&gather, TRIAL_ALLGATHER, 8, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL);
    trial_start(&gather);
    trial_wait(&gather);
}

/* The most of five, since other programs may take a part of the core. */
static void measure_spinning(int rounds)
{
    double most = 0;

    begin_plans();
    check_phase("late rank, spinning");
    for (int i = 0; i < 5; i++) {
        double next = cpu_of(round_of_late_rank, rounds);

        most = next > most ? next : most;
    }
    check_note("%-20s %8.2f us of CPU time", "late rank, spinning", most);
    if (check.rank != 0 && most < 0.5 * LATE_USEC)
        check_fail(__FILE__, __LINE__, "%.0f us of CPU time in a round, so the rank did not spin",
                   most);
}

static void measure_late(const char *what, void (*round)(void), double share)
{
    measure(what, round, 2, share * LATE_MESSAGE_USEC / (check.size - 1));
}

static void measure_all(int rounds)
{
    const double limit = (double)check_number("limit", 2000);

    measure("barrier", round_of_barrier, rounds, limit);
    measure("messages", round_of_messages, rounds, limit);
    measure("tests", round_of_tests, rounds, limit);
    measure("probes", round_of_probes, rounds, limit);
    measure_late("late message", round_of_late_message, 0.75);
    compute_between_tests();
    call_shortly();
    MPI(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    measure("fences", round_of_exposure, rounds, limit);
    MPI(MPI_Win_free(&window));
    begin_plans();
    measure("plans", round_of_plans, rounds, limit);
    if (check_option("algorithm") == NULL)
        measure("late rank", round_of_late_rank, (rounds + 9) / 10,
                0.75 * LATE_USEC / (check.size - 1));
}

static void check_session(void)
{
    int mine = (int)getsid(0), least, most;

    check_phase("session");
    MPI(MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    MPI(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK((least == most) == (check.size > sysconf(_SC_NPROCESSORS_ONLN)));
    CHECK(getpgrp() == getpid());
}

int main(int argc, char **argv)
{
    const int nthreads = workers_init(&argc, &argv);
    const int rounds = (int)check_number("rounds", 100);

    if (check_option("session") != NULL)
        check_session();
    if (check_option("spins") != NULL) {
        measure_spinning((rounds + 9) / 10);
    } else if (nthreads > 1) {
        measure_late("late messages", round_of_late_messages, 0.85);
        begin_plans();
    } else {
        measure_all(rounds);
    }
    trial_start(&gather);
    trial_wait(&gather);
    trial_free(&gather);
    return check_done();
}
