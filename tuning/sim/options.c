/* The command line of pcoll-sim. */
#include "tuning/sim/options.h"

#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tuning/table.h"

static const char help[] =
    "Usage: pcoll-sim [OPTION]... COLLECTIVE ALGORITHM[,ALGORITHM]...\n"
    "Run the plans of all ranks of a job under LogGP, in one process and without MPI.\n"
    "COLLECTIVE is barrier, bcast or allgather; ALGORITHM may be `all'.\n"
    "\n"
    "The job; a LIST is 8,64,1K or 64..1M (doubling), numbers with K, M or G\n"
    "  --ranks=LIST        (64)\n"
    "  --bytes=LIST        bcast: the message; allgather: the block of a rank (8)\n"
    "  --ppn=N             ranks of a node, one after the other (1); 0: all on one node\n"
    "  --root=N            of a broadcast (0)\n"
    "  --radix=N --slots=N --path=user|temp --rails=N    parameters; rails: as many as ports\n"
    "  --segment=BYTES     or `best': the best power of two, tried\n"
    "  --lower             plans for media without weighted pours\n"
    "\n"
    "The machine, times in us, rates in us per byte\n"
    "  --table=FILE        tuning table (the built-in one)\n"
    "  --medium=NAME       its parameters between nodes (ofi_rma; shm with --ppn=0)\n"
    "  --node-medium=NAME  its parameters in a node (shm)\n"
    "  --L= --o= --g= --G= --rma= --copy= --call= --turn= --cores=    in place of the table's\n"
    "  --network=NET       flat, torus:AxBxC, fat_tree:DOWN:UP (flat)\n"
    "  --hop=US            from switch to switch (0)\n"
    "  --link-G=RATE       of a link (as --G)\n"
    "  --ports=LIST        of a node (1)\n"
    "  --host-driven       receivers pay o + (s - 1) G too, as in LogGOPSim\n"
    "\n"
    "The run\n"
    "  --instances=N       one after another, without barrier (1)\n"
    "  --skew=US           ranks start up to so late, at random (0)\n"
    "  --noise=US          each entry is late by this on average, at random (0)\n"
    "  --seed=N            of both (1)\n"
    "  --verify            move symbolic data, check each result\n"
    "  --memory=BYTES      refuse jobs whose plans take more (6G)\n"
    "\n"
    "The output\n"
    "  --json              in place of the table\n"
    "  --plot=STEM         STEM.dat, STEM.gp, and by gnuplot STEM.svg and STEM.png: time and\n"
    "                      counters over ranks, or time over bytes\n"
    "  --goal=FILE         the plans as a GOAL schedule for LogGOPSim, no simulation\n"
    "  --resources         what a rank holds, as plan and with send and receive\n"
    "  -h, --help          this text\n"
    "\n"
    "Exit status: 0; 1 if a run failed or a result was wrong; 2 for a bad command line.\n";

enum {
    RANKS = 256,
    BYTES,
    PPN,
    ROOT,
    RADIX,
    SLOTS,
    PATH,
    RAILS,
    SEGMENT,
    LOWER,
    TABLE,
    MEDIUM,
    NODE_MEDIUM,
    NETWORK,
    HOP,
    LINK_G,
    PORTS,
    HOST_DRIVEN,
    INSTANCES,
    SKEW,
    NOISE,
    SEED,
    VERIFY,
    MEMORY,
    JSON,
    PLOT,
    GOAL,
    RESOURCES,
    CORES,
    MACHINE /* and after it the index in machine_fields */
};

static const struct machine_field {
    const char *name;
    size_t offset;
} machine_fields[] = {
    {"L", offsetof(struct pcoll_machine, L)},       {"o", offsetof(struct pcoll_machine, o)},
    {"g", offsetof(struct pcoll_machine, g)},       {"G", offsetof(struct pcoll_machine, G)},
    {"rma", offsetof(struct pcoll_machine, rma)},   {"copy", offsetof(struct pcoll_machine, copy)},
    {"call", offsetof(struct pcoll_machine, call)}, {"turn", offsetof(struct pcoll_machine, turn)},
};

