/* A user's function that takes long, while other threads use MPI: plans come, run and go meanwhile,
 * also those that are inside the function. */

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int in_function, calls;

static void slow_sum(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int *left = in, *right = inout;

    (void)type;
    atomic_fetch_add(&in_function, 1);
    usleep(2000);
    for (int i = 0; i < *length; i++)
        right[i] += left[i];
    atomic_fetch_sub(&in_function, 1);
    atomic_fetch_add(&calls, 1);
}

/* A plan refers to its type: when the type's attribute is deleted, the plan is no more. */
static int keyval;
static atomic_int plans;

static int plan_ends(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)value;
    (void)extra;
    atomic_fetch_sub(&plans, 1);
    return MPI_SUCCESS;
}

enum { SLOW_COUNT = 300, SLOW_STARTS = 20 };

static MPI_Request init_slow(int *send, int *receive, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Datatype type;
    MPI_Op op;

    MPI(MPI_Op_create(slow_sum, 0, &op));
    MPI(MPI_Type_dup(MPI_INT, &type));
    MPI(MPI_Type_set_attr(type, keyval, NULL));
    atomic_fetch_add(&plans, 1);
    MPI(MPI_Allreduce_init(send, receive, SLOW_COUNT, type, op, comm, MPI_INFO_NULL, &request));
    MPI(MPI_Type_free(&type));
    MPI(MPI_Op_free(&op));
    return request;
}

/* Every third instance is freed while it runs. */
static void *use_slowly(void *argument)
{
    int send[SLOW_COUNT], receive[2 * SLOW_STARTS][SLOW_COUNT];
    MPI_Comm comm = *(MPI_Comm *)argument;

    for (int step = 0; step < SLOW_STARTS; step++) {
        MPI_Request request = init_slow(send, receive[step], comm);

        for (int i = 0; i < SLOW_COUNT; i++)
            send[i] = check.rank + i + step;
        MPI(MPI_Start(&request));
        if (step % 3 == 2) {
            int flag;

            MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            if (flag) {
                MPI(MPI_Request_free(&request));
                continue;
            }
        }
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < SLOW_COUNT; i++)
            CHECK(receive[step][i] == check.size * (i + step) + check.size * (check.size - 1) / 2);
        MPI(MPI_Request_free(&request));
    }
    return NULL;
}

/* Meanwhile: plans come and go, and a plan with a slow function is freed while it is active. */
static void *use_otherwise(void *argument)
{
    static int send[SLOW_COUNT], freed[SLOW_STARTS][SLOW_COUNT];
    MPI_Comm comm = *(MPI_Comm *)argument;

    for (int step = 0; step < SLOW_STARTS; step++) {
        MPI_Request slow = init_slow(send, freed[step], comm), quick;
        int one = 1, sum = 0;

        MPI(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &quick));
        MPI(MPI_Start(&slow));
        MPI(MPI_Request_free(&slow));
        for (int i = 0; i < 20; i++) {
            sum = 0;
            MPI(MPI_Start(&quick));
            MPI(MPI_Wait(&quick, MPI_STATUS_IGNORE));
            CHECK(sum == check.size);
        }
        MPI(MPI_Request_free(&quick));
    }
    MPI(MPI_Barrier(comm));
    return NULL;
}

static void run(void)
{
    pthread_t threads[3];
    MPI_Comm comms[3];

    check_phase("slow function, other threads");
    MPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, plan_ends, &keyval, NULL));
    for (int i = 0; i < 3; i++)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, i == 2 ? use_otherwise : use_slowly, &comms[i]) ==
              0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    /* What was freed while it was active ends by itself, and with it all that it refers to. */
    for (int round = 0; round < 200; round++) {
        int flag;

        MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        usleep(1000);
    }
    CHECK(in_function == 0 && (check.size == 1 || calls > 0));
    CHECK(plans == 0);
    MPI(MPI_Type_free_keyval(&keyval));
    for (int i = 0; i < 3; i++)
        MPI(MPI_Comm_free(&comms[i]));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    run();
    return check_done();
}
