/*
 * libFuzzer harness: the reader must accept any text as a tuning table or refuse it with one line.
 * A table that is read is written, and reading that text again gives the same text.
 */
#include "tuning/table/table.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pcoll_table *read_text(const char *text)
{
    struct pcoll_table *table = NULL;
    char *message;
    size_t length;
    FILE *report = open_memstream(&message, &length);
    const enum pcoll_result result = pcoll_table_parse("fuzz", text, report, &table);

    fclose(report);
    if ((result == PCOLL_OK) != (length == 0) || (result == PCOLL_OK) != (table != NULL))
        abort();
    if (length > 0 && strchr(message, '\n') != message + length - 1)
        abort();
    free(message);
    return table;
}

static char *write_text(const struct pcoll_table *table)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (pcoll_table_write(table, out) != PCOLL_OK)
        abort();
    fclose(out);
    return text;
}

static void check_round_trip(const struct pcoll_table *table)
{
    char *first = write_text(table);
    struct pcoll_table *again = read_text(first);
    char *second = again ? write_text(again) : NULL;

    if (!second || strcmp(first, second) != 0)
        abort();
    pcoll_table_destroy(again);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct pcoll_table *table;

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    table = read_text(text);
    if (table)
        check_round_trip(table);
    pcoll_table_destroy(table);
    free(text);
    return 0;
}
