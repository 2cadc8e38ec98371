/* Messages to the user: one line each on stderr, without repetitions. */

#include "report.h"

#include "mpidimpl.h"

/* The most recent messages, which are not printed again. */
enum { MAX_REPORTS = 16 };
static char *reports[MAX_REPORTS];
static unsigned nreports = 0;

void MPIDI_PCOLL_report(const char *message)
{
    char *copy;

    for (int i = 0; i < MAX_REPORTS && reports[i]; i++)
        if (strcmp(reports[i], message) == 0)
            return;
    fprintf(stderr, "[%d] pcoll: %s\n", MPIR_Process.rank, message);
    fflush(stderr);
    copy = MPL_strdup(message);
    MPL_free(reports[nreports % MAX_REPORTS]);
    reports[nreports++ % MAX_REPORTS] = copy;
}

void MPIDI_PCOLL_report_lines(char *text)
{
    char *line;

    while ((line = strsep(&text, "\n")) != NULL)
        if (*line)
            MPIDI_PCOLL_report(line);
}

void MPIDI_PCOLL_report_free(void)
{
    for (int i = 0; i < MAX_REPORTS; i++) {
        MPL_free(reports[i]);
        reports[i] = NULL;
    }
    nreports = 0;
}
