#include "tools/cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuning/table/identity.h"
#include "tuning/table/table.h"
#include "tuning/table/text.h"

enum { MAX_OPTIONS = 64, FIRST = 256, HELP = 'h', VERSION = 'V' };

/* ---- messages ---- */

int cli_complain(const struct cli *cli, const char *format, ...)
{
    va_list arguments;

    if (cli->is_silent)
        return CLI_WRONG;
    fprintf(stderr, "%s: ", cli->program);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return CLI_WRONG;
}

int cli_refuse(const struct cli *cli, const char *what, const char *value, const char *allowed)
{
    return cli_complain(cli, "%s: '%s' is not allowed (allowed: %s)", what, value, allowed);
}

static int refuse_range(const struct cli *cli, const char *what, const char *value,
                        const char *form, uint64_t min, uint64_t max)
{
    char allowed[96];

    snprintf(allowed, sizeof(allowed), "%s%" PRIu64 " to %" PRIu64, form, min, max);
    return cli_refuse(cli, what, value, allowed);
}

/* ---- values ---- */

/* Read digits and a unit. Returns what follows them, or NULL if there is no number or it is too
 * large. */
static const char *read_number(const char *text, uint64_t *number)
{
    static const char units[] = "KMG";
    char *end;
    const char *unit;
    int shift;

    if (!isdigit((unsigned char)*text))
        return NULL;
    errno = 0;
    *number = strtoull(text, &end, 10);
    unit = *end ? strchr(units, *end) : NULL;
    shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno != 0 || *number > UINT64_MAX >> shift)
        return NULL;
    *number <<= shift;
    return end + (unit != NULL);
}

bool cli_number(const struct cli *cli, const char *what, const char *text, uint64_t min,
                uint64_t max, uint64_t *number_p)
{
    uint64_t number;
    const char *end = read_number(text, &number);

    if (!end || *end || number < min || number > max) {
        refuse_range(cli, what, text, "", min, max);
        return false;
    }
    *number_p = number;
    return true;
}

static bool add_range(struct cli_list *list, uint64_t first, uint64_t last)
{
    for (uint64_t value = first; list->count < CLI_LIST_VALUES;) {
        list->list[list->count++] = value;
        if (value == last)
            return true;
        value = value == 0 ? 1 : value > last / 2 ? last : 2 * value;
    }
    return false;
}

static bool read_list(const char *text, uint64_t min, uint64_t max, struct cli_list *list)
{
    const char *at = text;
    uint64_t first = 0, last;

    list->count = 0;
    do {
        at = read_number(at, &first);
        last = first;
        if (at && strncmp(at, "..", 2) == 0)
            at = read_number(at + 2, &last);
        if (!at || first < min || last > max || first > last || !add_range(list, first, last))
            return false;
    } while (*at++ == ',');
    return at[-1] == '\0';
}

static bool read_real(const char *text, uint64_t min, uint64_t max, double *real)
{
    char *end;
    const double value = strtod(text, &end);

    if (end == text || *end || !(value >= (double)min && value <= (double)max))
        return false;
    *real = value;
    return true;
}

