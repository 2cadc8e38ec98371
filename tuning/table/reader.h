/*
 * Reading JSON by tables of fields, strictly: every refusal is one line
 * `file:line: key: what is wrong (allowed: ...)`.
 */
#ifndef PCOLL_READER_H
#define PCOLL_READER_H

#include "tuning/table/text.h"

#include <json.h>

#define PCOLL_READER_MAX_FIELDS 16

struct pcoll_reader {
    const char *name;       /* of the file, for messages */
    FILE *report;           /* NULL: silent */
    struct pcoll_text text; /* at the value that is read */
    const char *key;        /* of a member */
    int line;               /* of the key */
    char path[96];          /* of the key: "media.shm.L" */
};

/* Reads the value of reader->key into *to.  Refuses what does not suit. */
typedef enum pcoll_result (*pcoll_read)(struct pcoll_reader *reader, struct json_object *value,
                                        void *to);

/* A member that an object can have. */
struct pcoll_field {
    const char *name;
    pcoll_read read;
    size_t offset; /* of its `to` in what the object becomes */
    int required;
};

/* What an object becomes. */
struct pcoll_record {
    const struct pcoll_field *fields; /* ended by name NULL; at most PCOLL_READER_MAX_FIELDS */
    void *to;
    int lines[PCOLL_READER_MAX_FIELDS]; /* output: where each field stands; 0: absent */
};

/* Say what is wrong with the value that is read.  Returns PCOLL_ERR_INVALID. */
enum pcoll_result pcoll_reader_refuse(const struct pcoll_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Say what is wrong with a field of the object that was read. */
enum pcoll_result pcoll_reader_refuse_field(struct pcoll_reader *reader,
                                            const struct pcoll_record *record, const char *field,
                                            const char *format, ...)
    __attribute__((format(printf, 4, 5)));

enum pcoll_result pcoll_reader_no_memory(const struct pcoll_reader *reader);

/* Read an object: its fields into record->to, each member by `read`, each element by `read`.
 * `value` is the one that reader->text is at. */
enum pcoll_result pcoll_reader_fields(struct pcoll_reader *reader, struct json_object *value,
                                      struct pcoll_record *record) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_reader_members(struct pcoll_reader *reader, struct json_object *value,
                                       pcoll_read read, void *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_reader_elements(struct pcoll_reader *reader, struct json_object *value,
                                        pcoll_read read, void *to) PCOLL_MUST_CHECK;

/* Single values; *to is left alone on failure.  The string (a const char *, and a pcoll_read) lives
 * as long as `value`. */
enum pcoll_result pcoll_reader_integer(const struct pcoll_reader *reader, struct json_object *value,
                                       int64_t least, int64_t most, int64_t *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_reader_number(const struct pcoll_reader *reader, struct json_object *value,
                                      double most, double *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_reader_string(struct pcoll_reader *reader, struct json_object *value,
                                      void *to) PCOLL_MUST_CHECK;

#endif /* PCOLL_READER_H */
