/* Several plans in flight on one communicator, started and completed in a different order on every
 * rank, with every completion call.
 *
 *   -rounds=N (24)    N starts of each plan
 *   -two              half of the plans on a second communicator, with the ranks in reverse */

#include "trial.h"

enum { PLANS = TRIAL_KINDS };

static struct trial trials[PLANS];
static MPI_Request requests[PLANS];

static void shuffle(int order[PLANS])
{
    for (int i = 0; i < PLANS; i++) {
        int j = (int)(check_random(&check.local) % (unsigned)(i + 1));

        order[i] = order[j];
        order[j] = i;
    }
}

static void start_one_by_one(const int order[PLANS])
{
    for (int i = 0; i < PLANS; i++) {
        check_delay();
        MPI(MPI_Start(&requests[order[i]]));
    }
}

static void start_all(const int order[PLANS])
{
    MPI_Request permuted[PLANS];

    for (int i = 0; i < PLANS; i++)
        permuted[i] = requests[order[i]];
    MPI(MPI_Startall(4, permuted));
    check_delay();
    MPI(MPI_Startall(PLANS - 4, permuted + 4));
    for (int i = 0; i < PLANS; i++)
        CHECK(permuted[i] == requests[order[i]]);
}

static void finish_wait(const int order[PLANS])
{
    for (int i = 0; i < PLANS; i++) {
        MPI(MPI_Wait(&requests[order[i]], MPI_STATUS_IGNORE));
        trial_verify(&trials[order[i]]);
    }
}

static void finish_test(const int order[PLANS])
{
    for (int i = 0; i < PLANS; i++) {
        int flag = 0;

        while (!flag)
            MPI(MPI_Test(&requests[order[i]], &flag, MPI_STATUS_IGNORE));
        trial_verify(&trials[order[i]]);
    }
}

static void finish_waitany(const int order[PLANS])
{
    (void)order;
    for (int i = 0; i < PLANS; i++) {
        int index = MPI_UNDEFINED;

        MPI(MPI_Waitany(PLANS, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index >= 0 && index < PLANS);
        if (index >= 0 && index < PLANS)
            trial_verify(&trials[index]);
    }
}

static void finish_some(const int order[PLANS])
{
    int done = 0, count, indices[PLANS], seen[PLANS] = {0};

    (void)order;
    while (done < PLANS) {
        count = 0;
        if (done % 2)
            MPI(MPI_Testsome(PLANS, requests, &count, indices, MPI_STATUSES_IGNORE));
        else
            MPI(MPI_Waitsome(PLANS, requests, &count, indices, MPI_STATUSES_IGNORE));
        CHECK(count != MPI_UNDEFINED);
        for (int i = 0; i < count; i++) {
            CHECK(seen[indices[i]]++ == 0);
            trial_verify(&trials[indices[i]]);
        }
        done += count != MPI_UNDEFINED ? count : PLANS;
    }
}

static void verify_all(void)
{
    for (int i = 0; i < PLANS; i++)
        trial_verify(&trials[i]);
}

static void finish_waitall(const int order[PLANS])
{
    (void)order;
    MPI(MPI_Waitall(PLANS, requests, MPI_STATUSES_IGNORE));
    verify_all();
}

static void finish_testall(const int order[PLANS])
{
    MPI_Status statuses[PLANS];
    int flag = 0, failed = 0;

    (void)order;
    while (!flag && !failed) {
        int rc = MPI_Testall(PLANS, requests, &flag, statuses);

        failed = rc != MPI_SUCCESS;
        if (failed)
            check_fail(__FILE__, __LINE__, "MPI_Testall returned %d", rc);
    }
    verify_all();
}

static void init_trials(MPI_Comm second)
{
    static const size_t sizes[] = {0, 4, 3000, 40, 6000, 100000, 1};

    for (int i = 0; i < PLANS; i++) {
        trial_init(&trials[i], (enum trial_kind)i, sizes[(i + check.size) % 7], i % check.size,
                   (uint64_t)i, i % 4 < 2 ? MPI_COMM_WORLD : second, MPI_INFO_NULL);
        requests[i] = trials[i].request;
    }
}

static MPI_Comm second_comm(void)
{
    MPI_Comm reverse = MPI_COMM_WORLD;

    if (check_option("two") != NULL)
        MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -check.rank, &reverse));
    return reverse;
}

static void play_round(int round)
{
    static void (*const finish[])(const int *) = {finish_wait,    finish_test, finish_waitall,
                                                  finish_waitany, finish_some, finish_testall};
    int order[PLANS];

    check_phase("round %d, completion call %d", round, round % 6);
    for (int i = 0; i < PLANS; i++)
        trial_prepare(&trials[i]);
    shuffle(order);
    (round % 4 == 3 ? start_all : start_one_by_one)(order);
    shuffle(order);
    finish[round % 6](order);
}

int main(int argc, char **argv)
{
    MPI_Comm second;
    int rounds;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rounds = (int)check_number("rounds", 24);
    second = second_comm();
    init_trials(second);
    for (int round = 0; round < rounds; round++)
        play_round(round);
    for (int i = 0; i < PLANS; i++)
        trial_free(&trials[i]);
    if (second != MPI_COMM_WORLD)
        MPI(MPI_Comm_free(&second));
    return check_done();
}
