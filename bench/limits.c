/*
 * What the machine allows: a bare exchange of two flags, and a bare process_vm_readv between the
 * same buffers that the collective uses, with an iovec for each piece of a face.
 */
#include "calls.h"

#include <stdlib.h>
#include <sys/uio.h>

/* Spin, but yield if the other rank seems not to be running. */
static void await(const _Atomic uint64_t *flag, uint64_t round)
{
    for (int turn = 1; atomic_load_explicit(flag, memory_order_acquire) < round; turn++)
        if (turn % 65536 == 0)
            sched_yield();
}

static double exchange_flags(struct job *job, int count)
{
    _Atomic uint64_t *own = &job->flag[job->rank].value, *other = &job->flag[!job->rank].value;
    double begin = job_now();
    for (int i = 0; i < count; i++) {
        uint64_t round = ++job->flag_round;
        atomic_store_explicit(other, round, memory_order_release);
        await(own, round);
    }
    return job_now() - begin;
}

/* Ranks 0 and 1 each write the other's line and spin on their own; the other ranks do nothing. */
double limit_flag(struct subject *self, int count)
{
    struct job *job = self->op.job;
    if (job->rank > 1)
        return 0;
    job_pin_apart(job);
    double seconds = exchange_flags(job, count);
    job_unpin(job);
    return seconds;
}

/* Shorter pieces are packed faster than the kernel finds their pages. */
enum { SHORT_PIECE = 512, MAX_PIECES = 1024 };

/* The chunks of a face in another direction may be short; --rows gives all faces long ones. */
bool limit_readv_exists(const struct operation *op)
{
    enum collective coll = op->coll;
    if (op->hood)
        return !collective_has(coll, STRIDED) || op->row >= SHORT_PIECE;
    return coll == BCAST || coll == GATHER || coll == SCATTER || coll == ALLGATHER ||
           coll == ALLTOALL;
}

/* Block `block` of the buffer of rank `from`. */
static bool read_block(const struct subject *self, int from, int block, char *to)
{
    size_t offset = self->op.size * (size_t)block;
    struct iovec local = {to, self->op.size};
    struct iovec remote = {(char *)(uintptr_t)self->remote[from] + offset, self->op.size};
    return process_vm_readv(self->op.job->pids[from], &local, 1, &remote, 1, 0) ==
           (ssize_t)self->op.size;
}

/* As many pieces as one call takes, from `first` on; returns their number. */
static size_t read_pieces(const struct subject *self, const struct block *to,
                          const struct block *from, size_t first)
{
    struct iovec local[MAX_PIECES], remote[MAX_PIECES];
    char *theirs = (char *)(uintptr_t)self->remote[to->sender] + from->at;
    size_t n = to->bytes / to->chunk - first;
    n = n < MAX_PIECES ? n : MAX_PIECES;
    for (size_t i = 0; i < n; i++) {
        local[i] =
            (struct iovec){self->arguments->recv + to->at + (first + i) * to->stride, to->chunk};
        remote[i] = (struct iovec){theirs + (first + i) * from->stride, to->chunk};
    }
    ssize_t moved = process_vm_readv(self->op.job->pids[to->sender], local, n, remote, n, 0);
    return moved == (ssize_t)(n * to->chunk) ? n : 0;
}

/* From each neighbor what it sends here. All ranks lay out their blocks in the same way. */
static bool read_neighbors(const struct subject *self)
{
    const struct arguments *a = self->arguments;
    for (int i = 0; i < a->nrecv; i++) {
        const struct block *to = &a->received[i], *from = &a->sent[to->slot];
        if (to->sender == self->op.job->rank) {
            block_copy(to, a->recv, from, a->send);
            continue;
        }
        for (size_t done = 0; done < to->bytes / to->chunk;) {
            size_t n = read_pieces(self, to, from, done);
            if (n == 0)
                return false;
            done += n;
        }
    }
    return true;
}

static bool read_all(const struct subject *self)
{
    const struct operation *op = &self->op;
    const struct job *job = op->job;
    bool right = true;
    if (op->hood)
        return read_neighbors(self);
    int block = op->coll == SCATTER || op->coll == ALLTOALL ? job->rank : 0;
    if (op->coll == BCAST || op->coll == SCATTER)
        return job->rank == op->root || read_block(self, op->root, block, job->recv);
    if (op->coll == GATHER && job->rank != op->root)
        return true;
    for (int step = 1; step < job->nranks; step++) {
        int from = (job->rank + step) % job->nranks;
        right &= read_block(self, from, block, job->recv + op->size * (size_t)from);
    }
    return right;
}

/* Every receiver reads from every sender: in a broadcast or scatter from the root, otherwise from
 * all others. */
double limit_readv(struct subject *self, int count)
{
    double begin = job_now();
    for (int i = 0; i < count; i++)
        read_all(self);
    return job_now() - begin;
}

bool limit_readv_open(struct subject *self)
{
    const struct job *job = self->op.job;
    uint64_t own = (uint64_t)(uintptr_t)job->send;
    self->arguments = arguments_create(&self->op);
    self->remote = calloc((size_t)job->nranks, sizeof *self->remote);
    if (!self->remote)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Allgather(&own, 1, MPI_UINT64_T, self->remote, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    int right = read_all(self);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return right != 0;
}

void limit_readv_close(struct subject *self)
{
    free(self->remote);
    arguments_destroy(self->arguments);
    self->remote = NULL;
    self->arguments = NULL;
}
