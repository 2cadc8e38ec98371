/*
 * Reading JSON strictly by tables of fields. Every refusal is one line `file:line: key: what is
 * wrong (allowed: ...)`.
 */
#ifndef PCOLL_READER_H
#define PCOLL_READER_H

#include "tuning/table/text.h"

#include <json.h>

#define PCOLL_READER_MAX_FIELDS 24

struct pcoll_reader {
    const char *name;       /* of the file, used in messages */
    FILE *report;           /* NULL: no messages */
    const char *what;       /* the whole, in messages: "the table" */
    struct pcoll_text text; /* at the value that is being read */
    const char *key;        /* of the member that is being read */
    int line;               /* of that key */
    char path[96];          /* of that key: "media.shm.L" */
};

/* Reads the value of reader->key into *to, or refuses it. */
typedef enum pcoll_result (*pcoll_read)(struct pcoll_reader *reader, struct json_object *value,
                                        void *to);

/* A member that an object may have. */
struct pcoll_field {
    const char *name;
    pcoll_read read;
    size_t offset; /* of its `to` in the structure that the object becomes */
    int required;
};

/* The structure that an object becomes. */
struct pcoll_record {
    const struct pcoll_field *fields; /* ended by name NULL; at most PCOLL_READER_MAX_FIELDS */
    void *to;
    int lines[PCOLL_READER_MAX_FIELDS]; /* output: the line of each field; 0: absent */
};

/* Begin to read `text`, whose objects the caller releases with json_object_put; NULL is JSON's
 * null. Of *reader, `name`, `report` and `what` are set. */
enum pcoll_result pcoll_reader_parse(struct pcoll_reader *reader, const char *text,
                                     struct json_object **value_p) PCOLL_MUST_CHECK;

/* Report what is wrong with the value that is being read. Returns PCOLL_ERR_INVALID. */
enum pcoll_result pcoll_reader_refuse(const struct pcoll_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Report what is wrong with a field of the object that has been read. */
enum pcoll_result pcoll_reader_refuse_field(struct pcoll_reader *reader,
                                            const struct pcoll_record *record, const char *field,
                                            const char *format, ...)
    __attribute__((format(printf, 4, 5)));

enum pcoll_result pcoll_reader_no_memory(const struct pcoll_reader *reader);

/* Read a composite value: an object into record->to, or each member or element with `read`. `value`
 * is the one at the position of reader->text. */
enum pcoll_result pcoll_reader_fields(struct pcoll_reader *reader, struct json_object *value,
                                      struct pcoll_record *record) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_reader_members(struct pcoll_reader *reader, struct json_object *value,
                                       pcoll_read read, void *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_reader_elements(struct pcoll_reader *reader, struct json_object *value,
                                        pcoll_read read, void *to) PCOLL_MUST_CHECK;

/* Read a single value; on failure *to is unchanged. The string (a const char *, and a pcoll_read)
 * lives as long as `value`. */
enum pcoll_result pcoll_reader_integer(const struct pcoll_reader *reader, struct json_object *value,
                                       int64_t min, int64_t max, int64_t *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_reader_number(const struct pcoll_reader *reader, struct json_object *value,
                                      double max, double *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_reader_string(struct pcoll_reader *reader, struct json_object *value,
                                      void *to) PCOLL_MUST_CHECK;

#endif /* PCOLL_READER_H */
