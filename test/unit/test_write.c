/* A tuning table that is written and read again is the same. */
#include "test/unit/tables.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/tap.h"

static char *written(const struct pcoll_table *table)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int good = pcoll_table_write(table, out) == PCOLL_OK;

    fclose(out);
    if (good)
        return text;
    free(text);
    return NULL;
}

static int same_estimates(const struct pcoll_table *a, const struct pcoll_table *b,
                          const char *medium)
{
    int same = 1;

    for (int i = 0; i < PCOLL_NUM_LEVELS; i++) {
        const struct pcoll_estimates *x = pcoll_table_estimates(a, medium, (enum pcoll_level)i);
        const struct pcoll_estimates *y = pcoll_table_estimates(b, medium, (enum pcoll_level)i);

        same = same && !x == !y && (!x || memcmp(x, y, sizeof(*x)) == 0);
    }
    return same;
}

static int same_rules(const struct pcoll_table *a, const struct pcoll_table *b)
{
    size_t na, nb;
    const struct pcoll_rule *x = pcoll_table_rules(a, &na), *y = pcoll_table_rules(b, &nb);
    int same = na == nb;

    for (size_t i = 0; same && i < na; i++)
        same = x[i].coll == y[i].coll && x[i].algorithm == y[i].algorithm &&
               memcmp(x[i].ranks, y[i].ranks, sizeof(x[i].ranks)) == 0 &&
               memcmp(x[i].bytes, y[i].bytes, sizeof(x[i].bytes)) == 0 &&
               strcmp(x[i].medium, y[i].medium) == 0 && x[i].nodes == y[i].nodes &&
               x[i].degree == y[i].degree && x[i].level == y[i].level && x[i].cores == y[i].cores &&
               x[i].memory == y[i].memory && x[i].params.radix == y[i].params.radix &&
               x[i].params.segment == y[i].params.segment &&
               x[i].params.slots == y[i].params.slots && x[i].params.rails == y[i].params.rails &&
               x[i].params.teams == y[i].params.teams && x[i].params.path == y[i].params.path;
    return same;
}

/* Write, read, write: the same values and the same text. */
static void test_round_trip(const char *what, struct pcoll_table *table)
{
    struct pcoll_table *again = NULL;
    char *message = NULL, *first = written(table), *second;

    if (!tap_ok(first && tables_parse(first, &again, &message) == PCOLL_OK, "%s: written and read",
                what))
        printf("# %s\n", message ? message : "not written");
    free(message);
    second = again ? written(again) : NULL;
    tap_ok(second && strcmp(first, second) == 0, "%s: the same text", what);
    tap_ok(again && same_estimates(table, again, "shm") &&
               same_estimates(table, again, "ofi_rma") && same_rules(table, again) &&
               memcmp(pcoll_table_identity(table), pcoll_table_identity(again),
                      sizeof(struct pcoll_identity)) == 0,
           "%s: the same values", what);
    free(first);
    free(second);
    pcoll_table_destroy(again);
}

/* A table in which every value is set by this test. */
static void test_made(void)
{
    struct pcoll_estimates estimates[PCOLL_NUM_LEVELS] = {{.given = 0}};
    const struct pcoll_estimates *now;
    struct pcoll_table *table = tables_default();
    int good;

    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        for (int level = 0; level < PCOLL_NUM_LEVELS; level += 2)
            pcoll_estimates_set(&estimates[level], (enum pcoll_parameter)i, 1.0 / (3 + i + level),
                                1e-300 * i, 1e6 / (7 + level));
    good = pcoll_table_set(table, "shm", estimates) == PCOLL_OK &&
           pcoll_table_set(table, "new", estimates) == PCOLL_OK &&
           pcoll_table_describe(table, "tab\there \"quoted\" back\\slash \xc3\xbc\n") == PCOLL_OK;
    *pcoll_table_identity(table) = pcoll_identity_here();
    tap_ok(good && pcoll_table_machine(table, "new")->L == 1.0 / 3 &&
               pcoll_table_level(table, "shm", PCOLL_LEVEL_OTHER_CACHE)->o == 1.0 / 6 &&
               pcoll_table_machine(table, "ofi_rma"),
           "one medium changed, another added");
    now = pcoll_table_estimates(table, "shm", PCOLL_LEVEL_ANY);
    tap_ok(now && memcmp(now, estimates, sizeof(*now)) == 0, "as given");
    tap_ok(pcoll_table_set(table, "", estimates) == PCOLL_ERR_INVALID, "a medium without a name");
    test_round_trip("a made table", table);
    pcoll_table_destroy(table);
}

static void test_full_stream(void)
{
    struct pcoll_table *table = tables_default();
    FILE *device = fopen("/dev/full", "w");

    tap_ok(device && pcoll_table_write(table, device) == PCOLL_ERR_SYSTEM, "no room for the table");
    if (device)
        fclose(device);
    pcoll_table_destroy(table);
}

/* An application may have chosen a locale in which numbers have commas. */
static void test_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR"};
    struct pcoll_table *table = tables_default();
    size_t i = 0;

    while (i < sizeof(names) / sizeof(names[0]) && !setlocale(LC_NUMERIC, names[i]))
        i++;
    if (i == sizeof(names) / sizeof(names[0]))
        tap_ok(1, "numbers with commas # skip no such locale");
    else
        test_round_trip("where numbers have commas", table);
    setlocale(LC_NUMERIC, "C");
    pcoll_table_destroy(table);
}

int main(void)
{
    static const char *const names[] = {"rule_full", "levels", "correction_full", "identity"};
    struct pcoll_table *table = tables_default();

    test_round_trip("the default table", table);
    pcoll_table_destroy(table);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        table = tables_good(names[i]);
        test_round_trip(names[i], table);
        pcoll_table_destroy(table);
    }
    test_made();
    test_full_stream();
    test_locale();
    return tap_done();
}
