/* What a process does between a start and its completion, while the other ranks, or threads of the
 * library, may be moving its data: it forks, and the child writes over all buffers; it executes
 * another program, also through a pipe; signals interrupt it a thousand times a second, without
 * SA_RESTART, and never an agent.
 *
 *   -times=N of each (5)   -bytes=N (1100000)   -only=LIST of collectives (all) */

#include "trial.h"
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks, strays;
static timer_t timer;

/* Threads of the network library may take signals, too; an agent must not. */
static void tick(int number)
{
    char name[16] = "";

    (void)number;
    ticks++;
    prctl(PR_GET_NAME, name);
    strays += strcmp(name, "pcoll-agent") == 0;
}

static void wait_for_child(pid_t child)
{
    int status = 1;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    CHECK(child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The parent goes on at once. */
static pid_t fork_and_scribble(struct trial *t)
{
    pid_t child = fork();

    if (child == 0) {
        if (t->send != NULL)
            memset(t->send, 0x11, t->send_span);
        if (t->receive != NULL)
            memset(t->receive, 0x22, t->receive_span);
        _exit(0);
    }
    return child;
}

static pid_t fork_and_exec(void)
{
    pid_t child = fork();

    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
        _exit(1);
    }
    return child;
}

static void read_pipe(void)
{
    FILE *pipe = popen("echo 42", "r");
    int number = 0;

    CHECK(pipe != NULL);
    if (pipe == NULL)
        return;
    CHECK(fscanf(pipe, "%d", &number) == 1 && number == 42);
    CHECK(pclose(pipe) == 0);
}

static void compute(double seconds)
{
    struct timespec time;
    double begin, now;
    volatile uint64_t state = 1;

    clock_gettime(CLOCK_MONOTONIC, &time);
    begin = now = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
    while (now < begin + seconds) {
        for (int i = 0; i < 1000; i++)
            state = state * 0xD1342543DE82EF95u + 1;
        clock_gettime(CLOCK_MONOTONIC, &time);
        now = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
    }
}

/* SIGUSR1 so often; 0: not any more. Alarms belong to check.c. */
static void set_timer(long usec)
{
    const struct itimerspec period = {{0, usec * 1000}, {0, usec * 1000}};

    CHECK(timer_settime(timer, 0, &period, NULL) == 0);
}

static void make_timer(void)
{
    struct sigevent event;
    struct sigaction action;

    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    memset(&action, 0, sizeof(action));
    action.sa_handler = tick;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void one_start(struct trial *t, int deed)
{
    pid_t child = 0;

    if (deed == 3)
        set_timer(1000);
    trial_start(t);
    if (deed == 0)
        child = fork_and_scribble(t);
    else if (deed == 1)
        child = fork_and_exec();
    else if (deed == 2)
        read_pipe();
    else
        compute(0.005);
    trial_wait(t);
    if (deed == 3)
        set_timer(0);
    if (child != 0)
        wait_for_child(child);
}

int main(int argc, char **argv)
{
    static const char *const deeds[] = {"fork", "exec", "popen", "signals"};
    size_t bytes;
    int times;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    bytes = (size_t)check_number("bytes", 1100000);
    times = (int)check_number("times", 5);
    make_timer();
    for (int kind = 0; kind < TRIAL_KINDS; kind++) {
        struct trial t;

        if (!trial_wanted((enum trial_kind)kind))
            continue;
        trial_init(&t, (enum trial_kind)kind, bytes, check.size - 1, (uint64_t)kind, MPI_COMM_WORLD,
                   MPI_INFO_NULL);
        for (int i = 0; i < 4 * times; i++) {
            check_phase("%s, start %d: %s", trial_name((enum trial_kind)kind), i, deeds[i % 4]);
            one_start(&t, i % 4);
        }
        trial_free(&t);
    }
    CHECK(ticks > 0 && strays == 0);
    return check_done();
}
