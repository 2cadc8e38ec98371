/* The frame of the test programs (../check.h) for those in Fortran and C++. */

#include "glue.h"
#include "../check.h"

static struct check_init_counts before;
static char line[4096];
static char *arguments[64];

/* Fortran has no argc and argv. */
void frame_begin(void)
{
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t length = file != NULL ? fread(line, 1, sizeof(line) - 1, file) : 0;
    int count = 0;

    for (size_t i = 0; i < length && count < 63; i += strlen(line + i) + 1)
        arguments[count++] = line + i;
    if (file != NULL)
        fclose(file);
    check_begin(count, arguments);
}

void frame_attach(void)
{
    check_attach(MPI_COMM_WORLD);
}

void frame_want(void)
{
    check_want_begin(&before);
}

void frame_got(const char *name)
{
    check_phase("%s", name);
    check_want_end(&before, name, 1);
}

void frame_fail(const char *name, int step)
{
    check_fail("start", step, "%s", name);
}

void frame_delay(void)
{
    check_delay();
}

void frame_sum(void)
{
    check_sum(MPI_COMM_WORLD);
}

int frame_end(void)
{
    return check_end();
}

/* The same under the names that Fortran 77 gives to external procedures. */

void frame_begin_(void);
void frame_attach_(void);
void frame_want_(void);
void frame_got_(const char *name, size_t length);
void frame_fail_(const char *name, const int *step, size_t length);
void frame_delay_(void);
void frame_sum_(void);
int frame_end_(void);

void frame_begin_(void)
{
    frame_begin();
}

void frame_attach_(void)
{
    frame_attach();
}

void frame_want_(void)
{
    frame_want();
}

void frame_got_(const char *name, size_t length)
{
    char text[64];

    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    frame_got(text);
}

void frame_fail_(const char *name, const int *step, size_t length)
{
    char text[64];

    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    frame_fail(text, *step);
}

void frame_delay_(void)
{
    frame_delay();
}

void frame_sum_(void)
{
    frame_sum();
}

int frame_end_(void)
{
    return frame_end();
}
