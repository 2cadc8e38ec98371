/* What races have found, in a file that outlives the job. */

#ifndef WISDOM_H_INCLUDED
#define WISDOM_H_INCLUDED

#include "tuning/table/table.h"

/* Put the rules of the file, if the user names one, before those of the table. */
void MPIDI_PCOLL_wisdom_read(struct pcoll_table *table, FILE *out);

/* Put a rule before those of the table, and note it for the file; without a file nothing. */
void MPIDI_PCOLL_wisdom_add(struct pcoll_table *table, const struct pcoll_rule *rule);

/* At the end: merge what was noted into the file. Where there is none, it becomes the table. */
void MPIDI_PCOLL_wisdom_keep(struct pcoll_table *table, FILE *out);

#endif /* WISDOM_H_INCLUDED */
