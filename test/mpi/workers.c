#include "workers.h"

#include <pthread.h>
#include <stdio.h>

enum { MAX_THREADS = 4 };

struct thread {
    struct worker worker;
    void (*work)(struct worker *worker);
    pthread_t handle;
};

static void *thread_main(void *argument)
{
    struct thread *thread = argument;

    thread->work(&thread->worker);
    return NULL;
}

int workers_init(int *argc, char ***argv)
{
    int nthreads = 1;

    for (int i = 1; i < *argc; i++)
        if (sscanf((*argv)[i], "-threads=%d", &nthreads) == 1 && nthreads > MAX_THREADS)
            nthreads = MAX_THREADS;
    check_init(argc, argv, nthreads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    return nthreads;
}

void workers_run(int nthreads, void (*work)(struct worker *worker))
{
    struct thread threads[MAX_THREADS];

    for (int i = 0; i < nthreads; i++) {
        threads[i] = (struct thread){
            .work = work,
            .worker = {.shared = check_random(&check.shared), .local = check_random(&check.local)}};
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].worker.world));
    }
    for (int i = 1; i < nthreads; i++)
        CHECK(pthread_create(&threads[i].handle, NULL, thread_main, &threads[i]) == 0);
    work(&threads[0].worker);
    for (int i = 1; i < nthreads; i++)
        pthread_join(threads[i].handle, NULL);
    for (int i = 0; i < nthreads; i++)
        MPI(MPI_Comm_free(&threads[i].worker.world));
}
