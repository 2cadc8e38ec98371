/* What a job got from its persistent collectives. */

#include "job_report.h"

#include "child.h"
#include "comm.h"
#include "media_calls.h"
#include "mpich_version.h"
#include "plan.h"
#include "report.h"
#include "settings.h"

#include <fcntl.h>
#include <unistd.h>

#include "offload/times.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_REPORT
      category    : COLLECTIVE
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        What MPI_Finalize tells of the persistent collectives of the job: for each shape its plan,
        or why it has none, the predicted and the measured times, how much of these the ranks
        waited, and how often they slept; and how often ranks polled the network. Values: 0 or
        unset (nothing), 1 (a table on standard error), a path (the same as JSON in a file). Set it
        to find out what a program gets from plans. If no communicator with such calls has all
        ranks of the job, each rank 0 of one reports for those that it is rank 0 of, in a file with
        its number behind the path.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* The last row counts what found no room. */
enum { MAX_ROWS = 256, OTHERS = MAX_ROWS - 1, TAG = MPIR_GATHER_TAG };

/* Bytes between members are 0, as keys are compared as bytes. */
struct key {
    enum pcoll_coll coll;
    int nranks, nnodes;
    uint64_t bytes;
    bool leads; /* the process is rank 0 of the communicator */
    bool is_promoted, is_plan;
    bool is_others; /* the last row, of all other keys */
    bool is_end;    /* no row follows, in messages */
    char medium[16];
    char how[PCOLL_CHOICE_BYTES]; /* the choice, or why there is no plan */
};

struct row {
    struct key key;
    uint64_t inits; /* 0: an empty row */
    double predicted_us;
    struct pcoll_times times;
};

/* Polls of the network. */
struct polls {
    uint64_t all, most;    /* of all ranks, and of the one that polled most often */
    uint64_t npolling, ns; /* how many ranks did, and for how long one had a network at most */
};

struct table {
    struct row *rows[MAX_ROWS]; /* from the first on */
    struct polls polls;
};

static struct {
    bool is_read, is_wanted;           /* the setting */
    char path[MPIDI_PCOLL_PATH_BYTES]; /* "": a table on standard error */
    int keyval;                        /* of an attribute of MPI_COMM_SELF */
    bool has_attribute;
    bool is_of_all; /* one table tells of all ranks of the job */
    bool is_reported;
    struct table own; /* plans point to the times of its rows */
} job = {.keyval = MPI_KEYVAL_INVALID};

bool MPIDI_PCOLL_job_wants_report(void)
{
    const char *value = MPIR_CVAR_COLL_OFFLOAD_REPORT;

    if (job.is_read)
        return job.is_wanted;
    job.is_read = true;
    job.is_wanted = value && *value && strcmp(value, "0") != 0;
    if (job.is_wanted && strcmp(value, "1") != 0)
        MPIDI_PCOLL_absolute_path(value, job.path);
    return job.is_wanted;
}

/* ---- rows ---- */

/* What finds no row of its own; counted on all ranks. */
static const struct key others = {
    .leads = true, .is_plan = true, .is_others = true, .medium = "any", .how = "any"};

/* The row of the key, a new one if it has none; NULL: out of memory. */
static struct row *find_row(struct table *table, const struct key *key)
{
    struct row **slot = table->rows;

    while (slot < &table->rows[OTHERS] && *slot && memcmp(&(*slot)->key, key, sizeof(*key)) != 0)
        slot++;
    if (*slot)
        return *slot;
    *slot = MPL_calloc(1, sizeof(**slot), MPL_MEM_COLL);
    if (!*slot)
        return NULL;
    (*slot)->key = slot == &table->rows[OTHERS] ? others : *key;
    return *slot;
}

