/* Lists of CPUs in the form of taskset and cpusets, as `2,4-7`. */
#include <stdbool.h>
#include <stdlib.h>

#include "offload/agent/agent.h"

enum { MOST = 1 << 16 };

/* A decimal number without sign; PCOLL_NONE: there is none. */
static int read_number(const char **text)
{
    char *end;
    unsigned long number;

    if (**text < '0' || **text > '9')
        return PCOLL_NONE;
    number = strtoul(*text, &end, 10);
    if (number >= MOST)
        return PCOLL_NONE;
    *text = end;
    return (int)number;
}

/* Reads `first` or `first-last`; returns false if it is neither. */
static bool read_range(const char **text, int *first_p, int *last_p)
{
    const int first = read_number(text);
    const char *rest = *text;
    int last = first;

    if (first == PCOLL_NONE)
        return false;
    if (*rest == '-') {
        rest++;
        last = read_number(&rest);
        if (last < first)
            return false;
    }
    *text = rest;
    *first_p = first;
    *last_p = last;
    return true;
}

/* CPU number `which` of the list, or PCOLL_NONE if there are fewer; counts them. */
static int walk(const char **text, int which, int *cpu_p)
{
    int count = 0, first, last;

    for (;; ++*text) {
        if (!read_range(text, &first, &last))
            return 0;
        if (which >= count && which - count <= last - first)
            *cpu_p = first + which - count;
        count += last - first + 1;
        if (**text != ',')
            break;
    }
    return **text == '\0' ? count : 0;
}

int pcoll_agent_cpus(const char *list, int which, int *cpu_p, const char **wrong_p)
{
    const char *text = list;
    int cpu = PCOLL_NONE;
    const int count = walk(&text, which, &cpu);

    *wrong_p = text;
    if (count == 0)
        return 0;
    if (which >= count) {
        text = list;
        walk(&text, which % count, &cpu);
    }
    *cpu_p = cpu;
    return count;
}
