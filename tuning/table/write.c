/* The tuning table as JSON text. */
#include "tuning/table/table.h"
#include "tuning/table/state.h"

#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The state of writing: members of an object are separated by commas. */
struct writer {
    FILE *out;
    int depth;
    bool first;
};

static void begin_line(struct writer *writer)
{
    fprintf(writer->out, "%s\n%*s", writer->first ? "" : ",", 4 * writer->depth, "");
    writer->first = false;
}

static void write_text(struct writer *writer, const char *text)
{
    fputc('"', writer->out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at < ' ')
            fprintf(writer->out, "\\u%04x", *at);
        else
            fprintf(writer->out, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
    }
    fputc('"', writer->out);
}

static void key(struct writer *writer, const char *name)
{
    begin_line(writer);
    write_text(writer, name);
    fputs(": ", writer->out);
}

static void enter(struct writer *writer, const char *name, char bracket)
{
    key(writer, name);
    fputc(bracket, writer->out);
    writer->depth++;
    writer->first = true;
}

static void leave(struct writer *writer, char bracket)
{
    writer->depth--;
    writer->first = false;
    fprintf(writer->out, "\n%*s%c", 4 * writer->depth, "", bracket);
}

/* Writes the shortest text that reads back to the same number, and 20 rather than 2e+01. */
static void write_number(struct writer *writer, double number)
{
    char text[40];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number && (!strchr(text, 'e') || number < 1e-4))
            break;
    }
    fputs(text, writer->out);
}

/* ---- identity ---- */

static void write_name(struct writer *writer, const char *name, const char *text)
{
    if (!text[0])
        return;
    key(writer, name);
    write_text(writer, text);
}

static void write_count(struct writer *writer, const char *name, int count)
{
    if (count == 0)
        return;
    key(writer, name);
    fprintf(writer->out, "%d", count);
}

static void write_identity(struct writer *writer, const struct pcoll_identity *identity)
{
    if (identity->processor[0] || identity->cores || identity->sockets || identity->hosts ||
        identity->provider[0]) {
        enter(writer, "machine", '{');
        write_name(writer, "processor", identity->processor);
        write_count(writer, "cores", identity->cores);
        write_count(writer, "sockets", identity->sockets);
        write_count(writer, "hosts", identity->hosts);
        write_name(writer, "provider", identity->provider);
        leave(writer, '}');
    }
    if (identity->pcoll[0] || identity->mpi[0] || identity->libfabric[0]) {
        enter(writer, "library", '{');
        write_name(writer, "pcoll", identity->pcoll);
        write_name(writer, "mpi", identity->mpi);
        write_name(writer, "libfabric", identity->libfabric);
        leave(writer, '}');
    }
}

/* ---- media ---- */

static void write_intervals(struct writer *writer, const struct pcoll_estimates *estimates)
{
    if (estimates->sure == 0)
        return;
    enter(writer, "intervals", '{');
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        if (!(estimates->sure & pcoll_parameter_bit((enum pcoll_parameter)i)))
            continue;
        key(writer, pcoll_parameters[i].name);
        fputc('[', writer->out);
        write_number(writer, estimates->low[i]);
        fputs(", ", writer->out);
        write_number(writer, estimates->high[i]);
        fputc(']', writer->out);
    }
    leave(writer, '}');
}

static void write_estimates(struct writer *writer, const struct pcoll_estimates *estimates)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        if (!(estimates->given & pcoll_parameter_bit((enum pcoll_parameter)i)))
            continue;
        key(writer, pcoll_parameters[i].name);
        write_number(writer, estimates->value[i]);
    }
    write_intervals(writer, estimates);
}

static void write_levels(struct writer *writer, const struct pcoll_table_medium *medium)
{
    int any = 0;

    for (int i = PCOLL_LEVEL_ANY + 1; i < PCOLL_NUM_LEVELS; i++) {
        if (medium->estimates[i].given == 0)
            continue;
        if (!any++)
            enter(writer, "levels", '{');
        enter(writer, pcoll_level_names[i], '{');
        write_estimates(writer, &medium->estimates[i]);
        leave(writer, '}');
    }
    if (any)
        leave(writer, '}');
}

static void write_media(struct writer *writer, const struct pcoll_media *media)
{
    enter(writer, "media", '{');
    for (size_t i = 0; i < media->count; i++) {
        enter(writer, media->media[i].name, '{');
        write_estimates(writer, &media->media[i].estimates[PCOLL_LEVEL_ANY]);
        write_levels(writer, &media->media[i]);
        leave(writer, '}');
    }
    leave(writer, '}');
}

/* ---- rules ---- */

static void write_range(struct writer *writer, const char *name, const uint64_t ends[2],
                        uint64_t min, uint64_t max)
{
    if (ends[0] == min && ends[1] == max)
        return;
    fprintf(writer->out, ", \"%s\": [%llu, %llu]", name, (unsigned long long)ends[0],
            (unsigned long long)ends[1]);
}

