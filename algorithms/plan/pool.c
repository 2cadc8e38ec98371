/* A process's free blocks of memory for plans; the contract is in pool.h. */
#include "algorithms/plan/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define MIN_BYTES ((size_t)16 << 10) /* malloc serves smaller blocks without page faults */

/* What precedes the memory; its size keeps the alignment of malloc. */
union header {
    size_t bytes; /* of the memory that follows */
    max_align_t align;
};

/* A thread owns a block while it is not in a slot. */
static _Atomic(union header *) slots[PCOLL_POOL_BLOCKS];

#ifdef __SANITIZE_ADDRESS__
enum { KEEPS = 0 }; /* the sanitizer should see every release */
#else
enum { KEEPS = 1 };
#endif

/* A block that is much too large stays for a plan that needs it. */
static bool suits(const union header *block, size_t bytes)
{
    return block != NULL && block->bytes >= bytes && block->bytes / 4 <= bytes;
}

static union header *take(int i)
{
    return atomic_exchange_explicit(&slots[i], NULL, memory_order_acquire);
}

/* Leave the block in slot i if nothing is there. */
static bool leave(int i, union header *block)
{
    union header *nothing = NULL;

    return atomic_compare_exchange_strong_explicit(&slots[i], &nothing, block, memory_order_release,
                                                   memory_order_relaxed);
}

static void put_back(union header *block)
{
    for (int i = 0; i < PCOLL_POOL_BLOCKS; i++)
        if (leave(i, block))
            return;
    free(block);
}

void *pcoll_pool_get(size_t bytes)
{
    union header *block = NULL;

    for (int i = 0; KEEPS && bytes >= MIN_BYTES && i < PCOLL_POOL_BLOCKS; i++) {
        block = take(i);
        if (suits(block, bytes))
            return block + 1;
        if (block != NULL)
            put_back(block);
    }
    block = malloc(sizeof(*block) + bytes);
    if (block == NULL)
        return NULL;
    block->bytes = bytes;
    return block + 1;
}

/* If all slots are taken, the block takes the place of another one: plans that follow are more
 * likely to resemble the last one. */
void pcoll_pool_put(void *memory)
{
    static atomic_uint turn;
    union header *block = memory;

    if (block == NULL)
        return;
    block--;
    if (KEEPS && block->bytes >= MIN_BYTES && block->bytes <= PCOLL_POOL_BYTES) {
        for (int i = 0; i < PCOLL_POOL_BLOCKS; i++)
            if (leave(i, block))
                return;
        block = atomic_exchange(&slots[atomic_fetch_add(&turn, 1) % PCOLL_POOL_BLOCKS], block);
    }
    free(block);
}

void pcoll_pool_clear(void)
{
    for (int i = 0; i < PCOLL_POOL_BLOCKS; i++)
        free(take(i));
}
