/* The command line of pcoll-tune. */
#include "tuning/tools/tune.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 60
#define QUICK_SECONDS 15

const char *const tune_media[TUNE_MEDIA] = {"shm", "ofi_rma", "ofi_trigger"};

static int world_rank; /* the first one speaks */

static void usage(FILE *out)
{
    if (world_rank != 0)
        return;
    fputs(
        "usage: mpiexec -n N pcoll-tune [options]   two ranks or more\n"
        "  -o, --output=FILE   the tuning table (standard output)\n"
        "  --quick             15 seconds of measurements in place of 60\n"
        "  --seconds=S         so many, at most; 0: the base table's parameters stay\n"
        "  --media=A,B         only these (shm,ofi_rma,ofi_trigger)\n"
        "  --provider=NAME     of libfabric (MPIR_CVAR_COLL_OFFLOAD_PROVIDER, FI_PROVIDER)\n"
        "  --interface=NAME    its domain, network interface or address\n"
        "                      (MPIR_CVAR_COLL_OFFLOAD_INTERFACE)\n"
        "  --base=FILE         table that holds what is not measured, and rules (built-in)\n"
        "  --correct           then run every candidate on all ranks; the table gets what the\n"
        "                      model is off by for this number of ranks and nodes\n"
        "  --judge=FILE        measure nothing; run every candidate, and write how well the base\n"
        "                      table predicts and chooses: a line of JSON for each call\n"
        "  --sizes=LIST        bytes to run them at, rising, with K or M; those beyond 16M, of an\n"
        "                      allgather 16M for all ranks together, are left out\n"
        "  --algorithms=LIST   only these\n"
        "  --plot=DIR          then draw time over size of every candidate there, by gnuplot\n"
        "Exit status: 0, 1 if it failed, 2 for a bad command line.\n",
        out);
}

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},   {"quick", no_argument, NULL, 'q'},
    {"seconds", required_argument, NULL, 's'},  {"media", required_argument, NULL, 'm'},
    {"provider", required_argument, NULL, 'p'}, {"interface", required_argument, NULL, 'i'},
    {"base", required_argument, NULL, 'b'},     {"plot", required_argument, NULL, 'P'},
    {"correct", no_argument, NULL, 'c'},        {"judge", required_argument, NULL, 'j'},
    {"sizes", required_argument, NULL, 'S'},    {"algorithms", required_argument, NULL, 'a'},
    {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};

/* Negative: not a number of seconds. */
static double seconds_of(const char *text)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);

    return *text != '\0' && *end == '\0' && seconds >= 0 && seconds <= 86400 ? seconds : -1;
}

static int is_medium(const char *name)
{
    for (int i = 0; i < TUNE_MEDIA; i++)
        if (strcmp(tune_media[i], name) == 0)
            return 1;
    return 0;
}

/* Of any collective. */
static int is_algorithm(const char *name)
{
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        if (pcoll_algorithm_find((enum pcoll_coll)coll, name))
            return 1;
    return 0;
}

/* Does a list consist of such names? */
static int are_all(int (*is_one)(const char *name), const char *option, const char *list,
                   const char *allowed)
{
    for (;; list++) {
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(list, ","), list);
        if (!is_one(name)) {
            if (world_rank == 0)
                fprintf(stderr, "pcoll-tune: %s: '%s' is not allowed (%s)\n", option, name,
                        allowed);
            return 0;
        }
        list += strcspn(list, ",");
        if (*list == '\0')
            return 1;
    }
}

/* 0: not rising sizes. */
static int take_sizes(struct tune_options *options, const char *list)
{
    const char *at = list;

    for (options->nsizes = 0; options->nsizes < TUNE_SIZES; at++) {
        char *end = NULL;
        uint64_t size = strtoull(at, &end, 10);
        const uint64_t unit = *end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : 1;

        if (end == at || *at == '-' || size == 0 || size > UINT64_C(1) << 30)
            break;
        size *= unit;
        at = end + (unit > 1);
        if (options->nsizes > 0 && size <= options->sizes[options->nsizes - 1])
            break;
        options->sizes[options->nsizes++] = size;
        if (*at == '\0')
            return 1;
        if (*at != ',')
            break;
    }
    if (world_rank == 0)
        fprintf(stderr, "pcoll-tune: --sizes: '%s' is not allowed (up to %d rising sizes)\n", list,
                TUNE_SIZES);
    return 0;
}

/* Answers the exit status, or -1 to go on. */
static int take_option(struct tune_options *options, int option)
{
    switch (option) {
        case 'o':
            options->output = optarg;
            return -1;
        case 'q':
            options->seconds = QUICK_SECONDS;
            return -1;
        case 's':
            options->seconds = seconds_of(optarg);
            if (options->seconds >= 0)
                return -1;
            if (world_rank == 0)
                fprintf(stderr, "pcoll-tune: --seconds: '%s' is not allowed (0 to 86400)\n",
                        optarg);
            return 2;
        case 'm':
            options->media = optarg;
            return are_all(is_medium, "--media", optarg, "shm, ofi_rma, ofi_trigger") ? -1 : 2;
        case 'p':
            options->provider = optarg;
            return -1;
        case 'i':
            options->interface = optarg;
            return -1;
        case 'b':
            options->base = optarg;
            return -1;
        case 'P':
            options->plot = optarg;
            return -1;
        case 'c':
            options->correct = 1;
            return -1;
        case 'j':
            options->judge = optarg;
            return -1;
        case 'S':
            return take_sizes(options, optarg) ? -1 : 2;
        case 'a':
            options->algorithms = optarg;
            return are_all(is_algorithm, "--algorithms", optarg, "see pcoll-info --algorithms") ? -1
                                                                                                : 2;
        case 'h':
            usage(stdout);
            return 0;
        default:
            usage(stderr);
            return 2;
    }
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

int tune_take_options(struct tune_options *options, int count, char **values)
{
    int option, status = -1;

    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    options->seconds = SECONDS;
    options->provider = variable("MPIR_CVAR_COLL_OFFLOAD_PROVIDER");
    if (!options->provider)
        options->provider = variable("FI_PROVIDER");
    options->interface = variable("MPIR_CVAR_COLL_OFFLOAD_INTERFACE");
    opterr = world_rank == 0;
    while (status < 0 && (option = getopt_long(count, values, "o:", long_options, NULL)) != -1)
        status = take_option(options, option);
    if (status < 0 && optind < count) {
        usage(stderr);
        status = 2;
    }
    if (status < 0 && options->judge && options->output) {
        if (world_rank == 0)
            fprintf(stderr, "pcoll-tune: --judge makes no table, so --output is not allowed\n");
        status = 2;
    }
    return status;
}
