/* Request objects that last belonged to a send to MPI_PROC_NULL: the plans that reuse them must not
 * inherit anything from it. */

#include "trial.h"

enum { RESIDUE = 64 };

static void leave_residue(void)
{
    MPI_Request requests[RESIDUE];

    for (int i = 0; i < RESIDUE; i++)
        MPI(MPI_Send_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < RESIDUE; i++)
        MPI(MPI_Request_free(&requests[i]));
}

/* MPICH's own schedule must not trip over such a request either. */
static void fallback(void)
{
    MPI_Info info = call_algorithm("mpich");
    MPI_Request request;
    int sum = 0, one = 1;

    MPI(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, info, &request));
    MPI(MPI_Info_free(&info));
    MPI(MPI_Start(&request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == check.size);
    MPI(MPI_Request_free(&request));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (int round = 0; round < 4; round++) {
        check_phase("round %d", round);
        leave_residue();
        trial_all_kinds(100, 0, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
        leave_residue();
        fallback();
    }
    return check_done();
}
