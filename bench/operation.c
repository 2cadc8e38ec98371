/*
 * The collectives in every calling variant: creating the request, running a batch, and checking
 * what has arrived.
 */
#include "bench.h"
#include "persistent.h"

#include <math.h>
#include <string.h>
#include <time.h>

bool is_rooted(enum collective coll)
{
    return coll == BCAST || coll == GATHER || coll == SCATTER;
}

int list_operations(struct job *job, const struct options *opts, struct operation *ops)
{
    int n = 0, root = job_last_or(job, opts->root);
    if (opts->coll[BARRIER])
        ops[n++] = (struct operation){job, BARRIER, 0, 0};
    for (enum collective coll = BCAST; coll < NUM_COLLECTIVES; coll++)
        for (int i = 0; opts->coll[coll] && i < opts->num_sizes; i++)
            if (coll != ALLREDUCE || opts->sizes[i] % sizeof(double) == 0)
                ops[n++] =
                    (struct operation){job, coll, opts->sizes[i], is_rooted(coll) ? root : 0};
    return n;
}

bool way_is_persistent(enum way way)
{
    return way == OFFLOAD || way == STOCK;
}

static int doubles(const struct operation *op)
{
    return (int)(op->size / sizeof(double));
}

static void make_request(const struct operation *op, MPI_Info info, MPI_Request *request_p)
{
    const struct job *job = op->job;
    int count = (int)op->size;
    switch (op->coll) {
        case BARRIER:
            MPI_Barrier_init(MPI_COMM_WORLD, info, request_p);
            break;
        case BCAST:
            MPI_Bcast_init(job->recv, count, MPI_BYTE, op->root, MPI_COMM_WORLD, info, request_p);
            break;
        case GATHER:
            MPI_Gather_init(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, op->root,
                            MPI_COMM_WORLD, info, request_p);
            break;
        case SCATTER:
            MPI_Scatter_init(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, op->root,
                             MPI_COMM_WORLD, info, request_p);
            break;
        case ALLTOALL:
            MPI_Alltoall_init(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE,
                              MPI_COMM_WORLD, info, request_p);
            break;
        case ALLREDUCE:
            MPI_Allreduce_init(job->send, job->recv, doubles(op), MPI_DOUBLE, MPI_SUM,
                               MPI_COMM_WORLD, info, request_p);
            break;
        default:
            MPI_Allgather_init(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE,
                               MPI_COMM_WORLD, info, request_p);
            break;
    }
}

