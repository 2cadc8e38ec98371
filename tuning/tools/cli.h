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

#include <stddef.h>
#include <stdint.h>

#include "algorithms/algorithm.h"

/* How the value of an option is read, and what it becomes. */
enum cli_form {
    CLI_FLAG,   /* no value; int, becomes 1 */
    CLI_TEXT,   /* const char * */
    CLI_INT,    /* int, min to max */
    CLI_NUMBER, /* uint64_t, min to max */
    CLI_REAL,   /* double, min to max */
    CLI_LIST,   /* struct cli_list of numbers, min to max */
    CLI_NAME    /* int: the number of the name */
};

/* 8,64,1K or 64..1M, which doubles. */
enum { CLI_LIST_VALUES = 64 };

struct cli_list {
    uint64_t list[CLI_LIST_VALUES];
    int count;
};

struct cli_option {
    const char *name;
    enum cli_form form;
    size_t offset; /* of what is set in the program's structure */
    uint64_t min, max;
    const char *(*name_of)(int number); /* CLI_NAME: NULL behind the last one */
    char letter;                        /* a short form; 0: none */
};

/* What every option has: {CLI_OPTION(struct settings, "ranks", CLI_INT, nranks), .min = 1, ...} */
#define CLI_OPTION(type, name_, form_, member)                                                     \
    .name = (name_), .form = (form_), .offset = offsetof(type, member)

struct cli {
    const char *program;
    const char *help;                 /* all of it, for --help */
    const struct cli_option *options; /* ended by one without name; --help need not be among them */
    int nwords;                       /* wanted besides the options */
    const char *words;                /* what they are: "a collective and its algorithms" */
    int is_silent;                    /* say nothing: another process does */
};

/* Neither an exit status nor a number of one. */
enum { CLI_GO_ON = -1, CLI_WRONG = 2 };

/* Read the command line into `values`, which holds what is not given; --help and --version are
 * options of all programs.  Answers an exit status (0: one of those two was given; CLI_WRONG: there
 * was a message), or CLI_GO_ON with the words that are no options in *words_p, which may be NULL.
 */
int cli_read(const struct cli *cli, void *values, int argc, char **argv, char ***words_p);

/* Refuse `value` for `what`, which is "--ranks" or "collective"; `allowed`: "1 to 8", "user, temp".
 * Returns CLI_WRONG. */
int cli_refuse(const struct cli *cli, const char *what, const char *value, const char *allowed);

/* Any other message, in the same style.  Returns CLI_WRONG. */
int cli_complain(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A number that is an option, or part of one.  0: it was refused. */
int cli_number(const struct cli *cli, const char *what, const char *text, uint64_t min,
               uint64_t max, uint64_t *number_p);

/* The number of a name; negative: it was refused. */
int cli_name(const struct cli *cli, const char *what, const char *text,
             const char *(*name_of)(int number));

/* The algorithm of that name; NULL: it was refused. */
const struct pcoll_algorithm *cli_algorithm(const struct cli *cli, const char *what,
                                            enum pcoll_coll coll, const char *name);

/* Take the first of a list of names, which may be empty, off it: all before the comma, or at most
 * `room` - 1 of it.  0: there is none left; *list is NULL then, and may be before. */
int cli_next_name(const char **list, char *name, size_t room);

/* The names of some things: collectives, paths (auto, user, temp), levels. */
const char *cli_coll(int number);
const char *cli_path(int number);
const char *cli_level(int number);

#endif /* PCOLL_CLI_H */