static void key_of(const struct MPIDI_PCOLL_call *call, struct key *key)
{
    const struct pcoll_signature *signature = &call->signature;

    memset(key, 0, sizeof(*key));
    key->coll = signature->coll;
    key->nranks = signature->nranks;
    key->nnodes =
        signature->topology ? signature->topology->nnodes : MPIDI_PCOLL_count_nodes(call->comm);
    key->bytes = signature->bytes;
    key->leads = call->comm->rank == 0;
    key->is_promoted = call->is_promoted;
}

void MPIDI_PCOLL_job_add_plan(const struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_plan *plan,
                              const struct pcoll_choice *choice)
{
    struct pcoll_bound *timed;
    struct key key;
    struct row *row;

    if (!MPIDI_PCOLL_job_wants_report())
        return;
    key_of(call, &key);
    key.is_plan = true;
    snprintf(key.medium, sizeof(key.medium), "%s", plan->medium->name);
    pcoll_choice_text(choice, key.how);
    row = find_row(&job.own, &key);
    if (!row)
        return;
    row->inits++;
    row->predicted_us = choice->predicted_us;
    if (pcoll_times_watch(plan->bound, &row->times, &timed) != PCOLL_OK)
        return;
    plan->bound = timed;
    plan->medium = timed->medium;
}

void MPIDI_PCOLL_job_add_declined(const struct MPIDI_PCOLL_call *call)
{
    struct key key;
    struct row *row;

    if (!MPIDI_PCOLL_job_wants_report())
        return;
    key_of(call, &key);
    if (call->is_once)
        key.bytes = 0; /* most of these calls are not described */
    snprintf(key.how, sizeof(key.how), "%s", call->why ? call->why : "");
    row = find_row(&job.own, &key);
    if (row)
        row->inits++;
}

/* ---- MPI_T ---- */

#define SUM(name, member)                                                                          \
    static void get_##name(void *address, void *object, int count, void *value)                    \
    {                                                                                              \
        unsigned long sum = 0;                                                                     \
                                                                                                   \
        for (int i = 0; i < MAX_ROWS && job.own.rows[i]; i++)                                      \
            sum += job.own.rows[i]->times.member;                                                  \
        *(unsigned long *)value = sum;                                                             \
    }

SUM(starts, starts)
SUM(sleeps, sleeps)
SUM(timed, timed)
SUM(ns, ns)
SUM(waiting_ns, waiting_ns)

#define REGISTER(name, text)                                                                       \
    MPIR_T_PVAR_COUNTER_REGISTER_DYNAMIC_impl(                                                     \
        MPI_UNSIGNED_LONG, coll_offload_report_##name, NULL, 1, MPI_T_VERBOSITY_USER_BASIC,        \
        MPI_T_BIND_NO_OBJECT, MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, get_##name, \
        NULL, "COLLECTIVE", text)

void MPIDI_PCOLL_job_pvars_init(void)
{
    REGISTER(starts, "starts of plans, with MPIR_CVAR_COLL_OFFLOAD_REPORT");
    REGISTER(timed, "how many of these were timed");
    REGISTER(ns, "ns from start to completion of those that were timed");
    REGISTER(waiting_ns, "of these, ns in MPI_Wait, in a process without threads");
    REGISTER(sleeps, "how often this rank may have slept in MPI_Wait");
}

/* ---- one table of all ranks ---- */

static void add_row(struct table *table, const struct row *more)
{
    struct row *row = find_row(table, &more->key);

    if (!row)
        return;
    row->inits += more->inits;
    if (more->predicted_us > 0) /* only rank 0 of the communicator knows */
        row->predicted_us = more->predicted_us;
    pcoll_times_add(&row->times, &more->times);
}

/* Calls are counted on rank 0 of their communicator alone. */
static void add_own(struct table *all)
{
    struct row row;

    for (int i = 0; i < MAX_ROWS && job.own.rows[i]; i++) {
        row = *job.own.rows[i];
        if (!row.key.leads)
            row.inits = row.times.starts = 0;
        row.key.leads = false;
        if (row.inits > 0 || row.times.timed > 0)
            add_row(all, &row);
    }
}

