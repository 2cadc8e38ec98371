/* Between MPI_Start and MPI_Wait: long computation without MPI calls, point-to-point messages with
 * wildcards, other collectives, and messages already in flight. */

#include "trial.h"

enum { ROUNDS = 10, MESSAGE = 20000 };

static struct trial trials[TRIAL_KINDS];
static char *out, *in;

static void compute(unsigned microseconds)
{
    double end = MPI_Wtime() + microseconds * 1e-6;

    while (MPI_Wtime() < end)
        ;
}

static void start_trials(void)
{
    for (int k = 0; k < TRIAL_KINDS; k++)
        trial_start(&trials[k]);
}

static void wait_trials(void)
{
    for (int k = TRIAL_KINDS - 1; k >= 0; k--)
        trial_wait(&trials[k]);
}

static void computation(int round)
{
    check_phase("round %d: computation", round);
    start_trials();
    if (check.rank == round % check.size)
        compute(20000);
    wait_trials();
}

/* A message to the right neighbor is in flight while plans start and complete. */
static void messages(int round)
{
    int right = (check.rank + 1) % check.size, left = (check.rank + check.size - 1) % check.size;
    int bytes = round % 3 == 0 ? 4 : MESSAGE;
    MPI_Request requests[2];
    MPI_Status status;

    check_phase("round %d: messages", round);
    check_fill(out, (size_t)bytes, check_key(99, (uint64_t)round, check.rank));
    check_poison(in, MESSAGE);
    MPI(MPI_Irecv(in, MESSAGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                  &requests[0]));
    if (round % 2)
        start_trials();
    MPI(MPI_Isend(out, bytes, MPI_BYTE, right, round, MPI_COMM_WORLD, &requests[1]));
    if (round % 2 == 0)
        start_trials();
    check_delay();
    wait_trials();
    MPI(MPI_Wait(&requests[0], &status));
    MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == round);
    check_compare(in, (size_t)bytes, check_key(99, (uint64_t)round, left));
}

/* Plans complete while the rank waits for something else; no rank needs to wait on them. */
static void other_collectives(int round)
{
    MPI_Request request;
    int sum = 0, one = 1, root_value = check.rank == 0 ? round : -1;

    check_phase("round %d: collectives", round);
    start_trials();
    MPI(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    MPI(MPI_Bcast(&root_value, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == check.size && root_value == round);
    wait_trials();
}

/* Requests of both kinds in one MPI_Waitall. */
static void one_waitall(int round)
{
    int right = (check.rank + 1) % check.size, left = (check.rank + check.size - 1) % check.size;
    MPI_Request requests[TRIAL_KINDS + 2];

    check_phase("round %d: one MPI_Waitall", round);
    check_fill(out, MESSAGE, check_key(98, (uint64_t)round, check.rank));
    start_trials();
    for (int k = 0; k < TRIAL_KINDS; k++)
        requests[k + 1] = trials[k].request;
    MPI(MPI_Irecv(in, MESSAGE, MPI_BYTE, left, 7, MPI_COMM_WORLD, &requests[0]));
    MPI(MPI_Isend(out, MESSAGE, MPI_BYTE, right, 7, MPI_COMM_WORLD, &requests[TRIAL_KINDS + 1]));
    MPI(MPI_Waitall(TRIAL_KINDS + 2, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < TRIAL_KINDS; k++)
        trial_verify(&trials[k]);
    check_compare(in, MESSAGE, check_key(98, (uint64_t)round, left));
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {24, 3000, 90000};

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    out = check_alloc(MESSAGE);
    in = check_alloc(MESSAGE);
    for (int s = 0; s < 3; s++) {
        for (int k = 0; k < TRIAL_KINDS; k++)
            trial_init(&trials[k], (enum trial_kind)k, sizes[s], s % check.size, (uint64_t)k,
                       MPI_COMM_WORLD, MPI_INFO_NULL);
        for (int round = 0; round < ROUNDS; round++) {
            if (round % 5 == 0)
                computation(round);
            messages(round);
            other_collectives(round);
            one_waitall(round);
        }
        for (int k = 0; k < TRIAL_KINDS; k++)
            trial_free(&trials[k]);
    }
    check_free(out);
    check_free(in);
    return check_done();
}
