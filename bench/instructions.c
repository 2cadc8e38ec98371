/*
 * Instructions of one operation, or of its init. Unlike time, their number does not vary from run
 * to run as long as the counting rank never waits; it therefore arrives last on purpose.
 */
#include "bench.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 20, TRIES = 50, ROUNDS = 6 };

static int counter_open(void)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double counter_read(int counter)
{
    uint64_t value = 0;
    if (read(counter, &value, sizeof value) != (ssize_t)sizeof value)
        return 0;
    return (double)value;
}

static void come_late(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* The minimum over several operations, on the late rank; infinity on the others. */
static double fewest_when_late(struct subject *subject, int counter, int late)
{
    struct job *job = subject->op.job;
    double fewest = 1e300;
    for (int i = 0; i < TRIES; i++) {
        job_barrier(job);
        if (job->rank == late)
            come_late();
        double empty = counter_read(counter);
        double begin = counter_read(counter);
        subject_perform(subject, 1);
        double count = counter_read(counter) - begin - (begin - empty);
        if (job->rank == late && count < fewest)
            fewest = count;
    }
    return fewest;
}

static double count_own(struct subject *subject, int counter)
{
    const struct job *job = subject->op.job;
    double own = 0;
    for (int late = 0; late < job->nranks; late++) {
        double fewest = fewest_when_late(subject, counter, late);
        own = job->rank == late ? fewest : own;
    }
    return own;
}

static void print_line(const struct subject *subject, double own)
{
    double range[2] = {-own, own};
    char size[16], name[NAME_LENGTH];
    MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    size_text(size, sizeof size, subject->op.size);
    operation_text(name, sizeof name, &subject->op);
    if (subject->op.job->rank == 0)
        printf("%-22s %6s  %-24s %10.0f %10.0f\n", name, size, subject->variant->name, -range[0],
               range[1]);
}

static void count_one(struct subject *subject, int counter)
{
    print_line(subject, count_own(subject, counter));
}

/* maint/instructions refers to this function by name. */
void pcoll_bench_loop(struct subject *subject);

__attribute__((noinline)) void pcoll_bench_loop(struct subject *subject)
{
    subject_perform(subject, 1);
}

static void loop_one(struct subject *subject, const struct options *opts)
{
    struct job *job = subject->op.job;
    char name[NAME_LENGTH];
    operation_text(name, sizeof name, &subject->op);
    for (int i = 0; i < opts->loop; i++) {
        job_barrier(job);
        if (job->rank == opts->late)
            come_late();
        pcoll_bench_loop(subject);
    }
    if (job->rank == 0)
        printf("loop %s %zu %s\n", name, subject->op.size, subject->variant->name);
}

/* Count the instructions of an operation, or only run it in the loop. */
static void count_or_loop(struct subject *subject, const struct options *opts, int counter)
{
    subject_open(subject);
    subject_perform(subject, WARM_UP);
    if (opts->loop)
        loop_one(subject, opts);
    else
        count_one(subject, counter);
    subject_close(subject);
}

/* Twice in a row: the second time the library may remember what it has chosen. */
static void init_twice(struct subject *subject, const struct options *opts, int counter)
{
    static const char *const which[] = {"init", "again"};
    struct job *job = subject->op.job;
    char name[NAME_LENGTH];
    (void)counter;
    if (!way_is_persistent(subject->variant->way))
        return;
    operation_text(name, sizeof name, &subject->op);
    for (int i = 0; i < 2; i++) {
        job_barrier(job);
        if (job->rank == opts->late)
            come_late();
        subject_open(subject);
        subject_close(subject);
        if (job->rank == 0)
            printf("%s %s %zu %s\n", which[i], name, subject->op.size, subject->variant->name);
    }
}

/* Every operation in every variant. */
static void for_all(struct job *job, const struct options *opts, const struct variant *variants,
                    int num_variants, int counter,
                    void (*run)(struct subject *, const struct options *, int counter))
{
    struct operation ops[MAX_OPERATIONS];
    int n = list_operations(job, opts, ops);
    for (int i = 0; i < n; i++)
        for (int v = 0; v < num_variants; v++) {
            struct subject subject = {.op = ops[i], .variant = &variants[v]};
            if (variant_suits(&variants[v], &ops[i]))
                run(&subject, opts, counter);
        }
}

/* Inits go round all operations, so that the library has forgotten what it chose in the round
 * before. */
void instructions_loop(struct job *job, const struct options *opts, const struct variant *variants,
                       int num_variants)
{
    for (int i = 0; i < ROUNDS; i++)
        for_all(job, opts, variants, num_variants, -1, init_twice);
    for_all(job, opts, variants, num_variants, -1, count_or_loop);
}

static bool counters_everywhere(int counter)
{
    int right = counter >= 0;
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return right != 0;
}

static void explain(const struct job *job)
{
    if (job->rank == 0)
        fputs("pcoll-bench: the kernel does not count instructions here (perf_event_open).\n"
              "maint/instructions counts them under valgrind --tool=callgrind.\n",
              stderr);
}

bool instructions_table(struct job *job, const struct options *opts, const struct variant *variants,
                        int num_variants)
{
    int counter = counter_open();
    bool right = counters_everywhere(counter);
    if (!right)
        explain(job);
    else if (job->rank == 0)
        printf("User-mode instructions of one operation, where the rank need not wait\n"
               "collective               size  variant                  least rank  most rank\n");
    if (right)
        for_all(job, opts, variants, num_variants, counter, count_or_loop);
    if (counter >= 0)
        close(counter);
    return right;
}
