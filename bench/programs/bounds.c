/*
 * What nobody who forwards over TCP while a rank computes can avoid: the CPU time that TCP takes of
 * its core, and that of MPI_Test.
 *
 *     bounds chain BYTES SEGMENT     rank 0 sends, each other rank forwards SEGMENT by SEGMENT
 *     bounds ring BYTES PIECE        each rank passes the block of every rank on, as an allgather
 *     bounds test MS USEC            rank 1 computes MS ms, with an MPI_Test of a pending receive,
 * or of a pending persistent broadcast, after each USEC us of it
 *
 * The first two use plain sockets and blocking calls, once as the ranks wait for it (`calls`), and
 * once in a thread on the core of a rank 1 that computes as long as that takes (`thread`). Printed
 * are the median time, and the median CPU time of rank 1 beyond its computation.
 *
 *     mpicc -std=gnu11 -O2 -pthread -I. -o bounds bench/programs/bounds.c -lm
 *     maint/hosts run -n 3 -ppn 1 sh -c 'exec taskset -c $((PMI_RANK == 1)) "$@"' sh ./bounds chain
 * 8388608 131072
 */
#include "bench/work.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <math.h>
#include <mpi.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 9, INNER = 1 };

static int rank, nranks;
static int next = -1, previous = -1; /* sockets */
static size_t bytes, piece;
static char *buffer; /* bytes, or a block of each rank */

static void fail(const char *what)
{
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- sockets ---- */

/* As tcp_kernel's: room for pieces, and no pacing. */
static int new_socket(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0), room = 1 << 20, on = 1;

    if (fd < 0)
        fail("socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", strlen("cubic")) != 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    return fd;
}

/* The first address of this host that is not the loopback one. */
static struct sockaddr_in own_address(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) != 0)
        fail("getifaddrs");
    for (struct ifaddrs *i = all; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && !(i->ifa_flags & IFF_LOOPBACK)) {
            memcpy(&here, i->ifa_addr, sizeof(here));
            break;
        }
    freeifaddrs(all);
    here.sin_port = 0;
    return here;
}

/* Every rank connects to the next one. */
static void connect_ring(void)
{
    struct sockaddr_in here = own_address(), *all = calloc((size_t)nranks, sizeof(here));
    socklen_t length = sizeof(here);
    const int listener = new_socket(), on = 1;

    if (!all || bind(listener, (struct sockaddr *)&here, sizeof(here)) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&here, &length) != 0)
        fail("listen");
    MPI_Allgather(&here, sizeof(here), MPI_BYTE, all, sizeof(here), MPI_BYTE, MPI_COMM_WORLD);
    next = new_socket();
    if (connect(next, (struct sockaddr *)&all[(rank + 1) % nranks], sizeof(here)) != 0)
        fail("connect");
    previous = accept(listener, NULL, NULL);
    if (previous < 0)
        fail("accept");
    (void)setsockopt(previous, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    close(listener);
    free(all);
}

static void receive(char *to, size_t n)
{
    if (recv(previous, to, n, MSG_WAITALL) != (ssize_t)n)
        fail("recv");
}

static void send_all(const char *from, size_t n)
{
    for (ssize_t done; n > 0; from += done, n -= (size_t)done)
        if ((done = send(next, from, n, MSG_NOSIGNAL)) <= 0)
            fail("send");
}

