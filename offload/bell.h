/*
 * The bell of an agent: the word on which it sleeps. A rank with work for the agent looks at this
 * word, also from another process if that maps the memory in which it lies.
 */
#ifndef PCOLL_BELL_H
#define PCOLL_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In memory of zeros, or that the owner has left, nobody is there. */
enum pcoll_sleep { PCOLL_RETIRED, PCOLL_AWAKE, PCOLL_ASLEEP };

struct pcoll_bell {
    _Atomic uint32_t sleep;      /* enum pcoll_sleep; the futex word */
    _Atomic uint32_t laps;       /* how often the agent has looked for work */
    _Atomic unsigned long wakes; /* how often somebody had to wake it */
    bool has_core;               /* nothing else that matters runs where it does */
};

/* Wake the agent if it sleeps, since there may be work. Returns false if it has retired or ended,
 * so that the caller must do the work. */
bool pcoll_bell_ring(struct pcoll_bell *bell);

/* Wake the agent, in its own process. */
void pcoll_bell_wake(struct pcoll_bell *bell);

/* Let the agent sleep in that state until somebody ends it or *stop is set, at most `nsec` if that
 * is not 0. */
void pcoll_bell_sleep(struct pcoll_bell *bell, enum pcoll_sleep state, const _Atomic bool *stop,
                      uint64_t nsec);

/* What a look for work has found: none; some that is left to its owners for now; some that cannot
 * be done now; or it has done some. */
enum pcoll_visit { PCOLL_VISIT_NONE, PCOLL_VISIT_YOUNG, PCOLL_VISIT_IDLE, PCOLL_VISIT_MOVED };

#endif /* PCOLL_BELL_H */
