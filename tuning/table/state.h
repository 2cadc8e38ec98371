/*
 * The inside of a tuning table, private to table.c and write.c.
 */
#ifndef PCOLL_TABLE_STATE_H
#define PCOLL_TABLE_STATE_H

#include "tuning/table/correction.h"
#include "tuning/table/media.h"
#include "tuning/table/rules.h"

struct pcoll_table {
    char *description; /* or NULL */
    struct pcoll_identity identity;
    struct pcoll_media media;
    struct pcoll_rules rules;
    struct pcoll_corrections corrections;
};

#endif /* PCOLL_TABLE_STATE_H */
