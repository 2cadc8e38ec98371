/*
 * To be preloaded by tests that start thousands of processes (maint/suites/prompt.sh).
 *
 * There is no list of the kernel's 100,000 symbols. Two providers of libfabric read it in every
 * process, for 0.08 s, to see whether hardware that is not there could reach the memory of other
 * hardware.
 *
 * A look at sockets that finds nothing yields the core. Threads of libfabric look again and again
 * while a message is in flight; where they outnumber the cores, they burn the whole time slices for
 * which the one that the message is for has to wait. PCOLL_TEST_SPINS=1 lets them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for RTLD_NEXT */
#endif

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

static int spins;

__attribute__((constructor)) static void begin(void)
{
    const char *value = getenv("PCOLL_TEST_SPINS");

    spins = value != NULL && strcmp(value, "1") == 0;
}

int epoll_wait(int set, struct epoll_event *events, int size, int timeout)
{
    static int (*next)(int, struct epoll_event *, int, int);
    int n;

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
    n = next(set, events, size, timeout);
    if (n == 0 && timeout == 0 && !spins)
        sched_yield();
    return n;
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *);

    if (strcmp(path, "/proc/kallsyms") == 0) {
        errno = ENOENT;
        return NULL;
    }
    *(void **)&next = dlsym(RTLD_NEXT, "fopen");
    return next(path, mode);
}
