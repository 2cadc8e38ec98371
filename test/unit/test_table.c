/* The tuning table: what is read, and how every kind of mistake is refused. */
#include "tuning/table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/tap.h"
#include "tuning/table/correction.h"

#define SHM_OPEN                                                                                   \
    "\"shm\": {\"L\": 0.5, \"o\": 0.25, \"g\": 2, \"G\": 1e-4, \"rma\": 1.5,\n"                    \
    "\"copy\": 0.125, \"call\": 0, \"turn\": 3"
#define SHM SHM_OPEN "}"
#define HEAD "{\"pcoll_tuning\": 1,\n\"media\": {" SHM "}"
#define MORE(text) "{\"pcoll_tuning\": 1, \"media\": {" SHM_OPEN text "}}}"
#define RULES(text) HEAD ",\n\"rules\": [\n" text "]}"
#define CORRECTIONS(text) HEAD ",\n\"corrections\": [\n" text "]}"
#define ABOUT "{\"medium\": \"shm\", \"coll\": \"bcast\", \"algorithm\": \"eager\", \"ranks\": 4"
#define POINTS(bytes, factor) ", \"bytes\": [" bytes "],\n\"factor\": [" factor "]}"

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
     "t.json:5: rulez: unknown key (allowed: pcoll_tuning, description, machine, library, media, "
     "rules, corrections)"},
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
    {"control character in the name of a medium",
     "{\"pcoll_tuning\": 1, \"media\": {\"s\x19h\": {}}}",
     "t.json:1: media.s?h: a name cannot hold control characters"},
    {"medium with a long name",
     "{\"pcoll_tuning\": 1, \"media\": {\"a2345678901234567890123456789012\": {}}}",
     "t.json:1: media.a2345678901234567890123456789012: the name of a medium"},
    {"parameter missing", "{\"pcoll_tuning\": 1, \"media\": {\n\"shm\": {\"L\": 1,\n\"o\": 2}}}",
     "t.json:2: media.shm.g: missing"},
    {"parameter unknown", "{\"pcoll_tuning\": 1, \"media\": {\n\"shm\": {\"L\": 1,\n\"l\": 2}}}",
     "t.json:3: media.shm.l: unknown key (allowed: L, o, g, G, rma, copy, call, turn, pack, "
     "reduce, "
     "register, pin, intervals, levels)"},
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
    {"unknown level", MORE(", \"levels\": {\n\"any\": {}}"),
     "t.json:3: media.shm.levels.any: unknown key (allowed: same_cache, other_cache, "},
    {"levels within levels", MORE(", \"levels\": {\"same_cache\": {\n\"levels\": {}}}"),
     "t.json:3: media.shm.levels.same_cache.levels: unknown key (allowed: L, "},
    {"parameter of a level negative", MORE(", \"levels\": {\"same_cache\": {\n\"L\": -1}}"),
     "t.json:3: media.shm.levels.same_cache.L: must be a number"},
    {"interval of nothing known", MORE(",\n\"intervals\": {\"x\": [1, 2]}"),
     "t.json:3: media.shm.intervals.x: unknown key (allowed: names of parameters)"},
    {"interval no array", MORE(",\n\"intervals\": {\"L\": 1}"),
     "t.json:3: media.shm.intervals.L: must be [low, high]"},
    {"interval of three", MORE(",\n\"intervals\": {\"L\": [1, 2, 3]}"),
     "t.json:3: media.shm.intervals.L: must be [low, high]"},
    {"interval negative", MORE(",\n\"intervals\": {\"L\": [-1, 2]}"),
     "t.json:3: media.shm.intervals.L[0]: must be a number"},
    {"interval below its value", MORE(",\n\"intervals\": {\"L\": [0.1, 0.4]}"),
     "t.json:3: media.shm.intervals: L is not within its own (allowed: low <= L <= high)"},
    {"interval above its value", MORE(",\n\"intervals\": {\"L\": [0.6, 1]}"),
     "t.json:3: media.shm.intervals: L is not within its own"},
    {"interval of what is not given", MORE(",\n\"intervals\": {\"pack\": [0, 1]}"),
     "t.json:3: media.shm.intervals: of pack, which is not given"},
    {"machine no object", HEAD ",\n\"machine\": []}", "t.json:4: machine: must be an object"},
    {"machine with an unknown key", HEAD ",\n\"machine\": {\"name\": \"x\"}}",
     "t.json:4: machine.name: unknown key (allowed: processor, cores, sockets, hosts, provider)"},
    {"no cores", HEAD ",\n\"machine\": {\"cores\": 0}}",
     "t.json:4: machine.cores: must be an integer (allowed: 1 to 2147483647)"},
    {"a long processor",
     HEAD ",\n\"machine\": {\"processor\": \"0123456789012345678901234567890123456789"
          "012345678901234567890123\"}}",
     "t.json:4: machine.processor: too long (allowed: 63 bytes)"},
    {"library with an unknown key", HEAD ",\n\"library\": {\"ucx\": \"x\"}}",
     "t.json:4: library.ucx: unknown key (allowed: pcoll, mpi, libfabric)"},
    {"rules no array", HEAD ",\n\"rules\": {}}", "t.json:4: rules: must be an array"},
    {"corrections no array", HEAD ",\n\"corrections\": {}}",
     "t.json:4: corrections: must be an array"},
    {"correction of nothing", CORRECTIONS("{}"), "t.json:5: corrections[0].medium: missing"},
    {"correction of no algorithm",
     CORRECTIONS(
         "{\"medium\": \"shm\", \"coll\": \"bcast\",\n\"algorithm\": \"ring\", \"ranks\": 4" POINTS(
             "8", "1")),
     "t.json:6: corrections[0].algorithm: no bcast algorithm 'ring' (allowed: eager, "},
    {"correction of another path", CORRECTIONS(ABOUT ", \"path\": \"user\"" POINTS("8", "1")),
     "t.json:5: corrections[0].path: not a path of 'eager' (allowed: temp)"},
    {"correction of no medium",
     CORRECTIONS(
         "{\"medium\": \"\", \"coll\": \"bcast\", \"algorithm\": \"eager\", \"ranks\": 4" POINTS(
             "8", "1")),
     "t.json:5: corrections[0].medium: no name of a medium"},
    {"correction of more nodes than ranks", CORRECTIONS(ABOUT ", \"nodes\": 5" POINTS("8", "1")),
     "t.json:5: corrections[0].nodes: more nodes than ranks"},
    {"sizes that fall", CORRECTIONS(ABOUT POINTS("8, 8", "1, 1")),
     "t.json:5: corrections[0].bytes[1]: must be an integer (allowed: 9 to "},
    {"no sizes", CORRECTIONS(ABOUT POINTS("", "")),
     "t.json:5: corrections[0].bytes: must be an array (allowed: 1 to 16 numbers)"},
    {"too many sizes", CORRECTIONS(ABOUT POINTS("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "1")),
     "t.json:5: corrections[0].bytes: must be an array (allowed: 1 to 16 numbers)"},
    {"factors missing", CORRECTIONS(ABOUT POINTS("8, 9", "1")),
     "t.json:6: corrections[0].factor: 1 factors for 2 sizes"},
    {"factor 0", CORRECTIONS(ABOUT POINTS("8", "0")),
     "t.json:6: corrections[0].factor[0]: too small (allowed: 1e-06 to 1e+06)"},
    {"rule no object", RULES("1"), "t.json:5: rules[0]: must be an object"},
    {"rule with an unknown key", RULES("{\"coll\": \"bcast\",\n\"size\": 1}"),
     "t.json:6: rules[0].size: unknown key (allowed: coll, ranks, bytes, algorithm, radix, "
     "segment, "
     "slots, rails, path)"},
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
    {"slots no power of two", RULES("{\"coll\": \"bcast\",\n\"slots\": 6}"),
     "t.json:6: rules[0].slots: no power of two"},
    {"slots of an algorithm without",
     RULES("{\"coll\": \"bcast\", \"algorithm\": \"chain\",\n\"slots\": 8}"),
     "t.json:6: rules[0].slots: 'chain' has none"},
    {"no rails", RULES("{\"coll\": \"bcast\",\n\"rails\": 0}"),
     "t.json:6: rules[0].rails: must be an integer (allowed: 1 to "},
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
     RULES("{\"coll\": \"allgather\", \"algorithm\": \"butterfly\",\n\"segment\": 4096}"),
     "t.json:6: rules[0].segment: 'butterfly' has none"},
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
          " \"radix\": 3, \"segment\": 64, \"slots\": 8, \"rails\": 2, \"path\": \"temp\"}");

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

