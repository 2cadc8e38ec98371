/*
 * An agent: a thread of this process that progresses active plans while the application computes.
 *
 * A plan is served from the time it is handed over until it is unbound. It then looks like a bound
 * plan of its medium to its owner, the thread that calls MPI. Behind it stands the medium's bound
 * plan, with a claim: the owner and the agent touch it only while they hold the claim. If the owner
 * does not get it in progress, the plan is pending; an agent that does not get it goes on to the
 * next plan. To begin an instance, bind and unbind, the owner waits until the agent's visit ends.
 * So what a medium keeps private to the process needs no locks of its own. Plans of a medium that
 * spans nodes share one claim, as they share their endpoints.
 *
 *     owner   start: post ------- computes ------- wait: ended? --> complete
 *                      \                            ^
 *     agent             claim - start, progress ... end - sleep
 *
 * A start only posts a long plan if the agent has a core of its own: the agent then begins the
 * instance. Otherwise the owner begins it. Either wakes the agent if it sleeps. An agent with a
 * core spins for a while without work; it sleeps while no long plan is active, and in short naps
 * while plans wait for their peers. An agent without a core looks for work every 50 to 800 us, and
 * sleeps when no plan has been active for a while, since a thread that is woken takes the core from
 * the rank. For the same reason it leaves plans within a node to waiting ranks, which copy as fast
 * and on their own cores, for the first 10 ms of an instance; with only such plans it looks every 5
 * ms. If others preempt it, it retires for a time: a thread that spins where a rank spins costs
 * that rank time slices.
 *
 * The agent calls functions of media only. A plan that would call code of MPI or the user is not
 * served: one with an operator that is no kernel, or whose user memory has a layout.
 *
 * The child of a fork has no agent. Its calls fail, and touch nothing.
 */
#ifndef PCOLL_AGENT_H
#define PCOLL_AGENT_H

#include <stdbool.h>

#include "offload/bell.h"
#include "offload/medium.h"

struct pcoll_agent_options {
    int cpu;                 /* runs there; PCOLL_NONE: wherever this process may */
    bool has_core;           /* nothing else that matters runs where it does */
    unsigned spin_usec;      /* how long it spins without work, if it has a core */
    unsigned retired_usec;   /* how long it retires when it is preempted; 0: it does not */
    struct pcoll_bell *bell; /* where it sleeps, in memory that outlives it; NULL: in its own */
    enum pcoll_visit (*visit)(void); /* looks for work besides served plans; NULL: there is none */
};

struct pcoll_agent;

/* Start the thread, which blocks all signals. Returns 0 or an errno; EINVAL: there is no such CPU
 * for this process. */
int pcoll_agent_create(const struct pcoll_agent_options *options,
                       struct pcoll_agent **agent_p) PCOLL_MUST_CHECK;

/* End the thread. Served plans stay usable, by their owner alone; the agent's memory is freed with
 * the last of them. */
void pcoll_agent_destroy(struct pcoll_agent *agent);

/* Returns whether plans with that memory can be served on the medium. */
bool pcoll_agent_can_serve(const struct pcoll_medium *medium, const struct pcoll_memory *memory);

/* Serve a bound plan. The result takes its place, also for unbind, and has a medium of its own:
 * (*served_p)->medium, with the name and traits of the plan's. A plan that is not long is left to
 * its owner; such plans must be handed over only for the shared claim of a medium that spans nodes.
 */
enum pcoll_result pcoll_agent_serve(struct pcoll_agent *agent, struct pcoll_bound *bound,
                                    bool is_long, struct pcoll_bound **served_p) PCOLL_MUST_CHECK;

/* Keep the agent away from all plans of media that span nodes; calls nest. The owner does so while
 * it calls such a medium in another way than through a served plan. Returns false if the agent has
 * one of these plans. */
bool pcoll_agent_try_hold(struct pcoll_agent *agent);

/* As pcoll_agent_try_hold, but waits for the agent. */
void pcoll_agent_hold(struct pcoll_agent *agent);

/* Release the plans again. */
void pcoll_agent_release(struct pcoll_agent *agent);

/* A report of a medium (bootstrap.h) may come from an agent, which must not print. Returns false if
 * the caller is no agent; otherwise the agent keeps its first message for pcoll_agent_take_message.
 */
bool pcoll_agent_keep_message(const char *message);
#define PCOLL_AGENT_MESSAGE_BYTES 400

/* Take that message. Returns false if there is none. */
bool pcoll_agent_take_message(struct pcoll_agent *agent, char text[PCOLL_AGENT_MESSAGE_BYTES]);

/* What the agent has done so far: instances that it has begun, or ended; how often it was woken,
 * and has retired. */
struct pcoll_agent_account {
    unsigned long begun, ended, wakes, retirements;
};

struct pcoll_agent_account pcoll_agent_account(const struct pcoll_agent *agent);

/* Returns the number of CPUs in a list such as `2,4-7`; *cpu_p is CPU number `which` modulo that.
 * Returns 0 if the text is no such list; *wrong_p is where it goes wrong. */
int pcoll_agent_cpus(const char *list, int which, int *cpu_p, const char **wrong_p);

#endif /* PCOLL_AGENT_H */
