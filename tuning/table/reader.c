/*
 * json-c creates the objects; a struct pcoll_text walks through the text in step with them, so that
 * every message can name its line.
 */
#include "tuning/table/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define MAX_DEPTH 16

static void print_refusal(const struct pcoll_reader *reader, const char *format, va_list arguments)
{
    if (!reader->report)
        return;
    fprintf(reader->report, "%s:%d: %s: ", reader->name, reader->line,
            reader->path[0] ? reader->path : reader->what);
    vfprintf(reader->report, format, arguments);
    fputc('\n', reader->report);
}

enum pcoll_result pcoll_reader_refuse(const struct pcoll_reader *reader, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_refusal(reader, format, arguments);
    va_end(arguments);
    return PCOLL_ERR_INVALID;
}

enum pcoll_result pcoll_reader_no_memory(const struct pcoll_reader *reader)
{
    if (reader->report)
        fprintf(reader->report, "%s: out of memory\n", reader->name);
    return PCOLL_ERR_NOMEM;
}

enum pcoll_result pcoll_reader_parse(struct pcoll_reader *reader, const char *text,
                                     struct json_object **value_p)
{
    const struct pcoll_text start = {.at = text, .line = 1};
    const size_t length = strnlen(text, PCOLL_TABLE_MAX_BYTES + 1);
    struct json_tokener *tokener;
    enum json_tokener_error error;

    reader->text = start;
    reader->line = 1;
    if (length > PCOLL_TABLE_MAX_BYTES)
        return pcoll_reader_refuse(reader, "too long (allowed: %u bytes)", PCOLL_TABLE_MAX_BYTES);
    tokener = json_tokener_new_ex(MAX_DEPTH);
    if (!tokener)
        return pcoll_reader_no_memory(reader);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    *value_p = json_tokener_parse_ex(tokener, text, (int)length + 1);
    error = json_tokener_get_error(tokener);
    pcoll_text_advance(&reader->text, json_tokener_get_parse_end(tokener));
    json_tokener_free(tokener);
    if (error == json_tokener_success) {
        reader->text = start;
        return PCOLL_OK;
    }
    reader->line = reader->text.line;
    return pcoll_reader_refuse(reader, "%s",
                               error == json_tokener_continue ? "ends too early"
                                                              : json_tokener_error_desc(error));
}

/* Append a key to the path; leave() with the return value removes it again. */
static size_t enter(struct pcoll_reader *reader, const char *key, size_t length)
{
    const size_t before = strlen(reader->path);
    size_t used = before;

    if (used > 0 && key[0] != '[' && used + 1 < sizeof(reader->path))
        reader->path[used++] = '.';
    pcoll_text_quote(reader->path + used, sizeof(reader->path) - used, key, length);
    return before;
}

static void leave(struct pcoll_reader *reader, size_t before)
{
    reader->path[before] = '\0';
}

enum pcoll_result pcoll_reader_refuse_field(struct pcoll_reader *reader,
                                            const struct pcoll_record *record, const char *field,
                                            const char *format, ...)
{
    va_list arguments;

    for (int i = 0; record->fields[i].name; i++)
        if (strcmp(record->fields[i].name, field) == 0 && record->lines[i] != 0)
            reader->line = record->lines[i];
    enter(reader, field, strlen(field));
    va_start(arguments, format);
    print_refusal(reader, format, arguments);
    va_end(arguments);
    return PCOLL_ERR_INVALID;
}

/* json-c keeps the last of two members with the same key, at the position of the first. The keys of
 * the text are therefore those of the object, in the same order, unless a key is repeated or
 * contains an escape. */
static enum pcoll_result check_keys(struct pcoll_reader *reader, struct json_object *object)
{
    struct pcoll_text text = reader->text;
    const struct lh_entry *entry = json_object_get_object(object)->head;

    pcoll_text_enter(&text);
    while (*text.at == '"') {
        const int line = text.line;
        const char *key;
        const size_t length = pcoll_text_key(&text, &key);
        const char *known = entry ? entry->k : NULL;

        if (!known || strlen(known) != length || memcmp(known, key, length) != 0) {
            reader->line = line;
            enter(reader, key, length);
            return pcoll_reader_refuse(
                reader, memchr(key, '\\', length) ? "a key cannot hold an escape" : "given twice");
        }
        pcoll_text_skip(&text);
        entry = entry->next;
    }
    return PCOLL_OK;
}

