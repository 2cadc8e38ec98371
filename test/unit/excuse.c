/* Reads test/tables/excuses.tsv; the contract is in excuse.h. The build defines that folder. */
#include "test/unit/excuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH PCOLL_TEST_TABLES "/excuses.tsv"

enum { KIND, COLL, ALGORITHM, OPS, PATHS, CONDITIONS, REASON, NCOLUMNS };

static struct excuse excuses[MUTANT_MOST_EXCUSES];
static int count, line_number;

static void bail_out(const char *why, const char *what)
{
    printf("Bail out! %s:%d: %s: %s\n", PATH, line_number, why, what);
    exit(99);
}

/* ---- names, by number; NULL: there are no more ---- */

static const char *kind_name(int i)
{
    static const char *const names[] = {
        [MUTANT_DROP] = "drop", [MUTANT_LOWER] = "lower", [MUTANT_COLLAPSE] = "collapse"};

    return i <= MUTANT_COLLAPSE ? names[i] : NULL;
}

static const char *op_name(int i)
{
    return i < PCOLL_NUM_OPS ? pcoll_op_name((enum pcoll_op)i) : NULL;
}

static const char *path_name(int i)
{
    static const char *const names[] = {
        [PCOLL_PATH_AUTO] = "auto", [PCOLL_PATH_USER] = "user", [PCOLL_PATH_TEMP] = "temp"};

    return i <= PCOLL_PATH_TEMP ? names[i] : NULL;
}

/* In the order of enum excuse_condition. */
static const char *condition_name(int i)
{
    static const char *const names[] = {"cut",     "gated", "lowered", "pipelined", "idle",
                                        "unequal", "lanes", "edges",   "banks"};

    return i < (int)(sizeof(names) / sizeof(names[0])) ? names[i] : NULL;
}

/* ---- fields ---- */

static int find(const char *(*name_of)(int), const char *name)
{
    for (int i = 0; name_of(i); i++)
        if (strcmp(name_of(i), name) == 0)
            return i;
    bail_out("unknown name", name);
    return 0;
}

static int is_any(const char *field)
{
    return strcmp(field, "-") == 0;
}

/* A bit for each of the names in the field. */
static unsigned read_bits(char *field, const char *(*name_of)(int))
{
    unsigned bits = 0;

    while (field && !is_any(field))
        bits |= 1u << find(name_of, strsep(&field, ","));
    return bits;
}

static void read_conditions(char *field, struct excuse *e)
{
    while (field && !is_any(field)) {
        const char *name = strsep(&field, ",");

        if (strncmp(name, "ranks=", 6) == 0)
            e->max_ranks = atoi(name + 6);
        else if (strncmp(name, "threshold=", 10) == 0)
            e->threshold = strtoull(name + 10, NULL, 10);
        else
            e->conditions |= 1u << find(condition_name, name);
    }
}

static int read_coll(const char *field)
{
    const int coll = is_any(field) ? PCOLL_NONE : pcoll_coll_find(field);

    if (coll == PCOLL_NONE && !is_any(field))
        bail_out("unknown collective", field);
    return coll;
}

/* The excuse keeps pointers into the line. */
static void read_line(char *line)
{
    char *fields[NCOLUMNS];
    struct excuse *e;

    if (count == MUTANT_MOST_EXCUSES)
        bail_out("more excuses than mutant.h allows", line);
    for (int i = 0; i < NCOLUMNS; i++) {
        fields[i] = strsep(&line, "\t");
        if (!fields[i] || !*fields[i])
            bail_out("too few columns", fields[0]);
    }
    e = &excuses[count++];
    e->kind = (enum mutant_kind)find(kind_name, fields[KIND]);
    e->coll = read_coll(fields[COLL]);
    e->algorithm = is_any(fields[ALGORITHM]) ? NULL : fields[ALGORITHM];
    e->ops = read_bits(fields[OPS], op_name);
    e->paths = read_bits(fields[PATHS], path_name);
    read_conditions(fields[CONDITIONS], e);
    e->reason = fields[REASON];
}

static void read_all(void)
{
    FILE *file = fopen(PATH, "r");
    char line[512], *copy;

    if (!file)
        bail_out("not read", "fopen");
    while (fgets(line, sizeof(line), file)) {
        line_number++;
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        copy = strdup(line); /* lives as long as the program */
        if (!copy)
            bail_out("out of memory", line);
        read_line(copy);
    }
    fclose(file);
}

const struct excuse *excuse_number(int i)
{
    if (count == 0)
        read_all();
    return i < count ? &excuses[i] : NULL;
}
