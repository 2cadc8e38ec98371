/*
 * How much of an operation a computation hides, in the form of the Intel MPI Benchmarks: T is the
 * time of the whole operation, C that of a fixed amount of work without MPI, timed in the same
 * batch, and `elapsed` that of start, the same work, and wait:
 *
 *     overlap = (T + C - elapsed) / min(T, C)
 *
 * The work is fixed, not its time: whoever takes the core from it lengthens `elapsed`.
 */
#include "bench.h"
#include "calls.h"
#include "work.h"

#include <math.h>
#include <time.h>

/* Without MPI. Where working ranks outnumber cores they sleep instead, since computing would take
 * the core that other ranks need. */
static void be_away(const struct job *job, double seconds)
{
    if (!job->computes)
        nanosleep(&(struct timespec){(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)}, NULL);
    else
        work_for(seconds);
}

double cpu_of_rank(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Work in one piece, or in as many as the user wants, with a test of the request after each; NULL:
 * without. */
static void work(const struct job *job, double seconds, MPI_Request *request)
{
    int done;
    for (; job->tests > 0 && seconds > job->tests; seconds -= job->tests) {
        be_away(job, job->tests);
        if (request)
            MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
    be_away(job, seconds);
}

static void start_and_wait(struct subject *self, int count, double away)
{
    bool persistent = way_is_persistent(self->variant->way);
    struct halo *halo = self->timed->halo;
    MPI_Request request = self->timed->request;
    for (int i = 0; i < count; i++) {
        if (halo)
            halo_begin(halo);
        else if (persistent)
            MPI_Start(&request);
        else
            collective_rows[self->op.coll].nonblocking(self->timed->arguments, &request);
        if (halo) {
            be_away(self->op.job, away);
            halo_finish(halo);
        } else {
            work(self->op.job, away, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

/* What `clock` shows of the work alone, and of the operations with it. */
struct passed {
    double alone, together;
};

static struct passed run_batch(struct subject *self, int count, double (*clock)(void))
{
    const struct job *job = self->op.job;
    const double away = job->works ? self->timed->summary.median * job->away : 0;
    struct passed passed;
    work_rounds_per_second();
    double begin = clock();
    for (int i = 0; i < count; i++)
        work(job, away, NULL);
    passed.alone = clock() - begin;
    job_barrier(self->op.job);
    begin = clock();
    start_and_wait(self, count, away);
    passed.together = clock() - begin;
    return passed;
}

static double beyond_work(struct subject *self, int count, double (*clock)(void))
{
    const struct passed passed = run_batch(self, count, clock);
    return self->op.job->works ? fmax(0, passed.together - passed.alone) : 0;
}

double subject_overlap(struct subject *self, int count)
{
    return beyond_work(self, count, job_now);
}

double subject_cpu(struct subject *self, int count)
{
    return beyond_work(self, count, cpu_of_rank);
}

double subject_others(struct subject *self, int count)
{
    const struct passed passed = run_batch(self, count, job_now);
    return self->op.job->works ? 0 : passed.together;
}

double overlap_share(const struct subject *self)
{
    const double whole = self->timed->summary.median, away = whole * self->op.job->away;
    const double share = (whole - self->summary.median) / fmin(whole, away);
    return fmax(0, fmin(1, share));
}
