/*
 * pcoll-info: what the chooser would choose, from a tuning table alone, without MPI.
 *
 * For each collective it prints a map from sizes to choices.  The sizes at which the choice changes
 * are found by halving between powers of two.
 */
#include "algorithms/topology.h"
#include "tuning/choose.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    const char *path; /* of the table; NULL: built-in */
    int coll;         /* -1: all */
    int nranks, nnodes;
    uint64_t most;      /* bytes */
    int64_t candidates; /* of this size only; -1: the map */
    int only_check, only_names;
    struct pcoll_caps caps;
    struct pcoll_table *table;
    struct pcoll_topology *topology;
};

static void usage(FILE *out)
{
    fputs(
        "usage: pcoll-info [options]   what is chosen, for a communicator's shape\n"
        "  --table=FILE        tuning table (default: the built-in one)\n"
        "  --ranks=N           (8)\n"
        "  --nodes=M           the ranks lie on, one after the other (1)\n"
        "  --cores=C           of a node; fewer than its ranks: they take turns (0: enough)\n"
        "  --medium=NAME       of the table (shm, with several nodes ofi_rma)\n"
        "  --level=NAME        same_cache, other_cache, other_socket, other_host: of the ranks of\n"
        "                      a node (any)\n"
        "  --no-cma            no access to the user buffers of other ranks\n"
        "  --coll=NAME         barrier, bcast or allgather (all)\n"
        "  --max-bytes=B       end of the map (67108864)\n"
        "  --candidates=BYTES  all candidates for this size, cheapest first\n"
        "  --algorithms        the algorithms there are\n"
        "  --check             only read the table\n"
        "Exit status: 0, 1 if the table is invalid, 2 for a bad command line.\n",
        out);
}

__attribute__((noreturn)) static void refuse(const char *option, const char *value,
                                             const char *allowed)
{
    fprintf(stderr, "pcoll-info: --%s: '%s' is not allowed (allowed: %s)\n", option, value,
            allowed);
    exit(2);
}

static int64_t number(const char *option, const char *value, int64_t least, int64_t most)
{
    char *end = NULL, allowed[64];
    const long long result = strtoll(value, &end, 10);

    if (*value != '\0' && *end == '\0' && result >= least && result <= most)
        return result;
    snprintf(allowed, sizeof(allowed), "%lld to %lld", (long long)least, (long long)most);
    refuse(option, value, allowed);
}

static int find_coll(const char *name)
{
    for (int i = 0; i < PCOLL_NUM_COLLS; i++)
        if (strcmp(pcoll_coll_name((enum pcoll_coll)i), name) == 0)
            return i;
    refuse("coll", name, "barrier, bcast, allgather");
}

static enum pcoll_level find_level(const char *name)
{
    const int level = pcoll_level_find(name);

    if (level < 0)
        refuse("level", name, "any, same_cache, other_cache, other_socket, other_host");
    return (enum pcoll_level)level;
}

/* ---- command line ---- */

