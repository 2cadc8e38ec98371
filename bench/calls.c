/*
 * The calls of all collectives, each made in three ways from the same arguments.
 */
#include "calls.h"
#include "persistent.h"

#include <stdlib.h>

/* ---- calls ----------------------------------------------------------------------------------- */

#define EQUAL a->send, a->count, MPI_BYTE, a->recv, a->count, MPI_BYTE
#define SEND_V a->send, a->scounts, a->sdispls, MPI_BYTE
#define RECEIVE_V a->recv, a->rcounts, a->rdispls, MPI_BYTE
#define SUM(count) a->send, a->recv, count, MPI_DOUBLE, MPI_SUM

#define CALLS(name, Name, ...)                                                                     \
    static void name##_persistent(const struct arguments *a, MPI_Info info,                        \
                                  MPI_Request *request_p)                                          \
    {                                                                                              \
        MPI_##Name##_init(__VA_ARGS__, a->comm, info, request_p);                                  \
    }                                                                                              \
    static void name##_nonblocking(const struct arguments *a, MPI_Request *request_p)              \
    {                                                                                              \
        MPI_I##name(__VA_ARGS__, a->comm, request_p);                                              \
    }                                                                                              \
    static void name##_blocking(const struct arguments *a)                                         \
    {                                                                                              \
        MPI_##Name(__VA_ARGS__, a->comm);                                                          \
    }

static void barrier_persistent(const struct arguments *a, MPI_Info info, MPI_Request *request_p)
{
    MPI_Barrier_init(a->comm, info, request_p);
}

static void barrier_nonblocking(const struct arguments *a, MPI_Request *request_p)
{
    MPI_Ibarrier(a->comm, request_p);
}

static void barrier_blocking(const struct arguments *a)
{
    MPI_Barrier(a->comm);
}

/* clang-format off */
CALLS(bcast, Bcast, a->nsent ? a->send : a->recv, a->count, MPI_BYTE, a->root)
CALLS(gather, Gather, EQUAL, a->root)
CALLS(gatherv, Gatherv, a->send, a->own, MPI_BYTE, RECEIVE_V, a->root)
CALLS(scatter, Scatter, EQUAL, a->root)
CALLS(scatterv, Scatterv, SEND_V, a->recv, a->own, MPI_BYTE, a->root)
CALLS(allgather, Allgather, EQUAL)
CALLS(allgatherv, Allgatherv, a->send, a->own, MPI_BYTE, RECEIVE_V)
CALLS(alltoall, Alltoall, EQUAL)
CALLS(alltoallv, Alltoallv, SEND_V, RECEIVE_V)
CALLS(alltoallw, Alltoallw, a->send, a->scounts, a->sdispls, a->stypes, a->recv, a->rcounts,
      a->rdispls, a->rtypes)
CALLS(reduce, Reduce, SUM(a->count), a->root)
CALLS(allreduce, Allreduce, SUM(a->count))
CALLS(reduce_scatter_block, Reduce_scatter_block, SUM(a->count))
CALLS(reduce_scatter, Reduce_scatter, SUM(a->scounts))
CALLS(scan, Scan, SUM(a->count))
CALLS(exscan, Exscan, SUM(a->count))
CALLS(neighbor_allgather, Neighbor_allgather, EQUAL)
CALLS(neighbor_allgatherv, Neighbor_allgatherv, a->send, a->own, MPI_BYTE, RECEIVE_V)
CALLS(neighbor_alltoall, Neighbor_alltoall, EQUAL)
CALLS(neighbor_alltoallv, Neighbor_alltoallv, SEND_V, RECEIVE_V)
CALLS(neighbor_alltoallw, Neighbor_alltoallw, a->send, a->scounts, a->splaces, a->stypes, a->recv,
      a->rcounts, a->rplaces, a->rtypes)
/* clang-format on */

