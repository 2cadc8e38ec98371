/* Intercommunicators: no plans, and right data. */

#include "check.h"

enum { COUNT = 1000, STARTS = 5 };

static int ours[COUNT], theirs[COUNT * 64];
static int low, peers;
static MPI_Comm inter;

static int value(int step, int side, int rank, int i)
{
    return ((step * 2 + side) * 64 + rank) * COUNT + i;
}

static void fill(int step)
{
    int rank;

    MPI_Comm_rank(inter, &rank);
    for (int i = 0; i < COUNT; i++)
        ours[i] = value(step, low, rank, i);
    memset(theirs, 0xA5, sizeof(theirs));
}

static void verify(int step, int rank, const int *block)
{
    int wrong = 0;

    for (int i = 0; i < COUNT; i++)
        wrong += block[i] != value(step, !low, rank, i);
    if (wrong)
        check_fail(__FILE__, __LINE__, "step %d: %d values of rank %d wrong", step, wrong, rank);
}

static void run(MPI_Request *request, int verify_from, int verify_to)
{
    for (int step = 0; step < STARTS; step++) {
        fill(step);
        check_delay();
        MPI(MPI_Start(request));
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
        for (int r = verify_from; r < verify_to; r++)
            verify(step, r, theirs + r * COUNT);
    }
    MPI(MPI_Request_free(request));
}

/* Broadcasts from rank 0 of the low group to all ranks of the high one. */
static void bcast(void)
{
    int rank, root;
    MPI_Request request;

    check_phase("bcast");
    MPI_Comm_rank(inter, &rank);
    root = !low ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI(MPI_Bcast_init(low ? ours : theirs, COUNT, MPI_INT, root, inter, MPI_INFO_NULL, &request));
    run(&request, 0, low ? 0 : 1);
}

static void allgather(void)
{
    MPI_Request request;

    check_phase("allgather");
    MPI(MPI_Allgather_init(ours, COUNT, MPI_INT, theirs, COUNT, MPI_INT, inter, MPI_INFO_NULL,
                           &request));
    run(&request, 0, peers);
}

static void barrier(void)
{
    MPI_Request request;

    check_phase("barrier");
    MPI(MPI_Barrier_init(inter, MPI_INFO_NULL, &request));
    run(&request, 0, 0);
}

int main(int argc, char **argv)
{
    MPI_Comm half;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check.size < 2 || check.size > 64) {
        check_note("needs 2 to 64 ranks");
        return check_done();
    }
    low = check.rank < (check.size + 1) / 2;
    MPI(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half));
    MPI(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? (check.size + 1) / 2 : 0, 1, &inter));
    MPI(MPI_Comm_remote_size(inter, &peers));
    bcast();
    allgather();
    barrier();
    MPI(MPI_Comm_free(&inter));
    MPI(MPI_Comm_free(&half));
    return check_done();
}