/* ---- what is timed ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void run_chain(void)
{
    for (size_t at = 0; at < bytes; at += piece) {
        const size_t n = least(piece, bytes - at);

        if (rank > 0)
            receive(buffer + at, n);
        if (rank < nranks - 1)
            send_all(buffer + at, n);
    }
}

static void run_ring(void)
{
    for (int round = 0; round < nranks - 1; round++) {
        const char *mine = buffer + (size_t)((rank - round + nranks) % nranks) * bytes;
        char *other = buffer + (size_t)((rank - round - 1 + 2 * nranks) % nranks) * bytes;

        for (size_t at = 0; at < bytes; at += piece) {
            const size_t n = least(piece, bytes - at);

            send_all(mine + at, n);
            receive(other + at, n);
        }
    }
}

static void (*operation)(void);

static void *run_operation(void *unused)
{
    (void)unused;
    operation();
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, REPEATS, sizeof(*values), compare);
    return values[REPEATS / 2];
}

/* Returns the median time. `away`: seconds that rank 1 computes, 0: it waits. */
static double measure(const char *how, double away)
{
    double time[REPEATS], cpu[REPEATS], begin, cpu_begin, alone = 0, whole;

    for (int i = 0; i < REPEATS; i++) {
        pthread_t thread;

        cpu_begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        if (rank == INNER)
            work_for(away);
        alone = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
        MPI_Barrier(MPI_COMM_WORLD);
        begin = seconds_of(CLOCK_MONOTONIC);
        cpu_begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        if (away > 0 && rank == INNER) {
            if (pthread_create(&thread, NULL, run_operation, NULL) != 0)
                fail("pthread_create");
            work_for(away);
            pthread_join(thread, NULL);
        } else {
            operation();
        }
        time[i] = seconds_of(CLOCK_MONOTONIC) - begin;
        cpu[i] = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin - alone;
    }
    whole = median(time);
    if (rank == INNER)
        printf("%-7s %.2f ms, CPU time beyond computation %.2f ms\n", how, 1e3 * whole,
               1e3 * median(cpu));
    MPI_Allreduce(MPI_IN_PLACE, &whole, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return whole;
}

static void measure_forwarding(void)
{
    buffer = malloc(bytes * (size_t)nranks);
    if (!buffer)
        fail("malloc");
    memset(buffer, 1, bytes * (size_t)nranks);
    connect_ring();
    operation(); /* the window of TCP grows */
    measure("thread", measure("calls", 0));
}

/* ---- tests ---- */

/* CPU seconds that tests of the request add to computation with the same pieces. */
static double tests_cost(double whole, double interval, MPI_Request *request)
{
    double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID), alone;
    int done;

    for (double left = whole; left > 0; left -= interval)
        work_for(interval);
    alone = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin;
    begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    for (double left = whole; left > 0; left -= interval) {
        work_for(interval);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin - alone;
}

/* A receive without a message, and a broadcast that the root has not started. Both end with the
 * measurement. */
static void measure_tests(double whole, double interval)
{
    static const char *const names[] = {"receive", "broadcast"};
    double cpu[2][REPEATS];
    MPI_Request pending[2];

    buffer = calloc(1, 1 << 20);
    if (!buffer)
        fail("calloc");
    MPI_Bcast_init(buffer, 1 << 20, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &pending[1]);
    if (rank == INNER) {
        MPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &pending[0]);
        MPI_Start(&pending[1]);
        for (int i = 0; i < 2 * REPEATS; i++)
            cpu[i % 2][i / 2] = tests_cost(whole, interval, &pending[i % 2]);
        for (int i = 0; i < 2; i++)
            printf("MPI_Test of a pending %s each %g us of %g ms: %.2f ms, %.0f ns each\n",
                   names[i], 1e6 * interval, 1e3 * whole, 1e3 * median(cpu[i]),
                   1e9 * median(cpu[i]) / ceil(whole / interval));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != INNER)
        MPI_Start(&pending[1]);
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, INNER, 0, MPI_COMM_WORLD);
    if (rank == INNER)
        MPI_Wait(&pending[0], MPI_STATUS_IGNORE);
    MPI_Wait(&pending[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&pending[1]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (argc == 4 && nranks > INNER && strcmp(argv[1], "test") == 0) {
        measure_tests(1e-3 * atof(argv[2]), 1e-6 * atof(argv[3]));
    } else if (argc == 4 && nranks > INNER && atol(argv[2]) > 0 && atol(argv[3]) > 0) {
        bytes = (size_t)atol(argv[2]);
        piece = (size_t)atol(argv[3]);
        operation = strcmp(argv[1], "ring") == 0 ? run_ring : run_chain;
        measure_forwarding();
    } else if (rank == 0) {
        fprintf(stderr,
                "usage: mpiexec -n 3 bounds chain|ring BYTES PIECE, or bounds test MS USEC\n");
    }
    MPI_Finalize();
    return 0;
}
