/*
 * The command line.
 */
#include "bench.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_OF(NAME, name, Name) [NAME] = #name,
static const char *const collective_names[] = {BENCH_COLLECTIVES(NAME_OF)};
#undef NAME_OF
static const char *const way_names[NUM_WAYS] = {"offload", "stock", "blocking",   "nonblocking",
                                                "halo",    "ihalo", "halo-packed"};

static const char *const hood_names[NUM_NEIGHBORHOODS] = {"6", "26"};

static const char help[] =
    "Usage: mpiexec -n RANKS pcoll-bench [OPTION]...\n"
    "Time persistent collectives (MPI_Start + MPI_Wait) beside stock ones, the blocking and\n"
    "nonblocking calls and the limits of the machine, batch by batch in turn; verify all data.\n"
    "\n"
    "What to run\n"
    "  --coll=LIST         of the collectives (all); names as in neighbor_alltoallv\n"
    "  --sizes=LIST        bytes, with K or M: of a broadcast's message, of a vector of doubles, "
    "of\n"
    "                      the largest block; for reductions only multiples of 8\n"
    "                      (8,64,1K,8K,64K,512K,1M,4M; --quick: 8,64K,4M)\n"
    "  --neighbors=LIST    6, or 26 with the edges and corners, or both, of neighborhoods (6,26;\n"
    "                      --quick: 6)\n"
    "  --rows=BYTES        bytes of the rows of all faces of neighbor_alltoallw (otherwise two\n"
    "                      faces are contiguous, two rows of 512, two columns of 8)\n"
    "  --variants=LIST     of offload,stock,blocking,nonblocking,halo,ihalo,halo-packed (all);\n"
    "                      offload is the backend, stock the persistent collectives that the\n"
    "                      library has without it; the last three exchange the blocks of\n"
    "                      neighbors by messages, as programs do: persistent, nonblocking, or\n"
    "                      persistent with blocks packed by hand\n"
    "  --algorithm=LIST    the backend's algorithm; one is set by MPIR_CVAR_<X>_INIT_ALGORITHM,\n"
    "                      several run side by side and are set by the info key\n"
    "  --info-key=KEY      the name of that info key (coll_offload_algorithm)\n"
    "  --root=N            root of broadcasts (0); -1 is the last rank\n"
    "\n"
    "How long\n"
    "  --quick             fewer sizes, fewer and shorter batches\n"
    "  --batches=N         at most N batches for each row and variant (41; --quick: 11)\n"
    "  --iterations=N      operations in a batch (as many as take 1.5 ms; 10 ms where ranks\n"
    "                      outnumber cores; but 8, or as many as take 50 ms if these are fewer)\n"
    "  --row-seconds=S     end a row after S seconds, but not before 5 batches (10; --quick: 3)\n"
    "  --apart             call an untimed MPI_Barrier before each operation, as the OSU\n"
    "                      benchmarks do; otherwise the operations of a batch run back to back\n"
    "  --use-data          as --apart; before the barrier each rank also writes what it will "
    "send,\n"
    "                      and after the operation it reads what it has received, untimed\n"
    "  --once              an operation of a persistent variant is init, start, wait and free, as\n"
    "                      of programs that use a request once, and all variants find other\n"
    "                      buffers each time; not with --overlap, --series, --instructions\n"
    "                      or --loop\n"
    "  --overlap[=C]       also report the share of each operation that is hidden behind\n"
    "                      computation between start and wait, C times as long as the\n"
    "                      operation (1), and the CPU time beyond that computation\n"
    "  --away=RANK         only this rank computes, and the others wait, whose time is reported,\n"
    "                      too; -1: all compute (-1)\n"
    "  --tests=USEC        with --overlap, ranks call MPI_Test after each USEC microseconds of\n"
    "                      computation (0: they do not)\n"
    "  --series            also compute between start and completion, in pieces with an\n"
    "                      MPI_Test after each: nothing, a product of 4x4 or of 40x40\n"
    "                      matrices, or all at once and MPI_Wait; report time and the CPU time\n"
    "                      beyond that computation; needs a core for each rank that computes\n"
    "                      (with --away only that one)\n"
    "  --skew=BYTES        where user buffers begin behind a page (0), a multiple of 8; those of\n"
    "                      malloc begin at 16 if they are long\n"
    "  --alloc-mem         take the user buffers from MPI_Alloc_mem instead of malloc\n"
    "  --no-pin            keep the launcher's binding; otherwise ranks are bound to the cores\n"
    "                      in turn\n"
    "\n"
    "What to print\n"
    "  --json              print JSON instead of the tables\n"
    "  -o, --output=FILE   print the tables and write the JSON to FILE\n"
    "  --progress          show progress on stderr even if stderr is not a terminal\n"
    "  --instructions      report user-mode instructions per operation instead of time\n"
    "  --loop=N[,RANK]     only run inits and then N operations of each row, each in one call of\n"
    "                      the function pcoll_bench_init or pcoll_bench_loop, for callgrind (see\n"
    "                      maint/instructions); rank RANK (0) arrives last at each, so that it\n"
    "                      need not wait\n"
    "  -h, --help          this text\n"
    "\n"
    "Before anything else, a row uses each variant for the first time: init, start, wait\n"
    "and free of a persistent one, otherwise the call. The second table and the JSON show\n"
    "this as VARIANT.first, one sample without what the library does once for a\n"
    "communicator. All other times are those of warm operations: up to 64 run untimed.\n"
    "\n"
    "The exit status is 0, or 1 if the backend's data was wrong, or 2 for a bad command\n"
    "line or if FILE cannot be written.\n";