static void list_names(const char *(*name_of)(int number), char *text, size_t room)
{
    size_t used = 0;

    for (int i = 0; name_of(i) && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", name_of(i));
}

int cli_name(const struct cli *cli, const char *what, const char *text,
             const char *(*name_of)(int number))
{
    char allowed[512];

    for (int i = 0; name_of(i); i++)
        if (strcmp(name_of(i), text) == 0)
            return i;
    list_names(name_of, allowed, sizeof(allowed));
    cli_refuse(cli, what, text, allowed);
    return -1;
}

const struct pcoll_algorithm *cli_algorithm(const struct cli *cli, const char *what,
                                            enum pcoll_coll coll, const char *name)
{
    const struct pcoll_algorithm *found = pcoll_algorithm_find(coll, name);
    char allowed[512];

    if (found)
        return found;
    pcoll_text_names(coll, allowed, sizeof(allowed));
    cli_refuse(cli, what, name, allowed);
    return NULL;
}

bool cli_next_name(const char **list, char *name, size_t room)
{
    const size_t length = *list ? strcspn(*list, ",") : 0;

    if (!*list)
        return false;
    snprintf(name, room, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return true;
}

/* ---- options ---- */

static int take_int(const struct cli *cli, const struct cli_option *option, const char *what,
                    const char *text, int *value)
{
    uint64_t number;

    if (!cli_number(cli, what, text, option->min, option->max, &number))
        return CLI_WRONG;
    *value = (int)number;
    return CLI_GO_ON;
}

static int take_power(const struct cli *cli, const struct cli_option *option, const char *what,
                      const char *text, int *value)
{
    int number;
    const int status = take_int(cli, option, what, text, &number);

    if (status != CLI_GO_ON)
        return status;
    if ((number & (number - 1)) != 0)
        return cli_refuse(cli, what, text, "powers of two");
    *value = number;
    return CLI_GO_ON;
}

static int take_name(const struct cli *cli, const struct cli_option *option, const char *what,
                     const char *text, int *value)
{
    const int number = cli_name(cli, what, text, option->name_of);

    if (number < 0)
        return CLI_WRONG;
    *value = number;
    return CLI_GO_ON;
}

static int take_option(const struct cli *cli, const struct cli_option *option, const char *text,
                       void *values)
{
    const uint64_t min = option->min, max = option->max;
    void *to = (char *)values + option->offset;
    char what[64];

    snprintf(what, sizeof(what), "--%s", option->name);
    switch (option->form) {
        case CLI_FLAG:
            *(int *)to = 1;
            return CLI_GO_ON;
        case CLI_TEXT:
            *(const char **)to = text;
            return CLI_GO_ON;
        case CLI_INT:
            return take_int(cli, option, what, text, to);
        case CLI_POWER:
            return take_power(cli, option, what, text, to);
        case CLI_NUMBER:
            return cli_number(cli, what, text, min, max, to) ? CLI_GO_ON : CLI_WRONG;
        case CLI_REAL:
            return read_real(text, min, max, to)
                       ? CLI_GO_ON
                       : refuse_range(cli, what, text, "a number, ", min, max);
        case CLI_LIST:
            return read_list(text, min, max, to)
                       ? CLI_GO_ON
                       : refuse_range(cli, what, text, "a list like 8,64,1K or 64..1M, ", min, max);
        default:
            return take_name(cli, option, what, text, to);
    }
}

/* Translate the table for getopt_long, with its short options. */
static void list_options(const struct cli *cli, struct option *list, char *letters)
{
    int i;

    *letters++ = ':';
    *letters++ = HELP;
    for (i = 0; cli->options[i].name && i < MAX_OPTIONS - 3; i++) {
        const struct cli_option *option = &cli->options[i];
        const int argument = option->form == CLI_FLAG ? no_argument : required_argument;

        list[i] = (struct option){option->name, argument, NULL, FIRST + i};
        if (option->letter) {
            *letters++ = option->letter;
            *letters = ':';
            letters += argument == required_argument;
        }
    }
    *letters = '\0';
    list[i] = (struct option){"help", no_argument, NULL, HELP};
    list[i + 1] = (struct option){"version", no_argument, NULL, VERSION};
    list[i + 2] = (struct option){NULL, 0, NULL, 0};
}

static const struct cli_option *find_option(const struct cli *cli, int found)
{
    if (found >= FIRST)
        return &cli->options[found - FIRST];
    for (const struct cli_option *option = cli->options; option->name; option++)
        if (option->letter == found)
            return option;
    return NULL;
}

static int give_help(const struct cli *cli)
{
    if (!cli->is_silent)
        fputs(cli->help, stdout);
    return 0;
}

static int give_version(const struct cli *cli)
{
    if (!cli->is_silent)
        printf("%s (pcoll) %s\n", cli->program, PCOLL_VERSION);
    return 0;
}

static int read_options(const struct cli *cli, void *values, int argc, char **argv)
{
    struct option list[MAX_OPTIONS];
    char letters[2 * MAX_OPTIONS + 3];
    int found, status = CLI_GO_ON;

    list_options(cli, list, letters);
    opterr = 0;
    optind = 0; /* start over, also if called again */
    while (status == CLI_GO_ON && (found = getopt_long(argc, argv, letters, list, NULL)) != -1) {
        const struct cli_option *option = find_option(cli, found);

        if (found == HELP)
            status = give_help(cli);
        else if (found == VERSION)
            status = give_version(cli);
        else if (found == ':')
            status = cli_complain(cli, "%s: a value is missing (see --help)", argv[optind - 1]);
        else if (!option)
            status = cli_complain(cli, "'%s' is not allowed (see --help)", argv[optind - 1]);
        else
            status = take_option(cli, option, optarg, values);
    }
    return status;
}

int cli_read(const struct cli *cli, void *values, int argc, char **argv, char ***words_p)
{
    const int status = read_options(cli, values, argc, argv);

    if (status != CLI_GO_ON)
        return status;
    if (argc - optind > cli->nwords)
        return cli_complain(cli, "'%s' is not allowed (see --help)", argv[optind + cli->nwords]);
    if (argc - optind < cli->nwords)
        return cli_complain(cli, "%s are missing (see --help)", cli->words);
    if (words_p)
        *words_p = argv + optind;
    return CLI_GO_ON;
}

/* ---- names ---- */

const char *cli_coll(int number)
{
    return number < PCOLL_NUM_COLLS ? pcoll_coll_name((enum pcoll_coll)number) : NULL;
}

const char *cli_path(int number)
{
    static const char *const names[] = {
        [PCOLL_PATH_AUTO] = "auto", [PCOLL_PATH_USER] = "user", [PCOLL_PATH_TEMP] = "temp"};

    return number <= PCOLL_PATH_TEMP ? names[number] : NULL;
}

const char *cli_level(int number)
{
    return number < PCOLL_NUM_LEVELS ? pcoll_level_names[number] : NULL;
}
