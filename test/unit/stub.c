/* Plans of a medium made for tests of an agent. */
#include "test/unit/stub.h"

#include <stdlib.h>
#include <unistd.h>

enum { PATIENCE_USEC = 20000000 };

const struct pcoll_agent_options stub_with_core = {PCOLL_NONE, 1, 20, 0};
const struct pcoll_agent_options stub_without_core = {PCOLL_NONE, 0, 20, 1000};

static enum pcoll_result stub_start(struct pcoll_bound *bound)
{
    atomic_fetch_add(&stub_of(bound)->begun, 1);
    return PCOLL_PENDING;
}

static enum pcoll_result stub_progress(struct pcoll_bound *bound)
{
    struct stub *stub = stub_of(bound);

    atomic_fetch_add(&stub->polled, 1);
    if (stub->says != NULL)
        pcoll_agent_keep_message(stub->says);
    return (enum pcoll_result)atomic_load(&stub->result);
}

static enum pcoll_result stub_spin(struct pcoll_bound *bound, unsigned spins)
{
    (void)spins;
    return stub_progress(bound);
}

static void stub_unbind(struct pcoll_bound *bound)
{
    stub_of(bound)->unbound++;
}

const struct pcoll_medium stub_medium = {
    .name = "stub",
    .traits = PCOLL_LENDS,
    .start = stub_start,
    .progress = stub_progress,
    .spin = stub_spin,
    .position = pcoll_no_position,
    .unbind = stub_unbind,
};

void stub_init(struct stub *stub)
{
    *stub = (struct stub){.base = {&stub_medium}, .result = PCOLL_PENDING};
}

struct pcoll_agent *stub_create_agent(const struct pcoll_agent_options *options)
{
    struct pcoll_agent *agent;

    if (pcoll_agent_create(options, &agent) != 0)
        abort();
    return agent;
}

struct pcoll_bound *stub_serve(struct pcoll_agent *agent, struct stub *stub, bool is_long)
{
    struct pcoll_bound *served = NULL;

    stub_init(stub);
    if (pcoll_agent_serve(agent, &stub->base, is_long, &served) != PCOLL_OK)
        abort();
    return served;
}

int stub_reaches(const _Atomic int *value, int least)
{
    for (long usec = 0; atomic_load(value) < least; usec += STUB_STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STUB_STEP_USEC);
    }
    return 1;
}

int stub_has_ended(const struct pcoll_agent *agent, unsigned long ended)
{
    for (long usec = 0; pcoll_agent_account(agent).ended < ended; usec += STUB_STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STUB_STEP_USEC);
    }
    return 1;
}

int stub_falls_asleep(const struct pcoll_agent *agent)
{
    for (long usec = 0; atomic_load(&agent->bell->sleep) != PCOLL_ASLEEP; usec += STUB_STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STUB_STEP_USEC);
    }
    return 1;
}
