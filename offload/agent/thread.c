/* The thread of an agent: when it visits plans, and when it sleeps. The contract is in
 * agent/agent.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for affinity, RUSAGE_THREAD */
#endif

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "offload/agent/state.h"
#include "offload/run/line.h"
#include "offload/tally.h"

#define USEC UINT64_C(1000)
#define NAP (50 * USEC)       /* while plans wait for their peers */
#define LONGER 4              /* how often a nap without a core doubles */
#define SELDOM (5000 * USEC)  /* a nap without a core if nothing may be served soon */
#define WATCHES 100           /* naps without an active plan before it sleeps until it is woken */
#define LOOK (1000 * USEC)    /* between looks at how often it was preempted */
#define WINDOW (10000 * USEC) /* it retires if that has happened twice within this time */
#define PREEMPTED 2
#define STACK_BYTES ((size_t)1 << 20) /* libfabric's providers need some */

static _Thread_local struct pcoll_agent *here; /* the agent that this thread is */

/* ---- forks ---- */

static _Atomic unsigned forks; /* of which this process is the youngest child */
static pthread_once_t watched = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

bool pcoll_agent_is_gone(const struct pcoll_agent *agent)
{
    return __builtin_expect(agent->forks != atomic_load_explicit(&forks, memory_order_relaxed),
                            0) != 0;
}

/* ---- sleep ---- */

static enum pcoll_visit visit_all(struct pcoll_agent *agent)
{
    const enum pcoll_visit visit = pcoll_agent_visit(agent);
    const enum pcoll_visit other = agent->options.visit ? agent->options.visit() : visit;

    return other > visit ? other : visit;
}

/* The visit that follows finds all that is posted before the state can be read; an owner that posts
 * later reads the state (see pcoll_bell_ring). */
static enum pcoll_visit announce(struct pcoll_agent *agent, enum pcoll_sleep state)
{
    atomic_store_explicit(&agent->bell->sleep, (uint32_t)state, memory_order_seq_cst);
    return visit_all(agent);
}

/* Sleep, as nothing has moved for a while. Returns whether the agent was woken, or something has
 * moved after all. */
static bool take_nap(struct pcoll_agent *agent)
{
    const enum pcoll_visit visit = announce(agent, PCOLL_ASLEEP);
    bool was_woken = visit == PCOLL_VISIT_MOVED;

    if (!was_woken) {
        pcoll_bell_sleep(agent->bell, PCOLL_ASLEEP, &agent->stop,
                         visit == PCOLL_VISIT_NONE ? 0 : NAP);
        was_woken = atomic_load_explicit(&agent->bell->sleep, memory_order_relaxed) == PCOLL_AWAKE;
    }
    atomic_store_explicit(&agent->bell->sleep, PCOLL_AWAKE, memory_order_relaxed);
    return was_woken;
}

/* Without a core of its own, the agent would take the core from the rank whose start woke it. So it
 * looks by itself, less and less often, while plans are active or have just been. Each look delays
 * the rank by some 10 us. */
static void nap_without_core(struct pcoll_agent *agent, enum pcoll_visit visit, unsigned *naps)
{
    const unsigned doublings = *naps < LONGER ? *naps : LONGER;
    const bool is_seldom = visit <= PCOLL_VISIT_YOUNG && !pcoll_agent_serves_network(agent);

    if (visit == PCOLL_VISIT_NONE && *naps >= WATCHES) {
        if (take_nap(agent))
            *naps = 0;
        return;
    }
    *naps += 1;
    pcoll_bell_sleep(agent->bell, PCOLL_AWAKE, &agent->stop, is_seldom ? SELDOM : NAP << doublings);
}

static void retire(struct pcoll_agent *agent)
{
    pcoll_agent_count(&agent->retirements);
    announce(agent, PCOLL_RETIRED);
    pcoll_bell_sleep(agent->bell, PCOLL_RETIRED, &agent->stop, agent->options.retired_usec * USEC);
    atomic_store_explicit(&agent->bell->sleep, PCOLL_AWAKE, memory_order_relaxed);
}

/* ---- the thread ---- */

/* How often the kernel has preempted this thread for others. */
struct watch {
    uint64_t look, begin; /* the next look; when the window began */
    long preempted;       /* until then */
};

