/* Giving the core away; the contract is in yield.h. */
#include "offload/yield.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static void (*users_yield)(void);

void pcoll_set_yield(void (*yield)(void))
{
    users_yield = yield;
}

bool pcoll_may_sleep(void)
{
    return users_yield == NULL;
}

void pcoll_yield(void)
{
    if (users_yield != NULL)
        users_yield();
    else
        sched_yield();
}

void pcoll_rest_usec(unsigned usec)
{
    const struct timespec time = {usec / 1000000, (long)(usec % 1000000) * 1000};

    if (usec == 0 || !pcoll_may_sleep())
        pcoll_yield();
    else
        nanosleep(&time, NULL);
}

uint64_t pcoll_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
