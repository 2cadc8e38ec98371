/*
 * The table of the collectives: what each rank sends and receives, which are blocks of its buffers,
 * and the calls, each made in three ways from the same arguments.
 *
 * A neighborhood call with faces exchanges the surface of a cube of doubles in C order, and each
 * face has the size of the operation: normal to dimension 0 it is contiguous, normal to dimension 1
 * it has rows, normal to dimension 2 columns of one double. An edge has a double for each along the
 * side of the cube, a corner has one.
 */
#include "calls.h"
#include "persistent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_ROW = 512 };

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

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

/* ---- sizes and shapes ------------------------------------------------------------------------ */

static int number_of(enum blocks blocks, const struct operation *op)
{
    bool is_root = op->job->rank == op->root;
    switch (blocks) {
        case NONE:
            return 0;
        case ONE:
            return 1;
        case PER_RANK:
            return op->job->nranks;
        case ROOT_ONE:
            return is_root;
        case OTHERS_ONE:
            return !is_root;
        case ROOT_ALL:
            return is_root ? op->job->nranks : 0;
        default:
            return op->hood->n;
    }
}

/* Of an edge or, with 3 steps away, a corner. */
static size_t face_bytes(size_t size, int steps)
{
    size_t side = (size_t)sqrt((double)(size / sizeof(double)));
    size_t doubles = steps == 3 || side == 0 ? 1 : side;
    return steps == 1 ? size : min(size, doubles * sizeof(double));
}

/* Whole doubles, unless the size is less. The blocks of a reduction are equal on all ranks. */
static size_t unequal_bytes(const struct operation *op, int sender, int slot)
{
    static const int quarters[] = {4, 2, 1, 3};
    int key = collective_has(op->coll, REDUCES) ? slot : sender + slot;
    size_t bytes = op->size * (size_t)quarters[key % 4] / 4;
    bytes += (sizeof(double) - bytes % sizeof(double)) % sizeof(double);
    return min(bytes, op->size);
}

/* Opposite directions have the same shape, so it does not matter whether `slot` sends or
 * receives. */
static void shape_face(const struct operation *op, struct block *block, int slot)
{
    int step[3];
    neighborhood_step(op->hood, slot, step);
    block->bytes = face_bytes(op->size, abs(step[0]) + abs(step[1]) + abs(step[2]));
    size_t row = step[1] && !step[0] ? USUAL_ROW : block->bytes;
    size_t chunk = op->row > 0 ? op->row : step[2] ? sizeof(double) : row;
    bool cut =
        collective_has(op->coll, STRIDED) && block->bytes > chunk && block->bytes % chunk == 0;
    block->chunk = cut ? chunk : block->bytes;
}

static void shape_block(const struct operation *op, struct block *block, int i)
{
    block->bytes = collective_has(op->coll, UNEQUAL) ? unequal_bytes(op, block->sender, block->slot)
                                                     : op->size;
    block->chunk = block->bytes;
    if (collective_has(op->coll, FACES))
        shape_face(op, block, i);
    block->stride = 2 * block->chunk;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static struct block received_block(const struct operation *op, int i)
{
    const struct collective_row *row = &collective_rows[op->coll];
    const struct job *job = op->job;
    if (row->traits & REDUCES)
        return (struct block){.slot = row->sends == PER_RANK ? job->rank : 0,
                              .terms = op->coll == SCAN     ? job->rank + 1
                                       : op->coll == EXSCAN ? job->rank
                                                            : job->nranks};
    if (row->traits & NEIGHBOR)
        return (struct block){.sender = op->hood->from[i],
                              .slot = row->sends == ONE ? 0 : neighborhood_arrives(op->hood, i),
                              .terms = 1};
    if (row->sends == ROOT_ONE || row->sends == ROOT_ALL)
        return (struct block){
            .sender = op->root, .slot = row->sends == ROOT_ALL ? job->rank : 0, .terms = 1};
    return (struct block){.sender = i, .slot = row->sends == ONE ? 0 : job->rank, .terms = 1};
}

struct block *blocks_list(const struct operation *op, bool sent, int *n_p)
{
    const struct collective_row *row = &collective_rows[op->coll];
    int n = number_of(sent ? row->sends : row->receives, op);
    struct block *blocks = calloc((size_t)n + 1, sizeof *blocks);
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        blocks[i] = sent ? (struct block){.sender = op->job->rank, .slot = i, .terms = 1}
                         : received_block(op, i);
        shape_block(op, &blocks[i], i);
        blocks[i].at = at;
        at += blocks[i].bytes * (collective_has(op->coll, STRIDED) ? 2 : 1);
    }
    *n_p = n;
    return blocks;
}

