/* Under MPI_ERRORS_RETURN wrong arguments and wrong uses return errors of the right class, on every
 * rank, and the communicator and its plans stay usable. So do inits whose arguments differ between
 * ranks, which no rank can see alone. */

#include "trial.h"

static int data[64];

static void expect_class(int line, const char *what, int rc, int class)
{
    int got = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &got);
    if (got != class)
        check_fail(__FILE__, line, "%s: error class %d, wanted %d", what, got, class);
}

#define EXPECT(class, call) expect_class(__LINE__, #call, call, class)

static void wrong_bcast(MPI_Comm comm)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Info info = MPI_INFO_NULL;

    check_phase("bcast");
    EXPECT(MPI_ERR_ROOT, MPI_Bcast_init(data, 1, MPI_INT, check.size, comm, info, &r));
    EXPECT(MPI_ERR_ROOT, MPI_Bcast_init(data, 1, MPI_INT, -1, comm, info, &r));
    EXPECT(MPI_ERR_COUNT, MPI_Bcast_init(data, -1, MPI_INT, 0, comm, info, &r));
    EXPECT(MPI_ERR_TYPE, MPI_Bcast_init(data, 1, MPI_DATATYPE_NULL, 0, comm, info, &r));
    EXPECT(MPI_ERR_COMM, MPI_Bcast_init(data, 1, MPI_INT, 0, MPI_COMM_NULL, info, &r));
    EXPECT(MPI_ERR_BUFFER, MPI_Bcast_init(NULL, 1, MPI_INT, 0, comm, info, &r));
    CHECK(r == MPI_REQUEST_NULL);
}

static void wrong_allgather(MPI_Comm comm)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int *to = malloc(sizeof(int) * (size_t)check.size);

    check_phase("allgather");
    EXPECT(MPI_ERR_COUNT, MPI_Allgather_init(data, -1, MPI_INT, to, 1, MPI_INT, comm, info, &r));
    EXPECT(MPI_ERR_COUNT, MPI_Allgather_init(data, 1, MPI_INT, to, -1, MPI_INT, comm, info, &r));
    EXPECT(MPI_ERR_TYPE,
           MPI_Allgather_init(data, 1, MPI_INT, to, 1, MPI_DATATYPE_NULL, comm, info, &r));
    EXPECT(MPI_ERR_COMM,
           MPI_Allgather_init(data, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_NULL, info, &r));
    CHECK(r == MPI_REQUEST_NULL);
    free(to);
}

static void wrong_barrier(MPI_Comm comm)
{
    MPI_Request r = MPI_REQUEST_NULL;

    check_phase("barrier");
    EXPECT(MPI_ERR_COMM, MPI_Barrier_init(MPI_COMM_NULL, MPI_INFO_NULL, &r));
    EXPECT(MPI_ERR_ARG, MPI_Barrier_init(comm, MPI_INFO_NULL, NULL));
}

/* Nothing is started. */
static void different_arguments(MPI_Comm comm)
{
    const void *in = check.rank == 0 ? MPI_IN_PLACE : data;
    static int out[64];
    MPI_Request r;

    check_phase("arguments that differ");
    MPI(MPI_Bcast_init(data, 1 + check.rank, MPI_INT, 0, comm, MPI_INFO_NULL, &r));
    MPI(MPI_Request_free(&r));
    MPI(MPI_Allreduce_init(in, out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r));
    MPI(MPI_Request_free(&r));
}

static void wrong_start(struct trial *t)
{
    MPI_Request null = MPI_REQUEST_NULL;

    check_phase("start of %s", trial_name(t->kind));
    EXPECT(MPI_ERR_REQUEST, MPI_Start(&null));
    trial_start(t);
    EXPECT(MPI_ERR_REQUEST, MPI_Start(&t->request));
    EXPECT(MPI_ERR_REQUEST, MPI_Startall(1, &t->request));
    trial_wait(t);
    trial_run(t, 3);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int round = 0; round < 3; round++) {
        wrong_bcast(comm);
        wrong_allgather(comm);
        wrong_barrier(comm);
        different_arguments(comm);
        for (int k = 0; k < TRIAL_KINDS; k++) {
            struct trial t;

            trial_init(&t, (enum trial_kind)k, 500, 0, 1, comm, MPI_INFO_NULL);
            wrong_start(&t);
            trial_free(&t);
        }
    }
    MPI(MPI_Comm_free(&comm));
    return check_done();
}
