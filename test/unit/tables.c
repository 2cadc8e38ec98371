/* Tuning tables of test/tables/; the contract is in tables.h. The build defines their folder. */
#include "test/unit/tables.h"

#include <stdio.h>
#include <stdlib.h>

static void bail_out(const char *file, const char *why)
{
    printf("Bail out! %s: %s\n", file, why);
    exit(99);
}

char *tables_read(const char *name)
{
    char path[1024], *text = NULL;

    snprintf(path, sizeof(path), "%s/%s", PCOLL_TEST_TABLES, name);
    if (pcoll_table_read(path, stdout, &text) != PCOLL_OK)
        bail_out(path, "not read");
    return text;
}

enum pcoll_result tables_parse(const char *text, struct pcoll_table **table_p, char **message_p)
{
    size_t size;
    FILE *report = open_memstream(message_p, &size);
    enum pcoll_result result = pcoll_table_parse("t.json", text, report, table_p);

    fclose(report);
    return result;
}

static struct pcoll_table *must_parse(const char *name, const char *text)
{
    struct pcoll_table *table = NULL;
    char *message;

    if (tables_parse(text, &table, &message) != PCOLL_OK || message[0] != '\0')
        bail_out(name, message);
    free(message);
    return table;
}

struct pcoll_table *tables_good(const char *name)
{
    struct pcoll_table *table;
    char file[64], *text;

    snprintf(file, sizeof(file), "good/%s.json", name);
    text = tables_read(file);
    table = must_parse(file, text);
    free(text);
    return table;
}

struct pcoll_table *tables_default(void)
{
    return must_parse("the default table", pcoll_tuning_default_json);
}
