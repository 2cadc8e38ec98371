/*
 * The tuning tables of test/tables/, independent of where the test is built and run.
 */
#ifndef PCOLL_TEST_TABLES_H
#define PCOLL_TEST_TABLES_H

#include "tuning/table/table.h"

/* The contents of the file test/tables/NAME; the program ends if it cannot be read. The caller
 * frees them. */
char *tables_read(const char *name);

/* Parse `text` as the file t.json; `*message_p` receives the report, which the caller frees. */
enum pcoll_result tables_parse(const char *text, struct pcoll_table **table_p, char **message_p);

/* The table test/tables/good/NAME.json, to be destroyed with pcoll_table_destroy; the program ends
 * if it is not read without a message. */
struct pcoll_table *tables_good(const char *name);

/* The same for the table that is compiled in. */
struct pcoll_table *tables_default(void);

#endif /* PCOLL_TEST_TABLES_H */
