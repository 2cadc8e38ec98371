/* MPI_THREAD_MULTIPLE: two threads of every rank, each with its own communicator, create, start,
 * complete and free plans at the same time. */

#include "trial.h"
#include <pthread.h>

enum { THREADS = 2 };

static int rounds;

static void use(MPI_Comm comm, uint64_t tag)
{
    struct trial trials[TRIAL_KINDS];

    for (int k = 0; k < TRIAL_KINDS; k++)
        trial_init(&trials[k], (enum trial_kind)k, tag % 3 == 0 ? 16 : 6000, 0,
                   tag * 10 + (uint64_t)k, comm, MPI_INFO_NULL);
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < TRIAL_KINDS; k++)
            trial_start(&trials[k]);
        for (int k = TRIAL_KINDS - 1; k >= 0; k--)
            trial_wait(&trials[k]);
    }
    for (int k = 0; k < TRIAL_KINDS; k++)
        trial_free(&trials[k]);
}

static void *thread_main(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;

    for (uint64_t tag = 0; tag < 6; tag++)
        use(comm, tag);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];

    check_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    check_phase("two threads");
    rounds = (int)check_number("rounds", 10);
    for (int i = 0; i < THREADS; i++)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_main, &comms[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI(MPI_Comm_free(&comms[i]));
    return check_done();
}
