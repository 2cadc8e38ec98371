/* Plans on communicators of all kinds, and on several communicators at a time. */

#include "trial.h"

static void use(MPI_Comm comm, const char *what)
{
    int size;

    check_phase("%s", what);
    MPI_Comm_size(comm, &size);
    trial_all_kinds(40, 0, 1, 4, comm, MPI_INFO_NULL);
    trial_all_kinds(5000, size - 1, 2, 3, comm, MPI_INFO_NULL);
    trial_all_kinds(100000, size / 2, 3, 2, comm, MPI_INFO_NULL);
}

static void use_and_free(MPI_Comm comm, const char *what)
{
    if (comm == MPI_COMM_NULL)
        return;
    use(comm, what);
    MPI(MPI_Comm_free(&comm));
}

static MPI_Comm split(int color, int key)
{
    MPI_Comm comm;

    MPI(MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm));
    return comm;
}

static MPI_Comm without_rank_0(void)
{
    MPI_Group all, some;
    MPI_Comm comm;
    int zero = 0;

    MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
    MPI(MPI_Group_excl(all, check.size > 1, &zero, &some));
    MPI(MPI_Comm_create(MPI_COMM_WORLD, some, &comm));
    MPI(MPI_Group_free(&all));
    MPI(MPI_Group_free(&some));
    return comm;
}

static MPI_Comm ring(void)
{
    MPI_Comm comm;
    int periodic = 1;

    MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &check.size, &periodic, 0, &comm));
    return comm;
}

static MPI_Comm duplicate(MPI_Comm old)
{
    MPI_Comm comm;

    MPI(MPI_Comm_dup(old, &comm));
    return comm;
}

/* Plans of the same shape on several communicators, started crosswise. */
static void at_once(void)
{
    enum { COMMS = 4 };
    MPI_Comm comms[COMMS];
    struct trial trials[COMMS][TRIAL_KINDS];

    check_phase("several communicators at once");
    comms[0] = duplicate(MPI_COMM_WORLD);
    comms[1] = duplicate(comms[0]);
    comms[2] = split(check.rank % 2, check.rank);
    comms[3] = split(0, -check.rank);
    for (int c = 0; c < COMMS; c++)
        for (int k = 0; k < TRIAL_KINDS; k++)
            trial_init(&trials[c][k], (enum trial_kind)k, 600, 0, (uint64_t)(c * 10 + k), comms[c],
                       MPI_INFO_NULL);
    for (int round = 0; round < 7; round++) {
        for (int c = 0; c < COMMS; c++)
            for (int k = 0; k < TRIAL_KINDS; k++)
                trial_start(&trials[(c + check.rank) % COMMS][k]);
        check_delay();
        for (int c = 0; c < COMMS; c++)
            for (int k = 0; k < TRIAL_KINDS; k++)
                trial_wait(&trials[c][k]);
    }
    for (int c = 0; c < COMMS; c++) {
        for (int k = 0; k < TRIAL_KINDS; k++)
            trial_free(&trials[c][k]);
        MPI(MPI_Comm_free(&comms[c]));
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    use(MPI_COMM_SELF, "MPI_COMM_SELF");
    use_and_free(duplicate(MPI_COMM_SELF), "duplicate of MPI_COMM_SELF");
    use_and_free(duplicate(MPI_COMM_WORLD), "duplicate");
    use_and_free(split(0, -check.rank), "reversed");
    use_and_free(split(check.rank % 2, check.rank), "even and odd");
    use_and_free(split(check.rank == 0 ? MPI_UNDEFINED : 1, -check.rank), "split without rank 0");
    use_and_free(without_rank_0(), "group without rank 0");
    use_and_free(ring(), "ring");
    at_once();
    return check_done();
}
