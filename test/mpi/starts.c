/* A thousand starts of one plan, each with new data and completed by MPI_Wait, while ranks pause at
 * random and the others run ahead as far as the plan lets them. Nothing except the plan keeps the
 * ranks together.
 *
 *   -times=N (1000)   -only=barrier,bcast,allgather,gather,scatter,alltoall,allreduce
 *   -few              one plan of each kind and two of the broadcast, N starts of each */

#include "trial.h"

static void many(enum trial_kind kind, size_t bytes, int root, int times)
{
    struct trial t;

    if (!trial_wanted(kind))
        return;
    check_phase("%d starts of %s, %zu bytes, root %d", times, trial_name(kind), bytes, root);
    trial_init(&t, kind, bytes, root, 1, MPI_COMM_WORLD, MPI_INFO_NULL);
    trial_run(&t, times);
    trial_free(&t);
}

/* Who only sends does nothing else: the root of a broadcast or scatter, all but the root of a
 * gather. The others are late each time. */
static void run_ahead(enum trial_kind kind, size_t bytes, int root)
{
    struct trial t;
    int is_late;

    if (!trial_wanted(kind))
        return;
    check_phase("%s, root %d, senders ahead, %zu bytes", trial_name(kind), root, bytes);
    trial_init(&t, kind, bytes, root, 2, MPI_COMM_WORLD, MPI_INFO_NULL);
    is_late = (t.rank == root) == (kind == TRIAL_GATHER);
    for (int i = 0; i < 200; i++) {
        if (is_late)
            check_delay();
        trial_start(&t);
        if (is_late)
            check_delay();
        trial_wait(&t);
    }
    trial_free(&t);
}

static void few_plans(int times, int last)
{
    many(TRIAL_BARRIER, 0, 0, times);
    many(TRIAL_BCAST, 8, 0, times);
    many(TRIAL_BCAST, 20000, last, times);
    many(TRIAL_ALLGATHER, 40, 0, times);
    many(TRIAL_GATHER, 20, last, times);
    many(TRIAL_SCATTER, 20, last, times);
    many(TRIAL_ALLTOALL, 20, 0, times);
    many(TRIAL_ALLREDUCE, 8, 0, times);
}

static void many_plans(int times, int last)
{
    static const size_t sizes[] = {8, 49, 5000, 70000};

    many(TRIAL_BARRIER, 0, 0, times);
    for (int i = 0; i < 4; i++) {
        int fewer = sizes[i] < 50 ? times : times / 5;

        many(TRIAL_BCAST, sizes[i], last, fewer);
        many(TRIAL_ALLGATHER, sizes[i], 0, fewer);
        many(TRIAL_ALLGATHER_IN_PLACE, sizes[i], 0, fewer / 2);
        many(TRIAL_ALLREDUCE, sizes[i], 0, fewer / 2);
        many(TRIAL_ALLREDUCE_IN_PLACE, sizes[i], 0, fewer / 2);
        many(TRIAL_GATHER, sizes[i], last, fewer / 2);
        many(TRIAL_SCATTER, sizes[i], last, fewer / 2);
        many(TRIAL_ALLTOALL, sizes[i], 0, fewer / 2);
        many(TRIAL_ALLTOALL_IN_PLACE, sizes[i], 0, fewer / 2);
        for (int root = 0; root <= last; root += last > 0 ? last : 1) {
            run_ahead(TRIAL_BCAST, sizes[i], root);
            run_ahead(TRIAL_GATHER, sizes[i], root);
            run_ahead(TRIAL_SCATTER, sizes[i], root);
        }
    }
}

int main(int argc, char **argv)
{
    int times;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    times = (int)check_number("times", 1000);
    (check_option("few") != NULL ? few_plans : many_plans)(times, check.size - 1);
    return check_done();
}
