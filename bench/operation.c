/*
 * The collectives in every calling variant: creating the request and running a batch.
 */
#include "calls.h"

#include <math.h>

int list_operations(struct job *job, const struct options *opts, struct operation *ops)
{
    int n = 0, root = job_last_or(job, opts->root);
    if (opts->coll[BARRIER])
        ops[n++] = (struct operation){job, BARRIER, 0, 0};
    for (enum collective coll = BCAST; coll < NUM_COLLECTIVES; coll++)
        for (int i = 0; opts->coll[coll] && i < opts->num_sizes; i++)
            if (!collective_has(coll, REDUCES) || opts->sizes[i] % sizeof(double) == 0)
                ops[n++] =
                    (struct operation){job, coll, opts->sizes[i], is_rooted(coll) ? root : 0};
    return n;
}

bool way_is_persistent(enum way way)
{
    return way == OFFLOAD || way == STOCK;
}

static MPI_Info algorithm_info(const struct variant *variant)
{
    MPI_Info info = MPI_INFO_NULL;
    if (variant->algorithm) {
        MPI_Info_create(&info);
        MPI_Info_set(info, variant->info_key, variant->algorithm);
    }
    return info;
}

static void enter_variant(const struct subject *self)
{
    const struct operation *op = &self->op;
    cvars_enter(op->coll, self->variant->way, op->size * (size_t)op->job->nranks);
}

void subject_open(struct subject *self)
{
    self->request = MPI_REQUEST_NULL;
    self->arguments = arguments_create(&self->op);
    if (!way_is_persistent(self->variant->way))
        return;
    MPI_Info info = algorithm_info(self->variant);
    enter_variant(self);
    collective_rows[self->op.coll].persistent(self->arguments, info, &self->request);
    cvars_leave();
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
}

void subject_close(struct subject *self)
{
    if (self->request != MPI_REQUEST_NULL)
        MPI_Request_free(&self->request);
    arguments_destroy(self->arguments);
    self->arguments = NULL;
}

static void run_persistent(MPI_Request *request, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

static void run_calls(const struct subject *self, int count)
{
    const struct collective_row *row = &collective_rows[self->op.coll];
    MPI_Request request;
    for (int i = 0; i < count; i++) {
        if (self->variant->way == BLOCKING) {
            row->blocking(self->arguments);
        } else {
            row->nonblocking(self->arguments, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

void subject_perform(struct subject *self, int count)
{
    if (way_is_persistent(self->variant->way))
        run_persistent(&self->request, count);
    else
        run_calls(self, count);
}

/* Each interval includes one reading of the clock, whose cost is measured and subtracted. */
static double run_apart(struct subject *self, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double empty = job_now();
        double begin = job_now();
        subject_perform(self, 1);
        sum += job_now() - begin - (begin - empty);
    }
    return sum > 0 ? sum : 0;
}

double subject_run(struct subject *self, int count)
{
    if (self->apart)
        return run_apart(self, count);
    double begin = job_now();
    subject_perform(self, count);
    return job_now() - begin;
}

/* MPI_Start alone, without the cost of reading the clock. */
double subject_start(struct subject *self, int count)
{
    MPI_Request request = self->timed->request;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double empty = job_now();
        double begin = job_now();
        MPI_Start(&request);
        sum += job_now() - begin - (begin - empty);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return sum > 0 ? sum : 0;
}

/* Creating and freeing the request. */
double subject_init(struct subject *self, int count)
{
    MPI_Request request;
    MPI_Info info = algorithm_info(self->variant);
    enter_variant(self);
    double begin = job_now();
    for (int i = 0; i < count; i++) {
        collective_rows[self->op.coll].persistent(self->timed->arguments, info, &request);
        MPI_Request_free(&request);
    }
    double seconds = job_now() - begin;
    cvars_leave();
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return seconds;
}

/* Counts between two barriers; no rank has left the second when this rank reads the counter. */
static double packets_of(struct subject *self, int count)
{
    struct job *job = self->op.job;
    job_barrier(job);
    double before = job_packets(job);
    subject_perform(self, count);
    job_barrier(job);
    return job_sum(job, job_packets(job) - before);
}

/* The packets of the two barriers alone are subtracted. */
void subject_count_packets(struct subject *self)
{
    int count = self->summary.iterations;
    double barriers = packets_of(self, 0), all = packets_of(self, count);
    self->packets = fmax(0, all - barriers) / count;
}
