/* Counts of chunks; the contract is in offload/tally.h. */
#include "offload/tally.h"

#include <stdatomic.h>
#include <stdbool.h>

static _Atomic unsigned long chunks[PCOLL_NUM_WORKERS];
static _Thread_local bool is_agent;

void pcoll_tally_agent(void)
{
    is_agent = true;
}

void pcoll_tally_chunk(enum pcoll_worker worker)
{
    atomic_fetch_add_explicit(&chunks[is_agent ? PCOLL_BY_AGENT : worker], 1, memory_order_relaxed);
}

unsigned long pcoll_tally_chunks(enum pcoll_worker worker)
{
    return atomic_load_explicit(&chunks[worker], memory_order_relaxed);
}
