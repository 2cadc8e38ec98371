/*
 * Timing in turn: one batch of every subject, then the next batch of every subject, in another
 * order, so that a change in the machine's speed affects all of them equally.
 */
#include "bench.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The longest ring of the backend has 64 slots; MPICH's messages go through as many cells. */
enum { FEWEST_BATCHES = 5, FEWEST_OPERATIONS = 8, SLOTS = 64 };

/* A ring has at most 2 MiB; to touch them takes less even if each page takes 20 us on both sides.
 */
static const double longest_warm_up = 0.03;

/* After a pause, as while others have their batches, memory can be slower for milliseconds
 * (doc/notes/crowded-ranks.md). A batch therefore has FEWEST_OPERATIONS operations, or as many as
 * take so many seconds if these are fewer. */
static const double long_batch = 0.05;

static double one_batch(struct job *job, struct subject *subject, int count)
{
    job_barrier(job);
    return subject->batch(subject, count);
}

/* With all that a batch does untimed, on the slowest rank. */
static double whole_batch(struct job *job, struct subject *subject, int count)
{
    job_barrier(job);
    double begin = job_now();
    subject->batch(subject, count);
    return job_max(job, job_now() - begin);
}

/* The best of three: others may have occupied the core. */
static double shortest_of_three(struct job *job, struct subject *subject, int count)
{
    double shortest = 1e9;
    for (int i = 0; i < 3; i++)
        shortest = fmin(shortest, whole_batch(job, subject, count));
    return shortest;
}

static int limited(const struct subject *subject, double count)
{
    double max = subject->max_iterations ? subject->max_iterations : 1e8;
    return (int)fmax(1, fmin(count, max));
}

/* Run operations until each slot of the longest ring has been used. After a quarter of a batch's
 * time, only operations that still touch new pages go on: the first touch of a page costs more than
 * a copy of it, so that batches would be too short, and cold. Ranks agree on times and faults, thus
 * on when to stop. Returns the time of one of the last operations. */
static double warm_up(struct job *job, struct subject *subject, const struct options *opts)
{
    double all = 0, seconds = 0, faults = 0;
    int count = 1;
    for (int done = 0; done < SLOTS; done += count) {
        if (all > opts->batch_seconds / 4 && (faults <= 0 || all > longest_warm_up))
            break;
        double before = job_faults();
        count = limited(subject, fmax(1, 3.0 * done));
        seconds = whole_batch(job, subject, count);
        faults = job_max(job, job_faults() - before);
        all += seconds;
    }
    return seconds / count;
}

/* Find how many operations make up a batch; one takes about so many seconds. */
static int calibrate(struct job *job, struct subject *subject, const struct options *opts,
                     double each)
{
    if (opts->iterations)
        return limited(subject, opts->iterations);
    int count = limited(subject, opts->batch_seconds / 4 / fmax(each, 1e-9));
    double seconds = shortest_of_three(job, subject, count);
    while (seconds < opts->batch_seconds / 8 && count < limited(subject, count * 4.0)) {
        count = limited(subject, count * 4.0);
        seconds = shortest_of_three(job, subject, count);
    }
    each = fmax(seconds / count, 1e-9);
    return limited(subject,
                   fmax(opts->batch_seconds / each, fmin(FEWEST_OPERATIONS, long_batch / each)));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q)
{
    double place = q * (n - 1);
    int below = (int)place;
    int above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

/* The time of a batch is that of the rank where it takes longest. */
static void summarize(struct subject *subject, int batches)
{
    struct summary *summary = &subject->summary;
    MPI_Allreduce(MPI_IN_PLACE, subject->samples, batches, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < batches; i++)
        subject->samples[i] /= summary->iterations;
    qsort(subject->samples, (size_t)batches, sizeof *subject->samples, by_value);
    summary->batches = batches;
    summary->median = quantile(subject->samples, batches, 0.5);
    summary->low = quantile(subject->samples, batches, 0.1);
    summary->high = quantile(subject->samples, batches, 0.9);
}

/* Rank 0 decides for all. */
static bool goes_on(struct job *job, int batch, double begin, const struct options *opts)
{
    bool on = batch < opts->batches;
    if (batch >= FEWEST_BATCHES && job_now() - begin > opts->row_seconds)
        on = false;
    return job_max(job, job->rank == 0 && on) > 0;
}

/* Another order each time, as a batch suffers from what has run before it; the same on all ranks.
 * (Durstenfeld's shuffle, with the generator of POSIX's example of rand.) */
static void shuffle(int *order, int n, uint32_t *random)
{
    for (int i = n - 1; i > 0; i--) {
        *random = *random * 1103515245u + 12345u;
        int k = (int)((*random >> 16) % ((uint32_t)i + 1)), last = order[i];
        order[i] = order[k];
        order[k] = last;
    }
}

static void take_turns(struct job *job, struct subject *subjects, const int *order, int n,
                       int batch)
{
    for (int i = 0; i < n; i++) {
        struct subject *subject = &subjects[order[i]];
        subject->samples[batch] = one_batch(job, subject, subject->summary.iterations);
    }
}

void measure(struct job *job, struct subject *subjects, int n, const struct options *opts)
{
    double *samples = calloc((size_t)n * (size_t)opts->batches, sizeof *samples);
    int *order = calloc((size_t)n, sizeof *order);
    uint32_t random = 1;
    if (!samples || !order)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < n; i++) {
        order[i] = i;
        subjects[i].samples = samples + (size_t)i * (size_t)opts->batches;
        double each = warm_up(job, &subjects[i], opts);
        subjects[i].summary.iterations = calibrate(job, &subjects[i], opts, each);
    }
    int batch = 0;
    for (double begin = job_now(); goes_on(job, batch, begin, opts); batch++) {
        shuffle(order, n, &random);
        take_turns(job, subjects, order, n, batch);
    }
    for (int i = 0; i < n; i++) {
        summarize(&subjects[i], batch);
        subjects[i].samples = NULL;
    }
    free(order);
    free(samples);
}
