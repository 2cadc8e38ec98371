#include "tuning/table/table.h"

#include "tuning/table/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION 1

/* ---- the whole table ---- */

static enum pcoll_result read_version(struct pcoll_reader *reader, struct json_object *value,
                                      void *to)
{
    int64_t version;

    (void)to;
    return pcoll_reader_integer(reader, value, VERSION, VERSION, &version);
}

static enum pcoll_result read_description(struct pcoll_reader *reader, struct json_object *value,
                                          void *to)
{
    const char *description;
    const enum pcoll_result result = pcoll_reader_string(reader, value, &description);
    char *copy;

    if (result != PCOLL_OK)
        return result;
    copy = strdup(description);
    if (!copy)
        return pcoll_reader_no_memory(reader);
    *(char **)to = copy;
    return PCOLL_OK;
}

static const struct pcoll_field table_fields[] = {
    {"pcoll_tuning", read_version, 0, 1},
    {"description", read_description, offsetof(struct pcoll_table, description), 0},
    {"machine", pcoll_identity_read_machine, offsetof(struct pcoll_table, identity), 0},
    {"library", pcoll_identity_read_library, offsetof(struct pcoll_table, identity), 0},
    {"media", pcoll_media_read, offsetof(struct pcoll_table, media), 1},
    {"rules", pcoll_rules_read, offsetof(struct pcoll_table, rules), 0},
    {"corrections", pcoll_corrections_read, offsetof(struct pcoll_table, corrections), 0},
    {NULL, NULL, 0, 0}};

static enum pcoll_result read_table(struct pcoll_reader *reader, struct json_object *value,
                                    struct pcoll_table **table_p)
{
    struct pcoll_table *table = calloc(1, sizeof(*table));
    struct pcoll_record record = {.fields = table_fields, .to = table};
    enum pcoll_result result;

    if (!table)
        return pcoll_reader_no_memory(reader);
    result = pcoll_reader_fields(reader, value, &record);
    if (result == PCOLL_OK)
        *table_p = table;
    else
        pcoll_table_destroy(table);
    return result;
}

enum pcoll_result pcoll_table_parse(const char *name, const char *text, FILE *report,
                                    struct pcoll_table **table_p)
{
    struct pcoll_reader reader = {.name = name, .report = report, .what = "the table"};
    struct json_object *value = NULL;
    enum pcoll_result result = pcoll_reader_parse(&reader, text, &value);

    if (result != PCOLL_OK)
        return result;
    result = read_table(&reader, value, table_p);
    json_object_put(value);
    return result;
}

void pcoll_table_destroy(struct pcoll_table *table)
{
    if (!table)
        return;
    free(table->description);
    free(table->media.media);
    free(table->rules.rules);
    free(table->corrections.list);
    free(table);
}

/* ---- access ---- */

static struct pcoll_table_medium *find_medium(const struct pcoll_table *table, const char *name)
{
    for (size_t i = 0; i < table->media.count; i++)
        if (strcmp(table->media.media[i].name, name) == 0)
            return &table->media.media[i];
    return NULL;
}

const struct pcoll_machine *pcoll_table_machine(const struct pcoll_table *table, const char *medium)
{
    return pcoll_table_level(table, medium, PCOLL_LEVEL_ANY);
}

const struct pcoll_machine *pcoll_table_level(const struct pcoll_table *table, const char *medium,
                                              enum pcoll_level level)
{
    const struct pcoll_table_medium *found = find_medium(table, medium);

    return found ? &found->machine[level] : NULL;
}

const struct pcoll_estimates *pcoll_table_estimates(const struct pcoll_table *table,
                                                    const char *medium, enum pcoll_level level)
{
    const struct pcoll_table_medium *found = find_medium(table, medium);

    return found && found->estimates[level].given != 0 ? &found->estimates[level] : NULL;
}

enum pcoll_result pcoll_table_set(struct pcoll_table *table, const char *medium,
                                  const struct pcoll_estimates estimates[PCOLL_NUM_LEVELS])
{
    struct pcoll_table_medium *found = find_medium(table, medium), *media = table->media.media;

    if (!found) {
        if (strlen(medium) == 0 || strlen(medium) >= PCOLL_MEDIUM_NAME_BYTES)
            return PCOLL_ERR_INVALID;
        media = realloc(media, (table->media.count + 1) * sizeof(*media));
        if (!media)
            return PCOLL_ERR_NOMEM;
        table->media.media = media;
        found = &media[table->media.count++];
        memcpy(found->name, medium, strlen(medium) + 1);
    }
    memcpy(found->estimates, estimates, sizeof(found->estimates));
    pcoll_medium_derive(found);
    return PCOLL_OK;
}

struct pcoll_identity *pcoll_table_identity(struct pcoll_table *table)
{
    return &table->identity;
}

enum pcoll_result pcoll_table_describe(struct pcoll_table *table, const char *description)
{
    char *copy = strdup(description);

