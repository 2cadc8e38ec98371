/* Inactive requests, whether they were never started or have completed: every completion call
 * ignores them and returns at once. */

#include "trial.h"

enum { MANY = TRIAL_KINDS };

static int is_empty(const MPI_Status *s)
{
    int count = -1, cancelled = 1;

    MPI_Get_count(s, MPI_BYTE, &count);
    MPI_Test_cancelled(s, &cancelled);
    return s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled;
}

/* Values that an empty status does not have. */
static MPI_Status soiled(void)
{
    MPI_Status s;

    memset(&s, 0x77, sizeof(s));
    s.MPI_SOURCE = s.MPI_TAG = 5;
    return s;
}

static void one_request(MPI_Request *request)
{
    MPI_Status s = soiled();
    int flag = 0;

    MPI(MPI_Request_get_status(*request, &flag, &s));
    CHECK(flag && is_empty(&s));
    s = soiled();
    flag = 0;
    MPI(MPI_Test(request, &flag, &s));
    CHECK(flag && is_empty(&s));
    if (!flag) /* MPI_Wait would hang */
        return;
    s = soiled();
    MPI(MPI_Wait(request, &s));
    CHECK(is_empty(&s));
    CHECK(*request != MPI_REQUEST_NULL);
}

static void any_request(MPI_Request *requests)
{
    MPI_Status s = soiled();
    int flag = 0, index = 0;

    MPI(MPI_Testany(MANY, requests, &index, &flag, &s));
    CHECK(flag && index == MPI_UNDEFINED && is_empty(&s));
    if (!flag)
        return;
    s = soiled();
    index = 0;
    MPI(MPI_Waitany(MANY, requests, &index, &s));
    CHECK(index == MPI_UNDEFINED && is_empty(&s));
}

static void some_requests(MPI_Request *requests)
{
    MPI_Status statuses[MANY];
    int count = 0, indices[MANY];

    MPI(MPI_Testsome(MANY, requests, &count, indices, statuses));
    CHECK(count == MPI_UNDEFINED);
    if (count == 0)
        return;
    MPI(MPI_Waitsome(MANY, requests, &count, indices, statuses));
    CHECK(count == MPI_UNDEFINED);
}

static void all_requests(MPI_Request *requests)
{
    MPI_Status statuses[MANY];
    int flag = 0;

    for (int i = 0; i < MANY; i++)
        statuses[i] = soiled();
    MPI(MPI_Testall(MANY, requests, &flag, statuses));
    CHECK(flag);
    if (!flag)
        return;
    MPI(MPI_Waitall(MANY, requests, statuses));
    for (int i = 0; i < MANY; i++)
        CHECK(is_empty(&statuses[i]));
}

static void all_calls(MPI_Request *requests)
{
    for (int i = 0; i < MANY; i++)
        one_request(&requests[i]);
    any_request(requests);
    some_requests(requests);
    all_requests(requests);
}

/* The only active request among inactive ones is the one that is found. */
static void among_others(struct trial *trials, MPI_Request *requests, int active)
{
    int index = MPI_UNDEFINED, count = 0, indices[MANY];

    trial_start(&trials[active]);
    MPI(MPI_Waitany(MANY, requests, &index, MPI_STATUS_IGNORE));
    CHECK(index == active);
    if (index != active)
        MPI(MPI_Wait(&requests[active], MPI_STATUS_IGNORE));
    trial_verify(&trials[active]);

    trial_start(&trials[active]);
    MPI(MPI_Waitsome(MANY, requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK(count == 1 && indices[0] == active);
    if (count != 1)
        MPI(MPI_Wait(&requests[active], MPI_STATUS_IGNORE));
    trial_verify(&trials[active]);
}

/* MPI_Request_get_status leaves a complete request active. */
static void get_status(struct trial *t)
{
    int flag = 0;

    trial_start(t);
    while (!flag)
        MPI(MPI_Request_get_status(t->request, &flag, MPI_STATUS_IGNORE));
    trial_verify(t);
    flag = 0;
    MPI(MPI_Request_get_status(t->request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    trial_wait(t);
}

static void null_among_them(MPI_Request *requests)
{
    MPI_Request some[MANY];

    memcpy(some, requests, sizeof(some));
    some[1] = MPI_REQUEST_NULL;
    any_request(some);
    some_requests(some);
    all_requests(some);
    CHECK(some[0] == requests[0] && some[1] == MPI_REQUEST_NULL && some[2] == requests[2]);
}

int main(int argc, char **argv)
{
    struct trial trials[MANY];
    MPI_Request requests[MANY];

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < MANY; i++) {
        trial_init(&trials[i], (enum trial_kind)i, 100, 0, (uint64_t)i, MPI_COMM_WORLD,
                   MPI_INFO_NULL);
        requests[i] = trials[i].request;
    }
    check_phase("never started");
    all_calls(requests);
    null_among_them(requests);
    for (int round = 0; round < 3; round++) {
        check_phase("round %d", round);
        for (int i = 0; i < MANY; i++)
            trial_run(&trials[i], 1);
        all_calls(requests);
        for (int i = 0; i < MANY; i++) {
            among_others(trials, requests, i);
            get_status(&trials[i]);
        }
        all_calls(requests);
    }
    for (int i = 0; i < MANY; i++)
        trial_free(&trials[i]);
    return check_done();
}
