#include "phase.h"
#include "check.h"
#include <execinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

enum { FRAMES = 40 };

static char phase[256] = "start";
static unsigned patience;
static int report = STDERR_FILENO;

const char *phase_text(void)
{
    return phase;
}

void check_phase(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(phase, sizeof(phase), format, args);
    va_end(args);
    check_progress();
}

/* The whole program has no limit of its own: beside many busy processes it may take long. */
void check_progress(void)
{
    alarm(patience);
}

/* The kernel gives the signal to the main thread. */
static void on_alarm(int signal)
{
    void *frames[FRAMES];

    (void)signal;
    dprintf(report, "rank %d of %d: no progress in %u s: %s\n", check.rank, check.size, patience,
            phase);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), report);
    _exit(3);
}

void phase_watch(unsigned seconds)
{
    void *frame;

    patience = seconds;
    backtrace(&frame, 1); /* the first call loads a library, which a signal handler must not */
    signal(SIGALRM, on_alarm);
}

void phase_report_to(int file)
{
    report = file;
}
