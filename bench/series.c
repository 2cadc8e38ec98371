/*
 * What communication costs an application that computes meanwhile, as measured for KACC: it starts
 * the operation and multiplies small matrices; after each product it calls MPI_Test, until the
 * operation is complete. The CPU time of the products is known from products alone; what the rank,
 * with all of its threads, consumes beyond that is the cost. If an operation progresses without
 * the application, it depends little on the grain of the computation.
 */
#include "bench.h"
#include "calls.h"

#include <math.h>
#include <time.h>

/* Between two calls of MPI_Test. A test at once is no computation, and with the last grain a rank
 * computes as long as the whole operation takes, then waits. */
static const struct grain {
    const char *name;
    int order; /* of the matrices; 0: no product */
    bool tests;
} grains[NUM_GRAINS] = {
    {"none", 0, true}, {"4x4", 4, true}, {"40x40", 40, true}, {"all", 4, false}};

enum { MAX_ORDER = 40, ALONE = 1000000 /* multiplications to time */ };

/* Two factors and the product; the compiler must not know that nobody reads it. */
static double memory[3][MAX_ORDER * MAX_ORDER];
static double (*volatile matrices)[MAX_ORDER * MAX_ORDER] = memory;

__attribute__((noinline)) static void multiply(int order)
{
    const double *a = matrices[0], *b = matrices[1];
    double *c = matrices[2];
    for (int i = 0; i < order; i++)
        for (int j = 0; j < order; j++) {
            double sum = 0;
            for (int k = 0; k < order; k++)
                sum += a[i * order + k] * b[k * order + j];
            c[i * order + j] = sum;
        }
}

static double cpu_of_thread(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* CPU seconds of one product. */
static double product_alone(int order)
{
    const int count = order ? ALONE / (order * order * order) + 1 : 0;
    multiply(order);
    double begin = cpu_of_thread();
    for (int i = 0; i < count; i++)
        multiply(order);
    return count ? (cpu_of_thread() - begin) / count : 0;
}

/* Returns the number of products until the operation was complete. */
static double compute_and_test(int order, MPI_Request *request)
{
    int done = 0;
    double products = 0;
    for (; !done; products++) {
        multiply(order);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
    return products;
}

static double compute_and_wait(int order, double products, MPI_Request *request)
{
    for (double i = 0; i < products; i++)
        multiply(order);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return products;
}

static double compute_and_complete(const struct subject *self, const struct grain *grain,
                                   double product, MPI_Request *request)
{
    if (!self->op.job->works) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
        return 0;
    }
    if (grain->tests)
        return compute_and_test(grain->order, request);
    return compute_and_wait(grain->order, self->timed->summary.median / product, request);
}

/* What `clock` shows of the operations and their products, of a rank that computes; *computing_p is
 * the CPU time of the products alone. */
static double run_operations(struct subject *self, int count, double (*clock)(void),
                             double *computing_p)
{
    const struct grain *grain = &grains[self->grain];
    double product = product_alone(grain->order), products = 0, begin;
    job_barrier(self->op.job);
    begin = clock();
    MPI_Request request = self->timed->request;
    for (int i = 0; i < count; i++) {
        if (way_is_persistent(self->variant->way))
            MPI_Start(&request);
        else
            collective_rows[self->op.coll].nonblocking(self->timed->arguments, &request);
        products += compute_and_complete(self, grain, product, &request);
    }
    *computing_p = products * product;
    return self->op.job->works ? clock() - begin : 0;
}

double subject_series_time(struct subject *self, int count)
{
    double computing;
    return run_operations(self, count, job_now, &computing);
}

double subject_series_cpu(struct subject *self, int count)
{
    double computing, all = run_operations(self, count, cpu_of_rank, &computing);
    return fmax(0, all - computing);
}

const char *grain_name(int grain)
{
    return grains[grain].name;
}
