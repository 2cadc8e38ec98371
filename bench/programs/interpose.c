/*
 * A library to preload into an MPI program. It measures how long the program is between MPI_Init
 * and MPI_Finalize, and how long in collectives and in waits for messages; rank 0 adds a line of
 * JSON to the file $INTERPOSE_OUTPUT. With $INTERPOSE_PERSISTENT=1 it also makes persistent
 * requests of what the program calls often: short broadcasts, reductions, allreduces and barriers.
 *
 * All ranks make the same calls of these with the same arguments, so they make the same requests.
 * Buffers of the program may change from call to call, so requests have buffers of their own.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct {
    double begin, collectives, messages;
    double inits;         /* of requests, a part of collectives */
    double calls, served; /* numbers of collectives, and of those that a request has served */
} own;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- persistent requests ---- */

enum kind { NONE, BARRIER, BCAST, REDUCE, ALLREDUCE };

struct shape {
    enum kind kind;
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
};

#if MPI_VERSION >= 4

enum { MAX_SHAPES = 64, MAX_BYTES = 1024, CALLS_BEFORE_INIT = 64 };

static struct entry {
    struct shape shape;
    int calls;
    MPI_Request request; /* MPI_REQUEST_NULL: not yet, or no longer */
    char in[MAX_BYTES], out[MAX_BYTES];
} entries[MAX_SHAPES];
static int nentries = 0;
static bool is_persistent = false;

static bool is_same(const struct shape *a, const struct shape *b)
{
    return a->kind == b->kind && a->count == b->count && a->root == b->root && a->type == b->type &&
           a->op == b->op && a->comm == b->comm;
}

/* NULL: the table is full. */
static struct entry *entry_of(const struct shape *shape)
{
    for (int i = 0; i < nentries; i++)
        if (is_same(&entries[i].shape, shape))
            return &entries[i];
    if (nentries == MAX_SHAPES)
        return NULL;
    entries[nentries] = (struct entry){.shape = *shape, .request = MPI_REQUEST_NULL};
    return &entries[nentries++];
}

static void make_request(struct entry *entry)
{
    const struct shape *s = &entry->shape;
    const double begin = now();

    if (s->kind == BARRIER)
        MPI_Barrier_init(s->comm, MPI_INFO_NULL, &entry->request);
    else if (s->kind == BCAST)
        MPI_Bcast_init(entry->out, s->count, s->type, s->root, s->comm, MPI_INFO_NULL,
                       &entry->request);
    else if (s->kind == REDUCE)
        MPI_Reduce_init(entry->in, entry->out, s->count, s->type, s->op, s->root, s->comm,
                        MPI_INFO_NULL, &entry->request);
    else
        MPI_Allreduce_init(entry->in, entry->out, s->count, s->type, s->op, s->comm, MPI_INFO_NULL,
                           &entry->request);
    own.inits += now() - begin;
}

/* Bytes of a basic type, or 0. */
static size_t bytes_of(MPI_Datatype type)
{
    int integers, addresses, types, combiner, bytes;

    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    PMPI_Type_size(type, &bytes);
    return combiner == MPI_COMBINER_NAMED ? (size_t)bytes : 0;
}

/* Perform the call by a request, or return false. */
static bool is_served(const struct shape *shape, const void *send, void *receive)
{
    const enum kind kind = shape->kind;
    const size_t bytes = kind == BARRIER ? 0 : bytes_of(shape->type) * (size_t)shape->count;
    struct entry *entry;
    int rank = 0;

    if (!is_persistent || bytes > MAX_BYTES || (kind != BARRIER && bytes == 0))
        return false;
    entry = entry_of(shape);
    if (entry == NULL || ++entry->calls <= CALLS_BEFORE_INIT)
        return false;
    if (entry->request == MPI_REQUEST_NULL)
        make_request(entry);
    PMPI_Comm_rank(shape->comm, &rank);
    if (kind == BCAST)
        memcpy(entry->out, receive, bytes);
    else if (kind != BARRIER)
        memcpy(entry->in, send == MPI_IN_PLACE ? receive : send, bytes);
    PMPI_Start(&entry->request);
    PMPI_Wait(&entry->request, MPI_STATUS_IGNORE);
    if (kind != BARRIER && (kind != REDUCE || rank == shape->root))
        memcpy(receive, entry->out, bytes);
    own.served += 1;
    return true;
}

static void free_requests(MPI_Comm comm, bool of_all)
{
    for (int i = 0; i < nentries; i++) {
        if (!of_all && entries[i].shape.comm != comm)
            continue;
        if (entries[i].request != MPI_REQUEST_NULL)
            PMPI_Request_free(&entries[i].request);
        entries[i].shape.kind = NONE; /* handles are used again */
    }
}

int MPI_Comm_free(MPI_Comm *comm)
{
    free_requests(*comm, false);
    return PMPI_Comm_free(comm);
}

static void open_requests(void)
{
    const char *wish = getenv("INTERPOSE_PERSISTENT");

    is_persistent = wish != NULL && strcmp(wish, "1") == 0;
}

static void close_requests(void)
{
    free_requests(MPI_COMM_NULL, true);
}

#else /* the library has no persistent collectives */

static void open_requests(void)
{
}
static void close_requests(void)
{
}

