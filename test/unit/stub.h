/*
 * Plans of a medium made for tests of an agent: pending until the test says otherwise.
 */
#ifndef PCOLL_TEST_STUB_H
#define PCOLL_TEST_STUB_H

#include <stdatomic.h>

#include "offload/agent/state.h"

enum { STUB_STEP_USEC = 50 };

/* An agent with a core of its own, which spins for 20 us, and one without. */
extern const struct pcoll_agent_options stub_with_core, stub_without_core;

extern const struct pcoll_medium stub_medium;

struct stub {
    struct pcoll_bound base;
    _Atomic int begun, polled; /* calls of start; of progress and spin */
    _Atomic int result;        /* enum pcoll_result of the next poll, at first PCOLL_PENDING */
    int unbound;
    const char *says; /* the message that the next polls leave, or NULL */
};

static inline struct stub *stub_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct stub, base);
}

void stub_init(struct stub *stub);

/* The program ends if there is no agent. */
struct pcoll_agent *stub_create_agent(const struct pcoll_agent_options *options);

/* Initializes a plan and has the agent serve it; the program ends if it refuses. */
struct pcoll_bound *stub_serve(struct pcoll_agent *agent, struct stub *stub, bool is_long);

/* Each waits, but not forever: until the number is `least`, until the agent has ended so many
 * instances, until it sleeps. Returns 0 if that never happens. */
int stub_reaches(const _Atomic int *value, int least);
int stub_has_ended(const struct pcoll_agent *agent, unsigned long ended);
int stub_falls_asleep(const struct pcoll_agent *agent);

#endif /* PCOLL_TEST_STUB_H */
