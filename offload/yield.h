/*
 * How a rank that waits gives its core to others, and the clock.
 *
 * Usually to other processes and threads, by sched_yield, and after a while by sleeping. Where
 * ranks or their parts are user-level threads, a waiting one must let another one of its kernel
 * thread run, and must not put the kernel thread to sleep. Nothing yields while it holds what
 * others may wait for.
 */
#ifndef PCOLL_YIELD_H
#define PCOLL_YIELD_H

#include <stdbool.h>
#include <stdint.h>

/* A rank that waits polls so often before it yields: with more ranks than cores, and where it waits
 * for the network. A poll of the network asks the kernel; the answer takes long, and other ranks
 * may have to run for it. It yields so often before it looks at other communication. */
enum { PCOLL_POLLS_CROWDED = 4, PCOLL_POLLS_OF_NETWORK = 10, PCOLL_YIELDS_PER_LOOK = 8 };

void pcoll_yield(void);

/* Let pcoll_yield call `yield` from now on; NULL: sched_yield. Call it while nothing runs. */
void pcoll_set_yield(void (*yield)(void));

/* Sleep for that time, or only yield: if it is 0, or if the kernel thread is not this rank's alone.
 */
void pcoll_rest_usec(unsigned usec);

/* Returns whether this thread may be put to sleep. */
bool pcoll_may_sleep(void);

/* The time in ns, from a clock that only moves forward. */
uint64_t pcoll_now(void);

#endif /* PCOLL_YIELD_H */
