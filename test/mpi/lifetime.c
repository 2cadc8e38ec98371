/* Orders of destruction: plans that are never started, plans that outlive their
 * communicator, and many plans, which every rank frees in another order.
 *
 *   -no-disconnect   no MPI_Comm_disconnect, which waits for requests on MPICH's own path
 *   -rounds=N (34)   of inits and frees of all kinds */

#include "trial.h"

enum { PLANS = 12 };

/* MPICH's own schedules hold the communicator; plans do not. */
static enum trial_kind kind_after(int kind, int with_plans)
{
    do
        kind = (kind + 1) % TRIAL_KINDS;
    while (with_plans && !trial_has_plans((enum trial_kind)kind));
    return (enum trial_kind)kind;
}

static void init_several(struct trial *trials, MPI_Comm comm, int with_plans)
{
    static int kind = 0;

    for (int i = 0; i < PLANS; i++) {
        kind = kind_after(kind, with_plans);
        trial_init(&trials[i], (enum trial_kind)kind, (size_t)(i * i * 500), i % check.size,
                   (uint64_t)i, comm, MPI_INFO_NULL);
    }
}

static void run_several(struct trial *trials, int times)
{
    for (int i = 0; i < PLANS; i++)
        trial_run(&trials[i], times);
}

/* Each rank begins elsewhere. */
static void free_several(struct trial *trials)
{
    for (int i = 0; i < PLANS; i++)
        trial_free(&trials[(i + check.rank * 3) % PLANS]);
}

static void without_start(MPI_Comm comm)
{
    struct trial trials[PLANS];

    check_phase("free without start");
    for (int round = 0; round < 5; round++) {
        init_several(trials, comm, 0);
        free_several(trials);
    }
}

/* An arena that does not take back what is freed runs out here. */
static void again_and_again(MPI_Comm comm)
{
    check_phase("init and free, again and again");
    for (int round = 0; round < check_number("rounds", 34); round++) {
        size_t bytes = round % 3 == 0 ? 8 : round % 3 == 1 ? 4096 : 100000;

        trial_all_kinds(bytes, round % check.size, (uint64_t)round, 1 + round % 2, comm,
                        MPI_INFO_NULL);
    }
}

static void comm_dies_first(int (*kill)(MPI_Comm *), const char *how, int starts_before)
{
    struct trial trials[PLANS];
    MPI_Comm comm;

    check_phase("%s after %d starts", how, starts_before);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    init_several(trials, comm, kill == MPI_Comm_disconnect);
    run_several(trials, starts_before);
    check_delay();
    MPI(kill(&comm));
    CHECK(comm == MPI_COMM_NULL);
    run_several(trials, 4);
    free_several(trials);
}

/* A rank may free its plan as soon as its own part is over. */
static void free_while_others_wait(MPI_Comm comm)
{
    check_phase("free while others still wait");
    for (int round = 0; round < 100; round++) {
        struct trial t;

        trial_init(&t, (enum trial_kind)(round % TRIAL_KINDS), (size_t)(round * 37),
                   round % check.size, (uint64_t)round, comm, MPI_INFO_NULL);
        check_delay();
        trial_run(&t, 1 + round % 3);
        trial_free(&t);
    }
}

/* New communicators take over the memory of the freed ones while those still have plans. */
static void generations(void)
{
    struct trial old, new;
    MPI_Comm comm;

    check_phase("generations of communicators");
    for (int round = 0; round < 40; round++) {
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        trial_init(&new, (enum trial_kind)(round % TRIAL_KINDS), 3000, 0, (uint64_t)round, comm,
                   MPI_INFO_NULL);
        MPI(MPI_Comm_free(&comm));
        trial_run(&new, 2);
        if (round > 0) {
            trial_run(&old, 2);
            trial_free(&old);
        }
        old = new;
    }
    trial_free(&old);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    without_start(MPI_COMM_WORLD);
    again_and_again(MPI_COMM_WORLD);
    free_while_others_wait(MPI_COMM_WORLD);
    comm_dies_first(MPI_Comm_free, "MPI_Comm_free", 0);
    comm_dies_first(MPI_Comm_free, "MPI_Comm_free", 2);
    generations();
    /* MPI_Comm_disconnect waits for MPICH's own schedules. */
    if (check_option("no-disconnect") != NULL)
        return check_done();
    for (int i = 0; i < (TRIAL_KINDS + PLANS - 1) / PLANS; i++) /* of each kind */
        comm_dies_first(MPI_Comm_disconnect, "MPI_Comm_disconnect", i);
    return check_done();
}
