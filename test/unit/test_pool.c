/* The pool of memory for plans: what it keeps, that no two owners share an array, threads. */
#include "algorithms/plan/pool.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "test/unit/tap.h"

enum { THREADS = 4, ROUNDS = 2000, HELD = 6 };

static long faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void check_sizes(void)
{
    const size_t sizes[] = {0, 1, 100, 16 << 10, (16 << 10) + 1, 300 << 10, PCOLL_POOL_BYTES + 1};
    int wrong = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *memory = pcoll_pool_get(sizes[i]);

        wrong += memory == NULL || (uintptr_t)memory % _Alignof(max_align_t) != 0;
        if (memory != NULL)
            memset(memory, 0xAB, sizes[i]);
        pcoll_pool_put(memory);
    }
    pcoll_pool_put(NULL);
    tap_ok(wrong == 0, "memory of any size is aligned and can be written");
}

/* As the arrays of one plan after another. */
static void touch_plans(int n)
{
    const size_t sizes[] = {170 << 10, 140 << 10, 50 << 10, 32 << 10};
    char *memory[4];

    for (int round = 0; round < n; round++) {
        for (int i = 0; i < 4; i++) {
            memory[i] = pcoll_pool_get(sizes[i]);
            if (memory[i] != NULL)
                memset(memory[i], round, sizes[i]);
        }
        for (int i = 0; i < 4; i++)
            pcoll_pool_put(memory[i]);
    }
}

static void check_kept(void)
{
    long before;

    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 128 << 10); /* the default, which mmap would have changed */
    touch_plans(10);
    before = faults();
    touch_plans(100);
#ifndef __SANITIZE_ADDRESS__
    tap_ok(faults() - before < 100, "plans of one shape after another cost no page faults");
#else
    (void)before;
#endif
}

/* Each array is filled with its owner's number as long as it is held. */
static void *churn(void *argument)
{
    const uintptr_t number = (uintptr_t)argument;
    unsigned char *held[HELD] = {NULL};
    size_t sizes[HELD] = {0};
    unsigned seed = (unsigned)number;
    uintptr_t wrong = 0;

    for (int round = 0; round < ROUNDS; round++) {
        int i = rand_r(&seed) % HELD;

        for (size_t k = 0; k < sizes[i]; k += 509)
            wrong += held[i][k] != number;
        pcoll_pool_put(held[i]);
        sizes[i] = (size_t)(rand_r(&seed) % (1 << 17));
        held[i] = pcoll_pool_get(sizes[i]);
        memset(held[i], (int)number, sizes[i]);
    }
    for (int i = 0; i < HELD; i++)
        pcoll_pool_put(held[i]);
    return (void *)wrong;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    uintptr_t wrong = 0;

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++) {
        void *found;

        pthread_join(threads[i], &found);
        wrong += (uintptr_t)found;
    }
    tap_ok(wrong == 0, "%d threads never hold the same array", THREADS);
}

int main(void)
{
    check_sizes();
    check_kept();
    check_threads();
    pcoll_pool_clear();
    return tap_done();
}
