/* The frame of every test program: options, data patterns, failures, ` No Errors`.
 *
 * Options that all programs take:
 *   -v                    comment lines
 *   -seed=N               another random sequence
 *   -timeout=S            seconds until a hang is reported (default 150)
 *   -deny-cma=all|RANK    process_vm_readv/writev fail with EPERM (seccomp), from the start
 *   -no-memfd=all|RANK    memfd_create fails with ENOSYS (seccomp)
 *   -own-pid=all|RANK     a PID namespace with a /proc of its own, as in a container (needs root)
 *   -one-core             bound to the first core that this process may use, from the start
 *   -no-shm=all|RANK      no file, and no shared memory, can grow any more after MPI_Init
 *   -tiny-shm             /dev/shm of two pages after MPI_Init (needs root, else not done)
 *   -own-shm=RANK         that rank cannot see the others' /dev/shm (needs root, else not done)
 *   -no-mr=all|RANK       libfabric registers no memory any more after MPI_Init
 *   -slow=all|RANK        late to see what has come over libfabric's `sockets`, after MPI_Init
 *   -expect[=TEXT]         TEXT must appear on some rank's stderr, which is not shown; repeatable;
 *                         without TEXT anything may
 *   -want=plans|mpich     persistent collectives must have run as plans, or none of them
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
    int rank, size; /* in the communicator last attached */
    int verbose;
    unsigned long errors; /* of this rank */
    uint64_t local;       /* random state, another one on every rank */
    uint64_t shared;      /* random state, the same on all ranks */
};

extern struct check check;

/* MPI_Init_thread and all else; `level` MPI_THREAD_SINGLE .. MPI_THREAD_MULTIPLE. */
void check_init(int *argc, char ***argv, int level);
/* Sums the errors over MPI_COMM_WORLD, finalizes, prints; the value main returns. */
int check_done(void);

/* The parts of the two above, for programs without MPI_COMM_WORLD. */
void check_begin(int argc, char **argv);
void check_attach(MPI_Comm comm);
void check_sum(MPI_Comm comm);
int check_end(void);

/* Value of option -name=value, "" for a bare -name, NULL when absent. */
const char *check_option(const char *name);
long check_number(const char *name, long otherwise);

/* What is being done, for the messages of failures and hangs. Not for threads. */
void check_phase(const char *format, ...) __attribute__((format(printf, 1, 2)));
void check_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

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
/* On about every third call: sleep or spin a random short time. */
void check_delay(void);

/* Memory with guard bytes on both sides, which check_free inspects. */
void *check_alloc(size_t bytes);
void check_free(void *buffer);

/* The pattern of a key: other bytes for every key. check_compare counts one failure
 * and names the first wrong byte when the buffer holds anything else. */
uint64_t check_key(uint64_t tag, uint64_t step, int rank);
void check_fill(void *buffer, size_t bytes, uint64_t key);
void check_poison(void *buffer, size_t bytes);
void check_compare(const void *buffer, size_t bytes, uint64_t key);

/* Current value of a performance variable of integer type; -1 when there is none. */
long long check_pvar(const char *name);
/* To be called while a plan of more than 0 bytes lives: serves -want. */
void check_want(void);

#endif /* CHECK_H_INCLUDED */
