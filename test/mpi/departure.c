/* Communicators whose last reference is dropped late, in a call that MPI calls local: the
 * MPI_Request_free of another persistent collective, the completion of a pending message, an
 * attribute's delete function. Each rank drops them in another order and needs the other ranks in
 * between, so a rank that waited for others in such a call would wait forever.
 *
 *      rank 0      free a's last request - tell, and hear from the others - free b's
 *      rank 1      free b's last request - tell, and hear from the others - free a's
 *
 *   -comms=N         created, used and freed, one after the other (40): nothing may grow
 *   -threads         two threads of each rank drop references, too
 *   -exit            only this: each rank finalizes as soon as it has completed its own part */

#include "trial.h"
#include "usage.h"
#include <pthread.h>
#include <unistd.h>

enum { PAIR = 2, MESSAGES = 3, LONG_MESSAGE = 200000 };

/* A communicator with a plan, and with a request on MPICH's schedules, which holds a reference. */
struct guest {
    MPI_Comm comm;
    struct trial plan;
    MPI_Request holder;
    int sent, sum;
};

static void enter(struct guest *guest, int number)
{
    MPI_Info info = call_algorithm("mpich");

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &guest->comm));
    trial_init(&guest->plan, (enum trial_kind)(number % TRIAL_KINDS), 3000, number % check.size,
               (uint64_t)number, guest->comm, MPI_INFO_NULL);
    guest->sent = check.rank;
    MPI(MPI_Allreduce_init(&guest->sent, &guest->sum, 1, MPI_INT, MPI_SUM, guest->comm, info,
                           &guest->holder));
    MPI(MPI_Info_free(&info));
    trial_run(&guest->plan, 2);
    MPI(MPI_Start(&guest->holder));
    MPI(MPI_Wait(&guest->holder, MPI_STATUS_IGNORE));
    CHECK(guest->sum == check.size * (check.size - 1) / 2);
}

/* Waits for all ranks, with messages on another communicator. */
static void meet(void)
{
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static int turned(int i, int n)
{
    return (i + check.rank) % n;
}

static void two_communicators(void)
{
    struct guest guests[PAIR];

    check_phase("the last requests of two communicators, in another order on each rank");
    for (int i = 0; i < PAIR; i++)
        enter(&guests[i], i);
    for (int i = 0; i < PAIR; i++)
        MPI(MPI_Comm_free(&guests[i].comm));
    for (int i = 0; i < PAIR; i++) {
        MPI(MPI_Request_free(&guests[turned(i, PAIR)].holder));
        meet();
    }
    for (int i = 0; i < PAIR; i++)
        trial_run(&guests[i].plan, 2);
    for (int i = 0; i < PAIR; i++)
        trial_free(&guests[turned(i, PAIR)].plan);
}

/* Only one of the two requests holds the communicator. */
static void two_requests(void)
{
    struct guest guest;

    for (int kind = 0; kind < TRIAL_KINDS; kind++) {
        check_phase("two requests of one communicator, %s", trial_name((enum trial_kind)kind));
        enter(&guest, kind);
        MPI(MPI_Comm_free(&guest.comm));
        for (int i = 0; i < PAIR; i++) {
            if (turned(i, PAIR) == 0)
                trial_free(&guest.plan);
            else
                MPI(MPI_Request_free(&guest.holder));
            meet();
        }
    }
}

/* The progress engine drops the last references. */
static void pending_messages(void)
{
    int right = (check.rank + 1) % check.size, left = (check.rank + check.size - 1) % check.size;
    struct guest guests[MESSAGES];
    MPI_Request requests[2 * MESSAGES];
    char *out[MESSAGES], *in[MESSAGES];

    check_phase("communicators that only pending messages hold");
    for (int i = 0; i < MESSAGES; i++) {
        enter(&guests[i], i);
        MPI(MPI_Request_free(&guests[i].holder));
        out[i] = check_alloc(LONG_MESSAGE);
        in[i] = check_alloc(LONG_MESSAGE);
        check_fill(out[i], LONG_MESSAGE, check_key((uint64_t)i, 7, check.rank));
        MPI(MPI_Irecv(in[i], LONG_MESSAGE, MPI_BYTE, left, i, guests[i].comm, &requests[2 * i]));
        MPI(MPI_Isend(out[i], LONG_MESSAGE, MPI_BYTE, right, i, guests[i].comm,
                      &requests[2 * i + 1]));
    }
    for (int i = 0; i < MESSAGES; i++)
        MPI(MPI_Comm_free(&guests[i].comm));
    for (int i = 0; i < MESSAGES; i++)
        MPI(MPI_Waitall(2, &requests[2 * turned(i, MESSAGES)], MPI_STATUSES_IGNORE));
    for (int i = 0; i < MESSAGES; i++) {
        check_compare(in[i], LONG_MESSAGE, check_key((uint64_t)i, 7, left));
        check_free(in[i]);
        check_free(out[i]);
        trial_run(&guests[i].plan, 2);
        trial_free(&guests[i].plan);
    }
}

/* ---- attributes ---- */

static int free_both(MPI_Comm comm, int key, void *value, void *extra)
{
    struct guest *guest = value;

    (void)comm, (void)key, (void)extra;
    MPI(MPI_Request_free(&guest->holder));
    trial_free(&guest->plan);
    return MPI_SUCCESS;
}

static void delete_functions(void)
{
    struct guest guests[PAIR];
    int keys[PAIR];

    check_phase("requests freed in the delete functions of attributes");
    for (int i = 0; i < PAIR; i++) {
        enter(&guests[i], i);
        MPI(MPI_Comm_free(&guests[i].comm));
        MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_both, &keys[i], NULL));
        MPI(MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &guests[i]));
    }
    for (int i = 0; i < PAIR; i++) {
        MPI(MPI_Comm_delete_attr(MPI_COMM_SELF, keys[turned(i, PAIR)]));
        meet();
    }
    for (int i = 0; i < PAIR; i++)
        MPI(MPI_Comm_free_keyval(&keys[i]));
}