static void add_polls(struct polls *sum, const struct polls *more)
{
    sum->all += more->all;
    sum->npolling += more->npolling;
    sum->most = MPL_MAX(sum->most, more->most);
    sum->ns = MPL_MAX(sum->ns, more->ns);
}

static struct polls own_polls(void)
{
    const struct MPIDI_PCOLL_polls own = MPIDI_PCOLL_network_polls();

    return (struct polls){own.polls, own.polls, own.polls > 0, own.ns};
}

static int send_bytes(const void *message, MPI_Aint bytes, int to)
{
    MPIR_Request *request = NULL;
    int mpi_errno = MPIDI_PCOLL_isend(message, bytes, to, TAG, MPIR_Process.comm_world, &request);

    return mpi_errno == MPI_SUCCESS ? MPIDI_PCOLL_waitall(1, &request) : mpi_errno;
}

static int receive_bytes(void *message, MPI_Aint bytes, int from)
{
    MPIR_Request *request = NULL;
    int mpi_errno = MPIDI_PCOLL_irecv(message, bytes, from, TAG, MPIR_Process.comm_world, &request);

    return mpi_errno == MPI_SUCCESS ? MPIDI_PCOLL_waitall(1, &request) : mpi_errno;
}

static int send_row(const struct row *row, int to)
{
    return send_bytes(row, sizeof(*row), to);
}

static int receive_row(struct row *row, int from)
{
    return receive_bytes(row, sizeof(*row), from);
}

static int send_table(const struct table *table, int to)
{
    const struct row end = {.key = {.is_end = true}};
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < MAX_ROWS && table->rows[i] && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = send_row(table->rows[i], to);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = send_row(&end, to);
    return mpi_errno == MPI_SUCCESS ? send_bytes(&table->polls, sizeof(table->polls), to)
                                    : mpi_errno;
}

static int receive_table(struct table *table, int from)
{
    struct polls polls;
    struct row row;
    int mpi_errno = receive_row(&row, from);

    while (mpi_errno == MPI_SUCCESS && !row.key.is_end) {
        add_row(table, &row);
        mpi_errno = receive_row(&row, from);
    }
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = receive_bytes(&polls, sizeof(polls), from);
    if (mpi_errno == MPI_SUCCESS)
        add_polls(&table->polls, &polls);
    return mpi_errno;
}

/* Collective over the job, along a binomial tree: *table becomes that of this rank and of those
 * below it. */
static int gather(struct table *table)
{
    const int rank = MPIR_Process.rank, size = MPIR_Process.size;
    int mpi_errno = MPI_SUCCESS;

    for (int distance = 1; distance < size && mpi_errno == MPI_SUCCESS; distance *= 2) {
        if (rank & distance)
            return send_table(table, rank - distance);
        if (rank + distance < size)
            mpi_errno = receive_table(table, rank + distance);
    }
    return mpi_errno;
}

/* ---- printing ---- */

static double total_us(const struct row *row)
{
    const struct pcoll_times *times = &row->times;

    return times->timed > 0 ? (double)times->ns / 1000 / times->timed * times->starts : 0;
}