    if (!copy)
        return PCOLL_ERR_NOMEM;
    free(table->description);
    table->description = copy;
    return PCOLL_OK;
}

const struct pcoll_rule *pcoll_table_rules(const struct pcoll_table *table, size_t *count_p)
{
    *count_p = table->rules.count;
    return table->rules.rules;
}

void pcoll_table_drop_rules(struct pcoll_table *table)
{
    table->rules.count = 0;
}

static bool are_for_the_same(const struct pcoll_rule *a, const struct pcoll_rule *b)
{
    return a->coll == b->coll && memcmp(a->ranks, b->ranks, sizeof(a->ranks)) == 0 &&
           memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0 && strcmp(a->medium, b->medium) == 0 &&
           a->nodes == b->nodes && a->degree == b->degree && a->level == b->level &&
           a->cores == b->cores && a->memory == b->memory;
}

enum pcoll_result pcoll_table_prefer(struct pcoll_table *table, const struct pcoll_rule *rule)
{
    const size_t count = table->rules.count;
    struct pcoll_rule *rules = realloc(table->rules.rules, (count + 1) * sizeof(*rules));
    size_t i = 0;

    if (!rules)
        return PCOLL_ERR_NOMEM;
    table->rules.rules = rules;
    while (i < count && !are_for_the_same(&rules[i], rule))
        i++;
    if (i == count && count >= PCOLL_TABLE_MAX_RULES)
        i = count - 1;
    table->rules.count += i == count;
    memmove(rules + 1, rules, i * sizeof(*rules));
    rules[0] = *rule;
    return PCOLL_OK;
}

double pcoll_table_factor(const struct pcoll_table *table, const struct pcoll_correction *about,
                          uint64_t bytes, int *tells_apart_p)
{
    const struct pcoll_correction *best = NULL;
    int named = -1, tells_apart = 0;

    for (size_t i = 0; i < table->corrections.count; i++) {
        const struct pcoll_correction *one = &table->corrections.list[i];
        const int names = (one->slots != 0) + (one->rails != 0);

        if (!pcoll_correction_is_near(one, about))
            continue;
        tells_apart |= names > 0;
        if (pcoll_correction_fits(one, about) && names > named) {
            best = one;
            named = names;
        }
    }
    if (tells_apart_p)
        *tells_apart_p = tells_apart;
    return best ? pcoll_correction_at(best, bytes) : 1;
}

enum pcoll_result pcoll_table_correct(struct pcoll_table *table,
                                      const struct pcoll_correction *correction)
{
    struct pcoll_correction *list = table->corrections.list;
    size_t i = 0;

    while (i < table->corrections.count && !pcoll_correction_same(&list[i], correction))
        i++;
    if (i == table->corrections.count) {
        list = realloc(list, (i + 1) * sizeof(*list));
        if (!list)
            return PCOLL_ERR_NOMEM;
        table->corrections.list = list;
        table->corrections.count++;
    }
    list[i] = *correction;
    return PCOLL_OK;
}

/* ---- the file ---- */

static const char *reason(int error)
{
    return error == EINVAL ? "not a regular file" : strerror(error);
}

static enum pcoll_result read_stream(const char *path, FILE *file, FILE *report, char *text)
{
    const size_t length = fread(text, 1, PCOLL_TABLE_MAX_BYTES + 1, file);
    enum pcoll_result result = PCOLL_ERR_INVALID;
    const char *wrong;

    if (ferror(file)) {
        wrong = reason(errno);
        result = PCOLL_ERR_SYSTEM;
    } else if (length > PCOLL_TABLE_MAX_BYTES) {
        wrong = "too long";
    } else if (memchr(text, '\0', length)) {
        wrong = "holds a NUL, so it is no JSON";
    } else {
        text[length] = '\0';
        return PCOLL_OK;
    }
    if (report)
        fprintf(report, "%s: %s\n", path, wrong);
    return result;
}

/* Opens regular files only: opening a FIFO would wait for a writer. */
static FILE *open_regular(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    FILE *file = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    else
        file = fdopen(fd, "rb");
    if (!file)
        close(fd);
    return file;
}

enum pcoll_result pcoll_table_read(const char *path, FILE *report, char **text_p)
{
    FILE *file = open_regular(path);
    enum pcoll_result result;
    char *text;

    if (!file) {
        if (report)
            fprintf(report, "%s: %s\n", path, reason(errno));
        return PCOLL_ERR_SYSTEM;
    }
    text = malloc(PCOLL_TABLE_MAX_BYTES + 1);
    if (text) {
        result = read_stream(path, file, report, text);
    } else {
        result = PCOLL_ERR_NOMEM;
        if (report)
            fprintf(report, "%s: out of memory\n", path);
    }
    fclose(file);
    if (result == PCOLL_OK)
        *text_p = text;
    else
        free(text);
    return result;
}
