/*
 * Claims: who may call the medium's functions for a plan, its owner or the agent. Private to
 * offload/agent.
 *
 * The plans of a network share one claim. The owner may claim again what it holds.
 */
#ifndef PCOLL_AGENT_CLAIM_H
#define PCOLL_AGENT_CLAIM_H

#include <sched.h>
#include <stdbool.h>

#include "offload/agent/state.h"
#include "offload/run/line.h"

/* Claim for that holder, unless somebody holds the claim. Returns whether it has succeeded. */
static inline bool pcoll_claim_try(struct pcoll_claim *claim, enum pcoll_holder holder)
{
    uint32_t none = PCOLL_HELD_BY_NONE;

    return atomic_load_explicit(&claim->holder, memory_order_relaxed) == none &&
           atomic_compare_exchange_strong_explicit(&claim->holder, &none, (uint32_t)holder,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Release a claim that is held once. */
static inline void pcoll_claim_release(struct pcoll_claim *claim)
{
    atomic_store_explicit(&claim->holder, PCOLL_HELD_BY_NONE, memory_order_release);
}

/* Claim for the owner, unless the agent holds the claim. Returns whether it has succeeded. */
static inline bool pcoll_claim_try_own(struct pcoll_claim *claim)
{
    if (claim->depth == 0 && !pcoll_claim_try(claim, PCOLL_HELD_BY_OWNER))
        return false;
    claim->depth++;
    return true;
}

/* Claim for the owner, and wait for the agent if it holds the claim. Its visit is short, unless the
 * kernel has preempted it. The yields are for the agent, a kernel thread. */
static inline void pcoll_claim_own(struct pcoll_claim *claim)
{
    const struct timespec nap = {0, 20000};

    for (unsigned tries = 0; !pcoll_claim_try_own(claim); tries++)
        if (tries < 1000)
            pcoll_relax();
        else if (tries < 2000)
            sched_yield();
        else
            nanosleep(&nap, NULL);
}

/* Undo one claim of the owner's. */
static inline void pcoll_claim_disown(struct pcoll_claim *claim)
{
    if (--claim->depth == 0)
        pcoll_claim_release(claim);
}

/* The claim of the plan in that row. */
static inline struct pcoll_claim *pcoll_claim_of(struct pcoll_served_table *table,
                                                 struct pcoll_served_row *row)
{
    return table->shared ? table->shared : &row->claim;
}

#endif /* PCOLL_AGENT_CLAIM_H */