static void write_path(struct writer *writer, enum pcoll_path path)
{
    if (path != PCOLL_PATH_AUTO)
        fprintf(writer->out, ", \"path\": \"%s\"", path == PCOLL_PATH_USER ? "user" : "temp");
}

static void write_slots(struct writer *writer, int slots, int rails)
{
    if (slots)
        fprintf(writer->out, ", \"slots\": %d", slots);
    if (rails)
        fprintf(writer->out, ", \"rails\": %d", rails);
}

static void write_calls(struct writer *writer, const struct pcoll_rule *rule)
{
    write_range(writer, "ranks", rule->ranks, 1, INT_MAX);
    write_range(writer, "bytes", rule->bytes, 0, INT64_MAX);
    if (rule->medium[0]) {
        fputs(", \"medium\": ", writer->out);
        write_text(writer, rule->medium);
    }
    if (rule->nodes)
        fprintf(writer->out, ", \"nodes\": %d", rule->nodes);
    if (rule->degree)
        fprintf(writer->out, ", \"degree\": %d", rule->degree);
    if (rule->level != PCOLL_LEVEL_ANY)
        fprintf(writer->out, ", \"level\": \"%s\"", pcoll_level_names[rule->level]);
    if (rule->cores)
        fprintf(writer->out, ", \"cores\": %d", rule->cores);
    if (rule->memory != PCOLL_MEMORY_ANY)
        fprintf(writer->out, ", \"memory\": \"%s\"",
                rule->memory == PCOLL_MEMORY_MAPPED ? "mapped" : "private");
}

static void write_rule(struct writer *writer, const struct pcoll_rule *rule)
{
    begin_line(writer);
    fprintf(writer->out, "{ \"coll\": \"%s\"", pcoll_coll_name(rule->coll));
    write_calls(writer, rule);
    fprintf(writer->out, ", \"algorithm\": \"%s\"", rule->algorithm->name);
    if (rule->params.radix)
        fprintf(writer->out, ", \"radix\": %d", rule->params.radix);
    if (rule->params.segment)
        fprintf(writer->out, ", \"segment\": %llu", (unsigned long long)rule->params.segment);
    write_slots(writer, rule->params.slots, rule->params.rails);
    if (rule->params.teams)
        fprintf(writer->out, ", \"teams\": %d", rule->params.teams > 0 ? rule->params.teams : 0);
    write_path(writer, rule->params.path);
    fputs(" }", writer->out);
}

static void write_rules(struct writer *writer, const struct pcoll_rules *rules)
{
    if (rules->count == 0)
        return;
    enter(writer, "rules", '[');
    for (size_t i = 0; i < rules->count; i++)
        write_rule(writer, &rules->rules[i]);
    leave(writer, ']');
}

/* ---- corrections ---- */

static void write_correction(struct writer *writer, const struct pcoll_correction *correction)
{
    begin_line(writer);
    fputs("{ \"medium\": ", writer->out);
    write_text(writer, correction->medium);
    fprintf(writer->out, ", \"coll\": \"%s\", \"algorithm\": \"%s\"",
            pcoll_coll_name(correction->algorithm->coll), correction->algorithm->name);
    write_path(writer, correction->path);
    write_slots(writer, correction->slots, correction->rails);
    fprintf(writer->out, ", \"ranks\": %d, \"nodes\": %d,\n%*s  \"bytes\": [", correction->nranks,
            correction->nnodes, 4 * writer->depth, "");
    for (int i = 0; i < correction->npoints; i++)
        fprintf(writer->out, "%s%llu", i ? ", " : "", (unsigned long long)correction->bytes[i]);
    fprintf(writer->out, "],\n%*s  \"factor\": [", 4 * writer->depth, "");
    for (int i = 0; i < correction->npoints; i++) {
        fputs(i ? ", " : "", writer->out);
        write_number(writer, correction->factor[i]);
    }
    fputs("] }", writer->out);
}

static void write_corrections(struct writer *writer, const struct pcoll_corrections *corrections)
{
    if (corrections->count == 0)
        return;
    enter(writer, "corrections", '[');
    for (size_t i = 0; i < corrections->count; i++)
        write_correction(writer, &corrections->list[i]);
    leave(writer, ']');
}

enum pcoll_result pcoll_table_write(const struct pcoll_table *table, FILE *out)
{
    struct writer writer = {.out = out, .depth = 1, .first = true};
    const locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); /* no comma in numbers */
    const locale_t before = uselocale(c);

    fputc('{', out);
    key(&writer, "pcoll_tuning");
    fputc('1', out);
    if (table->description) {
        key(&writer, "description");
        write_text(&writer, table->description);
    }
    write_identity(&writer, &table->identity);
    write_media(&writer, &table->media);
    write_rules(&writer, &table->rules);
    write_corrections(&writer, &table->corrections);
    leave(&writer, '}');
    fputc('\n', out);
    uselocale(before);
    if (c)
        freelocale(c);
    return fflush(out) != 0 || ferror(out) ? PCOLL_ERR_SYSTEM : PCOLL_OK;
}
