/*
 * The rules of the tuning table, from JSON.
 */
#ifndef PCOLL_RULES_H
#define PCOLL_RULES_H

#include "tuning/table/reader.h"
#include "tuning/table/table.h"

struct pcoll_rules {
    struct pcoll_rule *rules; /* the caller frees it with free(), also after a failure */
    size_t count;
};

/* What a rule or a correction applies to, as it is written in the table. */
struct pcoll_subject {
    const char *coll, *algorithm, *path; /* path may be NULL */
};

/* Fill rule->coll, ->algorithm and ->params.path; refuses unknown names. */
enum pcoll_result pcoll_subject_find(struct pcoll_reader *reader, const struct pcoll_record *record,
                                     const struct pcoll_subject *subject,
                                     struct pcoll_rule *rule) PCOLL_MUST_CHECK;

/* Each is a pcoll_read to int64_t. */
enum pcoll_result pcoll_slots_read(struct pcoll_reader *reader, struct json_object *value,
                                   void *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_rails_read(struct pcoll_reader *reader, struct json_object *value,
                                   void *to) PCOLL_MUST_CHECK;

/* A pcoll_read: from an array of rules to struct pcoll_rules. */
enum pcoll_result pcoll_rules_read(struct pcoll_reader *reader, struct json_object *value,
                                   void *to) PCOLL_MUST_CHECK;

#endif /* PCOLL_RULES_H */
