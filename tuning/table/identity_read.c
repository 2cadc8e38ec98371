#include "tuning/table/identity_read.h"

#include <limits.h>
#include <string.h>

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
