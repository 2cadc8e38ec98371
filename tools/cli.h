/*
 * Command lines: the options of a program are a table, and all programs read numbers, lists and
 * names in one way and refuse them in one style:
 *
 *     pcoll-info: --ranks: 'x' is not allowed (allowed: 1 to 16777216)
 *
 * Numbers may end in K, M or G (powers of 1024).
 */
#ifndef PCOLL_CLI_H
#define PCOLL_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithms/algorithm.h"

/* How the value of an option is read, and the type of the member that it sets. */
enum cli_form {
    CLI_FLAG,   /* no value; int, set to 1 */
    CLI_TEXT,   /* const char * */
    CLI_INT,    /* int, min to max */
    CLI_POWER,  /* the same, a power of two */
    CLI_NUMBER, /* uint64_t, min to max */
    CLI_REAL,   /* double, min to max */
    CLI_LIST,   /* struct cli_list of numbers, min to max */
    CLI_NAME    /* int: the position of the name */
};

/* A list is 8,64,1K or 64..1M, which doubles. */
enum { CLI_LIST_VALUES = 64 };

struct cli_list {
    uint64_t list[CLI_LIST_VALUES];
    int count;
};

struct cli_option {
    const char *name;
    enum cli_form form;
    size_t offset; /* of the member in the program's structure */
    uint64_t min, max;
    const char *(*name_of)(int number); /* for CLI_NAME: returns NULL after the last name */
    char letter;                        /* a short form; 0: none */
};

/* The first members of every option: {CLI_OPTION(struct settings, "ranks", CLI_INT, nranks), .min =
 * 1, ...} */
#define CLI_OPTION(type, name_, form_, member)                                                     \
    .name = (name_), .form = (form_), .offset = offsetof(type, member)

struct cli {
    const char *program;
    const char *help;                 /* the whole text, for --help */
    const struct cli_option *options; /* ended by one without a name; --help need not be listed */
    int nwords;                       /* number of arguments that are not options */
    const char *words;                /* their description: "a collective and its algorithms" */
    bool is_silent;                   /* print nothing, since another process does */
};

/* Distinct from all exit statuses; the exit status of a bad command line. */
enum { CLI_GO_ON = -1, CLI_WRONG = 2 };

/* Read the command line into `values`, which holds the defaults; all programs have --help and
 * --version. Returns an exit status (0 after those two, CLI_WRONG after a message), or CLI_GO_ON
 * with the arguments that are not options in *words_p, which may be NULL. */
int cli_read(const struct cli *cli, void *values, int argc, char **argv, char ***words_p);

/* Refuse `value` for `what`, which is "--ranks" or "collective"; `allowed` is "1 to 8" or "user,
 * temp". Returns CLI_WRONG. */
int cli_refuse(const struct cli *cli, const char *what, const char *value, const char *allowed);

/* Any other message, in the same style.  Returns CLI_WRONG. */
int cli_complain(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Read a number that is an option or a part of one. Returns false if it was refused. */
bool cli_number(const struct cli *cli, const char *what, const char *text, uint64_t min,
                uint64_t max, uint64_t *number_p);

/* The position of a name; negative if it was refused. */
int cli_name(const struct cli *cli, const char *what, const char *text,
             const char *(*name_of)(int number));

/* The algorithm with that name; NULL if it was refused. */
const struct pcoll_algorithm *cli_algorithm(const struct cli *cli, const char *what,
                                            enum pcoll_coll coll, const char *name);

/* Remove the first name from a list, which may be empty: everything before the comma, or at most
 * `room` - 1 characters of it. Returns false if none is left; *list is NULL then, and may be NULL
 * before. */
bool cli_next_name(const char **list, char *name, size_t room);

/* The names of collectives, paths (auto, user, temp) and levels. */
const char *cli_coll(int number);
const char *cli_path(int number);
const char *cli_level(int number);

#endif /* PCOLL_CLI_H */