static const struct option long_options[] = {{"ranks", 1, NULL, RANKS},
                                             {"bytes", 1, NULL, BYTES},
                                             {"ppn", 1, NULL, PPN},
                                             {"root", 1, NULL, ROOT},
                                             {"radix", 1, NULL, RADIX},
                                             {"slots", 1, NULL, SLOTS},
                                             {"path", 1, NULL, PATH},
                                             {"rails", 1, NULL, RAILS},
                                             {"segment", 1, NULL, SEGMENT},
                                             {"lower", 0, NULL, LOWER},
                                             {"table", 1, NULL, TABLE},
                                             {"medium", 1, NULL, MEDIUM},
                                             {"node-medium", 1, NULL, NODE_MEDIUM},
                                             {"network", 1, NULL, NETWORK},
                                             {"hop", 1, NULL, HOP},
                                             {"link-G", 1, NULL, LINK_G},
                                             {"ports", 1, NULL, PORTS},
                                             {"host-driven", 0, NULL, HOST_DRIVEN},
                                             {"instances", 1, NULL, INSTANCES},
                                             {"skew", 1, NULL, SKEW},
                                             {"noise", 1, NULL, NOISE},
                                             {"seed", 1, NULL, SEED},
                                             {"verify", 0, NULL, VERIFY},
                                             {"memory", 1, NULL, MEMORY},
                                             {"json", 0, NULL, JSON},
                                             {"plot", 1, NULL, PLOT},
                                             {"goal", 1, NULL, GOAL},
                                             {"resources", 0, NULL, RESOURCES},
                                             {"help", 0, NULL, 'h'},
                                             {"cores", 1, NULL, CORES},
                                             {"L", 1, NULL, MACHINE},
                                             {"o", 1, NULL, MACHINE + 1},
                                             {"g", 1, NULL, MACHINE + 2},
                                             {"G", 1, NULL, MACHINE + 3},
                                             {"rma", 1, NULL, MACHINE + 4},
                                             {"copy", 1, NULL, MACHINE + 5},
                                             {"call", 1, NULL, MACHINE + 6},
                                             {"turn", 1, NULL, MACHINE + 7},
                                             {0}};

/* What is put together when all options are read. */
struct reading {
    struct options *options;
    const char *table, *medium, *node_medium, *network;
    double machine[sizeof(machine_fields) / sizeof(machine_fields[0])]; /* < 0: not given */
    int cores;
};

/* ---- values ---- */

static int wrong(const char *what, const char *value, const char *allowed)
{
    fprintf(stderr, "pcoll-sim: %s `%s': %s\n", what, value, allowed);
    return 2;
}

/* A number with K, M or G; NULL: none, else what is behind it. */
static const char *read_number(const char *text, uint64_t *number)
{
    static const char units[] = "KMG";
    char *end;

    if (!isdigit((unsigned char)*text))
        return NULL;
    *number = strtoull(text, &end, 10);
    for (int i = 0; units[i]; i++)
        if (*end == units[i]) {
            *number <<= 10 * (i + 1);
            return end + 1;
        }
    return end;
}

static int add_value(struct values *values, uint64_t value)
{
    if (values->count == MAX_VALUES)
        return 0;
    values->list[values->count++] = value;
    return 1;
}

static int read_list(const char *text, uint64_t least, uint64_t most, struct values *values)
{
    const char *at = text;
    uint64_t first, last;

    values->count = 0;
    do {
        at = read_number(at, &first);
        last = first;
        if (at != NULL && strncmp(at, "..", 2) == 0)
            at = read_number(at + 2, &last);
        if (at == NULL || first < least || last > most || first > last)
            return 0;
        for (; first < last && first > 0; first *= 2)
            if (!add_value(values, first))
                return 0;
        if (!add_value(values, last))
            return 0;
    } while (*at++ == ',');
    return at[-1] == '\0';
}

static int read_int(const char *option, const char *text, int least, int most, int *value)
{
    uint64_t number;
    const char *end = read_number(text, &number);

    if (end == NULL || *end || number < (uint64_t)least || number > (uint64_t)most) {
        fprintf(stderr, "pcoll-sim: --%s=%s: a number from %d to %d is wanted\n", option, text,
                least, most);
        return 2;
    }
    *value = (int)number;
    return 0;
}

static int read_u64(const char *option, const char *text, uint64_t *value)
{
    const char *end = read_number(text, value);

    return end == NULL || *end ? wrong(option, text, "a number is wanted") : 0;
}

static int read_time(const char *option, const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= 0 && *value <= 1e9))
        return wrong(option, text, "a number from 0 to 1e9 is wanted");
    return 0;
}