/* What took most time goes first. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
    const double difference = total_us(y) - total_us(x);

    if (difference != 0)
        return difference > 0 ? 1 : -1;
    return y->inits > x->inits ? 1 : y->inits < x->inits ? -1 : 0;
}

static int sort(struct table *table)
{
    int n = 0;

    while (n < MAX_ROWS && table->rows[n])
        n++;
    qsort(table->rows, (size_t)n, sizeof(table->rows[0]), compare_rows);
    return n;
}

static double waiting(const struct row *row)
{
    return row->times.ns > 0 ? (double)row->times.waiting_ns / row->times.ns : 0;
}

static const char *name_of(const struct row *row)
{
    return row->key.is_others ? "others" : pcoll_coll_name(row->key.coll);
}

static void print_row(const struct row *row, FILE *out)
{
    const struct key *key = &row->key;
    const struct pcoll_times *times = &row->times;

    fprintf(out, "%-21s %10llu %5d %5d %8llu", name_of(row), (unsigned long long)key->bytes,
            key->nranks, key->nnodes, (unsigned long long)row->inits);
    if (key->is_plan)
        fprintf(out, " %10llu %9.2f %9.2f %9.2f %4.0f %% %8llu  %s%s: %s\n",
                (unsigned long long)times->starts, row->predicted_us, (double)times->min_ns / 1000,
                pcoll_times_median_us(times), 100 * waiting(row), (unsigned long long)times->sleeps,
                key->is_promoted ? "promoted, " : "", key->medium, key->how);
    else
        fprintf(out, " %10s %9s %9s %9s %6s %8s  MPICH's path%s%s\n", "-", "-", "-", "-", "-", "-",
                *key->how ? ": " : "", key->how);
}

/* Polls a second of the rank that polled most often. */
static double rate(const struct polls *polls)
{
    return polls->ns > 0 ? (double)polls->most * 1e9 / polls->ns : 0;
}

static void print_table(const struct table *table, int n, const char *whose, FILE *out)
{
    fprintf(out, "pcoll: persistent collectives of %s (MPIR_CVAR_COLL_OFFLOAD_REPORT; us)\n",
            whose);
    fprintf(out, "%-21s %10s %5s %5s %8s %10s %9s %9s %9s %6s %8s  %s\n", "collective", "bytes",
            "ranks", "nodes", "inits", "starts", "predicted", "min", "median", "wait", "sleeps",
            "plan");
    for (int i = 0; i < n; i++)
        print_row(table->rows[i], out);
    if (table->polls.npolling > 0)
        fprintf(out,
                "%llu ranks polled the network %llu times, none more often than %.0f times a "
                "second\n",
                (unsigned long long)table->polls.npolling, (unsigned long long)table->polls.all,
                rate(&table->polls));
}

/* Names and reasons have no character that JSON would have to escape. */
static void write_row(const struct row *row, FILE *out)
{
    const struct key *key = &row->key;
    const struct pcoll_times *times = &row->times;

    fprintf(out,
            "{\"collective\": \"%s\", \"bytes\": %llu, \"ranks\": %d, \"nodes\": %d, "
            "\"inits\": %llu, ",
            name_of(row), (unsigned long long)key->bytes, key->nranks, key->nnodes,
            (unsigned long long)row->inits);
    if (!key->is_plan) {
        fprintf(out, "\"plan\": null, \"why\": \"%s\"}", key->how);
        return;
    }
    fprintf(out,
            "\"plan\": \"%s\", \"medium\": \"%s\", \"promoted\": %s, \"predicted_us\": %.3f, "
            "\"starts\": %llu, \"timed\": %llu, \"min_us\": %.3f, \"median_us\": %.3f, "
            "\"mean_us\": %.3f, \"waiting\": %.3f, \"sleeps\": %llu}",
            key->how, key->medium, key->is_promoted ? "true" : "false", row->predicted_us,
            (unsigned long long)times->starts, (unsigned long long)times->timed,
            (double)times->min_ns / 1000, pcoll_times_median_us(times),
            times->timed > 0 ? (double)times->ns / 1000 / times->timed : 0, waiting(row),
            (unsigned long long)times->sleeps);
}

static void write_table(const struct table *table, int n, const char *whose, FILE *out)
{
    fprintf(out, "{\"of\": \"%s\", \"collectives\": [", whose);
    for (int i = 0; i < n; i++) {
        fputs(i > 0 ? ",\n  " : "\n  ", out);
        write_row(table->rows[i], out);
    }
    fprintf(out, "\n],\n \"network\": {\"polling\": %llu, \"polls\": %llu, \"rate\": %.0f}}\n",
            (unsigned long long)table->polls.npolling, (unsigned long long)table->polls.all,
            rate(&table->polls));
}

