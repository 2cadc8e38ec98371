/* pcoll-bench warms a subject before it fixes the length of a batch (bench/measure.c): here each
 * rank has a clock and page faults that the test advances, so the operations of a batch can be
 * counted. */

#include "../../bench/measure.c"

#include "check.h"

#define BATCH_SECONDS 1e-3
#define LONG_BATCH_SECONDS 50e-3 /* the most that 8 operations may take */
#define BATCHES 11

/* The first `ncold` operations of a subject take `cold` seconds on one rank, where each touches a
 * new page if `faults`; all others take `warm`. */
struct model {
    const char *what;
    int ncold;
    double cold, warm;
    bool faults;
    int min_before, max_before; /* operations before the first batch is timed */
    double median;              /* seconds */
};

static const struct model models[] = {
    {"a short operation", 0, 0, 1e-6, false, 64, 4000, 1e-6},
    {"a long operation", 0, 0, 10e-3, false, 1, 4, 10e-3},
    {"a ring whose slots are cold", 32, 300e-6, 5e-6, true, 64, 1000, 5e-6},
    {"a long ring", 64, 400e-6, 20e-6, true, 64, 400, 20e-6},
    {"first operations that are slow for another reason", 3, 100e-6, 5e-6, false, 64, 1000, 5e-6},
    {"each operation takes new memory", 1 << 30, 5e-3, 5e-3, true, 8, 30, 5e-3},
};

static double clock_now, faults_so_far;
static int cold_rank, operations;
static const struct model *model;

double job_now(void)
{
    return clock_now;
}

double job_faults(void)
{
    return faults_so_far;
}

void job_barrier(struct job *job)
{
    (void)job;
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

double job_max(struct job *job, double value)
{
    (void)job;
    MPI(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return value;
}

static double perform(struct subject *self, int count)
{
    double begin = clock_now;

    (void)self;
    for (int i = 0; i < count; i++, operations++) {
        bool cold = check.rank == cold_rank && operations < model->ncold;

        clock_now += cold ? model->cold : model->warm;
        faults_so_far += cold && model->faults;
    }
    return clock_now - begin;
}

static bool same_everywhere(int value)
{
    int both[2] = {value, -value};

    MPI(MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return both[0] == -both[1];
}

static void run_model(void)
{
    const struct options opts = {
        .batches = BATCHES, .batch_seconds = BATCH_SECONDS, .row_seconds = 1e9};
    struct job job = {.rank = check.rank, .nranks = check.size};
    struct subject subject = {.batch = perform};
    const double wanted =
        fmax(BATCH_SECONDS / model->median, fmin(8, LONG_BATCH_SECONDS / model->median));
    int before;

    check_phase("%s, rank %d", model->what, cold_rank);
    operations = 0;
    measure(&job, &subject, 1, &opts);
    before = operations - subject.summary.batches * subject.summary.iterations;
    check_note("%d operations before batches of %d", before, subject.summary.iterations);
    CHECK(same_everywhere(operations));
    CHECK(same_everywhere(subject.summary.iterations));
    CHECK(subject.summary.batches == BATCHES);
    CHECK(before >= model->min_before && before <= model->max_before);
    CHECK(fabs(subject.summary.median / model->median - 1) < 1e-6);
    CHECK(fabs(subject.summary.high / model->median - 1) < 1e-6);
    CHECK(fabs(subject.summary.iterations - wanted) < 1.5);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (cold_rank = 0; cold_rank < check.size; cold_rank++)
        for (model = models; model < models + sizeof models / sizeof *models; model++)
            run_model();
    return check_done();
}