static long preemptions(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static bool is_preempted(struct watch *watch, uint64_t time)
{
    long preempted;

    if (time < watch->look)
        return false;
    preempted = preemptions();
    watch->look = time + LOOK;
    if (time - watch->begin < WINDOW)
        return preempted - watch->preempted >= PREEMPTED;
    watch->begin = time;
    watch->preempted = preempted;
    return false;
}

static void *run(void *argument)
{
    struct pcoll_agent *agent = here = argument;
    const bool has_core = agent->options.has_core, retires = agent->options.retired_usec > 0;
    const uint64_t spin = agent->options.spin_usec * USEC;
    uint64_t last = pcoll_now(), time;
    uint32_t laps = 0;
    unsigned naps = 0;
    struct watch watch = {.begin = last};

    pthread_setname_np(pthread_self(), "pcoll-agent");
    pcoll_tally_agent();
    while (!atomic_load_explicit(&agent->stop, memory_order_relaxed)) {
        const enum pcoll_visit visit = visit_all(agent);

        atomic_store_explicit(&agent->bell->laps, ++laps, memory_order_relaxed);
        time = pcoll_now();
        if (retires && is_preempted(&watch, time)) {
            retire(agent);
            watch = (struct watch){.begin = pcoll_now(), .preempted = preemptions()};
        } else if (visit == PCOLL_VISIT_MOVED) {
            last = time;
            naps = 0;
        } else if (!has_core) {
            nap_without_core(agent, visit, &naps);
        } else if (time - last < spin) {
            pcoll_relax();
        } else if (take_nap(agent)) {
            last = pcoll_now();
        }
    }
    return NULL;
}

/* ---- lifetime ---- */

/* The thread inherits the mask of signals. */
static int start_thread(struct pcoll_agent *agent, const pthread_attr_t *attributes)
{
    sigset_t everything, before;
    int error;

    sigfillset(&everything);
    error = pthread_sigmask(SIG_SETMASK, &everything, &before);
    if (error != 0)
        return error;
    error = pthread_create(&agent->thread, attributes, run, agent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static int start_bound_thread(struct pcoll_agent *agent)
{
    pthread_attr_t attributes;
    cpu_set_t cpus;
    int cpu = agent->options.cpu, error;

    if (cpu >= CPU_SETSIZE)
        return EINVAL;
    error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (error == 0 && cpu != PCOLL_NONE) {
        CPU_ZERO(&cpus);
        CPU_SET((size_t)cpu, &cpus);
        error = pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
    }
    if (error == 0)
        error = start_thread(agent, &attributes);
    pthread_attr_destroy(&attributes);
    return error;
}

int pcoll_agent_create(const struct pcoll_agent_options *options, struct pcoll_agent **agent_p)
{
    struct pcoll_agent *agent = calloc(1, sizeof(*agent));
    int error;

    if (agent == NULL)
        return ENOMEM;
    pthread_once(&watched, watch_forks);
    agent->options = *options;
    agent->forks = atomic_load_explicit(&forks, memory_order_relaxed);
    agent->refs = 1;
    agent->bell = options->bell ? options->bell : &agent->own_bell;
    agent->bell->has_core = options->has_core;
    atomic_store_explicit(&agent->bell->wakes, 0, memory_order_relaxed);
    atomic_store_explicit(&agent->bell->sleep, PCOLL_AWAKE, memory_order_relaxed);
    error = start_bound_thread(agent);
    if (error != 0) {
        free(agent);
        return error;
    }
    *agent_p = agent;
    return 0;
}

void pcoll_agent_put(struct pcoll_agent *agent)
{
    struct pcoll_served_table *table;

    if (--agent->refs > 0)
        return;
    table = atomic_load_explicit(&agent->first, memory_order_relaxed);
    while (table != NULL) {
        struct pcoll_served_table *next = atomic_load_explicit(&table->next, memory_order_relaxed);

        free(table);
        table = next;
    }
    free(agent);
}

/* From then on starts find it retired. */
void pcoll_agent_destroy(struct pcoll_agent *agent)
{
    if (agent == NULL || pcoll_agent_is_gone(agent))
        return;
    atomic_store_explicit(&agent->stop, true, memory_order_seq_cst);
    pcoll_bell_wake(agent->bell);
    pthread_join(agent->thread, NULL);
    atomic_store_explicit(&agent->bell->sleep, PCOLL_RETIRED, memory_order_seq_cst);
    pcoll_agent_put(agent);
}

/* ---- messages, figures ---- */

bool pcoll_agent_keep_message(const char *message)
{
    if (here == NULL)
        return false;
    if (!atomic_load_explicit(&here->has_message, memory_order_acquire)) {
        snprintf(here->message, sizeof(here->message), "%s", message);
        atomic_store_explicit(&here->has_message, true, memory_order_release);
    }
    return true;
}

bool pcoll_agent_take_message(struct pcoll_agent *agent, char text[PCOLL_AGENT_MESSAGE_BYTES])
{
    if (!atomic_load_explicit(&agent->has_message, memory_order_acquire))
        return false;
    snprintf(text, PCOLL_AGENT_MESSAGE_BYTES, "%s", agent->message);
    atomic_store_explicit(&agent->has_message, false, memory_order_release);
    return true;
}

static unsigned long load(const _Atomic unsigned long *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

struct pcoll_agent_account pcoll_agent_account(const struct pcoll_agent *agent)
{
    return (struct pcoll_agent_account){load(&agent->begun), load(&agent->ended),
                                        load(&agent->bell->wakes), load(&agent->retirements)};
}
