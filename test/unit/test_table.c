/* The tuning table: what is read, and how every kind of mistake is refused. */
#include "tuning/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/tap.h"

#define SHM                                                                                        \
    "\"shm\": {\"L\": 0.5, \"o\": 0.25, \"g\": 2, \"G\": 1e-4, \"rma\": 1.5,\n"                    \
    "\"copy\": 0.125, \"call\": 0, \"turn\": 3}"
#define HEAD "{\"pcoll_tuning\": 1,\n\"media\": {" SHM "}"
#define RULES(text) HEAD ",\n\"rules\": [\n" text "]}"

/* `*message_p` is what was reported; the caller frees it. */
static enum pcoll_result parse(const char *text, struct pcoll_table **table_p, char **message_p)
{
    size_t size;
    FILE *report = open_memstream(message_p, &size);
    enum pcoll_result result = pcoll_table_parse("t.json", text, report, table_p);

    fclose(report);
    return result;
}

/* ---- refusals ---- */

struct mistake {
    const char *what;
    const char *text;
    const char *message; /* how it begins */
};

static const struct mistake mistakes[] = {
    {"empty text", "", "t.json:1: the table: "},
    {"only space", " \n\n", "t.json:3: the table: "},
    {"no JSON", "{\n\"pcoll_tuning\": 1,\n!\n}", "t.json:3: the table: "},
    {"cut short", "{\"pcoll_tuning\": 1,\n\"media\": {\n", "t.json:3: the table: "},
    {"trailing text", HEAD "}\n}", "t.json:4: the table: "},
    {"trailing comma", HEAD ",\n}", "t.json:4: the table: "},
    {"comment", HEAD "\n/* no */}", "t.json:4: the table: "},
    {"null", "null", "t.json:1: the table: must be an object"},
    {"number", "12", "t.json:1: the table: must be an object"},
    {"array", "[]", "t.json:1: the table: must be an object"},
    {"no version", "{\"media\": {" SHM "}}", "t.json:1: pcoll_tuning: missing"},
    {"other version", "{\n\"pcoll_tuning\": 2}",
     "t.json:2: pcoll_tuning: must be an integer (allowed: 1 to 1)"},
    {"version no integer", "{\"pcoll_tuning\": 1.0}", "t.json:1: pcoll_tuning: must be an integer"},
    {"unknown key", HEAD ",\n\n\"rulez\": []}",
     "t.json:5: rulez: unknown key (allowed: pcoll_tuning, description, media, rules)"},
    {"unprintable key", HEAD ",\n\"a\xc3\n\x01\": 1}", "t.json:4: a???: unknown key"},
    {"long key",
     HEAD ",\n\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
          "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\": 1}",
     "t.json:4: kkkk"},
    {"key given twice", HEAD ",\n\"media\": {}}", "t.json:4: media: given twice"},
    {"key given twice, other type", "{\"pcoll_tuning\": 1, \"media\": 5,\n\"media\": {" SHM "}}",
     "t.json:2: media: given twice"},
    {"key given twice, deeper", "{\"pcoll_tuning\": 1, \"media\": {" SHM ",\n" SHM "}}",
     "t.json:3: media.shm: given twice"},
    {"escape in a key", "{\"pcoll_tuning\": 1, \"media\": {\"sh\\u006d\": {}}}",
     "t.json:1: media.sh\\u006d: a key cannot hold an escape"},
    {"NUL in a key", HEAD ",\n\"rules\\u0000\": []}",
     "t.json:4: rules\\u0000: a key cannot hold an escape"},
    {"description no string", HEAD ",\n\"description\": 1}",
     "t.json:4: description: must be a string"},
    {"no media", "{\"pcoll_tuning\": 1}", "t.json:1: media: missing"},
    {"media no object", "{\"pcoll_tuning\": 1,\n\"media\": null}",
     "t.json:2: media: must be an object"},
    {"media empty", "{\"pcoll_tuning\": 1, \"media\": {}}", "t.json:1: media: must name one"},
    {"medium no object", "{\"pcoll_tuning\": 1, \"media\": {\n\"shm\": []}}",
     "t.json:2: media.shm: must be an object"},
    {"medium without a name", "{\"pcoll_tuning\": 1, \"media\": {\n\"\": {}}}",
     "t.json:2: media.: the name of a medium has 1 to 31 bytes"},
    {"medium with a long name",
     "{\"pcoll_tuning\": 1, \"media\": {\"a2345678901234567890123456789012\": {}}}",
     "t.json:1: media.a2345678901234567890123456789012: the name of a medium"},
    {"parameter missing", "{\"pcoll_tuning\": 1, \"media\": {\n\"shm\": {\"L\": 1,\n\"o\": 2}}}",
     "t.json:2: media.shm.g: missing"},
    {"parameter unknown", "{\"pcoll_tuning\": 1, \"media\": {\n\"shm\": {\"L\": 1,\n\"l\": 2}}}",
     "t.json:3: media.shm.l: unknown key (allowed: L, o, g, G, rma, copy, call, turn)"},
    {"parameter no number", "{\"pcoll_tuning\": 1, \"media\": {\"shm\": {\n\"L\": \"1\"}}}",
     "t.json:2: media.shm.L: must be a number (allowed: 0 to 1e+09)"},
    {"parameter null", "{\"pcoll_tuning\": 1, \"media\": {\"shm\": {\n\"L\": null}}}",
     "t.json:2: media.shm.L: must be a number"},
    {"parameter negative", "{\"pcoll_tuning\": 1, \"media\": {\"shm\": {\"L\": 1,\n\"o\": -1e-9}}}",
     "t.json:2: media.shm.o: must be a number"},
    {"parameter infinite", "{\"pcoll_tuning\": 1, \"media\": {\"shm\": {\"L\": Infinity}}}",
     "t.json:1: media.shm.L: must be a number"},
    {"parameter not a number", "{\"pcoll_tuning\": 1, \"media\": {\"shm\": {\"L\": NaN}}}",
     "t.json:1: media.shm.L: must be a number"},
    {"parameter out of range", "{\"pcoll_tuning\": 1, \"media\": {\"shm\": {\"L\": 1e999}}}",
     "t.json:1: media.shm.L: must be a number"},
    {"parameter huge",
     "{\"pcoll_tuning\": 1, \"media\": {\"shm\": {\"L\": 99999999999999999999999999999}}}",
     "t.json:1: media.shm.L: must be a number"},
    {"rules no array", HEAD ",\n\"rules\": {}}", "t.json:4: rules: must be an array"},
    {"rule no object", RULES("1"), "t.json:5: rules[0]: must be an object"},
    {"rule with an unknown key", RULES("{\"coll\": \"bcast\",\n\"size\": 1}"),
     "t.json:6: rules[0].size: unknown key (allowed: coll, ranks, bytes, algorithm, radix, "
     "segment, "
     "path)"},
    {"rule without collective", RULES("{\"algorithm\": \"ring\"}"),
     "t.json:5: rules[0].coll: missing"},
    {"rule without algorithm", RULES("{\"coll\": \"bcast\"}"),
     "t.json:5: rules[0].algorithm: missing"},
    {"unknown collective", RULES("{\"algorithm\": \"ring\",\n\"coll\": \"gather\"}"),
     "t.json:6: rules[0].coll: unknown (allowed: barrier, bcast, allgather)"},
    {"collective no string", RULES("{\"coll\": true}"),
     "t.json:5: rules[0].coll: must be a string"},
    {"NUL in a string", RULES("{\"coll\": \"bcast\\u0000\"}"),
     "t.json:5: rules[0].coll: cannot hold \\u0000"},
    {"unknown algorithm", RULES("{\"coll\": \"barrier\",\n\n\"algorithm\": \"a\\nb\"}"),
     "t.json:7: rules[0].algorithm: no barrier algorithm 'a?b' (allowed: butterfly, "},
    {"algorithm of another collective",
     RULES("{\"coll\": \"bcast\", \"algorithm\": \"eager\"},\n"
           "{\"algorithm\": \"ring\", \"coll\": \"bcast\"}"),
     "t.json:6: rules[1].algorithm: no bcast algorithm 'ring' (allowed: eager, "},
    {"range no array", RULES("{\"coll\": \"bcast\",\n\"ranks\": 2}"),
     "t.json:6: rules[0].ranks: must be [first, last]"},
    {"range of three", RULES("{\"ranks\": [1, 2, 3]}"), "t.json:5: rules[0].ranks: must be [first"},
    {"range empty", RULES("{\"bytes\": [4, 3]}"),
     "t.json:5: rules[0].bytes: is empty (allowed: first <= last)"},
    {"range of no integers", RULES("{\"bytes\": [0,\n1.5]}"),
     "t.json:6: rules[0].bytes[1]: must be an integer (allowed: 0 to "},
    {"no ranks", RULES("{\"ranks\": [0, 1]}"),
     "t.json:5: rules[0].ranks[0]: must be an integer (allowed: 1 to "},
    {"too many ranks", RULES("{\"ranks\": [1, 4294967297]}"),
     "t.json:5: rules[0].ranks[1]: must be"},
    {"negative bytes", RULES("{\"bytes\": [-1, 1]}"), "t.json:5: rules[0].bytes[0]: must be"},
    {"radix too small", RULES("{\"radix\": 1}"),
     "t.json:5: rules[0].radix: must be an integer (allowed: 2 to "},
    {"segment zero", RULES("{\"segment\": 0}"), "t.json:5: rules[0].segment: must be an integer"},
    {"radix not of the algorithm",
     RULES("{\"radix\": 2,\n\"coll\": \"bcast\", \"algorithm\": \"chain\"}"),
     "t.json:5: rules[0].radix: 'chain' has none"},
    {"segment not of the algorithm",
     RULES("{\"coll\": \"allgather\", \"algorithm\": \"bruck\",\n\"segment\": 4096}"),
     "t.json:6: rules[0].segment: 'bruck' has none"},
    {"unknown path",
     RULES("{\"coll\": \"allgather\", \"algorithm\": \"direct\", \"path\": \"auto\"}"),
     "t.json:5: rules[0].path: not a path of 'direct' (allowed: user, temp)"},
    {"path not of the algorithm",
     RULES("{\"coll\": \"bcast\", \"algorithm\": \"chain\",\n\"path\": \"temp\"}"),
     "t.json:6: rules[0].path: not a path of 'chain' (allowed: user)"},
};

