/* MPI_Finalize reports what a job got from its persistent collectives
 * (MPIR_CVAR_COLL_OFFLOAD_REPORT): each process names a file; that of rank 0 counts.
 *
 *   -once     after two requests that are used once MPICH serves the next ones; each prints a line
 *   -mpich    no medium serves the communicator (MPIR_CVAR_COLL_OFFLOAD_MEDIUM=mpich)
 *   -parts    no communicator has all ranks: each leader writes a file of its own
 *   -one      only rank 0 wants a report
 *   -bad      there is no such folder: a message, and the table on standard error
 *   -fifo     the same, of a FIFO that nobody reads */

#include "trial.h"

#include <sys/stat.h>
#include <unistd.h>

enum { BARRIERS = 20, PLANS = 3, STARTS = 5, BYTES = 24 };

/* Of the requests that are used once, so many have a plan, and so many have none. */
enum { ONCE = 2, NO_MORE = 3 };

/* The first 8 starts of a plan are timed, then every eighth. */
enum { TIMED_BARRIERS = 10 };

static char path[64], path_of_rank[80], printed[80];
static int nodes = 1, is_mpich;

static int has_option(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return 0;
}

static void run(enum trial_kind kind, int starts, MPI_Comm comm)
{
    struct trial trial;

    trial_init(&trial, kind, BYTES, 0, 3, comm, MPI_INFO_NULL);
    trial_run(&trial, starts);
    trial_free(&trial);
}

/* An init in which ranks name different sizes is not served; nobody starts it. */
static void be_declined(MPI_Comm comm)
{
    MPI_Request request;
    void *buffer = check_alloc(2 * BYTES);

    MPI(MPI_Bcast_init(buffer, check.rank == 0 ? BYTES : 2 * BYTES, MPI_BYTE, 0, comm,
                       MPI_INFO_NULL, &request));
    MPI(MPI_Request_free(&request));
    check_free(buffer);
}

static void call_all(MPI_Comm comm)
{
    const long long before = check_pvar("coll_offload_report_starts");

    check_phase("calls");
    run(TRIAL_BARRIER, BARRIERS, comm);
    for (int i = 0; i < PLANS; i++)
        run(TRIAL_BCAST, STARTS, comm);
    CHECK(before >= 0);
    if (is_mpich)
        return;
    CHECK(check_pvar("coll_offload_report_starts") - before == BARRIERS + PLANS * STARTS);
    CHECK(check_pvar("coll_offload_report_timed") > 0);
    CHECK(check_pvar("coll_offload_report_ns") >= check_pvar("coll_offload_report_waiting_ns"));
    CHECK(check_pvar("coll_offload_report_sleeps") >= 0);
}

/* The row that begins so, up to its end; "": there is none. */
static const char *row_of(const char *text, const char *begin)
{
    static char row[1000];
    const char *at = strstr(text, begin);

    snprintf(row, sizeof(row), "%s", at ? at : "");
    row[strcspn(row, "}")] = '\0';
    return row;
}

static int has(const char *row, const char *name, int number)
{
    char text[80];

    snprintf(text, sizeof(text), "\"%s\": %d,", name, number);
    return strstr(row, text) != NULL;
}

static int has_used_once(const char *text)
{
    const char *row = row_of(text, "\"allgather\", \"bytes\": 24,");
    const int has_plans = has(row, "inits", ONCE) && has(row, "nodes", nodes);

    row = row_of(text, "\"allgather\", \"bytes\": 0,");
    return has_plans && has(row, "inits", NO_MORE) && has(row, "nodes", nodes) &&
           strstr(row, "\"plan\": null, \"why\": \"the last requests");
}

/* A line for each on standard error. */
static int has_printed_once(const char *text)
{
    int lines = 0;

    while ((text = strstr(text, "allgather goes to MPICH's path: the last requests")) != NULL) {
        lines++;
        text++;
    }
    return lines == NO_MORE;
}

static int is_right(const char *text, int ranks, int reporting, int declined)
{
    char begin[100];
    const char *row;

    snprintf(begin, sizeof(begin), "\"barrier\", \"bytes\": 0, \"ranks\": %d, \"nodes\": %d,",
             ranks, nodes);
    row = row_of(text, begin);
    if (is_mpich)
        return has(row, "inits", 1) && strstr(row, "\"plan\": null, \"why\": \"no medium");
    if (!has(row, "inits", 1) || !has(row, "starts", BARRIERS) ||
        !has(row, "timed", reporting * TIMED_BARRIERS) ||
        (nodes == 1 && !strstr(row, "\"medium\": \"shm\"")))
        return 0;
    snprintf(begin, sizeof(begin),
             "\"bcast\", \"bytes\": %d, \"ranks\": %d, \"nodes\": %d, \"inits\": %d, \"plan\": \"",
             BYTES, ranks, nodes, PLANS);
    row = row_of(text, begin);
    if (!has(row, "starts", PLANS * STARTS) || !has(row, "timed", reporting * PLANS * STARTS))
        return 0;
    return !declined || *row_of(text, "\"inits\": 1, \"plan\": null, \"why\": \"");
}

