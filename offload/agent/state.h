/*
 * The state of an agent and its served plans. Private to this folder.
 *
 * served.c and thread.c call each other: the thread visits the served plans, and the last of these
 * that is unbound frees the agent.
 */
#ifndef PCOLL_AGENT_STATE_H
#define PCOLL_AGENT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "offload/agent/agent.h"
#include "offload/yield.h"

/* Who may touch a plan. Owners are serialized by their caller, so their claims nest. */
enum pcoll_holder { PCOLL_HELD_BY_NONE, PCOLL_HELD_BY_OWNER, PCOLL_HELD_BY_AGENT };

struct pcoll_claim {
    _Atomic uint32_t holder; /* enum pcoll_holder */
    uint32_t depth;          /* of the owner's claims */
};

/* The instance of a served plan. The owner posts without the claim, as nobody else touches the plan
 * between instances; all else changes under the claim. */
enum pcoll_served_phase {
    PCOLL_SERVED_ENDED, /* the owner may take the result */
    PCOLL_SERVED_POSTED,
    PCOLL_SERVED_RUNNING
};

enum { PCOLL_SERVED_ROWS = 64 };

/* A served plan as the agent sees it. Rows live as long as the agent, so that it can look at a row
 * whose plan is being unbound. */
struct pcoll_served_row {
    _Atomic uint32_t phase; /* enum pcoll_served_phase */
    enum pcoll_result result;
    struct pcoll_claim claim;
    struct pcoll_bound *bound;
    uint64_t position; /* of the agent's last visit */
    uint64_t since;    /* when an agent without a core first saw the instance; 0: not yet */
    char pad[64 - 4 * sizeof(uint32_t) - sizeof(void *) - 2 * sizeof(uint64_t)];
};

_Static_assert(sizeof(struct pcoll_served_row) == 64, "a row fills a cache line");

/* The agent visits the plans whose bits are set in `active`. */
struct pcoll_served_table {
    struct pcoll_served_row rows[PCOLL_SERVED_ROWS];
    _Atomic uint64_t active;
    struct pcoll_claim *shared; /* NULL: each row has a claim of its own */
    uint64_t used;
    _Atomic(struct pcoll_served_table *) next;
};

struct pcoll_agent {
    struct pcoll_agent_options options;
    struct pcoll_bell *bell;
    struct pcoll_bell own_bell; /* unless the creator has one */
    _Atomic bool stop;
    _Atomic(struct pcoll_served_table *) first;
    struct pcoll_claim network; /* of all plans of media that span nodes */
    pthread_t thread;
    unsigned forks; /* pcoll_agent_forks when it was created */
    int refs;       /* the user's, and one for each served plan */
    _Atomic unsigned long begun, ended, retirements;
    _Atomic bool has_message; /* set by the agent, cleared by the owner */
    char message[PCOLL_AGENT_MESSAGE_BYTES];
};

static inline void pcoll_agent_count(_Atomic unsigned long *count)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* ---- thread.c ---- */

/* Returns whether this process is the child of a fork, in which the agent does not run. */
bool pcoll_agent_is_gone(const struct pcoll_agent *agent);

/* Drop a reference. */
void pcoll_agent_put(struct pcoll_agent *agent);

/* ---- served.c ---- */

/* Returns whether the agent has served a plan of a medium that spans nodes. */
bool pcoll_agent_serves_network(const struct pcoll_agent *agent);

/* Visit all active served plans once. */
enum pcoll_visit pcoll_agent_visit(struct pcoll_agent *agent);

#endif /* PCOLL_AGENT_STATE_H */
