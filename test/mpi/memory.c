/* Shared memory stays in proportion to what is in use: plans of ever new sizes, one at a time, and
 * hundreds of communicators with a plan each. */

#include "trial.h"
#include "usage.h"

enum { SIZES = 300, COMMS = 300 };

static void check_bytes(size_t before, size_t limit)
{
    size_t now = usage_shared_bytes();

    check_note("%zu bytes more are mapped, %zu are allowed", now - before, limit);
    if (now > before + limit)
        check_fail(__FILE__, __LINE__, "%zu bytes more are mapped, %zu are allowed", now - before,
                   limit);
}

/* No plan uses more than a copy of all ranks' data for each rank, or a ring of 2 MiB. Of freed
 * plans, those that wait for the same call to come again may have 8 MiB on each rank, and as much
 * lies between them. */
static void ever_larger(void)
{
    size_t before = usage_shared_bytes(), limit = 0;

    for (int i = 1; i <= SIZES && check.errors == 0; i++) {
        size_t bytes = (size_t)i * 1024;
        struct trial t;

        check_phase("allgather of %zu bytes", bytes);
        trial_init(&t, TRIAL_ALLGATHER, bytes, 0, (uint64_t)i, MPI_COMM_WORLD, MPI_INFO_NULL);
        if (i % 50 == 0)
            trial_run(&t, 2);
        limit = 3 * (size_t)check.size * (size_t)check.size * bytes +
                ((size_t)(check.size + 1) << 21) + ((size_t)check.size << 24);
        if (i % 50 == 0)
            check_bytes(before, limit);
        trial_free(&t);
    }
}

static void many_communicators(void)
{
    MPI_Comm *comms = calloc(COMMS, sizeof(*comms));
    struct trial *trials = calloc(COMMS, sizeof(*trials));
    size_t before = usage_shared_bytes();

    for (int i = 0; i < COMMS; i++) {
        check_phase("communicator %d", i);
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        trial_init(&trials[i], TRIAL_BCAST, 8, 0, (uint64_t)i, comms[i], MPI_INFO_NULL);
    }
    for (int i = 0; i < COMMS; i++)
        trial_run(&trials[i], 1);
    check_bytes(before, (size_t)COMMS * (size_t)check.size * (48 << 10));
    for (int i = 0; i < COMMS; i++) {
        trial_free(&trials[i]);
        MPI(MPI_Comm_free(&comms[i]));
    }
    check_phase("all are freed");
    check_bytes(before, 4 << 20);
    free(comms);
    free(trials);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    ever_larger();
    many_communicators();
    return check_done();
}
