/* Identity of processes; the contract is in memory/process.h. */
#include "offload/memory/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static struct pcoll_process_id self;
static pthread_once_t made = PTHREAD_ONCE_INIT;

/* A substitute for the kernel's generator: the random bytes that the kernel gave this program at
 * its start, which a fork shares, mixed with the pid and the time. */
static void make_up(struct pcoll_process_id *id)
{
    const void *given = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    struct timespec now = {0, 0};
    uint64_t words[2] = {0, 0};

    if (given != NULL)
        memcpy(words, given, sizeof(words));
    clock_gettime(CLOCK_MONOTONIC, &now);
    words[0] ^= (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec;
    words[1] ^= (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)&words;
    memcpy(id, words, sizeof(*id));
}

void pcoll_process_random(struct pcoll_process_id *id)
{
    ssize_t got;

    do
        got = getrandom(id, sizeof(*id), GRND_NONBLOCK);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(*id))
        make_up(id);
}

static void make_again(void)
{
    pcoll_process_random(&self);
}

static void make(void)
{
    make_again();
    pthread_atfork(NULL, NULL, make_again);
}

const struct pcoll_process_id *pcoll_process_self(void)
{
    pthread_once(&made, make);
    return &self;
}

/* The state follows the name, which may contain anything. */
bool pcoll_process_is_dead(pid_t pid)
{
    char path[40], text[400];
    const char *end;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kill(pid, 0) != 0 && errno == ESRCH;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return true;
    text[n] = '\0';
    end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X');
}

bool pcoll_process_is_self(const struct pcoll_process_id *id)
{
    return memcmp(id, pcoll_process_self(), sizeof(*id)) == 0;
}