static int is_one_line(const char *message)
{
    const char *end = strchr(message, '\n');

    return end && end[1] == '\0' && strlen(message) < 400;
}

static void test_mistake(const struct mistake *mistake)
{
    struct pcoll_table *table = NULL;
    char *message;
    enum pcoll_result result = parse(mistake->text, &table, &message);
    int same = strncmp(message, mistake->message, strlen(mistake->message)) == 0;

    tap_ok(result == PCOLL_ERR_INVALID && !table && same && is_one_line(message), "%s is refused",
           mistake->what);
    if (!same)
        printf("# got      %s\n# expected %s\n", message, mistake->message);
    free(message);
    tap_ok(pcoll_table_parse("t.json", mistake->text, NULL, &table) == PCOLL_ERR_INVALID && !table,
           "%s is refused in silence", mistake->what);
}

static void test_bad_text(const char *what, const char *text)
{
    struct pcoll_table *table = NULL;
    char *message;
    enum pcoll_result result = parse(text, &table, &message);

    tap_ok(result == PCOLL_ERR_INVALID && !table && is_one_line(message), "%s is refused", what);
    free(message);
}

static void test_big_texts(void)
{
    static char text[PCOLL_TABLE_MAX_BYTES + 2];
    const size_t size = sizeof(text);

    memset(text, ' ', size);
    text[size - 1] = '\0';
    test_bad_text("a text beyond the limit", text);
    memset(text, '[', size - 2);
    text[size - 2] = '\0';
    test_bad_text("deep nesting", text);
    memset(text, '9', size - 2);
    test_bad_text("a number of a million digits", text);
    text[0] = '"';
    test_bad_text("a string without end", text);
}

