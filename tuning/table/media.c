#include "tuning/table/media.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum pcoll_result pcoll_parameter_read(struct pcoll_reader *reader, struct json_object *value,
                                       void *to)
{
    return pcoll_reader_number(reader, value, PCOLL_MAX_PARAMETER, to);
}

/* ---- intervals ---- */

struct bounds {
    double ends[2];
    int count;
};

static enum pcoll_result read_bound(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    struct bounds *bounds = to;

    return pcoll_parameter_read(reader, value, &bounds->ends[bounds->count++]);
}

static int find_parameter(const char *name)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        if (strcmp(pcoll_parameters[i].name, name) == 0)
            return i;
    return -1;
}

static enum pcoll_result read_interval(struct pcoll_reader *reader, struct json_object *value,
                                       void *to)
{
    struct pcoll_estimates *estimates = to;
    const int parameter = find_parameter(reader->key);
    struct bounds bounds = {.count = 0};
    enum pcoll_result result;

    if (parameter < 0)
        return pcoll_reader_refuse(reader, "unknown key (allowed: names of parameters)");
    if (!json_object_is_type(value, json_type_array) || json_object_array_length(value) != 2)
        return pcoll_reader_refuse(reader, "must be [low, high]");
    result = pcoll_reader_elements(reader, value, read_bound, &bounds);
    if (result != PCOLL_OK)
        return result;
    estimates->sure |= pcoll_parameter_bit((enum pcoll_parameter)parameter);
    estimates->low[parameter] = bounds.ends[0];
    estimates->high[parameter] = bounds.ends[1];
    return PCOLL_OK;
}

static enum pcoll_result read_intervals(struct pcoll_reader *reader, struct json_object *value,
                                        void *to)
{
    return pcoll_reader_members(reader, value, read_interval, to);
}

static enum pcoll_result check_intervals(struct pcoll_reader *reader,
                                         const struct pcoll_record *record,
                                         const struct pcoll_estimates *estimates)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        const unsigned bit = pcoll_parameter_bit((enum pcoll_parameter)i);

        if (!(estimates->sure & bit))
            continue;
        if (!(estimates->given & bit))
            return pcoll_reader_refuse_field(reader, record, "intervals",
                                             "of %s, which is not given", pcoll_parameters[i].name);
        if (estimates->low[i] > estimates->value[i] || estimates->value[i] > estimates->high[i])
            return pcoll_reader_refuse_field(reader, record, "intervals",
                                             "%s is not within its own (allowed: low <= %s "
                                             "<= high)",
                                             pcoll_parameters[i].name, pcoll_parameters[i].name);
    }
    return PCOLL_OK;
}

/* ---- media and levels ---- */

static enum pcoll_result read_levels(struct pcoll_reader *reader, struct json_object *value,
                                     void *to);

/* The members of a level, and those of a medium. */
static const struct pcoll_field level_fields[] = {
    PCOLL_REQUIRED_PARAMETERS(PCOLL_OPTIONAL_FIELD)
        PCOLL_OPTIONAL_PARAMETERS(PCOLL_OPTIONAL_FIELD){"intervals", read_intervals, 0, 0},
    {NULL, NULL, 0, 0}};
static const struct pcoll_field medium_fields[] = {
    PCOLL_REQUIRED_PARAMETERS(PCOLL_REQUIRED_FIELD)
        PCOLL_OPTIONAL_PARAMETERS(PCOLL_OPTIONAL_FIELD){"intervals", read_intervals, 0, 0},
    {"levels", read_levels, 0, 0},
    {NULL, NULL, 0, 0}};
_Static_assert(sizeof(medium_fields) / sizeof(medium_fields[0]) <= PCOLL_READER_MAX_FIELDS,
               "a record has a line for each field");

void pcoll_estimates_note(struct pcoll_estimates *estimates, const struct pcoll_record *record)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        if (record->lines[i] != 0)
            estimates->given |= pcoll_parameter_bit((enum pcoll_parameter)i);
}

static enum pcoll_result read_estimates(struct pcoll_reader *reader, struct json_object *value,
                                        const struct pcoll_field *fields,
                                        struct pcoll_estimates *estimates)
{
    struct pcoll_record record = {.fields = fields, .to = estimates};
    const enum pcoll_result result = pcoll_reader_fields(reader, value, &record);

    if (result != PCOLL_OK)
        return result;
    pcoll_estimates_note(estimates, &record);
    return check_intervals(reader, &record, estimates);
}

/* `to` is the array of estimates of all levels; the first element holds the medium's own. */
static enum pcoll_result read_level(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    const int level = pcoll_level_find(reader->key);
    struct pcoll_estimates *estimates = to;

    if (level <= PCOLL_LEVEL_ANY)
        return pcoll_reader_refuse(reader, "unknown key (allowed: same_cache, other_cache, "
                                           "other_socket, other_host)");
    return read_estimates(reader, value, level_fields, &estimates[level]);
}

static enum pcoll_result read_levels(struct pcoll_reader *reader, struct json_object *value,
                                     void *to)
{
    return pcoll_reader_members(reader, value, read_level, to);
}

void pcoll_medium_derive(struct pcoll_table_medium *medium)
{
    for (int i = 0; i < PCOLL_NUM_LEVELS; i++) {
        struct pcoll_estimates estimates = medium->estimates[i];

        pcoll_estimates_inherit(&estimates, &medium->estimates[PCOLL_LEVEL_ANY]);
        medium->machine[i] = pcoll_estimates_machine(&estimates);
    }
}

/* json-c accepts control characters, although JSON does not. */
static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            return true;
    return false;
}

static enum pcoll_result read_medium(struct pcoll_reader *reader, struct json_object *value,
                                     void *to)
{
    struct pcoll_media *media = to;
    struct pcoll_table_medium *medium = &media->media[media->count];
    const size_t length = strlen(reader->key);
    enum pcoll_result result;

    if (length == 0 || length >= PCOLL_MEDIUM_NAME_BYTES)
        return pcoll_reader_refuse(reader, "the name of a medium has 1 to %d bytes",
                                   PCOLL_MEDIUM_NAME_BYTES - 1);
    if (has_control(reader->key))
        return pcoll_reader_refuse(reader, "a name cannot hold control characters");
    memcpy(medium->name, reader->key, length + 1);
    media->count++;
    result = read_estimates(reader, value, medium_fields, medium->estimates);
    pcoll_medium_derive(medium);
    return result;
}

enum pcoll_result pcoll_media_read(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    struct pcoll_media *media = to;
    int count;

    if (!json_object_is_type(value, json_type_object))
        return pcoll_reader_refuse(reader, "must be an object");
    count = json_object_object_length(value);
    if (count == 0)
        return pcoll_reader_refuse(reader, "must name one medium at least");
    media->media = calloc((size_t)count, sizeof(*media->media));
    if (!media->media)
        return pcoll_reader_no_memory(reader);
    return pcoll_reader_members(reader, value, read_medium, media);
}