/* Linear in the logarithms of size + 1: 63 is halfway from 0 to 4095. */
static void test_corrections(void)
{
    struct pcoll_table *table = NULL;
    struct pcoll_correction about = {.medium = "shm",
                                     .algorithm = pcoll_algorithm_find(PCOLL_BCAST, "eager"),
                                     .nranks = 4,
                                     .nnodes = 1},
                            other = about;
    char *message;

    tap_ok(parse(CORRECTIONS(ABOUT POINTS(
                     "0, 4095", "1, 4") ",\n" ABOUT
                                        ", \"nodes\": 2, \"path\": \"temp\"" POINTS("7", "5")),
                 &table, &message) == PCOLL_OK &&
               message[0] == '\0',
           "a table with corrections");
    free(message);
    tap_ok(pcoll_table_factor(table, &about, 0, NULL) == 1 &&
               fabs(pcoll_table_factor(table, &about, 63, NULL) - 2) < 1e-9 &&
               pcoll_table_factor(table, &about, 4095, NULL) == 4 &&
               pcoll_table_factor(table, &about, UINT64_MAX, NULL) == 4,
           "between and beyond the sizes");
    other.nnodes = 2;
    tap_ok(pcoll_table_factor(table, &other, 7, NULL) == 1, "another path");
    other.path = PCOLL_PATH_TEMP;
    tap_ok(pcoll_table_factor(table, &other, 1, NULL) == 5, "another shape");
    other.nranks = 5;
    tap_ok(pcoll_table_factor(table, &other, 7, NULL) == 1, "a shape that nobody measured");
    other = about;
    strcpy(other.medium, "ofi_rma");
    tap_ok(pcoll_table_factor(table, &other, 4095, NULL) == 1, "another medium");
    other.npoints = about.npoints = 1;
    other.factor[0] = 7;
    about.factor[0] = 8;
    tap_ok(pcoll_table_correct(table, &other) == PCOLL_OK &&
               pcoll_table_correct(table, &about) == PCOLL_OK &&
               pcoll_table_factor(table, &other, 1, NULL) == 7 &&
               pcoll_table_factor(table, &about, 4095, NULL) == 8,
           "one added, one replaced");
    pcoll_table_destroy(table);
}