#define ROW(NAME, name, traits, sends, receives)                                                   \
    [NAME] = {#name,          traits, sends, receives, name##_persistent, name##_nonblocking,      \
              name##_blocking}

const struct collective_row collective_rows[NUM_COLLECTIVES] = {
    ROW(BARRIER, barrier, 0, NONE, NONE),
    ROW(BCAST, bcast, ROOTED, ROOT_ONE, OTHERS_ONE),
    ROW(ALLGATHER, allgather, 0, ONE, PER_RANK),
    ROW(ALLGATHERV, allgatherv, UNEQUAL, ONE, PER_RANK),
    ROW(GATHER, gather, ROOTED, ONE, ROOT_ALL),
    ROW(GATHERV, gatherv, ROOTED | UNEQUAL, ONE, ROOT_ALL),
    ROW(SCATTER, scatter, ROOTED, ROOT_ALL, ONE),
    ROW(SCATTERV, scatterv, ROOTED | UNEQUAL, ROOT_ALL, ONE),
    ROW(ALLTOALL, alltoall, 0, PER_RANK, PER_RANK),
    ROW(ALLTOALLV, alltoallv, UNEQUAL, PER_RANK, PER_RANK),
    ROW(ALLTOALLW, alltoallw, UNEQUAL, PER_RANK, PER_RANK),
    ROW(REDUCE, reduce, ROOTED | REDUCES, ONE, ROOT_ONE),
    ROW(ALLREDUCE, allreduce, REDUCES, ONE, ONE),
    ROW(REDUCE_SCATTER_BLOCK, reduce_scatter_block, REDUCES, PER_RANK, ONE),
    ROW(REDUCE_SCATTER, reduce_scatter, REDUCES | UNEQUAL, PER_RANK, ONE),
    ROW(SCAN, scan, REDUCES, ONE, ONE),
    ROW(EXSCAN, exscan, REDUCES, ONE, ONE),
    ROW(NEIGHBOR_ALLGATHER, neighbor_allgather, NEIGHBOR, ONE, PER_NEIGHBOR),
    ROW(NEIGHBOR_ALLGATHERV, neighbor_allgatherv, NEIGHBOR | UNEQUAL, ONE, PER_NEIGHBOR),
    ROW(NEIGHBOR_ALLTOALL, neighbor_alltoall, NEIGHBOR, PER_NEIGHBOR, PER_NEIGHBOR),
    ROW(NEIGHBOR_ALLTOALLV, neighbor_alltoallv, NEIGHBOR | FACES, PER_NEIGHBOR, PER_NEIGHBOR),
    ROW(NEIGHBOR_ALLTOALLW, neighbor_alltoallw, NEIGHBOR | FACES | STRIDED, PER_NEIGHBOR,
        PER_NEIGHBOR),
};

bool is_rooted(enum collective coll)
{
    return collective_has(coll, ROOTED);
}

const char *collective_name(enum collective coll)
{
    return collective_rows[coll].name;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Of doubles, as programs have them, unless the part is no whole number of them. */
static MPI_Datatype part_type(const struct part *part)
{
    bool doubles = part->chunk % sizeof(double) == 0;
    int unit = doubles ? (int)sizeof(double) : 1;
    MPI_Datatype type;
    MPI_Type_vector((int)(part->chunk ? part->bytes / part->chunk : 0), (int)part->chunk / unit,
                    (int)part->stride / unit, doubles ? MPI_DOUBLE : MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Types describe a whole strided block; otherwise elements are counted. */
static void describe(const struct operation *op, const struct part *parts, int n, int *counts,
                     int *displs, MPI_Aint *places, MPI_Datatype *types)
{
    bool strided = collective_has(op->coll, STRIDED);
    size_t unit = collective_has(op->coll, REDUCES) ? sizeof(double) : 1;
    for (int i = 0; i < n; i++) {
        counts[i] = strided ? 1 : (int)(parts[i].bytes / unit);
        displs[i] = (int)(parts[i].at / unit);
        places[i] = (MPI_Aint)parts[i].at;
        types[i] = strided ? part_type(&parts[i]) : MPI_BYTE;
    }
}

struct arguments *arguments_create(const struct operation *op)
{
    const struct collective_row *row = &collective_rows[op->coll];
    const struct job *job = op->job;
    struct arguments *a = calloc(1, sizeof *a);
    size_t most = (size_t)job->nranks + MAX_NEIGHBORS;
    size_t unit = row->traits & REDUCES ? sizeof(double) : 1;
    a->send = job->send;
    a->recv = job->recv;
    a->sent = parts_list(op, true, &a->nsent);
    a->received = parts_list(op, false, &a->nrecv);
    a->count = (int)(op->size / unit);
    a->own = (int)(row->sends == ROOT_ALL ? a->received[0].bytes : a->sent[0].bytes);
    a->root = op->root;
    a->comm = op->hood ? op->hood->comm : MPI_COMM_WORLD;
    a->scounts = calloc(4 * most, sizeof *a->scounts);
    a->sdispls = a->scounts + most;
    a->rcounts = a->sdispls + most;
    a->rdispls = a->rcounts + most;
    a->splaces = calloc(2 * most, sizeof *a->splaces);
    a->rplaces = a->splaces + most;
    a->stypes = calloc(2 * most, sizeof *a->stypes);
    a->rtypes = a->stypes + most;
    describe(op, a->sent, a->nsent, a->scounts, a->sdispls, a->splaces, a->stypes);
    describe(op, a->received, a->nrecv, a->rcounts, a->rdispls, a->rplaces, a->rtypes);
    return a;
}

static void free_types(MPI_Datatype *types, int n)
{
    for (int i = 0; i < n; i++)
        if (types[i] != MPI_BYTE)
            MPI_Type_free(&types[i]);
}

void arguments_destroy(struct arguments *a)
{
    if (!a)
        return;
    free_types(a->stypes, a->nsent);
    free_types(a->rtypes, a->nrecv);
    free(a->sent);
    free(a->received);
    free(a->scounts);
    free(a->splaces);
    free(a->stypes);
    free(a);
}
