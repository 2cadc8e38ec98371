/* Plans of a medium made for tests of an agent. */
#include "test/unit/toy.h"

#include <stdlib.h>
#include <unistd.h>

enum { PATIENCE_USEC = 20000000 };

const struct pcoll_agent_options toy_with_core = {PCOLL_NONE, 1, 20, 0};
const struct pcoll_agent_options toy_without_core = {PCOLL_NONE, 0, 20, 1000};

static enum pcoll_result toy_start(struct pcoll_bound *bound)
{
    atomic_fetch_add(&toy_of(bound)->begun, 1);
    return PCOLL_PENDING;
}

static enum pcoll_result toy_progress(struct pcoll_bound *bound)
{
    struct toy *toy = toy_of(bound);

    atomic_fetch_add(&toy->polled, 1);
    if (toy->says != NULL)
        pcoll_agent_keep_message(toy->says);
    return (enum pcoll_result)atomic_load(&toy->result);
}

static enum pcoll_result toy_spin(struct pcoll_bound *bound, unsigned spins)
{
    (void)spins;
    return toy_progress(bound);
}

static void toy_unbind(struct pcoll_bound *bound)
{
    toy_of(bound)->unbound++;
}

const struct pcoll_medium toy_medium = {
    .name = "toy",
    .traits = PCOLL_LENDS,
    .start = toy_start,
    .progress = toy_progress,
    .spin = toy_spin,
    .position = pcoll_no_position,
    .unbind = toy_unbind,
};

void toy_init(struct toy *toy)
{
    *toy = (struct toy){.base = {&toy_medium}, .result = PCOLL_PENDING};
}

struct pcoll_agent *toy_hire(const struct pcoll_agent_options *options)
{
    struct pcoll_agent *agent;

    if (pcoll_agent_create(options, &agent) != 0)
        abort();
    return agent;
}

struct pcoll_bound *toy_serve(struct pcoll_agent *agent, struct toy *toy, bool is_long)
{
    struct pcoll_bound *served = NULL;

    toy_init(toy);
    if (pcoll_agent_serve(agent, &toy->base, is_long, &served) != PCOLL_OK)
        abort();
    return served;
}

int toy_reaches(const _Atomic int *value, int least)
{
    for (long usec = 0; atomic_load(value) < least; usec += TOY_STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(TOY_STEP_USEC);
    }
    return 1;
}

int toy_has_ended(const struct pcoll_agent *agent, unsigned long ended)
{
    for (long usec = 0; pcoll_agent_account(agent).ended < ended; usec += TOY_STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(TOY_STEP_USEC);
    }
    return 1;
}

int toy_falls_asleep(const struct pcoll_agent *agent)
{
    for (long usec = 0; atomic_load(&agent->bell->sleep) != PCOLL_ASLEEP; usec += TOY_STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(TOY_STEP_USEC);
    }
    return 1;
}
