/* A thousand starts of one request, each with new data and completed by MPI_Wait, while ranks pause
 * at random and the others run ahead as far as the plan lets them. Nothing except the plan keeps
 * the ranks together.
 *
 *   -times=N (1000)   of barrier and broadcast; a quarter of it of the others
 *   -only=barrier,bcast,...
 *   -few              one size of each kind, N starts of each
 *   -long             as -few, with blocks of 5 MB: a part of them gets huge pages */

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

/* Ranks that only send never wait for another start: the root of a broadcast or scatter, all but
 * the root of a gather or reduce, the lower ranks of a scan. The others are late each time. */
static int only_sends(const struct trial *t)
{
    switch (collectives[t->coll].receives) {
        case ONE_OF_ROOT:
        case ALL_OF_ROOT:
            return t->rank != t->root;
        default:
            return t->rank == (coll_has(t->coll, ROOTED) ? t->root : 0);
    }
}

static void run_ahead(enum trial_kind kind, size_t bytes, int root)
{
    struct trial t;
    int is_late;

    if (!trial_wanted(kind))
        return;
    check_phase("%s, root %d, senders ahead, %zu bytes", trial_name(kind), root, bytes);
    trial_init(&t, kind, bytes, root, 2, MPI_COMM_WORLD, MPI_INFO_NULL);
    is_late = !only_sends(&t);
    for (int i = 0; i < 60; i++) {
        if (is_late)
            check_delay();
        trial_start(&t);
        if (is_late)
            check_delay();
        trial_wait(&t);
    }
    trial_free(&t);
}

static int can_run_ahead(enum trial_kind kind)
{
    const enum coll coll = trial_coll(kind);

    return coll_has(coll, ROOTED) || coll == COLL_SCAN || coll == COLL_EXSCAN;
}

static void few_plans(int times, int last)
{
    for (int kind = 0; kind < TRIAL_KINDS; kind++)
        many((enum trial_kind)kind, kind == TRIAL_BCAST ? 20000 : 20, last, times);
}

static void long_plans(int times, int last)
{
    for (int kind = 0; kind < TRIAL_KINDS; kind++)
        many((enum trial_kind)kind, 5000000, last, times);
}

static void many_plans(int times, int last)
{
    static const size_t sizes[] = {8, 49, 5000, 70000};

    many(TRIAL_BARRIER, 0, 0, times);
    for (int i = 0; i < 4; i++)
        many(TRIAL_BCAST, sizes[i], last, sizes[i] < 50 ? times : times / 5);
    for (int kind = TRIAL_BCAST + 1; kind < TRIAL_KINDS; kind++) {
        many((enum trial_kind)kind, sizes[kind % 2], last, times / 4);
        many((enum trial_kind)kind, sizes[2 + kind / 2 % 2], last, times / 16);
    }
    for (int kind = TRIAL_BCAST; kind < TRIAL_KINDS; kind++)
        for (int i = 0; i < 4 && can_run_ahead((enum trial_kind)kind); i++)
            run_ahead((enum trial_kind)kind, sizes[i], i % 2 ? last : 0);
}

int main(int argc, char **argv)
{
    int times;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    times = (int)check_number("times", 1000);
    if (check_option("few") != NULL)
        few_plans(times, check.size - 1);
    else if (check_option("long") != NULL)
        long_plans(times, check.size - 1);
    else
        many_plans(times, check.size - 1);
    return check_done();
}