/* NULL: see errno. A FIFO that nobody reads is refused, not waited for. */
static FILE *open_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "w") : NULL;

    if (fd >= 0 && !out)
        close(fd);
    return out;
}

/* Returns false if there is no such file, which a message says. */
static bool write_file(const struct table *table, int n, const char *whose)
{
    char path[MPIDI_PCOLL_PATH_BYTES + 16], message[sizeof(path) + 100];
    FILE *out;
    bool good;

    snprintf(path, sizeof(path), job.is_of_all ? "%s" : "%s.%d", job.path, MPIR_Process.rank);
    out = open_file(path);
    good = out != NULL;
    if (good) {
        write_table(table, n, whose, out);
        good = !ferror(out);
        good &= fclose(out) == 0;
    }
    if (good)
        return true;
    snprintf(message, sizeof(message), "MPIR_CVAR_COLL_OFFLOAD_REPORT: %s: %s", path,
             strerror(errno));
    MPIDI_PCOLL_report(message);
    return false;
}

static void show(struct table *table)
{
    const int n = sort(table);
    char whose[80];

    if (job.is_of_all)
        snprintf(whose, sizeof(whose), "all %d ranks", MPIR_Process.size);
    else
        snprintf(whose, sizeof(whose), "communicators whose rank 0 is process %d",
                 MPIR_Process.rank);
    if (job.path[0] && write_file(table, n, whose))
        return;
    print_table(table, n, whose, stderr);
    fflush(stderr);
}

static void free_table(struct table *table)
{
    for (int i = 0; i < MAX_ROWS; i++)
        MPL_free(table->rows[i]);
    memset(table, 0, sizeof(*table));
}

/* Rows of communicators of which this process is rank 0. */
static void add_led(struct table *table)
{
    for (int i = 0; i < MAX_ROWS && job.own.rows[i]; i++)
        if (job.own.rows[i]->key.leads)
            add_row(table, job.own.rows[i]);
}

/* Collective over the job if one table tells of all ranks. */
void MPIDI_PCOLL_job_report(void)
{
    struct table table = {.rows = {NULL}};

    if (job.is_reported)
        return;
    job.is_reported = true;
    (job.is_of_all ? add_own : add_led)(&table);
    table.polls = own_polls();
    if (job.is_of_all && gather(&table) != MPI_SUCCESS)
        MPIDI_PCOLL_report("MPIR_CVAR_COLL_OFFLOAD_REPORT: a message was lost, and the report "
                           "tells of some ranks only");
    if (job.is_of_all ? MPIR_Process.rank == 0 : table.rows[0] != NULL)
        show(&table);
    free_table(&table);
}

/* ---- from the first communicator to the end ---- */

/* Until 4.0, MPI_COMM_WORLD is gone when MPI_Finalize calls its callbacks, but works while the
 * attributes of MPI_COMM_SELF are deleted; since 4.1, it works in callbacks, which come first. */
static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (job.is_of_all && !MPIDI_PCOLL_is_child())
        MPIDI_PCOLL_job_report();
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return MPI_SUCCESS;
}

bool MPIDI_PCOLL_job_may_report_all(void)
{
    if (!MPIDI_PCOLL_job_wants_report() || !MPIR_Process.comm_self || !MPIR_Process.comm_world)
        return false;
    if (job.keyval == MPI_KEYVAL_INVALID)
        job.has_attribute = MPIDI_PCOLL_attach(MPIR_Process.comm_self, &job.keyval,
                                               delete_attribute, &job) == MPI_SUCCESS;
    return job.has_attribute;
}

void MPIDI_PCOLL_job_reports_all(const MPIR_Comm *comm)
{
    if (comm->local_size == MPIR_Process.size)
        job.is_of_all = true;
}

void MPIDI_PCOLL_job_report_free(void)
{
    free_table(&job.own);
    MPIDI_PCOLL_free_keyval(&job.keyval);
    memset(&job, 0, sizeof(job));
    job.keyval = MPI_KEYVAL_INVALID;
}
