/* The frame of every test program: options, data patterns, failures, ` No Errors`.
 *
 *  Options that all programs accept:
 *    -v                    print comment lines
 *    -seed=N               use another random sequence
 *    -timeout=S            seconds without progress until a hang is reported (default 150)
 *    -deny-cma=all|RANK    process_vm_readv/writev fail with EPERM (seccomp), from the start
 *    -no-memfd=all|RANK    memfd_create fails with ENOSYS (seccomp)
 *    -own-pid=all|RANK     run in a PID namespace with its own /proc, as in a container, from the
 *                          start (needs root)
 *    -env=all|RANK:NAME=VALUE
 *                          set an environment variable, from the start
 *    -limit=RESOURCE:VALUE[@RANK]
 *                          as ulimit, from the start; the resource is as, data, fsize, nofile or
 *                          nproc; nofile:+N: N descriptors more than are open
 *    -limit-later=...      the same after MPI_Init
 *    -no-cores=open|size[@RANK]
 *                          the memory in which ranks publish their cores cannot be opened, or not
 *                          be given its size, in MPI_Init
 *    -deny=CALL[@RANK]     that system call fails with EPERM (seccomp), from the start; adversity.c
 *                          lists the calls
 *    -deny-later=...       the same after MPI_Init
 *    -one-core             bind to the first core that this process may use, from the start
 *    -no-shm=all|RANK      no file and no shared memory can grow any more after MPI_Init
 *    -tiny-shm             /dev/shm has two pages after MPI_Init (ignored without root)
 *    -own-shm=RANK         that rank cannot see the others' /dev/shm (ignored without root)
 *    -no-mr=all|RANK       libfabric registers no memory any more after MPI_Init
 *    -slow=all|RANK        see late what has arrived over libfabric's `sockets`, after MPI_Init
 *    -session-first=all|RANK
 *                          open a session before MPI_Init (if the library has sessions)
 *    -late=all|RANK        call MPI_Finalize a second later than the others
 *    -alloc-mem[=even]     user buffers (of even ranks) come from MPI_Alloc_mem
 *    -expect[=TEXT]        TEXT must appear on some rank's stderr, which is not shown; repeatable;
 *                          without TEXT anything may appear there
 *    -unsaid=TEXT          with -expect: TEXT must appear on no rank's stderr; repeatable
 *    -rises=NAME           the performance variable NAME counts something on some rank; repeatable
 *    -algorithm=NAME       sets MPIR_CVAR_<X>_INIT_ALGORITHM of every collective, before MPI_Init
 *    -want=plans|mpich     each collective that this library can run as a plan must do so, or none;
 *                          the others must be on MPICH's path (judged by call_init, collectives.h)
 */

#ifndef CHECK_H_INCLUDED
#define CHECK_H_INCLUDED

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI) && MPI_VERSION < 4
#include "openmpi.h"
#endif

struct check {
    int rank, size; /* in the communicator that was attached last */
    int verbose;
    unsigned long errors; /* of this rank */
    uint64_t local;       /* random state, different on every rank */
    uint64_t shared;      /* random state, the same on all ranks */
};

extern struct check check;

/* Calls MPI_Init_thread and initializes everything else. `level` is MPI_THREAD_SINGLE ..
 * MPI_THREAD_MULTIPLE. */
void check_init(int *argc, char ***argv, int level);
/* Sums the errors over MPI_COMM_WORLD, finalizes, and prints the result; returns the exit status of
 * main. */
int check_done(void);

/* The parts of check_init and check_done, for programs without MPI_COMM_WORLD. */
void check_begin(int argc, char **argv);
void check_attach(MPI_Comm comm);
void check_sum(MPI_Comm comm);
int check_end(void);

/* The value of option -name=value, "" for a bare -name, NULL if the option is absent. */
const char *check_option(const char *name);
long check_number(const char *name, long otherwise);

/* Says what is being done; messages about failures and hangs show it. It counts as progress. Not
 * thread-safe. */
void check_phase(const char *format, ...) __attribute__((format(printf, 1, 2)));
void check_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something has been completed: the time until a hang is reported begins anew. */
void check_progress(void);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail(__FILE__, __LINE__, "%s", #condition);                                      \
    } while (0)

/* An MPI call that must succeed. */
#define MPI(call)                                                                                  \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        if (rc_ != MPI_SUCCESS)                                                                    \
            check_fail(__FILE__, __LINE__, "%s returned %d", #call, rc_);                          \
    } while (0)

uint64_t check_random(uint64_t *state);
/* Sleeps or spins for a random short time, on about every third call. */
void check_delay(void);

/* Memory with guard bytes on both sides, which check_free inspects. */
void *check_alloc(size_t bytes);
void check_free(void *buffer);

/* The data pattern of a key; every key gives other bytes. If the buffer holds anything else,
 * check_compare counts one failure and names the first wrong byte. */
uint64_t check_key(uint64_t tag, uint64_t step, int rank);
void check_fill(void *buffer, size_t bytes, uint64_t key);
void check_poison(void *buffer, size_t bytes);
void check_compare(const void *buffer, size_t bytes, uint64_t key);

/* The current value of a performance variable of integer type; -1 if there is no such variable. */
long long check_pvar(const char *name);
/* True if the library has a control variable of this name. */
int check_has_cvar(const char *name);

/* Serves -want around each init call. */
struct check_init_counts {
    long long plans, fallbacks; /* created so far */
};
void check_want_begin(struct check_init_counts *before);
void check_want_end(const struct check_init_counts *before, const char *name, int can_be_plan);

#endif /* CHECK_H_INCLUDED */
