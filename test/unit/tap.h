/*
 * Test Anything Protocol: one line for each check.
 */
#ifndef PCOLL_TEST_TAP_H
#define PCOLL_TEST_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* One pair for all files of a program. */
__attribute__((weak)) int tap_count, tap_failed;

__attribute__((format(printf, 2, 3))) static inline int tap_ok(int condition, const char *format,
                                                               ...)
{
    va_list arguments;

    tap_failed += !condition;
    printf("%sok %d - ", condition ? "" : "not ", ++tap_count);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return condition;
}

/* How much a test does, according to PCOLL_TEST_DEPTH (see maint/check). BRIEF runs all code, for
 * sanitizers. USUAL runs what proves something that nothing else proves. FULL also runs what
 * repeats it for other sizes and numbers of ranks. */
enum tap_depth { TAP_BRIEF, TAP_USUAL, TAP_FULL };

static inline enum tap_depth tap_depth(void)
{
    const char *depth = getenv("PCOLL_TEST_DEPTH");

    return depth ? (enum tap_depth)atoi(depth) : TAP_USUAL;
}

/* The exit status of the test. */
static inline int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif /* PCOLL_TEST_TAP_H */