/* ---- options ---- */

static int read_segment(struct options *options, const char *text)
{
    options->best_segment = strcmp(text, "best") == 0;
    return options->best_segment ? 0 : read_u64("segment", text, &options->params.segment);
}

static int read_path(struct options *options, const char *text)
{
    if (strcmp(text, "user") == 0)
        options->params.path = PCOLL_PATH_USER;
    else if (strcmp(text, "temp") == 0)
        options->params.path = PCOLL_PATH_TEMP;
    else
        return wrong("path", text, "user or temp is wanted");
    return 0;
}

static int read_values(const char *option, const char *text, uint64_t least, uint64_t most,
                       struct values *values)
{
    if (read_list(text, least, most, values))
        return 0;
    return wrong(option, text, "a list like 8,64,1K or 64..1M is wanted");
}

static int read_job_option(struct options *options, int option, const char *text)
{
    switch (option) {
        case RANKS:
            return read_values("ranks", text, 1, 1 << 24, &options->ranks);
        case BYTES:
            return read_values("bytes", text, 0, UINT64_C(1) << 40, &options->bytes);
        case PPN:
            return read_int("ppn", text, 0, 1 << 24, &options->ppn);
        case ROOT:
            return read_int("root", text, 0, 1 << 24, &options->root);
        case RADIX:
            return read_int("radix", text, 2, INT_MAX, &options->params.radix);
        case SLOTS:
            return read_int("slots", text, 2, 1 << 16, &options->params.slots);
        case PATH:
            return read_path(options, text);
        case RAILS:
            return read_int("rails", text, 1, 1024, &options->params.rails);
        case SEGMENT:
            return read_segment(options, text);
        default:
            options->lowered = 1;
            return 0;
    }
}

static int read_run_option(struct options *options, int option, const char *text)
{
    struct pcoll_engine_options *engine = &options->engine;

    switch (option) {
        case HOP:
            return read_time("hop", text, &engine->network.hop);
        case LINK_G:
            return read_time("link-G", text, &engine->network.G);
        case PORTS:
            return read_values("ports", text, 1, 1024, &options->ports);
        case INSTANCES:
            return read_int("instances", text, 1, 1 << 20, &engine->instances);
        case SKEW:
            return read_time("skew", text, &engine->skew);
        case NOISE:
            return read_time("noise", text, &engine->noise);
        case SEED:
            return read_u64("seed", text, &engine->seed);
        case MEMORY:
            return read_u64("memory", text, &engine->most_memory);
        default:
            return 0;
    }
}

static void read_flag(struct options *options, int option, const char *text)
{
    options->engine.host_driven |= option == HOST_DRIVEN;
    options->engine.verify |= option == VERIFY;
    options->json |= option == JSON;
    options->resources |= option == RESOURCES;
    if (option == PLOT)
        options->plot = text;
    if (option == GOAL)
        options->goal = text;
}

static int read_option(struct reading *reading, int option, const char *text)
{
    if (option >= MACHINE)
        return read_time(machine_fields[option - MACHINE].name, text,
                         &reading->machine[option - MACHINE]);
    if (option <= LOWER)
        return read_job_option(reading->options, option, text);
    switch (option) {
        case TABLE:
            reading->table = text;
            return 0;
        case MEDIUM:
            reading->medium = text;
            return 0;
        case NODE_MEDIUM:
            reading->node_medium = text;
            return 0;
        case NETWORK:
            reading->network = text;
            return 0;
        case CORES:
            return read_int("cores", text, 0, 1 << 20, &reading->cores);
        default:
            read_flag(reading->options, option, text);
            return read_run_option(reading->options, option, text);
    }
}

/* ---- the machine ---- */

static int find_machine(const struct pcoll_table *table, const char *medium,
                        struct pcoll_machine *machine)
{
    const struct pcoll_machine *found = pcoll_table_machine(table, medium);

    if (found == NULL)
        return wrong("medium", medium, "the tuning table has not this medium");
    *machine = *found;
    return 0;
}

static int read_table(struct reading *reading, struct pcoll_table **table_p)
{
    const char *name = reading->table ? reading->table : "built-in table";
    char *text = NULL;
    int failed;

    if (reading->table && pcoll_table_read(reading->table, stderr, &text) != PCOLL_OK)
        return 2;
    failed = pcoll_table_parse(name, text ? text : pcoll_tuning_default_json, stderr, table_p) !=
             PCOLL_OK;
    free(text);
    return failed ? 2 : 0;
}

