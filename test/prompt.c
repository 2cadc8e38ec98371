/*
 * To be preloaded by tests that start thousands of processes (maint/suites/prompt.sh): there is no
 * list of the kernel's 100,000 symbols. Two providers of libfabric read it in every process, for
 * 0.08 s, to see whether hardware that is not there could reach the memory of other hardware.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for RTLD_NEXT */
#endif

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

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