static const struct option options[] = {{"table", required_argument, NULL, 't'},
                                        {"ranks", required_argument, NULL, 'n'},
                                        {"nodes", required_argument, NULL, 'm'},
                                        {"cores", required_argument, NULL, 'c'},
                                        {"rails", required_argument, NULL, 'r'},
                                        {"medium", required_argument, NULL, 'M'},
                                        {"level", required_argument, NULL, 'l'},
                                        {"no-cma", no_argument, NULL, 'u'},
                                        {"coll", required_argument, NULL, 'C'},
                                        {"max-bytes", required_argument, NULL, 'b'},
                                        {"candidates", required_argument, NULL, 'k'},
                                        {"algorithms", no_argument, NULL, 'a'},
                                        {"check", no_argument, NULL, 'x'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

static void take_option(struct settings *settings, int option, const char *value)
{
    struct pcoll_caps *caps = &settings->caps;

    switch (option) {
        case 't':
            settings->path = value;
            break;
        case 'n':
            settings->nranks = (int)number("ranks", value, 1, 1 << 24);
            break;
        case 'm':
            settings->nnodes = (int)number("nodes", value, 1, 1 << 24);
            break;
        case 'c':
            caps->cores = (int)number("cores", value, 0, 1 << 24);
            break;
        case 'r':
            caps->rails = (int)number("rails", value, 1, 64);
            break;
        case 'M':
            caps->medium = value;
            break;
        case 'l':
            caps->level = find_level(value);
            break;
        case 'u':
            caps->provides &= ~(unsigned)PCOLL_NEED_USER_RMA;
            break;
        case 'C':
            settings->coll = find_coll(value);
            break;
        case 'b':
            settings->most = (uint64_t)number("max-bytes", value, 1, INT64_MAX / 4);
            break;
        case 'k':
            settings->candidates = number("candidates", value, 0, INT64_MAX / 4);
            break;
        case 'a':
            settings->only_names = 1;
            break;
        case 'x':
            settings->only_check = 1;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            usage(stderr);
            exit(2);
    }
}

/* As ch4_coll has them. */
static void finish_caps(struct settings *settings)
{
    struct pcoll_caps *caps = &settings->caps;

    if (!caps->medium)
        caps->medium = settings->nnodes > 1 ? "ofi_rma" : "shm";
    if (strcmp(caps->medium, "ofi_rma") == 0)
        caps->node_medium = "shm";
    if (strcmp(caps->medium, "ofi_trigger") == 0)
        caps->max_ring = 8;
}

static void take_options(struct settings *settings, int count, char **values)
{
    int option;

    while ((option = getopt_long(count, values, "", options, NULL)) != -1)
        take_option(settings, option, optarg);
    if (optind < count) {
        fprintf(stderr, "pcoll-info: what is '%s'?\n", values[optind]);
        usage(stderr);
        exit(2);
    }
    if (settings->nnodes > settings->nranks) {
        fprintf(stderr, "pcoll-info: --nodes: more nodes than ranks\n");
        exit(2);
    }
    finish_caps(settings);
}

/* ---- table and shape ---- */

static enum pcoll_result load(struct settings *settings)
{
    char *text = NULL;
    enum pcoll_result result;

    if (!settings->path)
        return pcoll_table_parse("built-in table", pcoll_tuning_default_json, stderr,
                                 &settings->table);
    result = pcoll_table_read(settings->path, stderr, &text);
    if (result == PCOLL_OK)
        result = pcoll_table_parse(settings->path, text, stderr, &settings->table);
    free(text);
    return result;
}

static enum pcoll_result place(struct settings *settings)
{
    const int nranks = settings->nranks;
    enum pcoll_result result;
    int *ids;

    if (settings->nnodes == 1)
        return PCOLL_OK;
    ids = malloc((size_t)nranks * sizeof(*ids));
    if (!ids)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < nranks; i++)
        ids[i] = (int)((int64_t)i * settings->nnodes / nranks);
    result = pcoll_topology_create(ids, NULL, nranks, &settings->topology);
    free(ids);
    return result;
}

/* ---- the map ---- */

static struct pcoll_signature signature_of(const struct settings *settings, enum pcoll_coll coll,
                                           uint64_t bytes)
{
    const struct pcoll_signature signature = {
        .coll = coll, .nranks = settings->nranks, .bytes = bytes, .topology = settings->topology};

    return signature;
}

/* A size and what is chosen for it; choice.algorithm NULL: MPICH's path. */
struct point {
    uint64_t bytes;
    struct pcoll_choice choice;
};

static struct point choose(const struct settings *settings, enum pcoll_coll coll, uint64_t bytes)
{
    const struct pcoll_signature signature = signature_of(settings, coll, bytes);
    struct point point = {.bytes = bytes};

    if (pcoll_choose(settings->table, &signature, &settings->caps, NULL, NULL, &point.choice) !=
        PCOLL_OK)
        point.choice.algorithm = NULL;
    return point;
}

static int same(const struct point *a, const struct point *b)
{
    return pcoll_choice_same(&a->choice, &b->choice) &&
           (!a->choice.algorithm || strcmp(a->choice.reason, b->choice.reason) == 0);
}

/* The last size that is like `low`; `high` is not. */
static struct point last_like(const struct settings *settings, enum pcoll_coll coll,
                              struct point low, struct point high)
{
    const struct point first = low;

    while (low.bytes + 1 < high.bytes) {
        const struct point middle =
            choose(settings, coll, low.bytes + (high.bytes - low.bytes) / 2);

        if (same(&first, &middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void print_range(const struct point *first, const struct point *last)
{
    char text[PCOLL_CHOICE_BYTES];

    printf("  %12llu %12llu", (unsigned long long)first->bytes, (unsigned long long)last->bytes);
    if (!first->choice.algorithm) {
        puts("            -            -  mpich");
        return;
    }
    pcoll_choice_text(&first->choice, text);
    printf(" %12.2f %12.2f  %s (%s)\n", first->choice.predicted_us, last->choice.predicted_us, text,
           first->choice.reason);
}

/* Ranges of sizes from 1 to settings->most. */
static void print_map(const struct settings *settings, enum pcoll_coll coll)
{
    struct point first = choose(settings, coll, 1), last = first;

    while (last.bytes < settings->most) {
        const uint64_t next = last.bytes * 2 < settings->most ? last.bytes * 2 : settings->most;
        const struct point beyond = choose(settings, coll, next);

        if (same(&first, &beyond)) {
            last = beyond;
            continue;
        }
        last = last_like(settings, coll, last, beyond);
        print_range(&first, &last);
        last = first = choose(settings, coll, last.bytes + 1);
    }
    print_range(&first, &last);
}

static void print_candidates(const struct settings *settings, enum pcoll_coll coll)
{
    const struct pcoll_signature signature =
        signature_of(settings, coll, coll == PCOLL_BARRIER ? 0 : (uint64_t)settings->candidates);
    struct pcoll_choice list[PCOLL_MAX_CANDIDATES];
    const int count =
        pcoll_candidates(settings->table, &signature, &settings->caps, list, PCOLL_MAX_CANDIDATES);
    char text[PCOLL_CHOICE_BYTES];

    printf("  %12s  %s\n", "predicted us", "candidate");
    for (int i = 0; i < count; i++) {
        pcoll_choice_text(&list[i], text);
        printf("  %12.2f  %s\n", list[i].predicted_us, text);
    }
}

static void print_barrier(const struct settings *settings)
{
    const struct point point = choose(settings, PCOLL_BARRIER, 0);

    print_range(&point, &point);
}

static void print_coll(const struct settings *settings, enum pcoll_coll coll)
{
    printf("%s on %d ranks of %d node%s: %s, %s\n", pcoll_coll_name(coll), settings->nranks,
           settings->nnodes, settings->nnodes > 1 ? "s" : "", settings->caps.medium,
           settings->path ? settings->path : "built-in table");
    if (settings->candidates >= 0) {
        print_candidates(settings, coll);
        return;
    }
    printf("  %12s %12s %12s %12s  %s\n", "from bytes", "to bytes", "predicted us", "to us",
           "choice");
    if (coll == PCOLL_BARRIER)
        print_barrier(settings);
    else
        print_map(settings, coll);
}

static void print_names(void)
{
    for (const struct pcoll_algorithm *row = pcoll_algorithms; row->name; row++)
        printf("%-10s %-14s %s\n", pcoll_coll_name(row->coll), row->name, row->description);
}

static int print_what_is_asked(const struct settings *settings)
{
    if (!pcoll_table_machine(settings->table, settings->caps.medium)) {
        fprintf(stderr, "pcoll-info: the tuning table lacks medium '%s'\n", settings->caps.medium);
        return 2;
    }
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        if (settings->coll < 0 || settings->coll == coll)
            print_coll(settings, (enum pcoll_coll)coll);
    return 0;
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .coll = -1,
        .nranks = 8,
        .nnodes = 1,
        .most = UINT64_C(64) << 20,
        .candidates = -1,
        .caps = {.provides =
                     PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA | PCOLL_NEED_ORDER,
                 .max_temp = 4 << 20},
    };
    int status = 1;

    take_options(&settings, argc, argv);
    if (settings.only_names) {
        print_names();
        return 0;
    }
    if (load(&settings) == PCOLL_OK && place(&settings) == PCOLL_OK)
        status = settings.only_check ? 0 : print_what_is_asked(&settings);
    pcoll_topology_destroy(settings.topology);
    pcoll_table_destroy(settings.table);
    return status;
}
