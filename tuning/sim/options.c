/* The command line of pcoll-sim. */
#include "tuning/sim/options.h"

#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tuning/sim/timeline.h"
#include "tuning/table/table.h"

/* How an option is read, and where it goes in struct options. */
enum form { LIST, INT, NUMBER, REAL, TEXT, FLAG };

static const struct setting {
    const char *name;
    enum form form;
    size_t offset;
    uint64_t least, most; /* LIST, INT */
} settings[] = {
    {"ranks", LIST, offsetof(struct options, ranks), 1, 1 << 24},
    {"bytes", LIST, offsetof(struct options, bytes), 0, UINT64_C(1) << 40},
    {"ports", LIST, offsetof(struct options, ports), 1, 1024},
    {"ppn", INT, offsetof(struct options, ppn), 0, 1 << 24},
    {"root", INT, offsetof(struct options, root), 0, 1 << 24},
    {"radix", INT, offsetof(struct options, params.radix), 2, INT_MAX},
    {"slots", INT, offsetof(struct options, params.slots), 2, 1 << 16},
    {"rails", INT, offsetof(struct options, params.rails), 1, 1024},
    {"path", TEXT, offsetof(struct options, path), 0, 0},
    {"segment", TEXT, offsetof(struct options, segment), 0, 0},
    {"lower", FLAG, offsetof(struct options, lowered), 0, 0},
    {"table", TEXT, offsetof(struct options, table), 0, 0},
    {"medium", TEXT, offsetof(struct options, medium), 0, 0},
    {"node-medium", TEXT, offsetof(struct options, node_medium), 0, 0},
    {"L", REAL, offsetof(struct options, wanted.L), 0, 0},
    {"o", REAL, offsetof(struct options, wanted.o), 0, 0},
    {"g", REAL, offsetof(struct options, wanted.g), 0, 0},
    {"G", REAL, offsetof(struct options, wanted.G), 0, 0},
    {"rma", REAL, offsetof(struct options, wanted.rma), 0, 0},
    {"copy", REAL, offsetof(struct options, wanted.copy), 0, 0},
    {"call", REAL, offsetof(struct options, wanted.call), 0, 0},
    {"turn", REAL, offsetof(struct options, wanted.turn), 0, 0},
    {"cores", INT, offsetof(struct options, wanted.cores), 0, 1 << 20},
    {"network", TEXT, offsetof(struct options, network), 0, 0},
    {"hop", REAL, offsetof(struct options, engine.network.hop), 0, 0},
    {"link-G", REAL, offsetof(struct options, engine.network.G), 0, 0},
    {"host-driven", FLAG, offsetof(struct options, engine.host_driven), 0, 0},
    {"instances", INT, offsetof(struct options, engine.instances), 1, 1 << 20},
    {"skew", REAL, offsetof(struct options, engine.skew), 0, 0},
    {"noise", REAL, offsetof(struct options, engine.noise), 0, 0},
    {"seed", NUMBER, offsetof(struct options, engine.seed), 0, 0},
    {"verify", FLAG, offsetof(struct options, engine.verify), 0, 0},
    {"memory", NUMBER, offsetof(struct options, engine.most_memory), 0, 0},
    {"json", FLAG, offsetof(struct options, json), 0, 0},
    {"plot", TEXT, offsetof(struct options, plot), 0, 0},
    {"goal", TEXT, offsetof(struct options, goal), 0, 0},
    {"timeline", TEXT, offsetof(struct options, timeline), 0, 0},
    {"resources", FLAG, offsetof(struct options, resources), 0, 0},
};

enum { NUM_SETTINGS = sizeof(settings) / sizeof(settings[0]), FIRST_SETTING = 256 };

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

static int read_number_only(const struct setting *setting, const char *text, uint64_t *value)
{
    const char *end = read_number(text, value);

    return end == NULL || *end ? wrong(setting->name, text, "a number is wanted") : 0;
}

