#include "phase.h"
#include "check.h"
#include <execinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

enum { FRAMES = 40 };

static char phase[256] = "start";
static unsigned patience;
static volatile sig_atomic_t is_late; /* half of the patience is over */
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

/* Of two alarms, only one rings when a machine goes on that was paused for minutes. */
static void wait_for_half(void)
{
    alarm((patience + 1) / 2);
}

/* The whole program has no limit of its own: beside many busy processes it may take long. */
void check_progress(void)
{
    is_late = 0;
    wait_for_half();
}

/* The kernel gives the signal to the main thread. */
static void on_alarm(int signal)
{
    void *frames[FRAMES];

    (void)signal;
    if (!is_late) {
        is_late = 1;
        wait_for_half();
        return;
    }
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