size_t collective_room(enum collective coll, int nranks, int neighbors, size_t size)
{
    enum blocks sends = collective_rows[coll].sends, receives = collective_rows[coll].receives;
    size_t edges = (size_t)(neighbors - NUM_FACES);
    if (collective_has(coll, FACES))
        return (NUM_FACES * size + edges * face_bytes(size, 2)) *
               (collective_has(coll, STRIDED) ? 2 : 1);
    if (receives == PER_NEIGHBOR)
        return (size_t)neighbors * size;
    return sends >= PER_RANK || receives >= PER_RANK ? (size_t)nranks * size : size;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The compiler makes a loop without calls for chunks of one double. */
static void copy_chunks(char *to, size_t to_stride, const char *from, size_t from_stride,
                        size_t chunk, size_t bytes)
{
    size_t n = chunk ? bytes / chunk : 0;
    if (chunk == sizeof(double))
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * to_stride, from + i * from_stride, sizeof(double));
    else
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * to_stride, from + i * from_stride, chunk);
}

void block_pack(const struct block *block, const char *base, char *packed)
{
    copy_chunks(packed, block->chunk, base + block->at, block->stride, block->chunk, block->bytes);
}

void block_unpack(const struct block *block, char *base, const char *packed)
{
    copy_chunks(base + block->at, block->stride, packed, block->chunk, block->chunk, block->bytes);
}

void block_copy(const struct block *to, char *to_base, const struct block *from,
                const char *from_base)
{
    copy_chunks(to_base + to->at, to->stride, from_base + from->at, from->stride, to->chunk,
                to->bytes);
}

void block_use(const struct block *block, char *base, bool writes)
{
    enum { LINE = 64 };
    for (size_t done = 0, at = block->at; done < block->bytes;
         done += block->chunk, at += block->stride)
        for (size_t i = 0; i < block->chunk; i += LINE) {
            volatile char *byte = base + at + i;
            char value = *byte;
            if (writes)
                *byte = value;
        }
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Of doubles, as programs have them, unless the block is no whole number of them. */
static MPI_Datatype block_type(const struct block *block)
{
    bool doubles = block->chunk % sizeof(double) == 0;
    int unit = doubles ? (int)sizeof(double) : 1;
    MPI_Datatype type;
    MPI_Type_vector((int)(block->chunk ? block->bytes / block->chunk : 0), (int)block->chunk / unit,
                    (int)block->stride / unit, doubles ? MPI_DOUBLE : MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Types describe a whole strided block; otherwise elements are counted. */
static void describe(const struct operation *op, const struct block *blocks, int n, int *counts,
                     int *displs, MPI_Aint *places, MPI_Datatype *types)
{
    bool strided = collective_has(op->coll, STRIDED);
    size_t unit = collective_has(op->coll, REDUCES) ? sizeof(double) : 1;
    for (int i = 0; i < n; i++) {
        counts[i] = strided ? 1 : (int)(blocks[i].bytes / unit);
        displs[i] = (int)(blocks[i].at / unit);
        places[i] = (MPI_Aint)blocks[i].at;
        types[i] = strided ? block_type(&blocks[i]) : MPI_BYTE;
    }
}

struct arguments *arguments_create(const struct operation *op)
{
    const struct collective_row *row = &collective_rows[op->coll];
    const struct job *job = op->job;
    struct arguments *a = calloc(1, sizeof *a);
    size_t max = (size_t)job->nranks + MAX_NEIGHBORS;
    size_t unit = row->traits & REDUCES ? sizeof(double) : 1;
    a->send = job->send;
    a->recv = job->recv;
    a->sent = blocks_list(op, true, &a->nsent);
    a->received = blocks_list(op, false, &a->nrecv);
    a->count = (int)(op->size / unit);
    a->own = (int)(row->sends == ROOT_ALL ? a->received[0].bytes : a->sent[0].bytes);
    a->root = op->root;
    a->comm = op->hood ? op->hood->comm : MPI_COMM_WORLD;
    a->scounts = calloc(4 * max, sizeof *a->scounts);
    a->sdispls = a->scounts + max;
    a->rcounts = a->sdispls + max;
    a->rdispls = a->rcounts + max;
    a->splaces = calloc(2 * max, sizeof *a->splaces);
    a->rplaces = a->splaces + max;
    a->stypes = calloc(2 * max, sizeof *a->stypes);
    a->rtypes = a->stypes + max;
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
