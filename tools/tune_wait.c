/* Waiting through MPI while the media progress. */
#include "tools/tune.h"

#include "offload/media.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NAP_NS = 500000, TAG = 4 };

double tune_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void tune_wait(MPI_Request *request, bool sleeps)
{
    static const struct timespec nap = {0, NAP_NS};
    int done = 0;

    for (;;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        pcoll_media_poll();
        if (sleeps)
            nanosleep(&nap, NULL);
        else
            sched_yield();
    }
}

void tune_bcast(void *data, int bytes, int root, MPI_Comm comm)
{
    MPI_Request request;

    MPI_Ibcast(data, bytes, MPI_BYTE, root, comm, &request);
    tune_wait(&request, false);
}

void tune_meet(MPI_Comm comm)
{
    MPI_Request request;

    MPI_Ibarrier(comm, &request);
    tune_wait(&request, true);
}

/* ---- what a medium needs before it works ---- */

/* Where the sign is in a word. MPICH 4.0.2 with Fortran compares unsigned numbers as signed ones.
 */
static const uint64_t SIGN = UINT64_C(1) << 63;

static void flip_signs(uint64_t *words, int n)
{
    for (int i = 0; i < n; i++)
        words[i] ^= SIGN;
}

static enum pcoll_result combine(void *context, uint64_t *words, int n)
{
    MPI_Request request;

    flip_signs(words, n);
    MPI_Iallreduce(MPI_IN_PLACE, words, n, MPI_INT64_T, MPI_MAX, *(MPI_Comm *)context, &request);
    tune_wait(&request, false);
    flip_signs(words, n);
    return PCOLL_OK;
}

static enum pcoll_result swap(void *context, const int *ranks, int n, const void *mine,
                              void *theirs, size_t bytes)
{
    const MPI_Comm comm = *(MPI_Comm *)context;
    MPI_Request *requests = malloc((2 * (size_t)n + 1) * sizeof(MPI_Request));

    if (!requests)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < n; i++) {
        MPI_Irecv((char *)theirs + (size_t)i * bytes, (int)bytes, MPI_BYTE, ranks[i], TAG, comm,
                  &requests[2 * i]);
        MPI_Isend((const char *)mine + (size_t)i * bytes, (int)bytes, MPI_BYTE, ranks[i], TAG, comm,
                  &requests[2 * i + 1]);
    }
    for (int i = 0; i < 2 * n; i++)
        tune_wait(&requests[i], false);
    free(requests);
    return PCOLL_OK;
}

static void idle(void *context)
{
    int flag;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, *(MPI_Comm *)context, &flag, MPI_STATUS_IGNORE);
    sched_yield();
}

static void report(void *context, const char *message)
{
    (void)context;
    fprintf(stderr, "pcoll-tune: %s\n", message);
}

struct pcoll_bootstrap tune_bootstrap(MPI_Comm *comm, const struct tune_options *options)
{
    struct pcoll_bootstrap bootstrap = {
        .provider = options->provider,
        .interface = options->interface,
        .maps = true,
        .context = comm,
        .combine = combine,
        .swap = swap,
        .idle = idle,
        .report = report,
    };

    MPI_Comm_rank(*comm, &bootstrap.rank);
    MPI_Comm_size(*comm, &bootstrap.nranks);
    return bootstrap;
}
