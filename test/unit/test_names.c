/* Values by name (offload/names.h): many names of several lengths, of which some begin others and
 * many belong to the same slot. */
#include <stdio.h>
#include <string.h>

#include "offload/names.h"
#include "test/unit/tap.h"

enum { MANY = 20000, ROOM = 24 };

static char names[MANY][ROOM];
static int values[MANY];

/* Every third name continues the one before it; their ends are not bytes of text. */
static size_t write_name(int i)
{
    const int length = snprintf(names[i], ROOM, "%08x", (unsigned)(i / 3) * 2654435761u);

    names[i][length] = (char)(i % 3);
    return (size_t)length + (size_t)(i % 3);
}

static int count_wrong(const struct pcoll_names *table, int n)
{
    int wrong = 0;

    for (int i = 0; i < MANY; i++) {
        const size_t bytes = write_name(i);

        wrong += pcoll_names_find(table, names[i], bytes) != (i < n ? &values[i] : NULL);
    }
    return wrong;
}

static int add(struct pcoll_names *table, int i)
{
    if (pcoll_names_reserve(table) != PCOLL_OK)
        return 0;
    pcoll_names_add(table, names[i], write_name(i), &values[i]);
    return 1;
}

static void check_many(void)
{
    struct pcoll_names table = {0};
    int wrong = count_wrong(&table, 0);

    for (int i = 0; i < MANY; i++) {
        wrong += !add(&table, i);
        if (i < 40 || i == MANY / 2)
            wrong += count_wrong(&table, i + 1);
    }
    wrong += count_wrong(&table, MANY) + (table.n != MANY);
    tap_ok(wrong == 0, "%d names", MANY);
    pcoll_names_fini(&table);
    tap_ok(count_wrong(&table, 0) == 0 && table.table == NULL, "nothing is found afterwards");
}

/* The names of the last slot go on at the first, and none of them is found in the place of
 * another. */
static void check_table(void)
{
    struct pcoll_names table = {0};
    int chosen[7], n = 0, wrong = 0;

    for (int i = 0; i < MANY && n < 7; i++) {
        struct pcoll_names one = {0};

        if (add(&one, i) && one.table[one.mask].value != NULL)
            chosen[n++] = i;
        pcoll_names_fini(&one);
    }
    for (int i = 0; i < n; i++) {
        for (int k = i; k < n; k++)
            wrong += pcoll_names_find(&table, names[chosen[k]], write_name(chosen[k])) != NULL;
        wrong += !add(&table, chosen[i]);
    }
    for (int i = 0; i < n; i++)
        wrong +=
            pcoll_names_find(&table, names[chosen[i]], write_name(chosen[i])) != &values[chosen[i]];
    tap_ok(n == 7 && table.mask == 15 && wrong == 0, "%d names of one slot", n);
    pcoll_names_fini(&table);
}

int main(void)
{
    check_many();
    check_table();
    return tap_done();
}
