/* What races find is kept in a file (MPIR_CVAR_COLL_OFFLOAD_WISDOM), which each process names for
 * itself; that of rank 0 counts. Without options broadcasts race, by a table that promises most of
 * a slow candidate, and MPI_Finalize writes a rule for each size, most of which name another one
 * (with -one-core it is a hundred times as slow, as each message takes a change of context).
 *
 *   -declined    the first init of the shape is declined, and a later one races
 *   -given       the file already has rules, which decide
 *   -bad=KIND    it is a directory, a FIFO, truncated, of another schema or machine: it stays as it
 *                is, and the model chooses */

#include "trial.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZES = 9, STEP = 8 };

static const char media[] =
    "\"media\": {\"shm\": {\"L\": 0.1, \"o\": 0.02, \"g\": 0.02, \"G\": 0.0001, \"rma\": 1.6, "
    "\"copy\": 0.0001, \"call\": 0.1, \"turn\": 1.5}}";
static const char lie[] = "{\"medium\": \"shm\", \"coll\": \"bcast\", \"algorithm\": "
                          "\"knomial_put\", \"path\": \"user\", "
                          "\"ranks\": %d, \"bytes\": [8], \"factor\": [0.01]}";
static char path[64], table[64], text[1000], lies[1000];

static const char *option(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], name, strlen(name)) == 0)
            return argv[i] + strlen(name);
    return NULL;
}

static void write_text(const char *to, const char *content)
{
    FILE *out = fopen(to, "w");

    if (!out || fputs(content, out) < 0 || fclose(out) != 0)
        fprintf(stderr, "%s: %s\n", to, strerror(errno));
}

/* Empty if the file cannot be read. */
static const char *read_text(void)
{
    static char now[10000];
    FILE *in = fopen(path, "r");

    memset(now, 0, sizeof(now));
    if (in && fread(now, 1, sizeof(now) - 1, in) == 0)
        now[0] = '\0';
    if (in)
        fclose(in);
    return now;
}

static void make_file(const char *bad, int given)
{
    const char *machine =
        bad && strcmp(bad, "machine") == 0 ? "\"machine\": {\"cores\": 54321}, " : "";
    const int schema = bad && strcmp(bad, "schema") == 0 ? 54321 : 1;

    snprintf(text, sizeof(text),
             "{\"pcoll_tuning\": %d, %s%s, \"rules\": [{\"coll\": \"bcast\", \"algorithm\": "
             "\"chain\"}]}\n",
             schema, machine, media);
    if (bad && strcmp(bad, "truncated") == 0)
        text[strlen(text) / 2] = '\0';
    if (bad && strcmp(bad, "directory") == 0)
        mkdir(path, 0700);
    else if (bad && strcmp(bad, "fifo") == 0)
        mkfifo(path, 0600);
    else if (bad || given)
        write_text(path, text);
}

static void make_table(void)
{
    int n = snprintf(lies, sizeof(lies), "{\"pcoll_tuning\": 1, %s, \"corrections\": [", media);

    for (int ranks = 2; ranks <= 3; ranks++) {
        n += snprintf(lies + n, sizeof(lies) - (size_t)n, lie, ranks);
        n += snprintf(lies + n, sizeof(lies) - (size_t)n, "%s", ranks < 3 ? ", " : "]}\n");
    }
    write_text(table, lies);
}

/* An init in which ranks name different sizes is not served; nobody starts it. */
static void be_declined(void)
{
    MPI_Request request;
    void *buffer = check_alloc(2 * STEP);

    check_phase("declined");
    MPI(MPI_Bcast_init(buffer, check.rank == 0 ? STEP : 2 * STEP, MPI_BYTE, 0, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &request));
    MPI(MPI_Request_free(&request));
    check_free(buffer);
}

static void broadcast(void)
{
    struct trial trial;

    check_phase("broadcast");
    for (size_t bytes = STEP; bytes <= SIZES * STEP; bytes += STEP) {
        trial_init(&trial, TRIAL_BCAST, bytes, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
        trial_run(&trial, 3);
        trial_free(&trial);
    }
}

/* Returns whether there is a rule for each size, and most do not name the candidate of which the
 * table promises most. */
static int is_learned(void)
{
    const char *at = strstr(read_text(), "\"rules\"");
    int learned = 0, slow = 0;

    while (at && (at = strstr(at, "{ \"coll\": \"bcast\"")) != NULL) {
        const char *name = strstr(at, "\"algorithm\": \"");

        learned += 1;
        slow += name && strstr(name, "\"knomial_put\"") == name + strlen("\"algorithm\": ");
        at += 1;
    }
    return learned == SIZES && 2 * slow < SIZES;
}

/* After MPI_Finalize, on the rank whose file counts. */
static int is_right(const char *bad, int given)
{
    struct stat status;

    if (!bad && !given)
        return is_learned();
    if (stat(path, &status) != 0)
        return 0;
    return S_ISREG(status.st_mode) ? strcmp(read_text(), text) == 0
                                   : S_ISDIR(status.st_mode) == (strcmp(bad, "directory") == 0);
}

int main(int argc, char **argv)
{
    const char *bad = option(argc, argv, "-bad=");
    const int given = option(argc, argv, "-given") != NULL;
    int status;

    snprintf(path, sizeof(path), "/tmp/pcoll-test-wisdom-%ld", (long)getpid());
    snprintf(table, sizeof(table), "/tmp/pcoll-test-table-%ld", (long)getpid());
    make_file(bad, given);
    make_table();
    setenv("MPIR_CVAR_COLL_OFFLOAD_WISDOM", path, 1);
    setenv("MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE", table, 1);
    setenv("MPIR_CVAR_COLL_OFFLOAD_EFFORT", "measure", 0);
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check_option("declined") != NULL)
        be_declined();
    broadcast();
    status = check_done();
    if (check.rank == 0 && !is_right(bad, given)) {
        fprintf(stderr, "the file is not as it should be:\n%s\n", read_text());
        status = 1;
    }
    if (remove(path) != 0 && check.rank == 0)
        perror(path);
    remove(table);
    return status;
}
