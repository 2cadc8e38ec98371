/* Work without MPI, of a fixed amount; for pcoll-bench and the programs beside it. */
#ifndef WORK_H_INCLUDED
#define WORK_H_INCLUDED

#include <stdint.h>
#include <time.h>

/* In registers: how fast a processor reads again what it has just written depends on what it did
 * before. */
static inline void work_rounds(double rounds)
{
    static volatile uint64_t result;
    uint64_t state = result;
    for (double i = 0; i < rounds; i++)
        state = state * 0xD1342543DE82EF95u + 1;
    result = state;
}

static inline double work_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Measured once. The shortest time counts, as others may take the core. */
static inline double work_rounds_per_second(void)
{
    enum { ATTEMPTS = 20, ROUNDS = 20000 };
    static double rate = 0;
    if (rate > 0)
        return rate;
    for (int i = 0; i < ATTEMPTS; i++) {
        double begin = work_clock();
        work_rounds(ROUNDS);
        double found = ROUNDS / (work_clock() - begin);
        rate = found > rate ? found : rate;
    }
    return rate;
}

/* What takes so long if nothing else has the core. */
static inline void work_for(double seconds)
{
    work_rounds(seconds * work_rounds_per_second());
}

#endif