static bool is_served(const struct shape *shape, const void *send, void *receive)
{
    (void)shape, (void)send, (void)receive;
    return false;
}

#endif

/* ---- what is measured ---- */

#define TIMED(sum, call)                                                                           \
    const double begin = now();                                                                    \
    const int result = (call);                                                                     \
    own.sum += now() - begin;                                                                      \
    return result

#define COLLECTIVE(call)                                                                           \
    own.calls += 1;                                                                                \
    TIMED(collectives, call)

int MPI_Barrier(MPI_Comm comm)
{
    const struct shape shape = {.kind = BARRIER, .comm = comm};

    COLLECTIVE(is_served(&shape, NULL, NULL) ? MPI_SUCCESS : PMPI_Barrier(comm));
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const struct shape shape = {BCAST, count, root, type, MPI_OP_NULL, comm};

    COLLECTIVE(is_served(&shape, NULL, buffer) ? MPI_SUCCESS
                                               : PMPI_Bcast(buffer, count, type, root, comm));
}

int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    const struct shape shape = {REDUCE, count, root, type, op, comm};

    COLLECTIVE(is_served(&shape, send, receive)
                   ? MPI_SUCCESS
                   : PMPI_Reduce(send, receive, count, type, op, root, comm));
}

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    const struct shape shape = {ALLREDUCE, count, 0, type, op, comm};

    COLLECTIVE(is_served(&shape, send, receive)
                   ? MPI_SUCCESS
                   : PMPI_Allreduce(send, receive, count, type, op, comm));
}

int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *receive, int rcount,
                 MPI_Datatype rtype, MPI_Comm comm)
{
    COLLECTIVE(PMPI_Alltoall(send, count, type, receive, rcount, rtype, comm));
}

int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *receive, int rcount,
                  MPI_Datatype rtype, MPI_Comm comm)
{
    COLLECTIVE(PMPI_Allgather(send, count, type, receive, rcount, rtype, comm));
}

int MPI_Allgatherv(const void *send, int count, MPI_Datatype type, void *receive,
                   const int rcounts[], const int places[], MPI_Datatype rtype, MPI_Comm comm)
{
    COLLECTIVE(PMPI_Allgatherv(send, count, type, receive, rcounts, places, rtype, comm));
}

int MPI_Scan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm)
{
    COLLECTIVE(PMPI_Scan(send, receive, count, type, op, comm));
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    TIMED(messages, PMPI_Wait(request, status));
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    TIMED(messages, PMPI_Waitall(n, requests, statuses));
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
    TIMED(messages, PMPI_Waitany(n, requests, index, status));
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    TIMED(messages, PMPI_Recv(buffer, count, type, source, tag, comm, status));
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm)
{
    TIMED(messages, PMPI_Send(buffer, count, type, target, tag, comm));
}

int MPI_Sendrecv(const void *out, int ocount, MPI_Datatype otype, int target, int otag, void *in,
                 int icount, MPI_Datatype itype, int source, int itag, MPI_Comm comm,
                 MPI_Status *status)
{
    TIMED(messages, PMPI_Sendrecv(out, ocount, otype, target, otag, in, icount, itype, source, itag,
                                  comm, status));
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    TIMED(messages, PMPI_Probe(source, tag, comm, status));
}

static int begin_after(int result)
{
    open_requests();
    PMPI_Barrier(MPI_COMM_WORLD);
    own.begin = now();
    return result;
}

int MPI_Init(int *argc, char ***argv)
{
    return begin_after(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given)
{
    return begin_after(PMPI_Init_thread(argc, argv, wanted, given));
}

/* Sums over the ranks, but the total is that of the last one. */
static void report(void)
{
    enum { NSUMS = 8 };
    const double total = now() - own.begin;
    struct rusage use;
    double sums[NSUMS], all[NSUMS], last;
    const char *path = getenv("INTERPOSE_OUTPUT");
    FILE *file;
    int rank, n;

    getrusage(RUSAGE_SELF, &use);
    memcpy(sums,
           (const double[NSUMS]){own.collectives, own.messages, own.calls, own.served,
                                 (double)use.ru_utime.tv_sec + 1e-6 * (double)use.ru_utime.tv_usec,
                                 (double)use.ru_stime.tv_sec + 1e-6 * (double)use.ru_stime.tv_usec,
                                 (double)use.ru_nvcsw + (double)use.ru_nivcsw, own.inits},
           sizeof sums);
    PMPI_Reduce(sums, all, NSUMS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(&total, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &n);
    file = rank == 0 && path != NULL ? fopen(path, "a") : NULL;
    if (file == NULL)
        return;
    fprintf(file,
            "{\"total\": %.6f, \"collectives\": %.6f, \"messages\": %.6f, \"calls\": %.0f, "
            "\"served\": %.0f, \"user\": %.6f, \"system\": %.6f, \"switches\": %.0f, "
            "\"inits\": %.6f}\n",
            last, all[0] / n, all[1] / n, all[2] / n, all[3] / n, all[4] / n, all[5] / n,
            all[6] / n, all[7] / n);
    fclose(file);
}

int MPI_Finalize(void)
{
    report();
    close_requests();
    return PMPI_Finalize();
}
