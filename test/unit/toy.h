/*
 * Plans of a medium made for tests of an agent: pending until the test says otherwise.
 */
#ifndef PCOLL_TEST_TOY_H
#define PCOLL_TEST_TOY_H

#include <stdatomic.h>

#include "offload/agent/state.h"

enum { TOY_STEP_USEC = 50 };

/* An agent with a core of its own, which spins for 20 us, and one without. */
extern const struct pcoll_agent_options toy_with_core, toy_without_core;

extern const struct pcoll_medium toy_medium;

struct toy {
    struct pcoll_bound base;
    _Atomic int begun, polled; /* calls of start; of progress and spin */
    _Atomic int result;        /* enum pcoll_result of the next poll, at first PCOLL_PENDING */
    int unbound;
    const char *says; /* the message that the next polls leave, or NULL */
};

static inline struct toy *toy_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct toy, base);
}

void toy_init(struct toy *toy);

/* The program ends if there is no agent. */
struct pcoll_agent *toy_hire(const struct pcoll_agent_options *options);

/* Initializes a plan and has the agent serve it; the program ends if it refuses. */
struct pcoll_bound *toy_serve(struct pcoll_agent *agent, struct toy *toy, bool is_long);

/* Each waits, but not forever: until the number is `least`, until the agent has ended so many
 * instances, until it sleeps. Returns 0 if that never happens. */
int toy_reaches(const _Atomic int *value, int least);
int toy_has_ended(const struct pcoll_agent *agent, unsigned long ended);
int toy_falls_asleep(const struct pcoll_agent *agent);

#endif /* PCOLL_TEST_TOY_H */