static void call_blocking(const struct operation *op)
{
    const struct job *job = op->job;
    int count = (int)op->size;
    switch (op->coll) {
        case BARRIER:
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        case BCAST:
            MPI_Bcast(job->recv, count, MPI_BYTE, op->root, MPI_COMM_WORLD);
            break;
        case GATHER:
            MPI_Gather(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, op->root,
                       MPI_COMM_WORLD);
            break;
        case SCATTER:
            MPI_Scatter(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, op->root,
                        MPI_COMM_WORLD);
            break;
        case ALLTOALL:
            MPI_Alltoall(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, MPI_COMM_WORLD);
            break;
        case ALLREDUCE:
            MPI_Allreduce(job->send, job->recv, doubles(op), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            break;
        default:
            MPI_Allgather(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, MPI_COMM_WORLD);
            break;
    }
}

static MPI_Request begin_nonblocking(const struct operation *op)
{
    const struct job *job = op->job;
    int count = (int)op->size;
    MPI_Request request;
    switch (op->coll) {
        case BARRIER:
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
            break;
        case BCAST:
            MPI_Ibcast(job->recv, count, MPI_BYTE, op->root, MPI_COMM_WORLD, &request);
            break;
        case GATHER:
            MPI_Igather(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, op->root,
                        MPI_COMM_WORLD, &request);
            break;
        case SCATTER:
            MPI_Iscatter(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, op->root,
                         MPI_COMM_WORLD, &request);
            break;
        case ALLTOALL:
            MPI_Ialltoall(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, MPI_COMM_WORLD,
                          &request);
            break;
        case ALLREDUCE:
            MPI_Iallreduce(job->send, job->recv, doubles(op), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                           &request);
            break;
        default:
            MPI_Iallgather(job->send, count, MPI_BYTE, job->recv, count, MPI_BYTE, MPI_COMM_WORLD,
                           &request);
            break;
    }
    return request;
}

static void call_nonblocking(const struct operation *op)
{
    MPI_Request request = begin_nonblocking(op);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
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
    if (!way_is_persistent(self->variant->way))
        return;
    MPI_Info info = algorithm_info(self->variant);
    enter_variant(self);
    make_request(&self->op, info, &self->request);
    cvars_leave();
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
}

void subject_close(struct subject *self)
{
    if (self->request != MPI_REQUEST_NULL)
        MPI_Request_free(&self->request);
}

static void run_persistent(MPI_Request *request, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

static void run_calls(const struct operation *op, enum way way, int count)
{
    for (int i = 0; i < count; i++) {
        if (way == BLOCKING)
            call_blocking(op);
        else
            call_nonblocking(op);
    }
}

void subject_perform(struct subject *self, int count)
{
    if (way_is_persistent(self->variant->way))
        run_persistent(&self->request, count);
    else
        run_calls(&self->op, self->variant->way, count);
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
        make_request(&self->op, info, &request);
        MPI_Request_free(&request);
    }
    double seconds = job_now() - begin;
    cvars_leave();
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return seconds;
}

/* Stays away from MPI and returns for how long. The rank computes; where ranks outnumber cores it
 * sleeps, since computing would take the core that other ranks need. */
static double be_away(const struct job *job, double seconds)
{
    double begin = job_now();
    if (job->crowded)
        nanosleep(&(struct timespec){(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)}, NULL);
    while (job_now() - begin < seconds)
        continue;
    return job_now() - begin;
}

double subject_overlap(struct subject *self, int count)
{
    bool persistent = way_is_persistent(self->variant->way);
    MPI_Request request = self->timed->request;
    double begin = job_now(), away = 0;
    for (int i = 0; i < count; i++) {
        if (persistent)
            MPI_Start(&request);
        else
            request = begin_nonblocking(&self->op);
        away += be_away(self->op.job, self->timed->summary.median);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return job_now() - begin - away;
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

/* ---- verification ---------------------------------------------------------------------------- */

/* Word i of block `rank` in `round`; it differs between any two blocks and rounds. */
static uint64_t pattern_word(uint64_t round, int rank, size_t i)
{
    uint64_t block = round * 4099 * 4099 + (uint64_t)rank + 1;
    return (block << 32 ^ (uint64_t)i) * UINT64_C(0x9e3779b97f4a7c15);
}

static void pattern_fill(char *at, size_t size, uint64_t round, int rank)
{
    for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
        uint64_t word = pattern_word(round, rank, done);
        size_t part = size - done < sizeof word ? size - done : sizeof word;
        memcpy(at + done, &word, part);
    }
}

static bool pattern_is(const char *at, size_t size, uint64_t round, int rank)
{
    for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
        uint64_t word = pattern_word(round, rank, done);
        size_t part = size - done < sizeof word ? size - done : sizeof word;
        if (memcmp(at + done, &word, part) != 0)
            return false;
    }
    return true;
}

/* Element i of the vector of a rank: small integers, so that any association gives the same sum. */
static double element(uint64_t round, int rank, size_t i)
{
    return (double)((round * 31 + (uint64_t)rank * 1009 + i * 7) % 100003);
}

static void elements_fill(char *at, size_t size, uint64_t round, int rank)
{
    for (size_t i = 0; i < size / sizeof(double); i++) {
        double value = element(round, rank, i);
        memcpy(at + i * sizeof value, &value, sizeof value);
    }
}

static bool elements_are_sums(const char *at, size_t size, uint64_t round, int nranks)
{
    for (size_t i = 0; i < size / sizeof(double); i++) {
        double sum = 0, value;
        for (int rank = 0; rank < nranks; rank++)
            sum += element(round, rank, i);
        memcpy(&value, at + i * sizeof value, sizeof value);
        if (value != sum)
            return false;
    }
    return true;
}

/* The number of blocks in the send and receive buffers of this rank; a broadcast's message is in
 * the receive buffer. */
static int sent_blocks(const struct operation *op)
{
    const struct job *job = op->job;
    switch (op->coll) {
        case ALLGATHER:
        case GATHER:
            return 1;
        case SCATTER:
            return job->rank == op->root ? job->nranks : 0;
        case ALLTOALL:
            return job->nranks;
        default:
            return 0;
    }
}

static int received_blocks(const struct operation *op)
{
    const struct job *job = op->job;
    switch (op->coll) {
        case BARRIER:
            return 0;
        case BCAST:
        case SCATTER:
            return 1;
        case GATHER:
            return job->rank == op->root ? job->nranks : 0;
        default:
            return job->nranks;
    }
}

/* The number of the block that `from` has for `to`; where all get the same, there is one. */
static int block_number(const struct operation *op, int from, int to)
{
    return op->coll == SCATTER || op->coll == ALLTOALL ? from * op->job->nranks + to : from;
}

/* Set new data to send and poison the receive buffers; another rank is late each time. */
static void prepare_round(const struct operation *op, uint64_t round)
{
    const struct job *job = op->job;
    memset(job->recv, 0xEE, op->size * (size_t)received_blocks(op));
    if (op->coll == BCAST && job->rank == op->root)
        pattern_fill(job->recv, op->size, round, op->root);
    if (op->coll == ALLREDUCE)
        elements_fill(job->send, op->size, round, job->rank);
    for (int to = 0; to < sent_blocks(op); to++)
        pattern_fill(job->send + op->size * (size_t)to, op->size, round,
                     block_number(op, job->rank, to));
    if (round % (uint64_t)job->nranks == (uint64_t)job->rank)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    if (job->one_node)
        atomic_store(&job->arrived[job->rank].value, round);
}

/* No rank may leave a barrier before the last has arrived. */
static bool all_arrived(const struct job *job, uint64_t round)
{
    for (int rank = 0; job->one_node && rank < job->nranks; rank++)
        if (atomic_load(&job->arrived[rank].value) < round)
            return false;
    return true;
}

static bool round_is_right(const struct operation *op, uint64_t round)
{
    const struct job *job = op->job;
    bool right = true;
    if (op->coll == BARRIER)
        return all_arrived(job, round);
    if (op->coll == ALLREDUCE)
        return elements_are_sums(job->recv, op->size, round, job->nranks);
    for (int i = 0; i < received_blocks(op); i++) {
        int from = received_blocks(op) < job->nranks ? op->root : i;
        right &= pattern_is(job->recv + op->size * (size_t)i, op->size, round,
                            block_number(op, from, job->rank));
    }
    return right;
}

bool subject_verify(struct subject *self, int rounds)
{
    bool wrong = false;
    for (int i = 0; i < rounds; i++) {
        uint64_t round = ++self->op.job->verify_round;
        prepare_round(&self->op, round);
        subject_perform(self, 1);
        wrong |= !round_is_right(&self->op, round);
    }
    return job_max(self->op.job, wrong) <= 0;
}