static int read_int(const struct setting *setting, const char *text, int *value)
{
    uint64_t number;
    int result = read_number_only(setting, text, &number);

    if (result == 0 && (number < setting->least || number > setting->most)) {
        fprintf(stderr, "pcoll-sim: %s `%s': a number from %llu to %llu is wanted\n", setting->name,
                text, (unsigned long long)setting->least, (unsigned long long)setting->most);
        return 2;
    }
    *value = (int)number;
    return result;
}

static int read_real(const struct setting *setting, const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= 0 && *value <= 1e9))
        return wrong(setting->name, text, "a number from 0 to 1e9 is wanted");
    return 0;
}

static int read_setting(struct options *options, const struct setting *setting, const char *text)
{
    void *to = (char *)options + setting->offset;

    switch (setting->form) {
        case LIST:
            if (read_list(text, setting->least, setting->most, to))
                return 0;
            return wrong(setting->name, text, "a list like 8,64,1K or 64..1M is wanted");
        case INT:
            return read_int(setting, text, to);
        case NUMBER:
            return read_number_only(setting, text, to);
        case REAL:
            return read_real(setting, text, to);
        case TEXT:
            *(const char **)to = text;
            return 0;
        default:
            *(int *)to = 1;
            return 0;
    }
}

/* Those that are words or numbers. */
static int read_words(struct options *options)
{
    const struct setting segment = {.name = "segment"};
    const char *path = options->path;

    if (path != NULL && strcmp(path, "user") == 0)
        options->params.path = PCOLL_PATH_USER;
    else if (path != NULL && strcmp(path, "temp") == 0)
        options->params.path = PCOLL_PATH_TEMP;
    else if (path != NULL)
        return wrong("path", path, "user or temp is wanted");
    if (pcoll_network_parse(options->network, &options->engine.network) != PCOLL_OK)
        return wrong("network", options->network,
                     "flat, torus:AxBxC or fat_tree:DOWN:UP is wanted");
    options->best_segment = options->segment && strcmp(options->segment, "best") == 0;
    if (options->segment && !options->best_segment)
        return read_number_only(&segment, options->segment, &options->params.segment);
    return 0;
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

static int read_table(const char *name, struct pcoll_table **table_p)
{
    char *text = NULL;
    int failed;

    if (name && pcoll_table_read(name, stderr, &text) != PCOLL_OK)
        return 2;
    failed =
        pcoll_table_parse(name ? name : "built-in table", text ? text : pcoll_tuning_default_json,
                          stderr, table_p) != PCOLL_OK;
    free(text);
    return failed ? 2 : 0;
}

static void override(double *value, double wanted)
{
    if (wanted >= 0)
        *value = wanted;
}

static void override_all(struct pcoll_machine *machine, const struct pcoll_machine *wanted)
{
    override(&machine->L, wanted->L);
    override(&machine->o, wanted->o);
    override(&machine->g, wanted->g);
    override(&machine->G, wanted->G);
    override(&machine->rma, wanted->rma);
    override(&machine->copy, wanted->copy);
    override(&machine->call, wanted->call);
    override(&machine->turn, wanted->turn);
    machine->cores = wanted->cores;
}

static int make_machine(struct options *options)
{
    struct pcoll_machine *machine = &options->engine.machine;
    const char *usual = options->ppn == 0 ? "shm" : "ofi_rma";
    struct pcoll_table *table;
    int result = read_table(options->table, &table);

    if (result != 0)
        return result;
    result = find_machine(table, options->medium ? options->medium : usual, machine);
    if (result == 0)
        result = find_machine(table, options->node_medium ? options->node_medium : "shm",
                              &options->node);
    pcoll_table_destroy(table);
    override_all(machine, &options->wanted);
    machine->node = options->ppn == 0 ? NULL : &options->node;
    if (options->engine.network.G < 0)
        options->engine.network.G = machine->G;
    return result;
}

/* ---- what to run ---- */

static int add_algorithm(struct options *options, const char *name)
{
    const int all = strcmp(name, "all") == 0, before = options->nalgorithms;

    PCOLL_EACH_ALGORITHM (row)
        if (row->coll == options->coll && (all || strcmp(row->name, name) == 0) &&
            options->nalgorithms < MAX_VALUES)
            options->algorithms[options->nalgorithms++] = row;
    if (options->nalgorithms > before)
        return 0;
    fprintf(stderr, "pcoll-sim: no algorithm `%s' for %s; there are: all", name,
            pcoll_coll_name(options->coll));
    PCOLL_EACH_ALGORITHM (row)
        if (row->coll == options->coll)
            fprintf(stderr, " %s", row->name);
    fputc('\n', stderr);
    return 2;
}

static int read_what(struct options *options, char **words)
{
    const int coll = pcoll_coll_find(words[0]);
    int result = 0;

    if (coll == PCOLL_NONE) {
        char names[512];

        pcoll_coll_names(names, sizeof(names));
        return wrong("collective", words[0], names);
    }
    options->coll = (enum pcoll_coll)coll;
    if (words[1][0] == '\0')
        result = wrong("algorithm", words[1], "a list of names, or all, is wanted");
    for (char *name = strtok(words[1], ","); name && result == 0; name = strtok(NULL, ","))
        result = add_algorithm(options, name);
    if (pcoll_coll_has(options->coll, PCOLL_SYNCHRONIZES))
        options->bytes = (struct values){.list = {0}, .count = 1};
    return result;
}

static int count_rows(const struct options *options)
{
    return options->nalgorithms * options->ranks.count * options->bytes.count *
           options->ports.count;
}

static int check_root(const struct options *options)
{
    for (int i = 0; i < options->ranks.count; i++)
        if ((uint64_t)options->root >= options->ranks.list[i]) {
            fprintf(stderr, "pcoll-sim: root %d is none of %llu ranks\n", options->root,
                    (unsigned long long)options->ranks.list[i]);
            return 2;
        }
    return 0;
}

static int check_timeline(const struct options *options)
{
    const char *file = options->timeline;

    if (!pcoll_timeline_is_page(file) && !pcoll_timeline_is_trace(file))
        return wrong("timeline", file, "a name that ends in .html or .json is wanted");
    if (count_rows(options) > 1)
        return wrong("timeline", file, "one algorithm, one number of ranks, bytes and ports");
    return 0;
}

static int finish(struct options *options, int argc, char **argv)
{
    int result;

    if (argc != 2) {
        fputs("pcoll-sim: a collective and its algorithms are wanted; see --help\n", stderr);
        return 2;
    }
    result = read_what(options, argv);
    if (result == 0)
        result = read_words(options);
    if (result == 0)
        result = check_root(options);
    if (result == 0 && options->goal && count_rows(options) > 1)
        result = wrong("goal", options->goal, "one algorithm, one number of ranks and bytes");
    if (result == 0 && options->timeline)
        result = check_timeline(options);
    return result == 0 ? make_machine(options) : result;
}

static struct options usual_options(void)
{
    return (struct options){
        .ranks = {{64}, 1},
        .bytes = {{8}, 1},
        .ports = {{1}, 1},
        .ppn = 1,
        .network = "flat",
        .wanted =
            {.L = -1, .o = -1, .g = -1, .G = -1, .rma = -1, .copy = -1, .call = -1, .turn = -1},
        .engine = {.seed = 1, .most_memory = UINT64_C(6) << 30, .why = stderr, .network.G = -1},
    };
}

int options_read(struct options *options, int argc, char **argv)
{
    struct option known[NUM_SETTINGS + 2] = {{"help", no_argument, NULL, 'h'}};
    int option, result = 0;

    for (int i = 0; i < NUM_SETTINGS; i++)
        known[i + 1] = (struct option){settings[i].name,
                                       settings[i].form == FLAG ? no_argument : required_argument,
                                       NULL, FIRST_SETTING + i};
    *options = usual_options();
    while (result == 0 && (option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        if (option == 'h') {
            fputs(options_help, stdout);
            return 1;
        }
        result =
            option == '?' ? 2 : read_setting(options, &settings[option - FIRST_SETTING], optarg);
    }
    return result ? result : finish(options, argc - optind, argv + optind);
}
