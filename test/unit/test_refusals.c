/* A text that is not a tuning table is refused with one line that names file, line and key. */
#include "test/unit/tables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/tap.h"

/* ---- one thing wrong ---- */

static int is_one_line(const char *message)
{
    const char *end = strchr(message, '\n');

    return end && end[1] == '\0' && strlen(message) < 400;
}

/* The message must begin with `message`, unless that is NULL. */
static void expect_refusal(const char *what, const char *text, const char *expected)
{
    struct pcoll_table *table = NULL;
    char *message;
    enum pcoll_result result = tables_parse(text, &table, &message);
    int same = !expected || strncmp(message, expected, strlen(expected)) == 0;

    tap_ok(result == PCOLL_ERR_INVALID && !table && same && is_one_line(message), "%s is refused",
           what);
    if (!same)
        printf("# got      %s\n# expected %s\n", message, expected);
    free(message);
    tap_ok(pcoll_table_parse("t.json", text, NULL, &table) == PCOLL_ERR_INVALID && !table,
           "%s is refused without a message", what);
}

/* ---- test/tables/refused.txt ---- */

/* The value of the abbreviation `$NAME`, which the file defines before the first refusal. */
static const char *value_of(const char *file, const char *name, size_t length, size_t *bytes_p)
{
    char definition[32];
    const char *value;

    snprintf(definition, sizeof(definition), "\n$%.*s = ", (int)length, name);
    value = strstr(file, definition);
    if (!value) {
        printf("Bail out! refused.txt has no $%.*s\n", (int)length, name);
        exit(99);
    }
    value += strlen(definition);
    *bytes_p = strcspn(value, "\n");
    return value;
}

/* Write `text` with its abbreviations expanded. */
static void expand(FILE *out, const char *file, const char *text, size_t size)
{
    for (const char *c = text; c < text + size; c++) {
        const size_t length = *c == '$' ? strspn(c + 1, "abcdefghijklmnopqrstuvwxyz") : 0;
        size_t bytes;

        if (length == 0) {
            fputc(*c, out);
        } else {
            const char *value = value_of(file, c + 1, length, &bytes);

            expand(out, file, value, bytes);
            c += length;
        }
    }
}

/* Test one refusal, which has three parts: what is wrong, the message without the name of the
 * table, and the text. Returns the beginning of the next refusal. */
static char *test_one(const char *file, char *what)
{
    char *end = strstr(what, "\n## "), *message = strchr(what, '\n') + 1;
    char *text = strchr(message, '\n') + 1, *full, expected[300];
    const size_t size = end ? (size_t)(end + 1 - text) : strlen(text);
    size_t full_size;
    FILE *out = open_memstream(&full, &full_size);

    message[-1] = text[-1] = '\0';
    expand(out, file, text, size);
    fclose(out);
    snprintf(expected, sizeof(expected), "t.json:%s", message);
    expect_refusal(what, full, expected);
    free(full);
    return end ? end + strlen("\n## ") : NULL;
}

static void test_refusals(void)
{
    char *file = tables_read("refused.txt"), *rest = strdup(file), *what = strstr(rest, "\n## ");
    int count = 0;

    for (what = what ? what + strlen("\n## ") : NULL; what; count++)
        what = test_one(file, what);
    tap_ok(count > 80, "%d refusals in the file", count);
    free(rest);
    free(file);
}

/* ---- what no text file can hold ---- */

/* `*from` in the table, in quotes, becomes `to`. */
static void test_bytes(const char *what, const char *from, const char *to, const char *expected)
{
    char *text = tables_read("good/least.json"), *at = strstr(text, from), *changed;

    if (!at || asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) < 0)
        abort();
    expect_refusal(what, changed, expected);
    free(changed);
    free(text);
}

static void test_odd_bytes(void)
{
    expect_refusal("only space", " \n\n", "t.json:3: the table: ");
    test_bytes("an unprintable key", "description", "a\xc3\n\x01", "t.json:3: a???: unknown key");
    test_bytes("a control character in the name of a medium", "shm", "s\x19h",
               "t.json:5: media.s?h: a name cannot hold control characters");
}

static void test_big_texts(void)
{
    static char text[PCOLL_TABLE_MAX_BYTES + 2];
    const size_t size = sizeof(text);

    memset(text, ' ', size);
    text[size - 1] = '\0';
    expect_refusal("a text beyond the limit", text, NULL);
    memset(text, '[', size - 2);
    text[size - 2] = '\0';
    expect_refusal("deep nesting", text, NULL);
    memset(text, '9', size - 2);
    expect_refusal("a number of a million digits", text, NULL);
    text[0] = '"';
    expect_refusal("a string without end", text, NULL);
}

/* Every prefix of a valid text, and every text with one byte changed. */
static void test_damage(void)
{
    static const char changes[] = "\"\\{}[]:,0-e \n\x80";
    char *full = tables_read("good/rule_full.json");
    const size_t size = (size_t)(strrchr(full, '}') + 1 - full); /* without the last newline the
                                                                  * text is still complete */
    int cut_refused = 1, survived = 1;

    full[size] = '\0';
    for (size_t length = 0; length < size; length++) {
        struct pcoll_table *table = NULL;
        char *text = strndup(full, length);
        const char kept = full[length];

        cut_refused =
            cut_refused && pcoll_table_parse("t.json", text, NULL, &table) == PCOLL_ERR_INVALID;
        free(text);
        for (const char *change = changes; *change; change++) {
            full[length] = *change;
            if (pcoll_table_parse("t.json", full, NULL, &table) == PCOLL_OK)
                pcoll_table_destroy(table);
            else
                survived = survived && !table;
            table = NULL;
        }
        full[length] = kept;
    }
    free(full);
    tap_ok(cut_refused, "every text cut short is refused");
    tap_ok(survived, "texts with one changed byte do no harm");
}

/* ---- the file ---- */

static void write_file(const char *path, const char *content, size_t size)
{
    FILE *file = fopen(path, "wb");

    if (!file)
        return;
    fwrite(content, 1, size, file);
    fclose(file);
}

static void test_read(const char *what, const char *path, enum pcoll_result expected)
{
    char *text = NULL, *message;
    size_t size;
    FILE *report = open_memstream(&message, &size);
    enum pcoll_result result = pcoll_table_read(path, report, &text);

    fclose(report);
    tap_ok(result == expected, "%s: %s", what, pcoll_result_text(result));
    if (expected == PCOLL_OK)
        tap_ok(text && strcmp(text, "{}\n") == 0 && size == 0, "%s: its text", what);
    else
        tap_ok(!text && strncmp(message, path, strlen(path)) == 0 && is_one_line(message),
               "%s: message names it", what);
    free(text);
    free(message);
}

static void test_files(void)
{
    char path[] = "/tmp/pcoll_test_table.XXXXXX";
    static const char big[PCOLL_TABLE_MAX_BYTES + 1];

    close(mkstemp(path));
    write_file(path, "{}\n", 3);
    test_read("a file", path, PCOLL_OK);
    write_file(path, "{}\0{}", 5);
    test_read("a file with a NUL", path, PCOLL_ERR_INVALID);
    write_file(path, big, PCOLL_TABLE_MAX_BYTES + 1);
    test_read("a file too long", path, PCOLL_ERR_INVALID);
    unlink(path);
    test_read("no file", path, PCOLL_ERR_SYSTEM);
    test_read("a folder", "/tmp", PCOLL_ERR_SYSTEM);
}

int main(void)
{
    test_refusals();
    test_odd_bytes();
    test_big_texts();
    test_damage();
    test_files();
    return tap_done();
}
