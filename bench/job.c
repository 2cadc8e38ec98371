/*
 * The ranks of the job: their cores, shared lines and buffers, and a barrier that all of them leave
 * closely together.
 */
#include "bench.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double job_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double job_faults(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_minflt;
}

int job_last_or(const struct job *job, int root)
{
    return root < 0 ? job->nranks + root : root;
}

/* With several nodes, one rank of each counts packets. */
static void find_nodes(struct job *job)
{
    MPI_Comm node;
    int node_ranks, node_rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_ranks);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_free(&node);
    job->one_node = node_ranks == job->nranks;
    job->counts_packets = !job->one_node && node_rank == 0;
}

/* The processors that any rank may use; `own_p` receives the number that this rank may use. */
static cpu_set_t usable_cpus(int *own_p)
{
    cpu_set_t own, all;
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof own, &own);
    *own_p = CPU_COUNT(&own);
    MPI_Allreduce(&own, &all, (int)sizeof own, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    return all;
}

static void pin_to_nth(const cpu_set_t *all, int n)
{
    cpu_set_t one;
    size_t cpu = 0;
    for (int seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, all) && seen++ == n)
            break;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        perror("pcoll-bench: cannot bind a rank to its core");
}

/* Bind each rank to a core, unless the launcher has bound it. Where ranks outnumber cores, they
 * would otherwise stay as unevenly distributed as a barrier leaves them: nobody moves ranks that
 * yield. */
static void place(struct job *job, bool pin)
{
    int own;
    job->cpus = usable_cpus(&own);
    job->cores = CPU_COUNT(&job->cpus);
    job->crowded = job->nranks > job->cores;
    if (pin && job->one_node && own > 1)
        pin_to_nth(&job->cpus, job->rank % job->cores);
    usable_cpus(&own);
    MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    job->pinned = own == 1 && !job->crowded;
}

