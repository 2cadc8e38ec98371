/* The kernel refuses after a while what it allowed when plans were made: access to the memory of
 * other processes (setuid, prctl, a new filter). Plans continue with the right data, and so do
 * later ones.
 *
 * Each kind has one of three sizes, and another one with another number of ranks.
 *
 *   -who=all|RANK   the ranks that it refuses (all)   -unknown        with ENOSYS, not EPERM */

#include "adversity.h"
#include "trial.h"

enum { PLANS = TRIAL_KINDS };

static void init_all(struct trial *trials, int generation)
{
    static const size_t sizes[] = {8, 30000, 400001};

    for (int i = 0; i < PLANS; i++)
        trial_init(&trials[i], (enum trial_kind)i, sizes[(i + check.size) % 3], i % check.size,
                   (uint64_t)(generation * PLANS + i), MPI_COMM_WORLD, MPI_INFO_NULL);
}

static void run_all(struct trial *trials, int times)
{
    for (int i = 0; i < PLANS; i++)
        trial_run(&trials[i], times);
}

/* Started in a different order on each rank and completed together: no start may wait for
 * others. */
static void run_at_once(struct trial *trials)
{
    MPI_Request requests[PLANS];

    for (int i = 0; i < PLANS; i++)
        trial_start(&trials[(i + check.rank * 5) % PLANS]);
    for (int i = 0; i < PLANS; i++)
        requests[i] = trials[i].request;
    MPI(MPI_Waitall(PLANS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < PLANS; i++)
        trial_verify(&trials[i]);
}

static void free_all(struct trial *trials)
{
    for (int i = 0; i < PLANS; i++)
        trial_free(&trials[i]);
}

int main(int argc, char **argv)
{
    struct trial first[PLANS], later[PLANS];
    const char *who;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    who = check_option("who");
    check_phase("before");
    init_all(first, 0);
    run_all(first, 3);
    adversity_deny_cma(who != NULL ? who : "all", check_option("unknown") != NULL);
    check_phase("refused");
    run_all(first, 3);
    run_at_once(first);
    check_phase("refused, later plans");
    init_all(later, 1);
    run_all(later, 3);
    run_at_once(later);
    run_at_once(first);
    free_all(first);
    free_all(later);
    return check_done();
}
