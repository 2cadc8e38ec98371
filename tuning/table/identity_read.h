/*
 * What a tuning table was made for, from JSON.
 */
#ifndef PCOLL_IDENTITY_READ_H
#define PCOLL_IDENTITY_READ_H

#include "tuning/table/identity.h"
#include "tuning/table/reader.h"

/* Each is a pcoll_read: from the members `machine` and `library` of the table to struct
 * pcoll_identity. */
enum pcoll_result pcoll_identity_read_machine(struct pcoll_reader *reader,
                                              struct json_object *value, void *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_identity_read_library(struct pcoll_reader *reader,
                                              struct json_object *value, void *to) PCOLL_MUST_CHECK;

#endif /* PCOLL_IDENTITY_READ_H */
