/* How often ranks poll the network for plans, by the performance variable
 * coll_offload_network_polls.
 *
 * A rank that waits long for a late one polls less and less often, and all ranks get their data.
 *
 *   -polling=N   so many ranks have neighbors on other nodes in a broadcast; all others poll the
 *                network not once, whatever they wait for: nothing else is tested */

#include "trial.h"

#include <time.h>

enum {
    ROUNDS = 5,
    LATE_MS = 20,
    PAUSE_US = 4,          /* between polls after a while */
    POLLS_OF_EVENTS = 3000 /* which follow each other, since something has arrived */
};

static long long polls(void)
{
    const long long n = check_pvar("coll_offload_network_polls");

    CHECK(n >= 0);
    return n;
}

static void sleep_ms(long ms)
{
    const struct timespec time = {0, ms * 1000000};

    nanosleep(&time, NULL);
}

static void wait_for_late_rank(enum trial_kind kind)
{
    const long long before = polls();
    struct trial t;
    double since;
    long long more;

    trial_init(&t, kind, 8, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL);
    since = MPI_Wtime();
    for (int round = 0; round < ROUNDS; round++) {
        check_phase("%s, round %d", trial_name(kind), round);
        if (check.rank == round % check.size)
            sleep_ms(LATE_MS);
        trial_start(&t);
        trial_wait(&t);
    }
    more = polls() - before;
    since = (MPI_Wtime() - since) * 1e6;
    trial_free(&t);
    check_note("%s: %lld polls in %.0f us", trial_name(kind), more, since);
    if (more == 0 || more > since / PAUSE_US + POLLS_OF_EVENTS)
        check_fail(__FILE__, __LINE__, "%lld polls in %.0f us", more, since);
}

/* Where the last rank is late, the others also wait in MPI_Barrier. */
static void count_pollers(long expected)
{
    struct trial t;
    int mine, all = 0;

    trial_init(&t, TRIAL_BCAST, 8, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int round = 0; round < ROUNDS; round++) {
        check_phase("round %d", round);
        trial_start(&t);
        trial_wait(&t);
        if (check.rank == check.size - 1)
            sleep_ms(LATE_MS);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    mine = polls() > 0;
    trial_free(&t);
    MPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (all != expected)
        check_fail(__FILE__, __LINE__, "%d ranks have polled, not %ld", all, expected);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check_option("polling")) {
        count_pollers(check_number("polling", 0));
        return check_done();
    }
    wait_for_late_rank(TRIAL_BARRIER);
    wait_for_late_rank(TRIAL_ALLREDUCE);
    return check_done();
}
