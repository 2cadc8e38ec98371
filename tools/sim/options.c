/* The command line of pcoll-sim. */
#include "tools/sim/options.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/node_file.h"
#include "tools/sim/timeline.h"
#include "tuning/table/table.h"
#include "tools/cli.h"

#define OPTION(name, form, member) CLI_OPTION(struct options, name, form, member)

enum { MAX_RANKS = 1 << 24, MAX_US = 1000000000 };

#define WANTED(NAME, name, unit, what)                                                             \
    {OPTION(#name, CLI_REAL, wanted.name), .min = 0, .max = MAX_US},

static const struct cli_option options_known[] = {
    {OPTION("ranks", CLI_LIST, ranks), .min = 1, .max = MAX_RANKS},
    {OPTION("bytes", CLI_LIST, bytes), .min = 0, .max = UINT64_C(1) << 40},
    {OPTION("ports", CLI_LIST, ports), .min = 1, .max = 1024},
    {OPTION("ppn", CLI_INT, ppn), .min = 0, .max = MAX_RANKS},
    {OPTION("root", CLI_INT, root), .min = 0, .max = MAX_RANKS},
    {OPTION("radix", CLI_INT, params.radix), .min = 2, .max = INT_MAX},
    {OPTION("slots", CLI_POWER, params.slots), .min = 2, .max = 1 << 16},
    {OPTION("rails", CLI_INT, params.rails), .min = 1, .max = 1024},
    {OPTION("path", CLI_NAME, params.path), .name_of = cli_path},
    {OPTION("segment", CLI_TEXT, segment)},
    {OPTION("lower", CLI_FLAG, lowered)},
    {OPTION("node", CLI_TEXT, inside)},
    {OPTION("levels", CLI_TEXT, levels)},
    {OPTION("table", CLI_TEXT, table)},
    {OPTION("medium", CLI_TEXT, medium)},
    {OPTION("node-medium", CLI_TEXT, node_medium)},
    PCOLL_REQUIRED_PARAMETERS(WANTED) /* one option for each */
    {OPTION("cores", CLI_INT, wanted.cores), .min = 0, .max = 1 << 20},
    {OPTION("network", CLI_TEXT, network)},
    {OPTION("hop", CLI_REAL, engine.network.hop), .min = 0, .max = MAX_US},
    {OPTION("link-G", CLI_REAL, engine.network.G), .min = 0, .max = MAX_US},
    {OPTION("host-driven", CLI_FLAG, engine.host_driven)},
    {OPTION("instances", CLI_INT, engine.instances), .min = 1, .max = 1 << 20},
    {OPTION("skew", CLI_REAL, engine.skew), .min = 0, .max = MAX_US},
    {OPTION("noise", CLI_REAL, engine.noise), .min = 0, .max = MAX_US},
    {OPTION("seed", CLI_NUMBER, engine.seed), .min = 0, .max = UINT64_MAX},
    {OPTION("verify", CLI_FLAG, engine.verify)},
    {OPTION("memory", CLI_NUMBER, engine.max_memory), .min = 0, .max = UINT64_MAX},
    {OPTION("json", CLI_FLAG, json)},
    {OPTION("plot", CLI_TEXT, plot)},
    {OPTION("goal", CLI_TEXT, goal)},
    {OPTION("timeline", CLI_TEXT, timeline)},
    {OPTION("resources", CLI_FLAG, resources)},
    {.name = NULL},
};

static const struct cli cli = {.program = "pcoll-sim",
                               .help = options_help,
                               .options = options_known,
                               .nwords = 2,
                               .words = "a collective and its algorithms"};

/* Checks the options that are words or numbers. */
static int read_words(struct options *options)
{
    if (pcoll_network_parse(options->network, &options->engine.network) != PCOLL_OK)
        return cli_refuse(&cli, "--network", options->network,
                          "flat, torus:AxBxC, fat_tree:DOWN:UP");
    options->best_segment = options->segment && strcmp(options->segment, "best") == 0;
    if (options->segment && !options->best_segment &&
        !cli_number(&cli, "--segment", options->segment, 0, UINT64_C(1) << 40,
                    &options->params.segment))
        return CLI_WRONG;
    return CLI_GO_ON;
}

/* ---- the machine ---- */

static int find_machine(const struct pcoll_table *table, const char *medium,
                        struct pcoll_machine *machine)
{
    const struct pcoll_machine *found = pcoll_table_machine(table, medium);

    if (found == NULL)
        return cli_complain(&cli, "the tuning table lacks medium '%s'", medium);
    *machine = *found;
    return CLI_GO_ON;
}

static int read_table(const char *name, struct pcoll_table **table_p)
{
    char *text = NULL;
    bool failed;

    if (name && pcoll_table_read(name, stderr, &text) != PCOLL_OK)
        return CLI_WRONG;
    failed =
        pcoll_table_parse(name ? name : "built-in table", text ? text : pcoll_tuning_default_json,
                          stderr, table_p) != PCOLL_OK;
    free(text);
    return failed ? CLI_WRONG : CLI_GO_ON;
}

static void override(struct pcoll_machine *machine, struct pcoll_machine *wanted)
{
    for (int i = 0; i < PCOLL_NUM_REQUIRED; i++) {
        const double value = *pcoll_machine_parameter(wanted, (enum pcoll_parameter)i);

        if (value >= 0)
            *pcoll_machine_parameter(machine, (enum pcoll_parameter)i) = value;
    }
    if (wanted->copy >= 0)
        machine->cached = wanted->copy;
    if (wanted->L >= 0)
        machine->arrival = 2 * wanted->L;
}

/* The parameters inside nodes, from --node. */
static int read_inside(struct options *options)
{
    struct pcoll_sim_node *inside = &options->engine.inside;
    const bool has_medium = options->medium && options->ppn == 0;
    char *text = NULL;
    enum pcoll_result result;

    if (options->node_medium || has_medium)
        return cli_complain(&cli, "only one of --node and --%s is allowed",
                            has_medium ? "medium" : "node-medium");
    result = pcoll_table_read(options->inside, stderr, &text);
    if (result == PCOLL_OK)
        result = pcoll_sim_node_parse(options->inside, text, stderr, inside);
    free(text);
    if (result != PCOLL_OK)
        return CLI_WRONG;
    if (inside->nlevels > 0 && options->wanted.cores > 0)
        return cli_complain(&cli, "--cores: the levels of --node say it");
    options->node = inside->machine;
    return CLI_GO_ON;
}

/* What is wanted applies at all levels, where one node is all that there is. */
static void override_node(struct options *options)
{
    struct pcoll_sim_node *inside = &options->engine.inside;

    override(&options->node, &options->wanted);
    for (int level = 0; level < inside->nlevels; level++)
        override(&inside->levels[level].machine, &options->wanted);
    options->engine.machine = options->node;
}

static int read_media(struct options *options)
{
    const char *usual = options->ppn == 0 ? "shm" : "ofi_rma";
    const char *node_medium = options->node_medium ? options->node_medium : "shm";
    struct pcoll_table *table;
    int status = read_table(options->table, &table);

    if (status != CLI_GO_ON)
        return status;
    if (!options->inside)
        status = find_machine(table, node_medium, &options->node);
    if (status == CLI_GO_ON && !(options->inside && options->ppn == 0))
        status = find_machine(table, options->medium ? options->medium : usual,
                              &options->engine.machine);
    pcoll_table_destroy(table);
    return status;
}

/* The levels that plans know, by name, in the order of the node. */
static int read_levels(struct options *options)
{
    const struct pcoll_sim_node *inside = &options->engine.inside;
    const char *list = options->levels;
    char name[PCOLL_SIM_NAME_BYTES], allowed[PCOLL_SIM_LEVELS * PCOLL_SIM_NAME_BYTES] = "";

    if (!options->inside)
        return cli_complain(&cli, "--levels: only --node has levels");
    for (int level = 0; level + 1 < inside->nlevels; level++)
        snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s",
                 level ? ", " : "", inside->levels[level].name);
    while (cli_next_name(&list, name, sizeof(name))) {
        int level = 0;

        while (level + 1 < inside->nlevels && strcmp(inside->levels[level].name, name) != 0)
            level++;
        if (level + 1 >= inside->nlevels)
            return cli_refuse(&cli, "--levels", name, allowed);
        options->knows[level] = true;
    }
    return CLI_GO_ON;
}

static int make_machine(struct options *options)
{
    struct pcoll_machine *machine = &options->engine.machine;
    int status = CLI_GO_ON;

    if (options->ppn < 0)
        options->ppn = options->inside ? 0 : 1;
    if (options->inside)
        status = read_inside(options);
    if (status == CLI_GO_ON && options->levels)
        status = read_levels(options);
    if (status == CLI_GO_ON)
        status = read_media(options);
    if (status != CLI_GO_ON)
        return status;
    if (options->inside && options->ppn == 0)
        override_node(options);
    else
        override(machine, &options->wanted);
    machine->cores =
        options->wanted.cores > 0 ? options->wanted.cores : options->engine.inside.machine.cores;
    machine->node = options->ppn == 0 ? NULL : &options->node;
    if (options->engine.network.G < 0)
        options->engine.network.G = machine->G;
    return CLI_GO_ON;
}

/* ---- what to run ---- */

static void add_algorithm(struct options *options, const struct pcoll_algorithm *row)
{
    if (options->nalgorithms < MAX_ALGORITHMS)
        options->algorithms[options->nalgorithms++] = row;
}

static int add_algorithms(struct options *options, const char *list)
{
    char name[64];

    while (cli_next_name(&list, name, sizeof(name))) {
        const struct pcoll_algorithm *found;

        if (strcmp(name, "all") == 0) {
            PCOLL_EACH_ALGORITHM (row)
                if (row->coll == options->coll)
                    add_algorithm(options, row);
            continue;
        }
        found = cli_algorithm(&cli, "algorithm", options->coll, name);
        if (!found)
            return CLI_WRONG;
        add_algorithm(options, found);
    }
    return CLI_GO_ON;
}

static int read_what(struct options *options, char **words)
{
    const int coll = cli_name(&cli, "collective", words[0], cli_coll);

    if (coll < 0)
        return CLI_WRONG;
    options->coll = (enum pcoll_coll)coll;
    if (pcoll_coll_has(options->coll, PCOLL_SYNCHRONIZES))
        options->bytes = (struct cli_list){.list = {0}, .count = 1};
    return add_algorithms(options, words[1]);
}

static int count_rows(const struct options *options)
{
    return options->nalgorithms * options->ranks.count * options->bytes.count *
           options->ports.count;
}

static int check_root(const struct options *options)
{
    for (int i = 0; i < options->ranks.count; i++)
        if ((uint64_t)options->root >= options->ranks.list[i])
            return cli_complain(&cli, "--root: there is no rank %d of %llu", options->root,
                                (unsigned long long)options->ranks.list[i]);
    return CLI_GO_ON;
}

/* Checks the files that can be written for one run only. */
static int check_files(const struct options *options)
{
    const char *file = options->timeline;

    if (file && !pcoll_timeline_is_page(file) && !pcoll_timeline_is_trace(file))
        return cli_refuse(&cli, "--timeline", file, "a name that ends in .html or .json");
    if ((file || options->goal) && count_rows(options) > 1)
        return cli_complain(&cli,
                            "%s: give only one algorithm and one number of ranks, bytes and ports",
                            file ? "--timeline" : "--goal");
    return CLI_GO_ON;
}

static int finish(struct options *options, char **words)
{
    int status = read_what(options, words);

    if (status == CLI_GO_ON)
        status = read_words(options);
    if (status == CLI_GO_ON)
        status = check_root(options);
    if (status == CLI_GO_ON)
        status = check_files(options);
    return status == CLI_GO_ON ? make_machine(options) : status;
}

#define NOT_WANTED(NAME, name, unit, what) .name = -1,
static struct options usual_options(void)
{
    return (struct options){
        .ranks = {{64}, 1},
        .bytes = {{8}, 1},
        .ports = {{1}, 1},
        .ppn = -1,
        .network = "flat",
        .wanted = {PCOLL_REQUIRED_PARAMETERS(NOT_WANTED)},
        .engine = {.seed = 1, .max_memory = UINT64_C(6) << 30, .why = stderr, .network.G = -1},
    };
}

int options_read(struct options *options, int argc, char **argv)
{
    char **words;
    int status;

    *options = usual_options();
    status = cli_read(&cli, options, argc, argv, &words);
    return status == CLI_GO_ON ? finish(options, words) : status;
}
