/*
 * Inside a tuning table.  Private to table.c and write.c.
 */
#ifndef PCOLL_TABLE_STATE_H
#define PCOLL_TABLE_STATE_H

#include "tuning/correction.h"
#include "tuning/identity_read.h"
#include "tuning/media.h"
#include "tuning/rules.h"

struct pcoll_table {
    char *description; /* or NULL */
    struct pcoll_identity identity;
    struct pcoll_media media;
    struct pcoll_rules rules;
    struct pcoll_corrections corrections;
};

#endif /* PCOLL_TABLE_STATE_H */