#define LEVELS                                                                                     \
    ", \"pack\": 7, \"intervals\": {\"L\": [0.25, 1], \"pack\": [7, 7]}, \"levels\": {"            \
    "\"same_cache\": {\"L\": 0.125, \"intervals\": {\"L\": [0, 0.125]}}, "                         \
    "\"other_socket\": {\"rma\": 9}}"

static void test_levels(void)
{
    struct pcoll_table *table = NULL;
    const struct pcoll_machine *near;
    const struct pcoll_estimates *own, *level;
    char *message;

    tap_ok(parse(MORE(LEVELS), &table, &message) == PCOLL_OK && message[0] == '\0',
           "a table with levels and intervals");
    free(message);
    near = pcoll_table_level(table, "shm", PCOLL_LEVEL_SAME_CACHE);
    tap_ok(near && near->L == 0.125 && near->o == 0.25 && near->turn == 3,
           "a level inherits what it does not give");
    tap_ok(pcoll_table_machine(table, "shm")->L == 0.5 &&
               pcoll_table_level(table, "shm", PCOLL_LEVEL_OTHER_HOST)->L == 0.5 &&
               !pcoll_table_level(table, "ofi", PCOLL_LEVEL_SAME_CACHE),
           "a level that is not there is the medium's own");
    own = pcoll_table_estimates(table, "shm", PCOLL_LEVEL_ANY);
    level = pcoll_table_estimates(table, "shm", PCOLL_LEVEL_SAME_CACHE);
    tap_ok(own->given == (1u << (PCOLL_PARAMETER_PACK + 1)) - 1 &&
               own->sure == (1u << PCOLL_PARAMETER_L | 1u << PCOLL_PARAMETER_PACK) &&
               own->low[PCOLL_PARAMETER_L] == 0.25 && own->high[PCOLL_PARAMETER_L] == 1 &&
               own->value[PCOLL_PARAMETER_PACK] == 7 && level->given == 1 && level->sure == 1 &&
               level->low[PCOLL_PARAMETER_L] == 0 && level->high[PCOLL_PARAMETER_L] == 0.125 &&
               !pcoll_table_estimates(table, "shm", PCOLL_LEVEL_OTHER_CACHE),
           "what is given and how sure it is");
    pcoll_table_destroy(table);
}