/* ---- threads ---- */

static pthread_barrier_t both;

static void *let_go(void *argument)
{
    struct guest *guest = argument;

    pthread_barrier_wait(&both);
    if ((guest->plan.tag + (uint64_t)check.rank) % 2)
        usleep(20000);
    MPI(MPI_Request_free(&guest->holder));
    trial_free(&guest->plan);
    return NULL;
}

static void threads(void)
{
    struct guest guests[PAIR];
    pthread_t thread[PAIR];

    if (check_option("threads") == NULL)
        return;
    check_phase("two threads of each rank");
    pthread_barrier_init(&both, NULL, PAIR);
    for (int i = 0; i < PAIR; i++) {
        enter(&guests[i], i);
        MPI(MPI_Comm_free(&guests[i].comm));
    }
    for (int i = 0; i < PAIR; i++)
        pthread_create(&thread[i], NULL, let_go, &guests[i]);
    for (int i = 0; i < PAIR; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&both);
}

/* ---- many, and the end ---- */

/* After a quarter of the rounds all memory has reached its final size. */
static void many(void)
{
    int n = (int)check_number("comms", 40);
    long before = 0, after;

    check_phase("%d communicators, one after the other", n);
    for (int i = 0; i < n; i++) {
        struct guest guest;

        enter(&guest, i);
        MPI(MPI_Comm_free(&guest.comm));
        trial_free(&guest.plan);
        MPI(MPI_Request_free(&guest.holder));
        if (i == n / 4)
            before = usage_resident_kib();
    }
    after = usage_resident_kib();
    check_note("%ld KiB after %d communicators, %ld after %d", before, n / 4, after, n);
    if (after > before + 2048 + n / 8)
        check_fail(__FILE__, __LINE__, "%ld KiB after %d communicators, %ld after %d", before,
                   n / 4, after, n);
}

/* A rank is held back in MPI_Finalize by nothing except the plan itself. */
static int leave_at_once(void)
{
    struct guest guest;

    check_phase("the last instance, then MPI_Finalize");
    enter(&guest, TRIAL_BCAST);
    MPI(MPI_Request_free(&guest.holder));
    MPI(MPI_Comm_free(&guest.comm));
    check_sum(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        trial_start(&guest.plan);
        trial_wait(&guest.plan);
    }
    trial_free(&guest.plan);
    MPI(MPI_Finalize());
    return check_end();
}

int main(int argc, char **argv)
{
    int level = MPI_THREAD_SINGLE;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-threads") == 0)
            level = MPI_THREAD_MULTIPLE;
    check_init(&argc, &argv, level);
    if (check_option("exit") == NULL) {
        two_communicators();
        two_requests();
        pending_messages();
        delete_functions();
        threads();
        many();
    }
    return leave_at_once();
}
