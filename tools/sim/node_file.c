/* A node from JSON; the contract is in node_file.h. */
#include "tools/sim/node_file.h"

#include <string.h>

#include "tuning/table/media.h"

#define VERSION 1
#define MIN_LOCKED 4096.0 /* a simulated access takes a step for each lock */
#define LOCKED 2097152.0  /* one page of a page table maps so many bytes of pages of 4 KiB */

struct level {
    struct pcoll_estimates estimates; /* first: the fields of parameters are relative to it */
    char name[PCOLL_SIM_NAME_BYTES];
    int64_t cores;
    double link, caches;
};

struct file {
    struct pcoll_estimates machine;
    double locked;
    struct level levels[PCOLL_SIM_LEVELS];
    int nlevels;
};

static enum pcoll_result read_version(struct pcoll_reader *reader, struct json_object *value,
                                      void *to)
{
    int64_t version;

    (void)to;
    return pcoll_reader_integer(reader, value, VERSION, VERSION, &version);
}

/* A description or a source, which is for people. */
static enum pcoll_result read_remark(struct pcoll_reader *reader, struct json_object *value,
                                     void *to)
{
    const char *text;

    (void)to;
    return pcoll_reader_string(reader, value, &text);
}

static enum pcoll_result read_name(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    const char *name = "";
    const enum pcoll_result result = pcoll_reader_string(reader, value, &name);

    if (result != PCOLL_OK)
        return result;
    if (name[0] == '\0' || strlen(name) >= PCOLL_SIM_NAME_BYTES)
        return pcoll_reader_refuse(reader, "a name has 1 to %d bytes", PCOLL_SIM_NAME_BYTES - 1);
    memcpy(to, name, strlen(name) + 1);
    return PCOLL_OK;
}

static enum pcoll_result read_cores(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    return pcoll_reader_integer(reader, value, 1, PCOLL_SIM_CORES, to);
}

/* Each level's domains hold whole domains of the level before, two of them or more. */
static enum pcoll_result check_cores(struct pcoll_reader *reader, const struct pcoll_record *record,
                                     const struct level *level)
{
    const int64_t nearer = level[-1].cores;

    if (level->cores > nearer && level->cores % nearer == 0)
        return PCOLL_OK;
    return pcoll_reader_refuse_field(reader, record, "cores",
                                     "%lld do not hold domains of the level before (allowed: "
                                     "multiples of %lld, from %lld on)",
                                     (long long)level->cores, (long long)nearer,
                                     2 * (long long)nearer);
}

static enum pcoll_result read_level(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    static const struct pcoll_field fields[] = {
        PCOLL_REQUIRED_PARAMETERS(PCOLL_OPTIONAL_FIELD) PCOLL_OPTIONAL_PARAMETERS(
            PCOLL_OPTIONAL_FIELD){"name", read_name, offsetof(struct level, name), 1},
        {"cores", read_cores, offsetof(struct level, cores), 1},
        {"link", pcoll_parameter_read, offsetof(struct level, link), 0},
        {"caches", pcoll_parameter_read, offsetof(struct level, caches), 0},
        {"source", read_remark, 0, 0},
        {NULL, NULL, 0, 0}};
    struct file *file = to;
    struct level *level = &file->levels[file->nlevels];
    struct pcoll_record record = {.fields = fields, .to = level};
    enum pcoll_result result;

    if (file->nlevels == PCOLL_SIM_LEVELS)
        return pcoll_reader_refuse(reader, "too many levels (allowed: %d)", PCOLL_SIM_LEVELS);
    result = pcoll_reader_fields(reader, value, &record);
    if (result != PCOLL_OK)
        return result;
    pcoll_estimates_note(&level->estimates, &record);
    file->nlevels++;
    return level == file->levels ? PCOLL_OK : check_cores(reader, &record, level);
}

static enum pcoll_result read_levels(struct pcoll_reader *reader, struct json_object *value,
                                     void *to)
{
    return pcoll_reader_elements(reader, value, read_level, to);
}

static enum pcoll_result read_machine(struct pcoll_reader *reader, struct json_object *value,
                                      void *to)
{
    static const struct pcoll_field fields[] = {
        PCOLL_REQUIRED_PARAMETERS(PCOLL_REQUIRED_FIELD)
            PCOLL_OPTIONAL_PARAMETERS(PCOLL_OPTIONAL_FIELD){"source", read_remark, 0, 0},
        {NULL, NULL, 0, 0}};
    struct pcoll_record record = {.fields = fields, .to = to};
    const enum pcoll_result result = pcoll_reader_fields(reader, value, &record);

    if (result == PCOLL_OK)
        pcoll_estimates_note(to, &record);
    return result;
}

static enum pcoll_result read_locked(struct pcoll_reader *reader, struct json_object *value,
                                     void *to)
{
    double *locked = to;
    const enum pcoll_result result = pcoll_parameter_read(reader, value, locked);

    if (result == PCOLL_OK && *locked > 0 && *locked < MIN_LOCKED)
        return pcoll_reader_refuse(reader, "too small (allowed: 0, and from %g on)", MIN_LOCKED);
    return result;
}

static const struct pcoll_field file_fields[] = {
    {"pcoll_node", read_version, 0, 1},
    {"description", read_remark, 0, 0},
    {"source", read_remark, 0, 0},
    {"machine", read_machine, offsetof(struct file, machine), 1},
    {"locked", read_locked, offsetof(struct file, locked), 0},
    {"levels", read_levels, 0, 0},
    {NULL, NULL, 0, 0}};

/* The machine of estimates, with what tables do not have. */
static struct pcoll_machine machine_of(const struct file *file,
                                       const struct pcoll_estimates *estimates)
{
    struct pcoll_machine machine = pcoll_estimates_machine(estimates);

    machine.arrival = 2 * machine.L;
    machine.locked = file->locked;
    return machine;
}

static struct pcoll_sim_node node_of(struct file *file)
{
    struct pcoll_sim_node node = {.nlevels = file->nlevels,
                                  .machine = machine_of(file, &file->machine)};

    for (int i = 0; i < node.nlevels; i++) {
        struct level *level = &file->levels[i];

        pcoll_estimates_inherit(&level->estimates, &file->machine);
        node.levels[i] = (struct pcoll_sim_level){.cores = (int)level->cores,
                                                  .link = level->link,
                                                  .caches = level->caches,
                                                  .machine = machine_of(file, &level->estimates)};
        memcpy(node.levels[i].name, level->name, sizeof(level->name));
    }
    node.machine.cores = pcoll_sim_node_cores(&node);
    for (int i = 0; i < node.nlevels; i++)
        node.levels[i].machine.cores = node.machine.cores;
    return node;
}

enum pcoll_result pcoll_sim_node_parse(const char *name, const char *text, FILE *report,
                                       struct pcoll_sim_node *node_p)
{
    struct file file = {.locked = LOCKED};
    struct pcoll_reader reader = {.name = name, .report = report, .what = "the node"};
    struct pcoll_record record = {.fields = file_fields, .to = &file};
    struct json_object *value = NULL;
    enum pcoll_result result = pcoll_reader_parse(&reader, text, &value);

    if (result != PCOLL_OK)
        return result;
    result = pcoll_reader_fields(&reader, value, &record);
    json_object_put(value);
    if (result == PCOLL_OK)
        *node_p = node_of(&file);
    return result;
}
