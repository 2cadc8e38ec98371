/* All persistent collectives deliver the right data: sizes around the protocol boundaries, every
 * root, in place, several starts of every request.
 *
 * Each collective takes every third size, and one number of ranks after the other takes another
 * third.
 *
 *   -max=BYTES (4 MiB)   -starts=N (4)   -only=barrier,bcast,...
 *   -all-sizes           every collective takes every size
 *   -rows=COLLECTIVE/ALGORITHM,...   each of these alone, by its name, instead of all collectives
 */

#include "trial.h"

static const size_t sizes[] = {0,     1,     3,     8,      31,     47,      48,      49,
                               55,    56,    57,    63,     64,     65,      127,     1000,
                               4032,  4095,  4096,  4097,   8191,   8192,    8193,    16385,
                               65535, 65536, 65537, 131072, 200001, 1048575, 1048577, 4194304};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), THIRDS = 3, ROOTS_AT = 4, ROOTS_EVERY = 8 };
enum { TOPOLOGIES = 6 };

/* A new communicator for each trial would take longer than the trial. */
static struct {
    MPI_Comm comm; /* MPI_COMM_NULL until it is needed */
    struct edges edges;
} topologies[TOPOLOGIES];

static int starts;
static size_t max;

static void init_neighbors(struct trial *t, enum trial_kind kind, size_t bytes, uint64_t tag,
                           MPI_Info info)
{
    const uint64_t i = tag % TOPOLOGIES;

    if (topologies[i].comm == MPI_COMM_NULL)
        topologies[i].comm = topology_any(MPI_COMM_WORLD, i, &topologies[i].edges);
    trial_init_on(t, kind, bytes, 0, tag, topologies[i].comm, &topologies[i].edges, info);
}

static void try(enum trial_kind kind, size_t bytes, int root, MPI_Info info)
{
    int times = bytes > 200001 && starts > 2 ? 2 : starts;
    struct trial t;

    check_phase("%s of %zu bytes, root %d", trial_name(kind), bytes, root);
    if (coll_has(trial_coll(kind), NEIGHBOR))
        init_neighbors(&t, kind, bytes, bytes, info);
    else
        trial_init(&t, kind, bytes, root, bytes + (uint64_t)root, MPI_COMM_WORLD, info);
    trial_run(&t, times);
    trial_free(&t);
}

/* All roots at one size of each third, otherwise the last and one that changes with the size. */
static void try_roots(enum trial_kind kind, int i, MPI_Info info)
{
    const int middle = (int)(sizes[i] % 7) % check.size;

    for (int root = 0; root < check.size; root++)
        if (i % ROOTS_EVERY == ROOTS_AT || root == check.size - 1 || root == middle)
            try(kind, sizes[i], root, info);
}

/* All blocks together are at most twice as long as requested. */
static int is_short(enum coll coll, size_t bytes)
{
    const struct collective *c = &collectives[coll];
    const int has_one =
        (c->sends == ONE_BLOCK && c->receives <= ONE_OF_OTHERS && c->receives != ONE_PER_RANK) ||
        coll == COLL_BCAST;

    return has_one || bytes == 0 || bytes * (size_t)check.size <= 2 * max;
}

static void try_sizes(enum trial_kind kind, MPI_Info info)
{
    const enum coll coll = trial_coll(kind);

    for (int i = 0; i < SIZES && sizes[i] <= max; i++) {
        if ((i + check.size + (int)coll) % THIRDS != 0 && check_option("all-sizes") == NULL)
            continue;
        if (!is_short(coll, sizes[i]))
            continue;
        if (coll_has(coll, ROOTED))
            try_roots(kind, i, info);
        else
            try(kind, sizes[i], 0, info);
    }
}

static void try_collective(enum coll coll, MPI_Info info)
{
    for (int kind = 0; kind < TRIAL_KINDS; kind++) {
        if (trial_coll((enum trial_kind)kind) != coll)
            continue;
        if (coll == COLL_BARRIER)
            try(TRIAL_BARRIER, 0, 0, info);
        else
            try_sizes((enum trial_kind)kind, info);
    }
}

static void try_row(char *row)
{
    char *algorithm = strchr(row, '/');
    enum coll coll;
    MPI_Info info;

    if (algorithm != NULL)
        *algorithm++ = '\0';
    coll = coll_find(row);
    if (algorithm == NULL || coll == COLLS) {
        check_fail(__FILE__, __LINE__, "-rows: there is no %s", row);
        return;
    }
    check_note("%s/%s", row, algorithm);
    info = call_algorithm(algorithm);
    trial_side_by_side = strcmp(algorithm, "direct") != 0;
    try_collective(coll, info);
    MPI(MPI_Info_free(&info));
}

static void try_rows(const char *list)
{
    char *rows = strdup(list), *next = NULL;

    for (char *row = strtok_r(rows, ",", &next); row != NULL; row = strtok_r(NULL, ",", &next))
        try_row(row);
    free(rows);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    starts = (int)check_number("starts", 4);
    max = (size_t)check_number("max", 4 << 20);
    for (int i = 0; i < TOPOLOGIES; i++)
        topologies[i].comm = MPI_COMM_NULL;
    if (check_option("rows") != NULL)
        try_rows(check_option("rows"));
    else
        for (int coll = 0; coll < COLLS; coll++)
            if (coll_wanted((enum coll)coll))
                try_collective((enum coll)coll, MPI_INFO_NULL);
    for (int i = 0; i < TOPOLOGIES; i++)
        if (topologies[i].comm != MPI_COMM_NULL)
            MPI(MPI_Comm_free(&topologies[i].comm));
    return check_done();
}
