/* Command lines: numbers, lists and names are read, or refused with a message that names what is
 * allowed. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/tap.h"
#include "tools/cli.h"

struct values {
    int flag, number, power, name;
    uint64_t large;
    double real;
    struct cli_list list;
    const char *text;
};

#define OPTION(name, form, member) CLI_OPTION(struct values, name, form, member)

static const struct cli_option options[] = {
    {OPTION("flag", CLI_FLAG, flag), .letter = 'f'},
    {OPTION("int", CLI_INT, number), .min = 2, .max = 1 << 20, .letter = 'i'},
    {OPTION("power", CLI_POWER, power), .min = 2, .max = 1 << 16},
    {OPTION("large", CLI_NUMBER, large), .min = 0, .max = UINT64_MAX},
    {OPTION("real", CLI_REAL, real), .min = 0, .max = 1000},
    {OPTION("list", CLI_LIST, list), .min = 0, .max = 1 << 20},
    {OPTION("path", CLI_NAME, name), .name_of = cli_path},
    {OPTION("text", CLI_TEXT, text)},
    {.name = NULL},
};

static char message[512]; /* the last refusal */

/* Read one word as the command line; messages go to `message`. */
static int take(const char *word, struct values *values)
{
    const struct cli cli = {.program = "test", .help = "help\n", .options = options};
    char program[] = "test", copy[256];
    char *arguments[] = {program, copy, NULL};
    const int saved = dup(2);
    FILE *said = tmpfile();
    int status;

    snprintf(copy, sizeof(copy), "%s", word);
    fflush(stderr);
    dup2(fileno(said), 2);
    status = cli_read(&cli, values, 2, arguments, NULL);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    rewind(said);
    message[fread(message, 1, sizeof(message) - 1, said)] = '\0';
    fclose(said);
    return status;
}

static void test_numbers(void)
{
    struct values values = {.number = 7};

    tap_ok(take("--int=64K", &values) == CLI_GO_ON && values.number == 64 << 10, "K");
    tap_ok(take("-i1M", &values) == CLI_GO_ON && values.number == 1 << 20, "M, by its letter");
    tap_ok(take("--power=64K", &values) == CLI_GO_ON && values.power == 64 << 10, "a power of two");
    tap_ok(take("--large=16G", &values) == CLI_GO_ON && values.large == UINT64_C(16) << 30, "G");
    tap_ok(take("--large=18446744073709551615", &values) == CLI_GO_ON && values.large == UINT64_MAX,
           "the largest number");
    tap_ok(take("--large=18446744073709551616", &values) == CLI_WRONG, "a larger one");
    tap_ok(take("--large=17179869184G", &values) == CLI_WRONG, "a larger one by its unit");
    tap_ok(take("--real=0.5", &values) == CLI_GO_ON && values.real > 0.4 && values.real < 0.6,
           "a real number");
    tap_ok(take("--flag", &values) == CLI_GO_ON && values.flag == 1, "a flag");
    tap_ok(take("--path=temp", &values) == CLI_GO_ON && values.name == PCOLL_PATH_TEMP, "a name");
    tap_ok(take("--text=", &values) == CLI_GO_ON && values.text[0] == '\0', "a text, empty");
}

static int is_list(const struct cli_list *list, int count, const uint64_t *wanted)
{
    return list->count == count && memcmp(list->list, wanted, sizeof(*wanted) * (size_t)count) == 0;
}

static void test_lists(void)
{
    static const uint64_t some[] = {8, 64, 1024}, doubled[] = {3, 6, 12, 20};
    static const uint64_t from_zero[] = {0, 1, 2, 3};
    struct values values = {.number = 7};

    tap_ok(take("--list=8,64,1K", &values) == CLI_GO_ON && is_list(&values.list, 3, some), "list");
    tap_ok(take("--list=3..20", &values) == CLI_GO_ON && is_list(&values.list, 4, doubled),
           "a range doubles and ends with its end");
    tap_ok(take("--list=0..3", &values) == CLI_GO_ON && is_list(&values.list, 4, from_zero),
           "a range from 0");
    tap_ok(
        take("--list=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
             "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
             &values) == CLI_WRONG,
        "a list too long");
}

static void test_refusals(void)
{
    static const char *const wrong[][2] = {
        {"--int=x", "test: --int: 'x' is not allowed (allowed: 2 to 1048576)\n"},
        {"--int=1", "test: --int: '1' is not allowed (allowed: 2 to 1048576)\n"},
        {"--int=-5", "test: --int: '-5' is not allowed (allowed: 2 to 1048576)\n"},
        {"--int=", "test: --int: '' is not allowed (allowed: 2 to 1048576)\n"},
        {"--int=5k", "test: --int: '5k' is not allowed (allowed: 2 to 1048576)\n"},
        {"--int=2M", "test: --int: '2M' is not allowed (allowed: 2 to 1048576)\n"},
        {"--power=3", "test: --power: '3' is not allowed (allowed: powers of two)\n"},
        {"--power=1", "test: --power: '1' is not allowed (allowed: 2 to 65536)\n"},
        {"--real=nan", "test: --real: 'nan' is not allowed (allowed: a number, 0 to 1000)\n"},
        {"--list=8,", "test: --list: '8,' is not allowed (allowed: a list like 8,64,1K or 64..1M, "
                      "0 to 1048576)\n"},
        {"--list=9..8", "test: --list: '9..8' is not allowed (allowed: a list like 8,64,1K or "
                        "64..1M, 0 to 1048576)\n"},
        {"--path=far", "test: --path: 'far' is not allowed (allowed: auto, user, temp)\n"},
        {"--int", "test: --int: a value is missing (see --help)\n"},
        {"--flag=1", "test: '--flag=1' is not allowed (see --help)\n"},
        {"--no", "test: '--no' is not allowed (see --help)\n"},
        {"word", "test: 'word' is not allowed (see --help)\n"},
    };
    struct values values = {.number = 7};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const int status = take(wrong[i][0], &values);

        tap_ok(status == CLI_WRONG && strcmp(message, wrong[i][1]) == 0 && values.number == 7,
               "refused: %s", wrong[i][0]);
    }
}

static void test_names(void)
{
    const char *list = "a,bc,", *none = NULL;
    char name[2];

    tap_ok(cli_next_name(&list, name, sizeof(name)) && strcmp(name, "a") == 0, "first of a list");
    tap_ok(cli_next_name(&list, name, sizeof(name)) && strcmp(name, "b") == 0, "what has room");
    tap_ok(cli_next_name(&list, name, sizeof(name)) && name[0] == '\0', "an empty name");
    tap_ok(!cli_next_name(&list, name, sizeof(name)) && !cli_next_name(&none, name, sizeof(name)),
           "the end");
}

int main(void)
{
    test_numbers();
    test_lists();
    test_refusals();
    test_names();
    return tap_done();
}