/* Read the value at the current position and move past it. */
static enum pcoll_result read_one(struct pcoll_reader *reader, struct json_object *value,
                                  pcoll_read read, void *to)
{
    const struct pcoll_text here = reader->text;
    const enum pcoll_result result = read(reader, value, to);

    if (result != PCOLL_OK)
        return result;
    reader->text = here;
    pcoll_text_skip(&reader->text);
    return PCOLL_OK;
}

enum pcoll_result pcoll_reader_members(struct pcoll_reader *reader, struct json_object *value,
                                       pcoll_read read, void *to)
{
    enum pcoll_result result;
    struct json_object_iter member;

    if (!json_object_is_type(value, json_type_object))
        return pcoll_reader_refuse(reader, "must be an object");
    result = check_keys(reader, value);
    if (result != PCOLL_OK)
        return result;
    pcoll_text_enter(&reader->text);
    json_object_object_foreachC(value, member)
    {
        const size_t path = enter(reader, member.key, strlen(member.key));
        const char *key;

        reader->key = member.key;
        reader->line = reader->text.line;
        pcoll_text_key(&reader->text, &key);
        result = read_one(reader, member.val, read, to);
        if (result != PCOLL_OK)
            return result;
        leave(reader, path);
    }
    return PCOLL_OK;
}

enum pcoll_result pcoll_reader_elements(struct pcoll_reader *reader, struct json_object *value,
                                        pcoll_read read, void *to)
{
    if (!json_object_is_type(value, json_type_array))
        return pcoll_reader_refuse(reader, "must be an array");
    pcoll_text_enter(&reader->text);
    for (size_t i = 0; i < (size_t)json_object_array_length(value); i++) {
        char key[24];
        enum pcoll_result result;
        size_t path;

        snprintf(key, sizeof(key), "[%zu]", i);
        path = enter(reader, key, sizeof(key));
        reader->line = reader->text.line;
        result = read_one(reader, json_object_array_get_idx(value, i), read, to);
        if (result != PCOLL_OK)
            return result;
        leave(reader, path);
    }
    return PCOLL_OK;
}

static enum pcoll_result read_field(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    struct pcoll_record *record = to;
    char names[256];
    size_t used = 0;

    for (const struct pcoll_field *field = record->fields; field->name; field++) {
        if (strcmp(field->name, reader->key) == 0) {
            record->lines[field - record->fields] = reader->line;
            return field->read(reader, value, (char *)record->to + field->offset);
        }
        if (used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                     field->name);
    }
    return pcoll_reader_refuse(reader, "unknown key (allowed: %s)", names);
}

enum pcoll_result pcoll_reader_fields(struct pcoll_reader *reader, struct json_object *value,
                                      struct pcoll_record *record)
{
    const int line = reader->line;
    const enum pcoll_result result = pcoll_reader_members(reader, value, read_field, record);

    if (result != PCOLL_OK)
        return result;
    reader->line = line;
    for (int i = 0; record->fields[i].name; i++)
        if (record->fields[i].required && record->lines[i] == 0)
            return pcoll_reader_refuse_field(reader, record, record->fields[i].name, "missing");
    return PCOLL_OK;
}

enum pcoll_result pcoll_reader_integer(const struct pcoll_reader *reader, struct json_object *value,
                                       int64_t min, int64_t max, int64_t *to)
{
    const int64_t number = json_object_get_int64(value);

    if (!json_object_is_type(value, json_type_int) || number < min || number > max)
        return pcoll_reader_refuse(reader, "must be an integer (allowed: %lld to %lld)",
                                   (long long)min, (long long)max);
    *to = number;
    return PCOLL_OK;
}

enum pcoll_result pcoll_reader_number(const struct pcoll_reader *reader, struct json_object *value,
                                      double max, double *to)
{
    const double number = json_object_get_double(value);
    const bool is_number =
        json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int);

    if (!is_number || !isfinite(number) || number < 0 || number > max)
        return pcoll_reader_refuse(reader, "must be a number (allowed: 0 to %g)", max);
    *to = fabs(number); /* turns -0 into 0 */
    return PCOLL_OK;
}

enum pcoll_result pcoll_reader_string(struct pcoll_reader *reader, struct json_object *value,
                                      void *to)
{
    const char *text;

    if (!json_object_is_type(value, json_type_string))
        return pcoll_reader_refuse(reader, "must be a string");
    text = json_object_get_string(value);
    if (strlen(text) != (size_t)json_object_get_string_len(value))
        return pcoll_reader_refuse(reader, "cannot hold \\u0000");
    *(const char **)to = text;
    return PCOLL_OK;
}
