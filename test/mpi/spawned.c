/* Processes of one node, and as many that they spawn there: MPICH lets the two reach each other
 * over the network, which processes of one node otherwise poll less often. Both exchange messages
 * and share plans.
 *
 *   -rounds=N (50)   exchanges of messages */

#include "trial.h"

enum { BYTES = 5000, RUNS = 5 };

/* Each rank sends to the next one. */
static void exchange(MPI_Comm both, int round)
{
    const int next = (check.rank + 1) % check.size;
    const int last = (check.rank + check.size - 1) % check.size;
    char *send = check_alloc(BYTES), *receive = check_alloc(BYTES);

    check_fill(send, BYTES, check_key(1, (uint64_t)round, check.rank));
    check_poison(receive, BYTES);
    MPI(MPI_Sendrecv(send, BYTES, MPI_BYTE, next, round, receive, BYTES, MPI_BYTE, last, round,
                     both, MPI_STATUS_IGNORE));
    check_compare(receive, BYTES, check_key(1, (uint64_t)round, last));
    check_free(send);
    check_free(receive);
    check_progress();
}

static void run_plan(enum trial_kind kind, int root, MPI_Comm both)
{
    struct trial t;

    check_phase("%s of both", trial_name(kind));
    trial_init(&t, kind, BYTES, root, 2, both, MPI_INFO_NULL);
    trial_run(&t, RUNS);
    trial_free(&t);
}

int main(int argc, char **argv)
{
    MPI_Comm others, both;
    int is_child;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI(MPI_Comm_get_parent(&others));
    is_child = others != MPI_COMM_NULL;
    check_phase("spawn");
    if (!is_child)
        MPI(MPI_Comm_spawn(argv[0], argv + 1, check.size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others,
                           MPI_ERRCODES_IGNORE));
    MPI(MPI_Intercomm_merge(others, is_child, &both));
    check_attach(both);
    check_phase("messages");
    for (int round = 0; round < check_number("rounds", 50); round++)
        exchange(both, round);
    run_plan(TRIAL_BCAST, check.size - 1, both);
    run_plan(TRIAL_ALLREDUCE, 0, both);
    check_phase("leave");
    check_sum(both);
    MPI(MPI_Comm_free(&both));
    MPI(MPI_Comm_disconnect(&others));
    MPI_Finalize();
    return is_child ? 0 : check_end();
}
