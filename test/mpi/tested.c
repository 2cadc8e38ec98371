/* A rank with a core of its own computes and calls MPI_Test now and then: then no pass of the
 * progress engine gives the core away, as nobody waits. Where tests follow one another at once,
 * somebody does wait, and after a while passes yield; where that lasts, one sleeps every few
 * milliseconds. */

#include "trial.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TESTS = 5000, COMPUTE_NS = 20000, LATE_TAG = 3 };
enum { WAIT_NS = 100000000, SLEEPS_LEAST = 5 };

static int yields, sleeps;

/* The library calls these two instead of libc's. */
int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    sleeps++;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void compute(int64_t ns)
{
    const int64_t end = now() + ns;

    while (now() < end)
        continue;
}

/* How often the tests of an operation that waits for rank 1 yield. */
static int test_often(struct trial *t, int64_t ns)
{
    const int before = yields;

    for (int i = 0; i < TESTS; i++) {
        int flag = 1;

        compute(ns);
        MPI(MPI_Test(&t->request, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    return yields - before;
}

/* How often tests of such an operation sleep in WAIT_NS. */
static int test_long(struct trial *t)
{
    const int64_t end = now() + WAIT_NS;
    const int before = sleeps;

    while (now() < end)
        test_often(t, 0);
    return sleeps - before;
}

static void be_first(struct trial *t)
{
    int computing, waiting, computing_sleeps, sleeping, token = 1;

    trial_start(t);
    sleeps = 0;
    computing = test_often(t, COMPUTE_NS);
    computing_sleeps = sleeps;
    waiting = test_often(t, 0);
    sleeping = test_long(t);
    MPI(MPI_Send(&token, 1, MPI_INT, 1, LATE_TAG, MPI_COMM_WORLD));
    trial_wait(t);
    if (computing > 0)
        check_fail(__FILE__, __LINE__, "yielded %d times in %d tests between which it computes",
                   computing, TESTS);
    if (waiting < TESTS / 2)
        check_fail(__FILE__, __LINE__, "yielded only %d times in %d tests", waiting, TESTS);
    if (computing_sleeps > 0 || sleeping < SLEEPS_LEAST)
        check_fail(__FILE__, __LINE__, "slept %d times while computing, %d times in %d ms of tests",
                   computing_sleeps, sleeping, WAIT_NS / 1000000);
}

static void be_late(struct trial *t)
{
    int token;

    MPI(MPI_Recv(&token, 1, MPI_INT, 0, LATE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    trial_start(t);
    trial_wait(t);
}

int main(int argc, char **argv)
{
    struct trial t;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    trial_init(&t, TRIAL_BARRIER, 0, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int round = 0; round < 2; round++) {
        check_phase("round %d", round);
        if (check.rank == 0)
            be_first(&t);
        else
            be_late(&t);
    }
    trial_free(&t);
    return check_done();
}