static const char full[] =
    RULES("{\"coll\": \"bcast\", \"algorithm\": \"eager\", \"ranks\": [2, 4], \"bytes\": [0, 8],"
          " \"radix\": 3, \"segment\": 64, \"path\": \"temp\"}");

/* Every beginning of a good text, and every text with one byte changed. */
static void test_damage(void)
{
    static const char changes[] = "\"\\{}[]:,0-e \n\x80";
    char damaged[sizeof(full)];
    int cut_refused = 1, survived = 1;

    for (size_t length = 0; length + 1 < sizeof(full); length++) {
        struct pcoll_table *table = NULL;
        char *text = strndup(full, length);

        cut_refused =
            cut_refused && pcoll_table_parse("t.json", text, NULL, &table) == PCOLL_ERR_INVALID;
        free(text);
        for (const char *change = changes; *change; change++) {
            memcpy(damaged, full, sizeof(full));
            damaged[length] = *change;
            if (pcoll_table_parse("t.json", damaged, NULL, &table) == PCOLL_OK)
                pcoll_table_destroy(table);
            else
                survived = survived && !table;
            table = NULL;
        }
    }
    tap_ok(cut_refused, "every text cut short is refused");
    tap_ok(survived, "texts with one byte changed do no harm");
}

/* ---- what is read ---- */

