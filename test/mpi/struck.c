/* A rank is struck in the middle of a chunk, when it has written half of it between user memories:
 * it is stopped for two seconds, which must only delay the others, or it dies, which ends the job;
 * or ranks sleep there and before and after each chunk. As soon as its MPI_Wait has returned, a
 * rank writes over its buffers: nobody may read or write them any more.
 *
 *      rank 1   Start - opens --- copies - copies half a chunk . . . . . copies the rest - Wait -
 * writes rank 0         Start - Wait, copies - - - - - waits - - - - - - - - - - - - - - - -|
 * returns - writes
 *
 *   -does=stop|die|sleep   -whom=RANK (0)   -in-agent  only while its agent copies
 *   -times=N strikes (1)   -bytes=N (4 MiB)   -put  rank 0 opens instead, and no other copy is
 * tested */

#include "trial.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STOPPED_SECONDS = 2, ROUNDS = 20, MAX_ROUNDS = 20000, SLEEP_USEC = 3000 };

static enum deed { NOTHING, STOP, DIE, SLEEP } deed; /* of this rank */
static int in_agent, times, strikes;

static int is_agent(void)
{
    char name[16] = "";

    prctl(PR_GET_NAME, name);
    return strcmp(name, "pcoll-agent") == 0;
}

/* One in four times. */
static void sleep_at_random(void)
{
    static _Thread_local unsigned seed;
    struct timespec time = {0, 0};

    if (seed == 0)
        seed = (unsigned)check_number("seed", 1) * 31 + (unsigned)syscall(SYS_gettid);
    if (deed != SLEEP || rand_r(&seed) % 4 != 0)
        return;
    time.tv_nsec = rand_r(&seed) % (SLEEP_USEC * 1000);
    nanosleep(&time, NULL);
}

/* Somebody else must continue this process. */
static void be_stopped(void)
{
    const struct timespec time = {STOPPED_SECONDS, 0};
    const pid_t self = getpid(), nurse = fork();

    if (nurse == 0) {
        nanosleep(&time, NULL);
        kill(self, SIGCONT);
        _exit(0);
    }
    kill(self, SIGSTOP);
    waitpid(nurse, NULL, 0);
}

static void strike(void)
{
    if ((deed != STOP && deed != DIE) || (in_agent && !is_agent()) ||
        __atomic_load_n(&strikes, __ATOMIC_RELAXED) >= times)
        return;
    if (deed == DIE)
        kill(getpid(), SIGKILL);
    be_stopped();
    __atomic_fetch_add(&strikes, 1, __ATOMIC_RELAXED);
}

/* ---- in place of the C library's functions ---- */

static ssize_t copy_part(long number, pid_t pid, struct iovec local, struct iovec remote,
                         size_t from, size_t to)
{
    local.iov_base = (char *)local.iov_base + from;
    remote.iov_base = (char *)remote.iov_base + from;
    local.iov_len = remote.iov_len = to - from;
    return syscall(number, (long)pid, &local, 1L, &remote, 1L, 0L);
}

static ssize_t copy(long number, pid_t pid, const struct iovec *local, unsigned long nlocal,
                    const struct iovec *remote, unsigned long nremote)
{
    const size_t bytes = local->iov_len, half = bytes / 2;
    ssize_t first, second;

    if (deed == NOTHING || nlocal != 1 || nremote != 1 || half == 0 || remote->iov_len != bytes)
        return syscall(number, (long)pid, local, nlocal, remote, nremote, 0L);
    sleep_at_random();
    first = copy_part(number, pid, *local, *remote, 0, half);
    if (first != (ssize_t)half)
        return first;
    strike();
    sleep_at_random();
    second = copy_part(number, pid, *local, *remote, half, bytes);
    sleep_at_random();
    return second < 0 ? second : first + second;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal,
                         const struct iovec *remote, unsigned long nremote, unsigned long flags)
{
    (void)flags;
    return copy(SYS_process_vm_readv, pid, local, nlocal, remote, nremote);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long nlocal,
                          const struct iovec *remote, unsigned long nremote, unsigned long flags)
{
    (void)flags;
    return copy(SYS_process_vm_writev, pid, local, nlocal, remote, nremote);
}

/* ---- the ranks ---- */

/* The memory is the user's again. */
static void write_over(struct trial *t)
{
    size_t changed = 0;

    if (t->send != NULL)
        memset(t->send, 0xa5, t->send_span);
    if (t->receive == NULL)
        return;
    memset(t->receive, 0x5a, t->receive_span);
    usleep(SLEEP_USEC / 10);
    for (size_t i = 0; i < t->receive_span; i++)
        changed += t->receive[i] != 0x5a;
    CHECK(changed == 0);
}

static int is_over(int round)
{
    int over = deed == SLEEP ? round >= ROUNDS : deed == NOTHING || strikes >= times;

    MPI(MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
    return over;
}

static void play(const char *algorithm, size_t bytes)
{
    MPI_Info info = call_algorithm(algorithm);
    struct trial t;

    trial_init(&t, TRIAL_BCAST, bytes, 0, 1, MPI_COMM_WORLD, info);
    strikes = 0;
    for (int round = 0; !is_over(round); round++) {
        check_phase("%s, start %d", algorithm, round);
        CHECK(round < MAX_ROUNDS); /* otherwise the rank never copies */
        trial_start(&t);
        trial_wait(&t);
        write_over(&t);
    }
    trial_free(&t);
    MPI(MPI_Info_free(&info));
}

static enum deed chosen_deed(void)
{
    const char *does = check_option("does");

    if (does == NULL || strcmp(does, "sleep") == 0)
        return SLEEP;
    if (check.rank != check_number("whom", 0))
        return NOTHING;
    return strcmp(does, "die") == 0 ? DIE : STOP;
}

int main(int argc, char **argv)
{
    size_t bytes;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    deed = chosen_deed();
    in_agent = check_option("in-agent") != NULL;
    times = (int)check_number("times", 1);
    bytes = (size_t)check_number("bytes", 4 << 20);
    if (check_option("put") == NULL)
        play("knomial_get", bytes);
    play("knomial_put", bytes);
    return check_done();
}
