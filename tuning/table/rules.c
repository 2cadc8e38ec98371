#include "tuning/table/rules.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/levels.h"

#define MAX_SLOTS (1 << 16)
#define MAX_RAILS 64

/* A rule as it is written in the table. */
struct draft {
    struct pcoll_subject subject;
    const char *medium, *level, *memory;
    int64_t ranks[2], bytes[2], nodes, degree, cores, radix, segment, slots, rails, teams;
};

struct range {
    int64_t *ends, min, max;
    int count;
};

static enum pcoll_result read_end(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    struct range *range = to;

    return pcoll_reader_integer(reader, value, range->min, range->max,
                                &range->ends[range->count++]);
}

static enum pcoll_result read_range(struct pcoll_reader *reader, struct json_object *value,
                                    int64_t min, int64_t max, int64_t *ends)
{
    struct range range = {.ends = ends, .min = min, .max = max};
    enum pcoll_result result;

    if (!json_object_is_type(value, json_type_array) || json_object_array_length(value) != 2)
        return pcoll_reader_refuse(reader, "must be [first, last]");
    result = pcoll_reader_elements(reader, value, read_end, &range);
    if (result == PCOLL_OK && ends[0] > ends[1])
        return pcoll_reader_refuse(reader, "is empty (allowed: first <= last)");
    return result;
}

static enum pcoll_result read_ranks(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    return read_range(reader, value, 1, INT_MAX, to);
}

static enum pcoll_result read_bytes(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    return read_range(reader, value, 0, INT64_MAX, to);
}

static enum pcoll_result read_count(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    return pcoll_reader_integer(reader, value, 1, INT_MAX, to);
}

static enum pcoll_result read_radix(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    return pcoll_reader_integer(reader, value, 2, INT_MAX, to);
}

static enum pcoll_result read_segment(struct pcoll_reader *reader, struct json_object *value,
                                      void *to)
{
    return pcoll_reader_integer(reader, value, 1, INT64_MAX, to);
}

enum pcoll_result pcoll_slots_read(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    const enum pcoll_result result = pcoll_reader_integer(reader, value, 2, MAX_SLOTS, to);
    const int64_t slots = *(int64_t *)to;

    if (result == PCOLL_OK && (slots & (slots - 1)) != 0)
        return pcoll_reader_refuse(reader, "no power of two");
    return result;
}

enum pcoll_result pcoll_rails_read(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    return pcoll_reader_integer(reader, value, 1, MAX_RAILS, to);
}

static enum pcoll_result read_teams(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    const enum pcoll_result result =
        pcoll_reader_integer(reader, value, 0, PCOLL_MAX_DIVISIONS, to);
    int64_t *const teams = to;

    if (result == PCOLL_OK && *teams == 0)
        *teams = PCOLL_NONE;
    return result;
}

static const struct pcoll_field rule_fields[] = {
    {"coll", pcoll_reader_string, offsetof(struct draft, subject.coll), 1},
    {"ranks", read_ranks, offsetof(struct draft, ranks), 0},
    {"bytes", read_bytes, offsetof(struct draft, bytes), 0},
    {"medium", pcoll_reader_string, offsetof(struct draft, medium), 0},
    {"nodes", read_count, offsetof(struct draft, nodes), 0},
    {"degree", read_count, offsetof(struct draft, degree), 0},
    {"level", pcoll_reader_string, offsetof(struct draft, level), 0},
    {"cores", read_count, offsetof(struct draft, cores), 0},
    {"memory", pcoll_reader_string, offsetof(struct draft, memory), 0},
    {"algorithm", pcoll_reader_string, offsetof(struct draft, subject.algorithm), 1},
    {"radix", read_radix, offsetof(struct draft, radix), 0},
    {"segment", read_segment, offsetof(struct draft, segment), 0},
    {"slots", pcoll_slots_read, offsetof(struct draft, slots), 0},
    {"rails", pcoll_rails_read, offsetof(struct draft, rails), 0},
    {"teams", read_teams, offsetof(struct draft, teams), 0},
    {"path", pcoll_reader_string, offsetof(struct draft, subject.path), 0},
    {NULL, NULL, 0, 0}};

static enum pcoll_result find_coll(struct pcoll_reader *reader, const struct pcoll_record *record,
                                   const struct pcoll_subject *subject, struct pcoll_rule *rule)
{
    const int coll = pcoll_coll_find(subject->coll);
    char names[512];

    if (coll != PCOLL_NONE) {
        rule->coll = (enum pcoll_coll)coll;
        return PCOLL_OK;
    }
    pcoll_coll_names(names, sizeof(names));
    return pcoll_reader_refuse_field(reader, record, "coll", "unknown (allowed: %s)", names);
}

static enum pcoll_result find_algorithm(struct pcoll_reader *reader,
                                        const struct pcoll_record *record,
                                        const struct pcoll_subject *subject,
                                        struct pcoll_rule *rule)
{
    char name[32], names[256];

    rule->algorithm = pcoll_algorithm_find(rule->coll, subject->algorithm);
    if (rule->algorithm)
        return PCOLL_OK;
    pcoll_text_quote(name, sizeof(name), subject->algorithm, sizeof(name));
    pcoll_text_names(rule->coll, names, sizeof(names));
    return pcoll_reader_refuse_field(reader, record, "algorithm",
                                     "no %s algorithm '%s' "
                                     "(allowed: %s)",
                                     pcoll_coll_name(rule->coll), name, names);
}