static void test_machine(void)
{
    struct pcoll_table *table = NULL;
    const struct pcoll_machine *shm;
    char *message;
    size_t count = 1;

    tap_ok(parse(HEAD "}", &table, &message) == PCOLL_OK && message[0] == '\0', "a short table");
    shm = pcoll_table_machine(table, "shm");
    tap_ok(shm && shm->L == 0.5 && shm->o == 0.25 && shm->g == 2 && shm->G == 1e-4 &&
               shm->rma == 1.5 && shm->copy == 0.125 && shm->call == 0 && shm->turn == 3 &&
               shm->cores == 0,
           "parameters of the medium");
    tap_ok(!pcoll_table_machine(table, "ofi"), "no other medium");
    pcoll_table_rules(table, &count);
    tap_ok(count == 0, "no rules");
    pcoll_table_destroy(table);
    pcoll_table_destroy(NULL);
    free(message);
}

static void test_rules(void)
{
    struct pcoll_table *table = NULL;
    const struct pcoll_rule *rules;
    char *message;
    size_t count;

    tap_ok(parse(RULES("{\"coll\": \"bcast\", \"algorithm\": \"eager\", \"ranks\": [2, 4],"
                       "\"bytes\": [0, 8], \"radix\": 3, \"segment\": 64, \"path\": \"temp\"},"
                       "{\"algorithm\": \"direct\", \"coll\": \"allgather\", \"path\": \"user\"}"),
                 &table, &message) == PCOLL_OK &&
               message[0] == '\0',
           "a table with rules");
    rules = pcoll_table_rules(table, &count);
    tap_ok(count == 2, "two rules");
    tap_ok(rules[0].coll == PCOLL_BCAST && strcmp(rules[0].algorithm->name, "eager") == 0 &&
               rules[0].ranks[0] == 2 && rules[0].ranks[1] == 4 && rules[0].bytes[0] == 0 &&
               rules[0].bytes[1] == 8 && rules[0].params.radix == 3 &&
               rules[0].params.segment == 64 && rules[0].params.path == PCOLL_PATH_TEMP,
           "everything given");
    tap_ok(rules[1].coll == PCOLL_ALLGATHER && rules[1].algorithm->coll == PCOLL_ALLGATHER &&
               rules[1].ranks[0] == 1 && rules[1].ranks[1] == INT32_MAX && rules[1].bytes[0] == 0 &&
               rules[1].bytes[1] == INT64_MAX && rules[1].params.radix == 0 &&
               rules[1].params.segment == 0 && rules[1].params.path == PCOLL_PATH_USER,
           "everything left open");
    pcoll_table_destroy(table);
    free(message);
}

static void test_default(void)
{
    struct pcoll_table *table = NULL;
    char *message;

    tap_ok(parse(pcoll_tuning_default_json, &table, &message) == PCOLL_OK && message[0] == '\0',
           "the default table");
    tap_ok(pcoll_table_machine(table, "shm") != NULL, "has shm");
    pcoll_table_destroy(table);
    free(message);
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
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
        test_mistake(&mistakes[i]);
    test_big_texts();
    test_damage();
    test_machine();
    test_rules();
    test_default();
    test_files();
    return tap_done();
}