static void die(const char *what)
{
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void *map_shared(const char *name, int flags, size_t bytes)
{
    int file = shm_open(name, flags, 0600);
    if (file < 0 || ((flags & O_CREAT) && ftruncate(file, (off_t)bytes) != 0))
        die("pcoll-bench: shm_open");
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        die("pcoll-bench: mmap");
    close(file);
    return at;
}

static size_t lines_of(const struct job *job)
{
    return 4 + 2 * (size_t)job->nranks;
}

static void share_lines(struct job *job)
{
    char name[64];
    size_t bytes = lines_of(job) * sizeof(struct line);
    struct line *lines = NULL;
    snprintf(name, sizeof name, "/pcoll-bench-%ld", (long)getpid());
    MPI_Bcast(name, (int)sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (job->rank == 0)
        lines = map_shared(name, O_CREAT | O_EXCL | O_RDWR, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (job->rank != 0)
        lines = map_shared(name, O_RDWR, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (job->rank == 0)
        shm_unlink(name);
    job->gate = lines;
    job->flag = lines + 2;
    job->arrived = lines + 4;
    job->word = job->arrived + job->nranks;
}

static void share_pids(struct job *job)
{
    pid_t pid = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* needed under Yama; a refusal shows up later */
    job->pids = calloc((size_t)job->nranks, sizeof *job->pids);
    if (!job->pids)
        die("pcoll-bench: calloc");
    MPI_Allgather(&pid, (int)sizeof pid, MPI_BYTE, job->pids, (int)sizeof pid, MPI_BYTE,
                  MPI_COMM_WORLD);
}

static char *page_aligned(size_t bytes)
{
    void *at = NULL;
    if (posix_memalign(&at, 4096, bytes ? bytes : 1) != 0)
        die("pcoll-bench: not enough memory");
    memset(at, 1, bytes);
    return at;
}

static size_t room_of(const struct job *job, const struct options *opts, enum collective coll)
{
    size_t max = 0;
    for (int i = 0; i < opts->num_sizes; i++)
        for (int hood = 0; hood < NUM_NEIGHBORHOODS; hood++) {
            int neighbors = neighborhood_sizes[opts->hood[hood] ? hood : 0];
            size_t room = collective_room(coll, job->nranks, neighbors, opts->sizes[i]);
            max = room > max ? room : max;
        }
    return max;
}

static char *get_buffer(const struct job *job, size_t bytes)
{
    char *at;
    bytes += (size_t)job->skew;
    if (!job->alloc_mem)
        return page_aligned(bytes) + job->skew;
    MPI_Alloc_mem((MPI_Aint)(bytes ? bytes : 1), MPI_INFO_NULL, &at);
    memset(at, 1, bytes);
    return at + job->skew;
}

static void put_buffer(const struct job *job, char *at)
{
    if (job->alloc_mem)
        MPI_Free_mem(at - job->skew);
    else
        free(at - job->skew);
}

static void make_buffers(struct job *job, const struct options *opts)
{
    enum { PAGE = 4096, PLACES = 5 }; /* the kernel and caches may prefer powers of two */
    size_t max = collective_room(ALLREDUCE, job->nranks, 0, START_UP_BYTES);
    for (enum collective coll = BARRIER; coll < NUM_COLLECTIVES; coll++) {
        size_t room = opts->coll[coll] ? room_of(job, opts, coll) : 0;
        max = room > max ? room : max;
    }
    job->alloc_mem = opts->alloc_mem;
    job->skew = opts->skew;
    job->places = opts->once ? PLACES : 1;
    job->step = (max + PAGE - 1) / PAGE * PAGE;
    job->send = get_buffer(job, (size_t)job->places * job->step);
    job->recv = get_buffer(job, (size_t)job->places * job->step);
}

void job_init(struct job *job_p, const struct options *opts)
{
    *job_p = (struct job){.away = opts->overlap, .tests = 1e-6 * opts->tests};
    MPI_Comm_rank(MPI_COMM_WORLD, &job_p->rank);
    job_p->works = opts->away < 0 || opts->away == job_p->rank;
    MPI_Comm_size(MPI_COMM_WORLD, &job_p->nranks);
    find_nodes(job_p);
    place(job_p, opts->pin);
    job_p->computes = !job_p->crowded || (opts->away >= 0 && job_p->cores > 1);
    if (job_p->one_node)
        share_lines(job_p);
    share_pids(job_p);
    make_buffers(job_p, opts);
    neighborhoods_init(job_p);
}

void job_fini(struct job *job)
{
    if (job->gate)
        munmap(job->gate, lines_of(job) * sizeof(struct line));
    neighborhoods_fini(job);
    free(job->pids);
    put_buffer(job, job->send);
    put_buffer(job, job->recv);
}

/* Ranks without a core of their own sleep so that they disturb nobody. They keep MPI progressing,
 * since others may need this rank to finish what it has begun. */
static void wait_a_little(const struct job *job, int turn)
{
    int flag;
    bool sleepy = job->crowded && turn > 64;
    if (sleepy || turn % 256 == 0)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (sleepy)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* Used in place of MPI_Wait, which would spin. */
static void finish(const struct job *job, MPI_Request *request)
{
    int done = 0;
    for (int turn = 1; !done; turn++) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done)
            wait_a_little(job, turn);
    }
}

static void barrier_of_nodes(const struct job *job)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    finish(job, &request);
}

void job_barrier(struct job *job)
{
    if (!job->one_node) {
        barrier_of_nodes(job);
        return;
    }
    _Atomic uint64_t *arrived = &job->gate[0].value, *generation = &job->gate[1].value;
    uint64_t now = atomic_load(generation);
    if (atomic_fetch_add(arrived, 1) + 1 == (uint64_t)job->nranks) {
        atomic_store(arrived, 0);
        atomic_store(generation, now + 1);
        return;
    }
    for (int turn = 1; atomic_load_explicit(generation, memory_order_acquire) == now; turn++)
        wait_a_little(job, turn);
}

/* The bit patterns of non-negative doubles are ordered as the doubles are. */
static uint64_t largest_bits(const struct job *job)
{
    uint64_t largest = 0;
    for (int rank = 0; rank < job->nranks; rank++) {
        uint64_t bits = atomic_load(&job->word[rank].value);
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

static double reduce(const struct job *job, double value, MPI_Op op)
{
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
    finish(job, &request);
    return value;
}

double job_max(struct job *job, double value)
{
    uint64_t bits;
    if (!job->one_node)
        return reduce(job, value, MPI_MAX);
    memcpy(&bits, &value, sizeof bits);
    atomic_store(&job->word[job->rank].value, bits);
    job_barrier(job);
    bits = largest_bits(job);
    job_barrier(job);
    memcpy(&value, &bits, sizeof value);
    return value;
}

double job_sum(const struct job *job, double value)
{
    return reduce(job, value, MPI_SUM);
}

/* /proc/net/dev has two title lines, then for each interface "name:", 8 fields about what it has
 * received, and the bytes and packets that it has sent. */
double job_packets(const struct job *job)
{
    char line[512], name[64];
    unsigned long long sum = 0, packets;
    FILE *file = job->counts_packets ? fopen("/proc/net/dev", "r") : NULL;
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, " %63[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu", name, &packets) ==
                2 &&
            strcmp(name, "lo") != 0)
            sum += packets;
    fclose(file);
    return (double)sum;
}

void job_pin_apart(struct job *job)
{
    if (job->crowded && job->cores > 1)
        pin_to_nth(&job->cpus, job->rank % job->cores);
}

void job_unpin(struct job *job)
{
    if (job->crowded && job->cores > 1)
        sched_setaffinity(0, sizeof job->cpus, &job->cpus);
}
