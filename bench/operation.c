/*
 * The collectives in every calling variant: creating the request and running a batch.
 */
#include "calls.h"

#include <math.h>

static struct operation *add_operations(struct operation *ops, struct job *job,
                                        const struct options *opts, enum collective coll)
{
    int root = is_rooted(coll) ? job_last_or(job, opts->root) : 0;
    bool neighbors = collective_has(coll, NEIGHBOR);
    for (int hood = 0; hood < (neighbors ? NUM_NEIGHBORHOODS : 1); hood++)
        for (int i = 0; i < opts->num_sizes && (!neighbors || opts->hood[hood]); i++)
            if (!collective_has(coll, REDUCES) || opts->sizes[i] % sizeof(double) == 0)
                *ops++ = (struct operation){
                    job,      coll, opts->sizes[i], root, neighbors ? &job->hoods[hood] : NULL,
                    opts->row};
    return ops;
}

int list_operations(struct job *job, const struct options *opts, struct operation *ops)
{
    struct operation *end = ops;
    if (opts->coll[BARRIER])
        *end++ = (struct operation){.job = job, .coll = BARRIER};
    for (enum collective coll = BCAST; coll < NUM_COLLECTIVES; coll++)
        if (opts->coll[coll])
            end = add_operations(end, job, opts, coll);
    return (int)(end - ops);
}

bool way_is_persistent(enum way way)
{
    return way == OFFLOAD || way == STOCK;
}

static bool way_is_halo(enum way way)
{
    return way >= HALO;
}

bool variant_suits(const struct variant *variant, const struct operation *op)
{
    if (variant->way == PACKED_HALO)
        return collective_has(op->coll, STRIDED);
    return !way_is_halo(variant->way) || op->hood;
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

/* maint/instructions refers to this function by name. */
void pcoll_bench_init(struct subject *self, MPI_Info info);

__attribute__((noinline)) void pcoll_bench_init(struct subject *self, MPI_Info info)
{
    collective_rows[self->op.coll].persistent(self->arguments, info, &self->request);
    atomic_signal_fence(
        memory_order_seq_cst); /* callgrind takes a tail call for the function's end */
}

/* Until leave_variant, requests are those of the variant. */
static MPI_Info enter_variant(const struct subject *self)
{
    const struct operation *op = &self->op;
    cvars_enter(op->coll, self->variant->way, op->size * (size_t)op->job->nranks);
    return algorithm_info(self->variant);
}

static void leave_variant(MPI_Info info)
{
    cvars_leave();
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
}

static void make_requests(struct subject *self, MPI_Info info)
{
    if (way_is_halo(self->variant->way))
        self->halo = halo_open(&self->op, self->variant->way, self->arguments);
    if (way_is_persistent(self->variant->way) && !self->once)
        pcoll_bench_init(self, info);
}

static void free_requests(struct subject *self)
{
    if (self->request != MPI_REQUEST_NULL)
        MPI_Request_free(&self->request);
    halo_close(self->halo);
    self->halo = NULL;
}

void subject_open(struct subject *self)
{
    self->request = MPI_REQUEST_NULL;
    self->arguments = arguments_create(&self->op);
    MPI_Info info = enter_variant(self);
    make_requests(self, info);
    leave_variant(info);
}

void subject_close(struct subject *self)
{
    free_requests(self);
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

static void run_halo(struct halo *halo, int count)
{
    for (int i = 0; i < count; i++) {
        halo_begin(halo);
        halo_finish(halo);
    }
}

void subject_move_on(struct subject *self)
{
    const struct job *job = self->op.job;
    if (!self->once)
        return;
    self->place = (self->place + 1) % job->places;
    self->arguments->send = job->send + (size_t)self->place * job->step;
    self->arguments->recv = job->recv + (size_t)self->place * job->step;
}

static void run_once(struct subject *self, int count, MPI_Info info)
{
    MPI_Request request;
    for (int i = 0; i < count; i++) {
        if (i > 0)
            subject_move_on(self);
        if (!way_is_persistent(self->variant->way)) {
            run_calls(self, 1);
            continue;
        }
        collective_rows[self->op.coll].persistent(self->arguments, info, &request);
        run_persistent(&request, 1);
        MPI_Request_free(&request);
    }
}

static void perform_together(struct subject *self, int count)
{
    if (way_is_persistent(self->variant->way))
        run_persistent(&self->request, count);
    else if (self->halo)
        run_halo(self->halo, count);
    else
        run_calls(self, count);
}

static void perform(struct subject *self, int count, MPI_Info info)
{
    if (self->once)
        run_once(self, count, info);
    else
        perform_together(self, count);
}

__attribute__((noinline)) static void enter_and_perform(struct subject *self, int count)
{
    MPI_Info info = enter_variant(self);
    run_once(self, count, info);
    leave_variant(info);
}

/* Its own instructions are counted with those of the library. */
void subject_perform(struct subject *self, int count)
{
    if (self->once)
        enter_and_perform(self, count);
    else
        perform_together(self, count);
}

/* As a program that computes what it sends, and computes with what it receives. */
static void write_sent(const struct arguments *a)
{
    for (int i = 0; i < a->nsent; i++)
        block_use(&a->sent[i], a->send, true);
}

static void read_received(const struct arguments *a)
{
    for (int i = 0; i < a->nrecv; i++)
        block_use(&a->received[i], a->recv, false);
}

/* Each interval includes one reading of the clock, whose cost is measured and subtracted. */
static double run_apart(struct subject *self, int count, MPI_Info info)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        subject_move_on(self);
        if (self->use_data)
            write_sent(self->arguments);
        MPI_Barrier(MPI_COMM_WORLD);
        double empty = job_now();
        double begin = job_now();
        perform(self, 1, info);
        sum += job_now() - begin - (begin - empty);
        if (self->use_data)
            read_received(self->arguments);
    }
    return sum > 0 ? sum : 0;
}

static double run_together(struct subject *self, int count, MPI_Info info)
{
    double begin = job_now();
    perform(self, count, info);
    return job_now() - begin;
}

double subject_run(struct subject *self, int count)
{
    MPI_Info info = self->once ? enter_variant(self) : MPI_INFO_NULL;
    double seconds = (self->apart ? run_apart : run_together)(self, count, info);
    if (self->once)
        leave_variant(info);
    return seconds;
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
    MPI_Info info = enter_variant(self);
    double begin = job_now();
    for (int i = 0; i < count; i++) {
        collective_rows[self->op.coll].persistent(self->timed->arguments, info, &request);
        MPI_Request_free(&request);
    }
    double seconds = job_now() - begin;
    leave_variant(info);
    return seconds;
}

/* Each rank uses its data before, as programs do, so that none finds it where another variant has
 * left it. */
double subject_first_use(struct subject *self)
{
    self->arguments = arguments_create(&self->op);
    MPI_Info info = enter_variant(self);
    write_sent(self->arguments);
    read_received(self->arguments);
    job_barrier(self->op.job);
    double begin = job_now();
    make_requests(self, info);
    perform(self, 1, info);
    free_requests(self);
    double seconds = job_now() - begin;
    leave_variant(info);
    arguments_destroy(self->arguments);
    self->arguments = NULL;
    return job_max(self->op.job, seconds);
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