/* Empty if the file cannot be read. */
static const char *read_text(const char *name)
{
    static char text[20000];
    FILE *in = fopen(name, "r");

    memset(text, 0, sizeof(text));
    if (in && fread(text, 1, sizeof(text) - 1, in) == 0)
        text[0] = '\0';
    if (in)
        fclose(in);
    return text;
}

/* The file has such a report, or does not exist. */
static int expect(const char *name, int exists, int ranks, int reporting, int declined)
{
    const char *text = read_text(name);
    const int good = exists ? is_right(text, ranks, reporting, declined) : *text == '\0';

    if (!good)
        fprintf(stderr, "%s is not as it should be:\n%s\n", name, text);
    remove(name);
    return good ? 0 : 1;
}

/* What has been printed on standard error is a message and the table; what else it may be is shown.
 */
static int has_printed_all(void)
{
    const char *text = read_text(printed);
    const int good = strstr(text, path) && strstr(text, "collective ") &&
                     strstr(text, "\nbarrier ") && strstr(text, "\nbcast ");

    if (!good)
        printf("on standard error:\n%s\n", text);
    return good;
}

int main(int argc, char **argv)
{
    const int once = has_option(argc, argv, "-once");
    const int parts = has_option(argc, argv, "-parts"), one = has_option(argc, argv, "-one");
    const int fifo = has_option(argc, argv, "-fifo");
    const int bad = has_option(argc, argv, "-bad") || fifo, all = !parts && !one && !bad;
    const char *rank = getenv("PMI_RANK"), *cliques = getenv("MPIR_CVAR_NUM_CLIQUES");
    const int reports = !one || (rank && atoi(rank) == 0);
    int status, leads, size;
    MPI_Comm comm = MPI_COMM_WORLD;

    is_mpich = has_option(argc, argv, "-mpich");
    nodes = cliques ? atoi(cliques) : 1;
    snprintf(path, sizeof(path), "/tmp/pcoll-test-report%s-%ld", bad && !fifo ? "/none" : "",
             (long)getpid());
    if (reports)
        setenv("MPIR_CVAR_COLL_OFFLOAD_REPORT", path, 1);
    snprintf(printed, sizeof(printed), "/tmp/pcoll-test-printed-%ld", (long)getpid());
    if ((bad || once) && !freopen(printed, "w", stderr))
        return 1;
    if (fifo && mkfifo(path, 0600) != 0)
        return 1;
    if (once) {
        setenv("MPIR_CVAR_COLL_OFFLOAD_USED_ONCE", "2", 1);
        setenv("MPIR_CVAR_COLL_OFFLOAD_VERBOSE", "1", 1);
    }
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (parts)
        MPI(MPI_Comm_split(MPI_COMM_WORLD, check.rank / 2, 0, &comm));
    MPI_Comm_rank(comm, &leads);
    MPI_Comm_size(comm, &size);
    leads = leads == 0;
    if (reports)
        call_all(comm);
    else
        for (int i = 0; i <= PLANS; i++)
            run(i == 0 ? TRIAL_BARRIER : TRIAL_BCAST, i == 0 ? BARRIERS : STARTS, comm);
    if (all && size > 1)
        be_declined(comm);
    for (int i = 0; once && i < ONCE + NO_MORE; i++)
        run(TRIAL_ALLGATHER, 1, comm);
    snprintf(path_of_rank, sizeof(path_of_rank), "%s.%d", path, check.rank);
    if (parts)
        MPI(MPI_Comm_free(&comm));
    status = check_done();
    if (bad && leads && !has_printed_all())
        status = 1;
    fflush(stderr);
    if (once && leads && !has_printed_once(read_text(printed))) {
        printf("not a line for each on standard error:\n%s\n", read_text(printed));
        status = 1;
    }
    remove(printed);
    if (fifo)
        remove(path);
    if (once && leads && !has_used_once(read_text(path))) {
        fprintf(stderr, "requests that are used once have other rows\n");
        status = 1;
    }
    status |= expect(path, all && leads, size, size, size > 1);
    return status | expect(path_of_rank, (parts && leads) || (one && leads), size, 1, 0);
}
