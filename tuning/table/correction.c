#include "tuning/table/correction.h"

#include "tuning/table/rules.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX 1e6 /* a larger factor means that the model does not apply */

/* A correction as it is written in the table. */
struct draft {
    struct pcoll_subject subject;
    const char *medium;
    int64_t ranks, nodes, slots, rails;
    struct points {
        int nbytes, nfactors;
        int64_t bytes[PCOLL_CORRECTION_POINTS];
        double factors[PCOLL_CORRECTION_POINTS];
    } points;
};

static enum pcoll_result read_count(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    return pcoll_reader_integer(reader, value, 1, INT_MAX, to);
}

static enum pcoll_result check_array(struct pcoll_reader *reader, struct json_object *value)
{
    if (!json_object_is_type(value, json_type_array) || json_object_array_length(value) < 1 ||
        json_object_array_length(value) > PCOLL_CORRECTION_POINTS)
        return pcoll_reader_refuse(reader, "must be an array (allowed: 1 to %d numbers)",
                                   PCOLL_CORRECTION_POINTS);
    return PCOLL_OK;
}

static enum pcoll_result read_size(struct pcoll_reader *reader, struct json_object *value, void *to)
{
    struct points *points = to;
    const int64_t min = points->nbytes > 0 ? points->bytes[points->nbytes - 1] + 1 : 0;

    return pcoll_reader_integer(reader, value, min, INT64_MAX - 1,
                                &points->bytes[points->nbytes++]);
}

static enum pcoll_result read_sizes(struct pcoll_reader *reader, struct json_object *value,
                                    void *to)
{
    const enum pcoll_result result = check_array(reader, value);

    return result == PCOLL_OK ? pcoll_reader_elements(reader, value, read_size, to) : result;
}

static enum pcoll_result read_factor(struct pcoll_reader *reader, struct json_object *value,
                                     void *to)
{
    struct points *points = to;
    double *factor = &points->factors[points->nfactors++];
    const enum pcoll_result result = pcoll_reader_number(reader, value, MAX, factor);

    if (result == PCOLL_OK && *factor < 1 / MAX)
        return pcoll_reader_refuse(reader, "too small (allowed: %g to %g)", 1 / MAX, MAX);
    return result;
}

static enum pcoll_result read_factors(struct pcoll_reader *reader, struct json_object *value,
                                      void *to)
{
    const enum pcoll_result result = check_array(reader, value);

    return result == PCOLL_OK ? pcoll_reader_elements(reader, value, read_factor, to) : result;
}

static const struct pcoll_field correction_fields[] = {
    {"medium", pcoll_reader_string, offsetof(struct draft, medium), 1},
    {"coll", pcoll_reader_string, offsetof(struct draft, subject.coll), 1},
    {"algorithm", pcoll_reader_string, offsetof(struct draft, subject.algorithm), 1},
    {"path", pcoll_reader_string, offsetof(struct draft, subject.path), 0},
    {"slots", pcoll_slots_read, offsetof(struct draft, slots), 0},
    {"rails", pcoll_rails_read, offsetof(struct draft, rails), 0},
    {"ranks", read_count, offsetof(struct draft, ranks), 1},
    {"nodes", read_count, offsetof(struct draft, nodes), 0},
    {"bytes", read_sizes, offsetof(struct draft, points), 1},
    {"factor", read_factors, offsetof(struct draft, points), 1},
    {NULL, NULL, 0, 0}};

static enum pcoll_result finish(struct pcoll_reader *reader, const struct pcoll_record *record,
                                const struct draft *draft, struct pcoll_correction *correction)
{
    struct pcoll_rule rule = {.params = {0}};
    const enum pcoll_result result = pcoll_subject_find(reader, record, &draft->subject, &rule);
    const size_t length = strlen(draft->medium);

    if (result != PCOLL_OK)
        return result;
    if (length == 0 || length >= PCOLL_MEDIUM_NAME_BYTES)
        return pcoll_reader_refuse_field(reader, record, "medium", "no name of a medium");
    if (draft->nodes > draft->ranks)
        return pcoll_reader_refuse_field(reader, record, "nodes", "more nodes than ranks");
    if (draft->slots && !rule.algorithm->uses_slots)
        return pcoll_reader_refuse_field(reader, record, "slots", "'%s' has none",
                                         rule.algorithm->name);
    if (draft->points.nbytes != draft->points.nfactors)
        return pcoll_reader_refuse_field(reader, record, "factor", "%d factors for %d sizes",
                                         draft->points.nfactors, draft->points.nbytes);
    memcpy(correction->medium, draft->medium, length + 1);
    correction->algorithm = rule.algorithm;
    correction->path = rule.params.path;
    correction->slots = (int)draft->slots;
    correction->rails = (int)draft->rails;
    correction->nranks = (int)draft->ranks;
    correction->nnodes = (int)draft->nodes;
    correction->npoints = draft->points.nbytes;
    for (int i = 0; i < correction->npoints; i++) {
        correction->bytes[i] = (uint64_t)draft->points.bytes[i];
        correction->factor[i] = draft->points.factors[i];
    }
    return PCOLL_OK;
}

static enum pcoll_result read_correction(struct pcoll_reader *reader, struct json_object *value,
                                         void *to)
{
    struct pcoll_corrections *corrections = to;
    struct draft draft = {.nodes = 1};
    struct pcoll_record record = {.fields = correction_fields, .to = &draft};
    const enum pcoll_result result = pcoll_reader_fields(reader, value, &record);

    if (result != PCOLL_OK)
        return result;
    return finish(reader, &record, &draft, &corrections->list[corrections->count++]);
}

enum pcoll_result pcoll_corrections_read(struct pcoll_reader *reader, struct json_object *value,
                                         void *to)
{
    struct pcoll_corrections *corrections = to;

    if (!json_object_is_type(value, json_type_array))
        return pcoll_reader_refuse(reader, "must be an array");
    corrections->list =
        calloc((size_t)json_object_array_length(value) + 1, sizeof(*corrections->list));
    if (!corrections->list)
        return pcoll_reader_no_memory(reader);
    return pcoll_reader_elements(reader, value, read_correction, corrections);
}

bool pcoll_correction_is_near(const struct pcoll_correction *a, const struct pcoll_correction *b)
{
    return a->algorithm == b->algorithm && a->path == b->path && a->nranks == b->nranks &&
           a->nnodes == b->nnodes && strcmp(a->medium, b->medium) == 0;
}

bool pcoll_correction_same(const struct pcoll_correction *a, const struct pcoll_correction *b)
{
    return pcoll_correction_is_near(a, b) && a->slots == b->slots && a->rails == b->rails;
}

bool pcoll_correction_fits(const struct pcoll_correction *correction,
                           const struct pcoll_correction *about)
{
    return (correction->slots == 0 || correction->slots == about->slots) &&
           (correction->rails == 0 || correction->rails == about->rails);
}

double pcoll_correction_at(const struct pcoll_correction *correction, uint64_t bytes)
{
    const uint64_t *sizes = correction->bytes;
    const double *factor = correction->factor;
    int i = 0;
    double part;

    while (i < correction->npoints && sizes[i] < bytes)
        i++;
    if (i == correction->npoints)
        return factor[i - 1];
    if (i == 0 || sizes[i] == bytes)
        return factor[i];
    part = log(((double)bytes + 1) / ((double)sizes[i - 1] + 1)) /
           log(((double)sizes[i] + 1) / ((double)sizes[i - 1] + 1));
    return factor[i - 1] * pow(factor[i] / factor[i - 1], part);
}
