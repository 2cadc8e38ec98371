/* A process's free arrays for plans; the contract is in pool.h. */
#include "algorithms/plan/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define MIN_BYTES ((size_t)16 << 10) /* malloc serves smaller arrays without page faults */

/* What precedes the memory; its size keeps the alignment of malloc. */
union header {
    size_t bytes; /* of the memory that follows */
    max_align_t align;
};

/* A thread owns an array while it is not in a place. */
static _Atomic(union header *) places[PCOLL_POOL_ARRAYS];

#ifdef __SANITIZE_ADDRESS__
enum { KEEPS = 0 }; /* the sanitizer should see every release */
#else
enum { KEEPS = 1 };
#endif

/* An array that is much too large stays for a plan that needs it. */
static bool suits(const union header *array, size_t bytes)
{
    return array != NULL && array->bytes >= bytes && array->bytes / 4 <= bytes;
}

static union header *take(int i)
{
    return atomic_exchange_explicit(&places[i], NULL, memory_order_acquire);
}

/* Leave the array in place i if nothing is there. */
static bool leave(int i, union header *array)
{
    union header *nothing = NULL;

    return atomic_compare_exchange_strong_explicit(&places[i], &nothing, array,
                                                   memory_order_release, memory_order_relaxed);
}

static void put_back(union header *array)
{
    for (int i = 0; i < PCOLL_POOL_ARRAYS; i++)
        if (leave(i, array))
            return;
    free(array);
}

void *pcoll_pool_get(size_t bytes)
{
    union header *array = NULL;

    for (int i = 0; KEEPS && bytes >= MIN_BYTES && i < PCOLL_POOL_ARRAYS; i++) {
        array = take(i);
        if (suits(array, bytes))
            return array + 1;
        if (array != NULL)
            put_back(array);
    }
    array = malloc(sizeof(*array) + bytes);
    if (array == NULL)
        return NULL;
    array->bytes = bytes;
    return array + 1;
}

/* If all places are taken, the array takes the place of another one: plans that follow are more
 * likely to resemble the last one. */
void pcoll_pool_put(void *memory)
{
    static atomic_uint turn;
    union header *array = memory;

    if (array == NULL)
        return;
    array--;
    if (KEEPS && array->bytes >= MIN_BYTES && array->bytes <= PCOLL_POOL_BYTES) {
        for (int i = 0; i < PCOLL_POOL_ARRAYS; i++)
            if (leave(i, array))
                return;
        array = atomic_exchange(&places[atomic_fetch_add(&turn, 1) % PCOLL_POOL_ARRAYS], array);
    }
    free(array);
}

void pcoll_pool_clear(void)
{
    for (int i = 0; i < PCOLL_POOL_ARRAYS; i++)
        free(take(i));
}
