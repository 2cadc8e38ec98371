/* Plans without MPI_Init: sessions one after another, each with its own communicator, and plans
 * that outlive the communicator but not the session.
 *
 *   -times=N: number of sessions (3) */

#include "trial.h"

#if MPI_VERSION >= 4

static MPI_Comm world_of(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MPI(MPI_Comm_create_from_group(group, "offload test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                   &comm));
    MPI(MPI_Group_free(&group));
    return comm;
}

static void use(MPI_Comm *comm, int times)
{
    struct trial outlives;

    trial_all_kinds(30, 0, 1, times, *comm, MPI_INFO_NULL);
    trial_all_kinds(70000, check.size - 1, 2, times, *comm, MPI_INFO_NULL);
    trial_init(&outlives, TRIAL_ALLGATHER, 500, 0, 3, *comm, MPI_INFO_NULL);
    MPI(MPI_Comm_free(comm));
    trial_run(&outlives, times);
    trial_free(&outlives);
}

int main(int argc, char **argv)
{
    int times;
    MPI_Session session;
    MPI_Comm comm;

    check_begin(argc, argv);
    times = (int)check_number("times", 3);
    for (int time = 0; time < times; time++) {
        check_phase("session %d", time);
        MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
        comm = world_of(session);
        if (time == 0)
            check_attach(comm);
        use(&comm, 5);
        if (time == times - 1) {
            comm = world_of(session);
            check_sum(comm);
            MPI(MPI_Comm_free(&comm));
        }
        MPI(MPI_Session_finalize(&session));
    }
    return check_end();
}

#else

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    return check_done();
}

#endif
