/*
 * Test Anything Protocol: one line for each check.
 */
#ifndef PCOLL_TEST_TAP_H
#define PCOLL_TEST_TAP_H

#include <stdarg.h>
#include <stdio.h>

static int tap_count, tap_failed;

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

/* The exit status of the test. */
static inline int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif /* PCOLL_TEST_TAP_H */
