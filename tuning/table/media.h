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

/* A pcoll_read: from an object of media to struct pcoll_media. */
enum pcoll_result pcoll_media_read(struct pcoll_reader *reader, struct json_object *value,
                                   void *to) PCOLL_MUST_CHECK;

/* Derive `machine` from `estimates`. */
void pcoll_medium_derive(struct pcoll_table_medium *medium);

#endif /* PCOLL_MEDIA_H */
