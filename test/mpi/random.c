/* Random programs: communicators, datatypes, sizes, orders and ways of completion are all drawn
 * from one seed, so that a failure can be reproduced.
 *
 * A round creates a communicator and some plans on it, starts them a few times in a different order
 * on each rank, completes them in a different way on each rank, and frees everything in any order,
 * the communicator perhaps before its plans are started.
 *
 *   -rounds=N (40)    -starts=N (8)   most starts of each plan
 *   -threads=N (1)    threads of each rank that do all of this at the same time
 *   -bytes=N (20000)  most bytes of a message
 *   -rows=COLLECTIVE/ALGORITHM,...   one of these for each plan, by its name */

#include "random_plan.h"
#include "workers.h"

#include <stdatomic.h>

enum { MAX_PLANS = 6, MAX_ROWS = 100 };

static int max_starts, max_bytes, rounds;
static struct random_row rows[MAX_ROWS];
static int nrows;
static atomic_ulong all_starts;

static int draw(uint64_t *state, int n)
{
    return (int)(check_random(state) % (uint64_t)n);
}

/* ---- completion ---- */

static void wait_some(MPI_Request *requests, int n, int test)
{
    int indices[MAX_PLANS], count = 0, left = n;

    while (left > 0) {
        if (test)
            MPI(MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE));
        else
            MPI(MPI_Waitsome(n, requests, &count, indices, MPI_STATUSES_IGNORE));
        if (count == MPI_UNDEFINED)
            break;
        left -= count;
    }
}

static void wait_any(MPI_Request *requests, int n, int test)
{
    int index, done = 1;

    for (int left = n; left > 0; left -= done) {
        if (test)
            MPI(MPI_Testany(n, requests, &index, &done, MPI_STATUS_IGNORE));
        else
            MPI(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
        if (done && index == MPI_UNDEFINED)
            break;
    }
}

static void test_each(MPI_Request *requests, int n, int look)
{
    for (int i = n - 1, done; i >= 0; i--) {
        do {
            if (look)
                MPI(MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE));
            else
                MPI(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
        } while (!done);
        if (look)
            MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    }
}

static void complete(MPI_Request *requests, int n, int way)
{
    int done = 0;

    switch (way) {
        case 0:
            for (int i = n - 1; i >= 0; i--)
                MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            break;
        case 1:
            MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
            break;
        case 2:
            while (!done)
                MPI(MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE));
            break;
        case 3:
        case 4:
            wait_any(requests, n, way == 4);
            break;
        case 5:
        case 6:
            wait_some(requests, n, way == 6);
            break;
        default:
            test_each(requests, n, way == 8);
    }
}

/* ---- rounds ---- */

static void shuffle(int *order, int n, uint64_t *state)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = draw(state, i + 1), other = order[k];

        order[k] = order[i];
        order[i] = other;
    }
}

/* Each rank starts all plans in its own order; the completion of a plan may wait only for another
 * rank's start of the same plan. */
static void start_and_complete(struct random_plan *plans, int n, struct worker *w)
{
    MPI_Request requests[MAX_PLANS];
    int order[MAX_PLANS];

    shuffle(order, n, &w->local);
    for (int i = 0; i < n; i++) {
        random_plan_prepare(&plans[order[i]]);
        requests[i] = plans[order[i]].request;
    }
    if (draw(&w->local, 2))
        MPI(MPI_Startall(n, requests));
    else
        for (int i = 0; i < n; i++)
            MPI(MPI_Start(&requests[i]));
    if (draw(&w->local, 4) == 0)
        check_delay();
    complete(requests, n, draw(&w->local, 9));
    for (int i = 0; i < n; i++)
        random_plan_verify(&plans[i]);
    all_starts += (unsigned long)n;
}

/* A communicator of all ranks in another order, or of some of them. */
static MPI_Comm random_comm(struct worker *w)
{
    int form = draw(&w->shared, 4), colors = 1 + draw(&w->shared, 3), color = 0, key = 0;
    MPI_Comm comm;
    int rank, n;

    MPI_Comm_rank(w->world, &rank);
    MPI_Comm_size(w->world, &n);
    for (int i = 0; i < n; i++) {
        int its_color = draw(&w->shared, colors), its_key = draw(&w->shared, 1000);

        color = i == rank ? its_color : color;
        key = i == rank ? its_key : key;
    }
    if (form == 0)
        MPI(MPI_Comm_dup(w->world, &comm));
    else
        MPI(MPI_Comm_split(w->world, form == 1 ? 0 : color, key, &comm));
    return comm;
}

static void run_round(struct worker *w)
{
    struct random_plan plans[MAX_PLANS];
    MPI_Comm comm = random_comm(w);
    uint64_t state = check_random(&w->shared);
    int n = 1 + draw(&state, MAX_PLANS), starts = draw(&state, max_starts + 1);
    int early = draw(&state, 3) == 0, order[MAX_PLANS];

    for (int i = 0; i < n; i++)
        random_plan_init(&plans[i], nrows > 0 ? &rows[draw(&state, nrows)] : NULL, &state,
                         &w->local, (size_t)max_bytes, comm);
    if (early)
        MPI(MPI_Comm_free(&comm));
    for (int k = 0; k < starts; k++)
        start_and_complete(plans, n, w);
    shuffle(order, n, &w->local);
    for (int i = 0; i < n; i++)
        random_plan_free(&plans[order[i]]);
    if (!early)
        MPI(MPI_Comm_free(&comm));
}

static void work(struct worker *worker)
{
    for (int round = 0; round < rounds; round++)
        run_round(worker);
}

/* The rows name parts of the list, which is cut into its words. */
static void find_rows(char *list)
{
    char *next = NULL;

    for (char *row = strtok_r(list, ",", &next); row != NULL; row = strtok_r(NULL, ",", &next)) {
        char *algorithm = strchr(row, '/');

        if (algorithm != NULL)
            *algorithm++ = '\0';
        if (algorithm == NULL || coll_find(row) == COLLS || nrows == MAX_ROWS)
            check_fail(__FILE__, __LINE__, "-rows: there is no %s", row);
        else
            rows[nrows++] = (struct random_row){coll_find(row), algorithm};
    }
}

int main(int argc, char **argv)
{
    const char *list;
    char *words;
    const int nthreads = workers_init(&argc, &argv);

    rounds = (int)check_number("rounds", 40);
    max_starts = (int)check_number("starts", 8);
    max_bytes = (int)check_number("bytes", 20000);
    list = check_option("rows");
    words = strdup(list ? list : "");
    find_rows(words);
    check_phase("%d rounds in %d threads", rounds, nthreads);
    workers_run(nthreads, work);
    free(words);
    check_note("%lu starts", (unsigned long)all_starts);
    return check_done();
}
