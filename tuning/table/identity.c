#include "tuning/table/identity.h"

#include "tuning/table/reader.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

void pcoll_identity_text(char to[PCOLL_IDENTITY_BYTES], const char *from)
{
    const size_t length = strlen(from);
    const size_t fits = length < PCOLL_IDENTITY_BYTES ? length : PCOLL_IDENTITY_BYTES - 1;

    memcpy(to, from, fits);
    to[fits] = '\0';
}

/* ---- this machine ---- */

/* "model name : Intel(R) ..." on x86; other processors have "cpu", "Processor" or nothing. */
static bool is_name_of_processor(const char *line)
{
    return strncmp(line, "model name", 10) == 0 || strncmp(line, "cpu\t", 4) == 0 ||
           strncmp(line, "Processor", 9) == 0;
}

static void read_processor(char to[PCOLL_IDENTITY_BYTES])
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');

        if (!colon || !is_name_of_processor(line))
            continue;
        line[strcspn(line, "\n")] = '\0';
        pcoll_identity_text(to, colon[1] == ' ' ? colon + 2 : colon + 1);
        break;
    }
    fclose(file);
}

struct pcoll_identity pcoll_identity_here(void)
{
    struct pcoll_identity here = {.pcoll = PCOLL_VERSION};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    read_processor(here.processor);
    here.cores = cores > 0 && cores < INT_MAX ? (int)cores : 0;
    return here;
}

/* ---- the table's machine and this one ---- */

struct comparison {
    const char *name, *so;
    FILE *report;
};

static int differs(const struct comparison *comparison, const char *table, const char *here,
                   const char *what)
{
    if (!table[0] || !here[0] || strcmp(table, here) == 0)
        return 0;
    fprintf(comparison->report, "%s: made for %s '%s', this is '%s'; %s\n", comparison->name, what,
            table, here, comparison->so);
    return 1;
}

/* "tcp;ofi_rxm" is tcp below another layer. */
static int differs_in_provider(const struct comparison *comparison, const char *table,
                               const char *here)
{
    const size_t length = strcspn(table, ";");

    if (length == strcspn(here, ";") && memcmp(table, here, length) == 0)
        return 0;
    return differs(comparison, table, here, "provider");
}

int pcoll_identity_compare(const struct pcoll_identity *table, const struct pcoll_identity *here,
                           const char *name, const char *so, FILE *report)
{
    const struct comparison comparison = {.name = name, .so = so, .report = report};
    int count = differs(&comparison, table->processor, here->processor, "processor") +
                differs_in_provider(&comparison, table->provider, here->provider) +
                differs(&comparison, table->pcoll, here->pcoll, "version");

    if (table->cores == 0 || here->cores == 0 || table->cores == here->cores)
        return count;
    fprintf(report, "%s: made for %d cores, this machine has %d; %s\n", name, table->cores,
            here->cores, so);
    return count + 1;
}

/* ---- from JSON ---- */

static enum pcoll_result read_text(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    const char *text;
    const enum pcoll_result result = pcoll_reader_string(reader, value, &text);

    if (result != PCOLL_OK)
        return result;
    if (strlen(text) >= PCOLL_IDENTITY_BYTES)
        return pcoll_reader_refuse(reader, "too long (allowed: %d bytes)",
                                   PCOLL_IDENTITY_BYTES - 1);
    pcoll_identity_text(to, text);
    return PCOLL_OK;
}

static enum pcoll_result read_count(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    int64_t count;
    const enum pcoll_result result = pcoll_reader_integer(reader, value, 1, INT_MAX, &count);

    if (result == PCOLL_OK)
        *(int *)to = (int)count;
    return result;
}

enum pcoll_result pcoll_identity_read_machine(struct pcoll_reader *reader,
                                              struct json_object *value, void *to)
{
    static const struct pcoll_field fields[] = {
        {"processor", read_text, offsetof(struct pcoll_identity, processor), 0},
        {"cores", read_count, offsetof(struct pcoll_identity, cores), 0},
        {"sockets", read_count, offsetof(struct pcoll_identity, sockets), 0},
        {"hosts", read_count, offsetof(struct pcoll_identity, hosts), 0},
        {"provider", read_text, offsetof(struct pcoll_identity, provider), 0},
        {NULL, NULL, 0, 0}};
    struct pcoll_record record = {.fields = fields, .to = to};

    return pcoll_reader_fields(reader, value, &record);
}

enum pcoll_result pcoll_identity_read_library(struct pcoll_reader *reader,
                                              struct json_object *value, void *to)
{
    static const struct pcoll_field fields[] = {
        {"pcoll", read_text, offsetof(struct pcoll_identity, pcoll), 0},
        {"mpi", read_text, offsetof(struct pcoll_identity, mpi), 0},
        {"libfabric", read_text, offsetof(struct pcoll_identity, libfabric), 0},
        {NULL, NULL, 0, 0}};
    struct pcoll_record record = {.fields = fields, .to = to};

    return pcoll_reader_fields(reader, value, &record);
}