/* ---- whose it is ---- */

static void test_identity(void)
{
    struct pcoll_table *table = NULL;
    struct pcoll_identity here = pcoll_identity_here(), other;
    char *message;
    size_t size;
    FILE *report;

    tap_ok(strcmp(PCOLL_VERSION, PACKAGE_VERSION) == 0, "one version");
    tap_ok(here.cores > 0, "cores of this machine");
    tap_ok(parse(HEAD
                 ", \"machine\": {\"processor\": \"Z80\", \"cores\": 7, \"provider\": \"tcp\"},"
                 " \"library\": {\"pcoll\": \"9\", \"mpi\": \"M\"}}",
                 &table, &message) == PCOLL_OK,
           "a table for a machine");
    free(message);
    other = *pcoll_table_identity(table);
    tap_ok(strcmp(other.processor, "Z80") == 0 && other.cores == 7 && other.hosts == 0 &&
               strcmp(other.provider, "tcp") == 0 && strcmp(other.mpi, "M") == 0 &&
               !other.libfabric[0],
           "its identity");
    report = open_memstream(&message, &size);
    here = (struct pcoll_identity){.processor = "6502", .cores = 1, .pcoll = "9"};
    tap_ok(pcoll_identity_compare(&other, &here, "t.json", report) == 2, "two differences");
    fclose(report);
    tap_ok(strcmp(message, "t.json: made for processor 'Z80', this is '6502'; used all the same\n"
                           "t.json: made for 7 cores, these are 1; used all the same\n") == 0,
           "each has its line");
    free(message);
    tap_ok(pcoll_identity_compare(&other, &other, "t.json", stdout) == 0 &&
               pcoll_identity_compare(&(struct pcoll_identity){.cores = 0}, &other, "t.json",
                                      stdout) == 0,
           "none where they are the same, or not known");
    here = (struct pcoll_identity){.provider = "tcp;ofi_rxm"};
    tap_ok(pcoll_identity_compare(&other, &here, "t.json", stdout) == 0,
           "a provider is the same with a layer upon it");
    pcoll_identity_text(here.provider, "tcp2");
    report = fopen("/dev/null", "w");
    tap_ok(pcoll_identity_compare(&other, &here, "t.json", report) == 1 &&
               pcoll_identity_compare(&here, &other, "t.json", report) == 1,
           "but not as one whose name goes on");
    fclose(report);
    pcoll_table_destroy(table);
}