static int make_machine(struct reading *reading)
{
    struct options *options = reading->options;
    struct pcoll_machine *machine = &options->engine.machine;
    const char *usual = options->ppn == 0 ? "shm" : "ofi_rma";
    struct pcoll_table *table;
    int result = read_table(reading, &table);

    if (result != 0)
        return result;
    result = find_machine(table, reading->medium ? reading->medium : usual, machine);
    if (result == 0)
        result = find_machine(table, reading->node_medium ? reading->node_medium : "shm",
                              &options->node);
    pcoll_table_destroy(table);
    for (size_t i = 0; i < sizeof(machine_fields) / sizeof(machine_fields[0]); i++)
        if (reading->machine[i] >= 0)
            *(double *)((char *)machine + machine_fields[i].offset) = reading->machine[i];
    machine->cores = reading->cores;
    machine->node = options->ppn == 0 ? NULL : &options->node;
    if (options->engine.network.G < 0)
        options->engine.network.G = machine->G;
    return result;
}

/* ---- what to run ---- */

static int add_algorithm(struct options *options, const char *name)
{
    const int all = strcmp(name, "all") == 0, before = options->nalgorithms;

    for (const struct pcoll_algorithm *row = pcoll_algorithms; row->name; row++)
        if (row->coll == options->coll && (all || strcmp(row->name, name) == 0) &&
            options->nalgorithms < MAX_VALUES)
            options->algorithms[options->nalgorithms++] = row;
    if (options->nalgorithms > before)
        return 0;
    fprintf(stderr, "pcoll-sim: no algorithm `%s' for %s; there are: all", name,
            pcoll_coll_name(options->coll));
    for (const struct pcoll_algorithm *row = pcoll_algorithms; row->name; row++)
        if (row->coll == options->coll)
            fprintf(stderr, " %s", row->name);
    fputc('\n', stderr);
    return 2;
}

static int read_what(struct options *options, char **words)
{
    int result = 0;

    for (options->coll = PCOLL_BARRIER; options->coll < PCOLL_NUM_COLLS; options->coll++)
        if (strcmp(words[0], pcoll_coll_name(options->coll)) == 0)
            break;
    if (options->coll == PCOLL_NUM_COLLS)
        return wrong("collective", words[0], "barrier, bcast or allgather is wanted");
    for (char *name = strtok(words[1], ","); name && result == 0; name = strtok(NULL, ","))
        result = add_algorithm(options, name);
    if (options->coll == PCOLL_BARRIER)
        options->bytes = (struct values){.list = {0}, .count = 1};
    return result;
}

static int count_rows(const struct options *options)
{
    return options->nalgorithms * options->ranks.count * options->bytes.count *
           options->ports.count;
}

static int finish(struct reading *reading, int argc, char **argv)
{
    struct options *options = reading->options;
    int result;

    if (argc != 2) {
        fputs("pcoll-sim: a collective and its algorithms are wanted; see --help\n", stderr);
        return 2;
    }
    result = read_what(options, argv);
    if (result == 0 && pcoll_network_parse(reading->network, &options->engine.network) != PCOLL_OK)
        result =
            wrong("network", reading->network, "flat, torus:AxBxC or fat_tree:DOWN:UP is wanted");
    if (result == 0 && options->goal && count_rows(options) > 1)
        result = wrong("goal", options->goal, "one algorithm, one number of ranks and bytes");
    return result == 0 ? make_machine(reading) : result;
}

int options_read(struct options *options, int argc, char **argv)
{
    struct reading reading = {.options = options, .network = "flat"};
    int option, result = 0;

    *options = (struct options){
        .ranks = {{64}, 1},
        .bytes = {{8}, 1},
        .ports = {{1}, 1},
        .ppn = 1,
        .engine = {.seed = 1, .most_memory = UINT64_C(6) << 30, .why = stderr, .network.G = -1},
    };
    for (size_t i = 0; i < sizeof(machine_fields) / sizeof(machine_fields[0]); i++)
        reading.machine[i] = -1;
    while (result == 0 && (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        result = option == '?' ? 2 : read_option(&reading, option, optarg);
    }
    return result ? result : finish(&reading, argc - optind, argv + optind);
}
