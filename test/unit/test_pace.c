/*
 * How often a process polls the network: its polls are counted while a rank that knows the time
 * waits, and so is how late one of them can be.
 */
#include "offload/pace.h"
#include "test/unit/tap.h"

enum { STEP_NS = 50, LONG_NS = 10000000, SHORT_NS = 200000, BEGIN = 12345 };

static struct pcoll_pace pace;

/* The rank asks each STEP_NS from `from` to `to`. *worst is the longest time that a poll was late,
 * as a part of what had passed since the last event, beyond one step. */
static unsigned long wait(uint64_t from, uint64_t to, uint64_t event, double *worst)
{
    const unsigned long before = pace.polls;
    uint64_t last = from;

    for (uint64_t now = from; now < to; now += STEP_NS) {
        const double part = (double)(now - last - (now > last ? STEP_NS : 0)) / (now - event + 1);

        if (!pcoll_pace_polls_at(&pace, now))
            continue;
        if (part > *worst)
            *worst = part;
        last = now;
    }
    return pace.polls - before;
}

static void check_short_wait(void)
{
    const uint64_t end = BEGIN + PCOLL_PACE_FREE * STEP_NS;
    double worst = 0;
    const unsigned long polls = wait(BEGIN, end, BEGIN, &worst);

    tap_ok(polls == PCOLL_PACE_FREE, "a short wait polls each time: %lu", polls);
}

static void check_long_wait(void)
{
    enum {
        GROWTH = 5
    }; /* a pause takes fewer than 5 times PCOLL_PACE_PART polls to be the longest */
    const unsigned long steady = LONG_NS / PCOLL_PACE_MAX_NS,
                        min = steady - GROWTH * PCOLL_PACE_PART,
                        max = steady + PCOLL_PACE_FREE + GROWTH * PCOLL_PACE_PART;
    double worst = 0;
    unsigned long polls;

    pcoll_pace_restart(&pace);
    polls = wait(BEGIN, BEGIN + LONG_NS, BEGIN, &worst);
    tap_ok(polls < max && polls > min, "a long one polls %lu times, not %d", polls,
           LONG_NS / STEP_NS);
    tap_ok(worst <= 1.0 / PCOLL_PACE_PART, "no poll is late by more than %.4f of the time", worst);
}

/* After a rank has done something else, the next poll is due. */
static void check_away(void)
{
    const uint64_t back = BEGIN + LONG_NS + 10 * PCOLL_PACE_MAX_NS;

    tap_ok(pcoll_pace_polls_at(&pace, back), "a rank that comes back polls at once");
    tap_ok(!pcoll_pace_polls_at(&pace, back + PCOLL_PACE_MAX_NS - 1) &&
               pcoll_pace_polls_at(&pace, back + PCOLL_PACE_MAX_NS),
           "and then not before the longest pause is over");
}

static void check_event(void)
{
    const uint64_t event = BEGIN + 2 * (uint64_t)LONG_NS;
    double worst = 0;
    unsigned long polls;

    pcoll_pace_restart(&pace);
    polls = wait(event, event + PCOLL_PACE_FREE * STEP_NS, event, &worst);
    tap_ok(polls == PCOLL_PACE_FREE, "after an event polls follow each other again: %lu", polls);
    polls = wait(event, event + SHORT_NS, event, &worst);
    tap_ok(polls < SHORT_NS / STEP_NS / 4, "and then there are pauses again: %lu polls", polls);
}

/* With the clock of this machine, whose rate is not asked for. */
static void check_process(void)
{
    const unsigned long before = pcoll_network_pace.polls;
    int polls = 0;

    pcoll_network_event();
    for (int i = 0; i < PCOLL_PACE_FREE; i++)
        polls += pcoll_network_polls();
    tap_ok(polls == PCOLL_PACE_FREE && pcoll_network_pace.polls - before == PCOLL_PACE_FREE,
           "the process's polls are counted");
    while (!pcoll_network_polls())
        continue;
    tap_ok(1, "and go on");
}

int main(void)
{
    check_short_wait();
    check_long_wait();
    check_away();
    check_event();
    check_process();
    return tap_done();
}