/* ---- what is written ---- */

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
               x[i].params.radix == y[i].params.radix &&
               x[i].params.segment == y[i].params.segment &&
               x[i].params.slots == y[i].params.slots && x[i].params.rails == y[i].params.rails &&
               x[i].params.path == y[i].params.path;
    return same;
}

/* Write, read, write: the same values, the same text. */
static void test_round_trip(const char *what, struct pcoll_table *table)
{
    struct pcoll_table *again = NULL;
    char *message = NULL, *first = written(table), *second;

    if (!tap_ok(first && parse(first, &again, &message) == PCOLL_OK, "%s: written and read", what))
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

static void test_written(const char *what, const char *text)
{
    struct pcoll_table *table = NULL;
    char *message;

    if (parse(text, &table, &message) != PCOLL_OK)
        printf("# %s\n", message);
    free(message);
    test_round_trip(what, table);
    pcoll_table_destroy(table);
}

/* A table whose every value is of our own. */
static void test_made(void)
{
    struct pcoll_estimates estimates[PCOLL_NUM_LEVELS] = {{.given = 0}};
    const struct pcoll_estimates *now;
    struct pcoll_table *table = NULL;
    char *message;
    int good;

    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        for (int level = 0; level < PCOLL_NUM_LEVELS; level += 2)
            pcoll_estimates_set(&estimates[level], (enum pcoll_parameter)i, 1.0 / (3 + i + level),
                                1e-300 * i, 1e6 / (7 + level));
    good = parse(pcoll_tuning_default_json, &table, &message) == PCOLL_OK;
    free(message);
    good = good && pcoll_table_set(table, "shm", estimates) == PCOLL_OK &&
           pcoll_table_set(table, "new", estimates) == PCOLL_OK &&
           pcoll_table_describe(table, "tab\there \"quoted\" back\\slash \xc3\xbc\n") == PCOLL_OK;
    *pcoll_table_identity(table) = pcoll_identity_here();
    tap_ok(good && pcoll_table_machine(table, "new")->L == 1.0 / 3 &&
               pcoll_table_level(table, "shm", PCOLL_LEVEL_OTHER_CACHE)->o == 1.0 / 6 &&
               pcoll_table_machine(table, "ofi_rma"),
           "a medium changed, another added");
    now = pcoll_table_estimates(table, "shm", PCOLL_LEVEL_ANY);
    tap_ok(now && memcmp(now, estimates, sizeof(*now)) == 0, "as given");
    tap_ok(pcoll_table_set(table, "", estimates) == PCOLL_ERR_INVALID, "a medium without a name");
    test_round_trip("a made table", table);
    pcoll_table_destroy(table);
}

static void test_full_stream(void)
{
    struct pcoll_table *table = NULL;
    FILE *device = fopen("/dev/full", "w");
    char *message;
    int good = parse(pcoll_tuning_default_json, &table, &message) == PCOLL_OK;

    tap_ok(good && device && pcoll_table_write(table, device) == PCOLL_ERR_SYSTEM,
           "no room for the table");
    if (device)
        fclose(device);
    free(message);
    pcoll_table_destroy(table);
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
    test_corrections();
    test_levels();
    test_identity();
    test_written("the default table", pcoll_tuning_default_json);
    test_written("a table with rules", full);
    test_written("a table with levels", MORE(LEVELS));
    test_written(
        "a table with corrections",
        CORRECTIONS(ABOUT ", \"nodes\": 2, \"path\": \"temp\", \"slots\": 8, \"rails\": 2" POINTS(
            "7", "5") "," ABOUT POINTS("0, 4095", "0.25, 1e3")));
    test_made();
    test_full_stream();
    test_default();
    test_files();
    return tap_done();
}