static enum pcoll_result find_path(struct pcoll_reader *reader, const struct pcoll_record *record,
                                   const struct pcoll_subject *subject, struct pcoll_rule *rule)
{
    const int user = rule->algorithm->paths >> PCOLL_PATH_USER & 1;
    const int temp = rule->algorithm->paths >> PCOLL_PATH_TEMP & 1;

    if (!subject->path)
        return PCOLL_OK;
    if (user && strcmp(subject->path, "user") == 0)
        rule->params.path = PCOLL_PATH_USER;
    else if (temp && strcmp(subject->path, "temp") == 0)
        rule->params.path = PCOLL_PATH_TEMP;
    else
        return pcoll_reader_refuse_field(reader, record, "path",
                                         "not a path of '%s' (allowed: "
                                         "%s%s%s)",
                                         rule->algorithm->name, user ? "user" : "",
                                         user && temp ? ", " : "",
                                         temp   ? "temp"
                                         : user ? ""
                                                : "none");
    return PCOLL_OK;
}

enum pcoll_result pcoll_subject_find(struct pcoll_reader *reader, const struct pcoll_record *record,
                                     const struct pcoll_subject *subject, struct pcoll_rule *rule)
{
    enum pcoll_result result = find_coll(reader, record, subject, rule);

    if (result == PCOLL_OK)
        result = find_algorithm(reader, record, subject, rule);
    return result == PCOLL_OK ? find_path(reader, record, subject, rule) : result;
}

/* The names, which may be NULL, of the calls that a rule is for. */
static enum pcoll_result find_calls(struct pcoll_reader *reader, const struct pcoll_record *record,
                                    const struct draft *draft, struct pcoll_rule *rule)
{
    const size_t length = draft->medium ? strlen(draft->medium) : 1;
    const int level = draft->level ? pcoll_level_find(draft->level) : PCOLL_LEVEL_ANY;

    if (length == 0 || length >= PCOLL_MEDIUM_NAME_BYTES)
        return pcoll_reader_refuse_field(reader, record, "medium", "no name of a medium");
    if (draft->level && level <= PCOLL_LEVEL_ANY)
        return pcoll_reader_refuse_field(reader, record, "level",
                                         "unknown (allowed: same_cache, other_cache, "
                                         "other_socket, other_host)");
    if (draft->medium)
        memcpy(rule->medium, draft->medium, length + 1);
    rule->level = (enum pcoll_level)level;
    if (!draft->memory)
        return PCOLL_OK;
    rule->memory =
        strcmp(draft->memory, "mapped") == 0 ? PCOLL_MEMORY_MAPPED : PCOLL_MEMORY_PRIVATE;
    if (rule->memory == PCOLL_MEMORY_PRIVATE && strcmp(draft->memory, "private") != 0)
        return pcoll_reader_refuse_field(reader, record, "memory",
                                         "unknown (allowed: mapped, private)");
    return PCOLL_OK;
}

static enum pcoll_result finish_rule(struct pcoll_reader *reader, const struct pcoll_record *record,
                                     const struct draft *draft, struct pcoll_rule *rule)
{
    enum pcoll_result result = pcoll_subject_find(reader, record, &draft->subject, rule);

    if (result == PCOLL_OK)
        result = find_calls(reader, record, draft, rule);
    if (result != PCOLL_OK)
        return result;
    if (draft->radix && !rule->algorithm->uses_radix)
        return pcoll_reader_refuse_field(reader, record, "radix", "'%s' has none",
                                         rule->algorithm->name);
    if (draft->segment && !rule->algorithm->uses_segment)
        return pcoll_reader_refuse_field(reader, record, "segment", "'%s' has none",
                                         rule->algorithm->name);
    if (draft->slots && !rule->algorithm->uses_slots)
        return pcoll_reader_refuse_field(reader, record, "slots", "'%s' has none",
                                         rule->algorithm->name);
    if (draft->teams > 0 && !rule->algorithm->uses_teams)
        return pcoll_reader_refuse_field(reader, record, "teams", "'%s' has none",
                                         rule->algorithm->name);
    rule->nodes = (int)draft->nodes;
    rule->degree = (int)draft->degree;
    rule->cores = (int)draft->cores;
    rule->params.radix = (int)draft->radix;
    rule->params.slots = (int)draft->slots;
    rule->params.rails = (int)draft->rails;
    rule->params.teams = (int)draft->teams;
    rule->params.segment = (uint64_t)draft->segment;
    for (int end = 0; end < 2; end++) {
        rule->ranks[end] = (uint64_t)draft->ranks[end];
        rule->bytes[end] = (uint64_t)draft->bytes[end];
    }
    return PCOLL_OK;
}

static enum pcoll_result read_rule(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    struct pcoll_rules *rules = to;
    struct draft draft = {.ranks = {1, INT_MAX}, .bytes = {0, INT64_MAX}};
    struct pcoll_record record = {.fields = rule_fields, .to = &draft};
    const enum pcoll_result result = pcoll_reader_fields(reader, value, &record);

    if (result != PCOLL_OK)
        return result;
    return finish_rule(reader, &record, &draft, &rules->rules[rules->count++]);
}

enum pcoll_result pcoll_rules_read(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    struct pcoll_rules *rules = to;
    size_t count;

    if (!json_object_is_type(value, json_type_array))
        return pcoll_reader_refuse(reader, "must be an array");
    count = (size_t)json_object_array_length(value);
    rules->rules = calloc(count + 1, sizeof(*rules->rules));
    if (!rules->rules)
        return pcoll_reader_no_memory(reader);
    return pcoll_reader_elements(reader, value, read_rule, rules);
}