void options_help(void)
{
    fputs(help, stdout);
}

const char *way_name(enum way way)
{
    return way_names[way];
}

static int find_name(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static bool read_names(const char *const *names, int n, bool *chosen, char *list)
{
    memset(chosen, 0, (size_t)n * sizeof *chosen);
    for (char *rest, *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        int found = find_name(names, n, item);
        if (found < 0)
            return false;
        chosen[found] = true;
    }
    return true;
}

static bool read_size(const char *text, size_t *size_p)
{
    char *end;
    unsigned long long size = strtoull(text, &end, 10);
    if (end == text || *text == '-' || size > INT_MAX)
        return false;
    if (*end == 'K' || *end == 'k')
        size <<= 10, end++;
    else if (*end == 'M' || *end == 'm')
        size <<= 20, end++;
    *size_p = (size_t)size;
    return *end == '\0' && size <= INT_MAX;
}

static bool read_sizes(struct options *opts, char *list)
{
    opts->num_sizes = 0;
    for (char *rest, *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (opts->num_sizes == MAX_SIZES || !read_size(item, &opts->sizes[opts->num_sizes]))
            return false;
        opts->num_sizes++;
    }
    return opts->num_sizes > 0;
}

static bool read_algorithms(struct options *opts, char *list)
{
    opts->num_algorithms = 0;
    for (char *rest, *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (opts->num_algorithms == MAX_ALGORITHMS || strlen(item) > NAME_LENGTH - 16)
            return false;
        opts->algorithms[opts->num_algorithms++] = item;
    }
    return opts->num_algorithms > 0;
}

static bool read_int(const char *text, int min, int *value_p)
{
    char *end;
    long value = strtol(text, &end, 10);
    *value_p = (int)value;
    return end != text && *end == '\0' && value >= min && value <= INT_MAX;
}

static bool read_seconds(const char *text, double *value_p)
{
    char *end;
    *value_p = strtod(text, &end);
    return end != text && *end == '\0' && *value_p > 0;
}

static bool read_loop(struct options *opts, char *text)
{
    char *rest, *count = strtok_r(text, ",", &rest), *late = strtok_r(NULL, ",", &rest);
    return count && read_int(count, 1, &opts->loop) && (!late || read_int(late, 0, &opts->late));
}

static void set_defaults(struct options *opts)
{
    static const size_t sizes[] = {8, 64, 1024, 8192, 65536, 524288, 1048576, 4194304};
    *opts = (struct options){
        .batches = 0, .info_key = "coll_offload_algorithm", .away = -1, .pin = true};
    for (int i = 0; i < NUM_COLLECTIVES; i++)
        opts->coll[i] = true;
    for (int i = 0; i < NUM_WAYS; i++)
        opts->way[i] = true;
    memcpy(opts->sizes, sizes, sizeof sizes);
    opts->hood[0] = true;
    opts->progress = isatty(STDERR_FILENO);
}

static void finish_defaults(struct options *opts, bool sizes_given, bool neighbors_given)
{
    static const size_t quick[] = {8, 65536, 4194304};
    opts->hood[1] |= !neighbors_given && !opts->quick;
    if (!sizes_given) {
        opts->num_sizes = opts->quick ? 3 : 8;
        if (opts->quick)
            memcpy(opts->sizes, quick, sizeof quick);
    }
    if (opts->batches == 0)
        opts->batches = opts->quick ? 11 : 41;
    if (opts->row_seconds <= 0)
        opts->row_seconds = opts->quick ? 3 : 10;
}

enum {
    OPT_COLL = 256,
    OPT_SIZES,
    OPT_NEIGHBORS,
    OPT_ROWS,
    OPT_VARIANTS,
    OPT_ALGORITHM,
    OPT_INFO_KEY,
    OPT_ROOT,
    OPT_SKEW,
    OPT_QUICK,
    OPT_BATCHES,
    OPT_ITERATIONS,
    OPT_ROW_SECONDS,
    OPT_APART,
    OPT_USE_DATA,
    OPT_ONCE,
    OPT_OVERLAP,
    OPT_AWAY,
    OPT_TESTS,
    OPT_SERIES,
    OPT_ALLOC_MEM,
    OPT_NO_PIN,
    OPT_JSON,
    OPT_PROGRESS,
    OPT_INSTRUCTIONS,
    OPT_LOOP
};

static const struct option long_options[] = {
    {"coll", required_argument, NULL, OPT_COLL},
    {"sizes", required_argument, NULL, OPT_SIZES},
    {"neighbors", required_argument, NULL, OPT_NEIGHBORS},
    {"rows", required_argument, NULL, OPT_ROWS},
    {"variants", required_argument, NULL, OPT_VARIANTS},
    {"algorithm", required_argument, NULL, OPT_ALGORITHM},
    {"info-key", required_argument, NULL, OPT_INFO_KEY},
    {"root", required_argument, NULL, OPT_ROOT},
    {"quick", no_argument, NULL, OPT_QUICK},
    {"batches", required_argument, NULL, OPT_BATCHES},
    {"iterations", required_argument, NULL, OPT_ITERATIONS},
    {"row-seconds", required_argument, NULL, OPT_ROW_SECONDS},
    {"apart", no_argument, NULL, OPT_APART},
    {"use-data", no_argument, NULL, OPT_USE_DATA},
    {"once", no_argument, NULL, OPT_ONCE},
    {"overlap", optional_argument, NULL, OPT_OVERLAP},
    {"away", required_argument, NULL, OPT_AWAY},
    {"tests", required_argument, NULL, OPT_TESTS},
    {"series", no_argument, NULL, OPT_SERIES},
    {"skew", required_argument, NULL, OPT_SKEW},
    {"alloc-mem", no_argument, NULL, OPT_ALLOC_MEM},
    {"no-pin", no_argument, NULL, OPT_NO_PIN},
    {"json", no_argument, NULL, OPT_JSON},
    {"output", required_argument, NULL, 'o'},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    {"instructions", no_argument, NULL, OPT_INSTRUCTIONS},
    {"loop", required_argument, NULL, OPT_LOOP},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool read_option(struct options *opts, int option, char *value)
{
    switch (option) {
        case OPT_COLL:
            return read_names(collective_names, NUM_COLLECTIVES, opts->coll, value);
        case OPT_SIZES:
            return read_sizes(opts, value);
        case OPT_NEIGHBORS:
            return read_names(hood_names, NUM_NEIGHBORHOODS, opts->hood, value);
        case OPT_ROWS:
            return read_size(value, &opts->row);
        case OPT_VARIANTS:
            return read_names(way_names, NUM_WAYS, opts->way, value);
        case OPT_ALGORITHM:
            return read_algorithms(opts, value);
        case OPT_INFO_KEY:
            return (opts->info_key = value) != NULL;
        case OPT_ROOT:
            return read_int(value, -1, &opts->root);
        case OPT_QUICK:
            return opts->quick = true;
        case OPT_BATCHES:
            return read_int(value, 1, &opts->batches);
        case OPT_ITERATIONS:
            return read_int(value, 1, &opts->iterations);
        case OPT_ROW_SECONDS:
            return read_seconds(value, &opts->row_seconds);
        case OPT_APART:
            return opts->apart = true;
        case OPT_USE_DATA:
            return opts->apart = opts->use_data = true;
        case OPT_ONCE:
            return opts->once = true;
        case OPT_OVERLAP:
            opts->overlap = 1;
            return !value || read_seconds(value, &opts->overlap);
        case OPT_AWAY:
            return read_int(value, -1, &opts->away);
        case OPT_TESTS:
            return read_int(value, 0, &opts->tests);
        case OPT_SERIES:
            return opts->series = true;
        case OPT_ALLOC_MEM:
            return opts->alloc_mem = true;
        case OPT_SKEW:
            return read_int(value, 0, &opts->skew) && opts->skew % 8 == 0;
        case OPT_NO_PIN:
            return !(opts->pin = false);
        case OPT_JSON:
            return opts->json = true;
        case 'o':
            return (opts->output = value) != NULL;
        case OPT_PROGRESS:
            return opts->progress = true;
        case OPT_INSTRUCTIONS:
            return opts->instructions = true;
        case OPT_LOOP:
            return read_loop(opts, value);
        default:
            return false;
    }
}

static enum options_result bad(struct options *opts_p, const char *what, const char *value)
{
    snprintf(opts_p->complaint, sizeof opts_p->complaint, "%s %s", what, value);
    return OPTIONS_BAD;
}

/* The value is modified while it is parsed, so the complaint is composed first. */
static bool read_or_complain(struct options *opts, int option, char *value, const char *name)
{
    if (option == '?')
        bad(opts, "bad option", name);
    else
        bad(opts, "bad value for an option:", value ? value : name);
    return read_option(opts, option, value);
}

enum options_result options_parse(struct options *opts_p, int argc, char **argv)
{
    int option;
    bool sizes_given = false, neighbors_given = false;
    set_defaults(opts_p);
    opterr = 0;
    while ((option = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1) {
        if (option == 'h')
            return OPTIONS_HELP;
        if (!read_or_complain(opts_p, option, optarg, argv[optind - 1]))
            return OPTIONS_BAD;
        sizes_given |= option == OPT_SIZES;
        neighbors_given |= option == OPT_NEIGHBORS;
    }
    finish_defaults(opts_p, sizes_given, neighbors_given);
    if (opts_p->once &&
        (opts_p->overlap > 0 || opts_p->series || opts_p->loop > 0 || opts_p->instructions))
        return bad(opts_p, "--once does not go with",
                   "--overlap, --series, --instructions, --loop");
    return optind < argc ? bad(opts_p, "unexpected argument", argv[optind]) : OPTIONS_RUN;
}
