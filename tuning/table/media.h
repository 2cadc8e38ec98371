/*
 * The media of the tuning table, from JSON.
 */
#ifndef PCOLL_MEDIA_H
#define PCOLL_MEDIA_H

#include "tuning/table/estimates.h"
#include "tuning/table/reader.h"

#define PCOLL_MAX_PARAMETER 1e9 /* us, us/byte */

struct pcoll_table_medium {
    char name[PCOLL_MEDIUM_NAME_BYTES];
    struct pcoll_estimates estimates[PCOLL_NUM_LEVELS]; /* as written in the table */
    struct pcoll_machine machine[PCOLL_NUM_LEVELS];     /* with inherited values */
};

struct pcoll_media {
    struct pcoll_table_medium *media; /* the caller frees it with free(), also after a failure */
    size_t count;
};

/* The fields of the parameters, in the order of enum pcoll_parameter, in a record whose structure
 * begins with struct pcoll_estimates; to be used with the lists of estimates.h. */
#define PCOLL_PARAMETER_FIELD(NAME, name, is_required)                                             \
    {#name, pcoll_parameter_read,                                                                  \
     offsetof(struct pcoll_estimates, value) + PCOLL_PARAMETER_##NAME * sizeof(double),            \
     is_required},
#define PCOLL_REQUIRED_FIELD(NAME, name, unit, what) PCOLL_PARAMETER_FIELD(NAME, name, 1)
#define PCOLL_OPTIONAL_FIELD(NAME, name, unit, what) PCOLL_PARAMETER_FIELD(NAME, name, 0)

/* A pcoll_read: of a parameter, to a double. */
enum pcoll_result pcoll_parameter_read(struct pcoll_reader *reader, struct json_object *value,
                                       void *to) PCOLL_MUST_CHECK;

/* Set `given` from the fields of such a record, which has been read. */
void pcoll_estimates_note(struct pcoll_estimates *estimates, const struct pcoll_record *record);

/* A pcoll_read: from an object of media to struct pcoll_media. */
enum pcoll_result pcoll_media_read(struct pcoll_reader *reader, struct json_object *value,
                                   void *to) PCOLL_MUST_CHECK;

/* Derive `machine` from `estimates`. */
void pcoll_medium_derive(struct pcoll_table_medium *medium);

#endif /* PCOLL_MEDIA_H */
