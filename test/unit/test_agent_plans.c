/*
 * An agent that serves plans of a medium made for this test: when it sleeps; what becomes of plans
 * at its end, after a failure and in a forked child; whether it or the owner progresses a plan.
 * test_agent runs plans of the medium `shm`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "offload/agent/state.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

enum { PATIENCE_USEC = 20000000, STEP_USEC = 50, IDLE_USEC = 1000000, MANY = 2 * PCOLL_SLOTS + 1 };

static const struct pcoll_agent_options with_core = {PCOLL_NONE, 1, 20, 0};
static const struct pcoll_agent_options without_core = {PCOLL_NONE, 0, 20, 1000};

/* Pending until it is told otherwise. */
struct toy {
    struct pcoll_bound base;
    _Atomic int begun, polled;
    _Atomic int result; /* enum pcoll_result */
    int unbound;
    const char *says;
};

static struct toy *toy_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct toy, base);
}

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

static const struct pcoll_medium toys = {
    .name = "toy",
    .traits = PCOLL_LENDS,
    .start = toy_start,
    .progress = toy_progress,
    .spin = toy_spin,
    .position = pcoll_no_position,
    .unbind = toy_unbind,
};

static void toy_init(struct toy *toy)
{
    *toy = (struct toy){.base = {&toys}, .result = PCOLL_PENDING};
}

static int reaches(const _Atomic int *value, int least)
{
    for (long usec = 0; atomic_load(value) < least; usec += STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STEP_USEC);
    }
    return 1;
}

static int has_ended(const struct pcoll_agent *agent, unsigned long ended)
{
    for (long usec = 0; pcoll_agent_account(agent).ended < ended; usec += STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STEP_USEC);
    }
    return 1;
}

static int falls_asleep(const struct pcoll_agent *agent)
{
    for (long usec = 0; atomic_load(&agent->bell->sleep) != PCOLL_ASLEEP; usec += STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STEP_USEC);
    }
    return 1;
}

static struct pcoll_bound *serve(struct pcoll_agent *agent, struct toy *toy, int is_bulk)
{
    struct pcoll_bound *served = NULL;

    toy_init(toy);
    if (pcoll_agent_serve(agent, &toy->base, is_bulk, &served) != PCOLL_OK)
        abort();
    return served;
}

static struct pcoll_agent *hire(const struct pcoll_agent_options *options)
{
    struct pcoll_agent *agent;

    if (pcoll_agent_create(options, &agent) != 0)
        abort();
    return agent;
}

static void test_sleep(const struct pcoll_agent_options *options, const char *what)
{
    struct pcoll_agent *agent = hire(options);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    int asleep = falls_asleep(agent), good = asleep, polled;

    for (int i = 1; i <= 5 && good; i++) {
        good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.begun, i) &&
               reaches(&toy.polled, atomic_load(&toy.polled) + 5);
        atomic_store(&toy.result, PCOLL_OK);
        good = good && has_ended(agent, (unsigned long)i) &&
               served->medium->progress(served) == PCOLL_OK && falls_asleep(agent);
        atomic_store(&toy.result, PCOLL_PENDING);
    }
    tap_ok(asleep && good, "%s: sleeps without a plan, and each start wakes it", what);
    polled = atomic_load(&toy.polled);
    usleep(20000);
    tap_ok(polled == atomic_load(&toy.polled) && atomic_load(&agent->bell->sleep) == PCOLL_ASLEEP,
           "%s: visits no plan that is not active", what);
    tap_ok(pcoll_agent_account(agent).wakes >= 1, "%s: %lu starts had to wake it", what,
           pcoll_agent_account(agent).wakes);
    served->medium->unbind(served);
    tap_ok(toy.unbound == 1, "%s: the plan is unbound", what);
    pcoll_agent_destroy(agent);
}

static uint64_t cpu_of(pthread_t thread)
{
    struct timespec time;
    clockid_t clock;

    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0)
        abort();
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* An agent whose plans are all inactive does not run at all: the kernel counts its nanoseconds. */
static void test_idle(const struct pcoll_agent_options *options, const char *what)
{
    struct pcoll_agent *agent = hire(options);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    int good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.polled, 1);
    uint64_t before = 0;

    atomic_store(&toy.result, PCOLL_OK);
    good = good && has_ended(agent, 1) && served->medium->progress(served) == PCOLL_OK &&
           falls_asleep(agent);
    usleep(IDLE_USEC / 10); /* it says so before it sleeps, and may lack a core to do so */
    for (int i = 0; i < 100 && cpu_of(agent->thread) != before; i++) {
        before = cpu_of(agent->thread);
        usleep(IDLE_USEC / 10);
    }
    usleep(IDLE_USEC);
    tap_ok(good && cpu_of(agent->thread) == before, "%s: takes no CPU time for a second", what);
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* A plan that is not bulk is its owner's, and its start wakes nobody. */
static void test_small(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 0);
    int good = falls_asleep(agent) && served->medium->start(served) == PCOLL_PENDING;

    usleep(5000);
    tap_ok(good && atomic_load(&toy.begun) == 1 && atomic_load(&toy.polled) == 0 &&
               pcoll_agent_account(agent).wakes == 0,
           "a plan that is not bulk is left to its owner");
    atomic_store(&toy.result, PCOLL_OK);
    tap_ok(served->medium->spin(served, 3) == PCOLL_OK && atomic_load(&toy.polled) == 1,
           "who completes it");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* More plans than fit in one group of slots, all active at a time, ending from the last to the
 * first; slots are used again. */
static void test_many(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    static struct toy list[MANY];
    struct pcoll_bound *served[MANY];
    int good = 1;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            served[i] = serve(agent, &list[i], 1);
        for (int i = 0; i < MANY; i++)
            good &= served[i]->medium->start(served[i]) == PCOLL_PENDING;
        for (int i = MANY - 1; i >= 0; i--) {
            good &= reaches(&list[i].polled, 1);
            atomic_store(&list[i].result, PCOLL_OK);
            good &= has_ended(agent, (unsigned long)(round * MANY + MANY - i));
            good &= served[i]->medium->progress(served[i]) == PCOLL_OK;
        }
        for (int i = 0; i < MANY; i++)
            served[i]->medium->unbind(served[i]);
    }
    tap_ok(good, "%d active plans", MANY);
    pcoll_agent_destroy(agent);
}

/* The owner gets the result and the message of a failure that the agent has met; without an agent,
 * it alone runs the plan. */
static void test_failure(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    char text[PCOLL_AGENT_MESSAGE_BYTES];
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    int good;

    tap_ok(!pcoll_agent_keep_message("not from an agent") && !pcoll_agent_said(agent, text),
           "the owner's own messages are not the agent's");
    toy.says = "the toy is broken";
    good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.polled, 1);
    atomic_store(&toy.result, PCOLL_ERR_SYSTEM);
    good = good && has_ended(agent, 1);
    tap_ok(good && served->medium->spin(served, 1) == PCOLL_ERR_SYSTEM &&
               pcoll_agent_said(agent, text) && strcmp(text, "the toy is broken") == 0 &&
               !pcoll_agent_said(agent, text),
           "the agent's failure and its message reach the owner");
    pcoll_agent_destroy(agent);
    toy.says = NULL;
    atomic_store(&toy.result, PCOLL_OK);
    atomic_store(&toy.begun, 0);
    tap_ok(served->medium->start(served) == PCOLL_PENDING && atomic_load(&toy.begun) == 1 &&
               served->medium->progress(served) == PCOLL_OK,
           "after its end the owner runs the plan");
    served->medium->unbind(served);
}

/* While the agent is away, starts and polls are the owner's; what was posted before is begun. */
static void test_retired(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    uint32_t asleep = PCOLL_ASLEEP;
    int good = falls_asleep(agent);

    /* It believes that it sleeps until somebody ends that state, so this keeps it asleep. */
    good = good && atomic_compare_exchange_strong(&agent->bell->sleep, &asleep, PCOLL_RETIRED);
    good = good && served->medium->start(served) == PCOLL_PENDING;
    tap_ok(good && atomic_load(&toy.begun) == 1, "if it has retired, the owner begins");
    atomic_store(&toy.result, PCOLL_OK);
    tap_ok(served->medium->progress(served) == PCOLL_OK, "and ends");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* While an agent with a core is at work, an owner that only tests does none of it; if the agent is
 * stuck in another plan, the owner does. */
static enum pcoll_result stay(struct pcoll_bound *bound)
{
    struct toy *toy = toy_of(bound);

    atomic_fetch_add(&toy->polled, 1);
    while (atomic_load(&toy->result) == PCOLL_PENDING)
        usleep(STEP_USEC);
    return PCOLL_OK;
}

static void test_hands(void)
{
    struct pcoll_medium sticky = toys;
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy, other;
    struct pcoll_bound *served = serve(agent, &toy, 1), *stuck;
    int good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.polled, 1);
    unsigned tests = 0;

    sticky.progress = stay;
    toy_init(&other);
    other.base.medium = &sticky;
    if (pcoll_agent_serve(agent, &other.base, 1, &stuck) != PCOLL_OK)
        abort();
    good = good && stuck->medium->start(stuck) == PCOLL_PENDING && reaches(&other.polled, 1);
    usleep(1000); /* its visit of the first plan is over */
    atomic_store(&toy.result, PCOLL_OK);
    while (served->medium->progress(served) == PCOLL_PENDING && tests < 1000)
        tests++;
    tap_ok(good && tests > 0 && tests < 1000, "the owner ends a plan after %u tests", tests);
    atomic_store(&other.result, PCOLL_OK);
    tap_ok(has_ended(agent, 1) && stuck->medium->progress(stuck) == PCOLL_OK,
           "the agent ends the one that it has");
    served->medium->unbind(served);
    stuck->medium->unbind(stuck);
    pcoll_agent_destroy(agent);
}

static void test_network(void)
{
    static const struct pcoll_medium network = {
        .name = "network",
        .traits = PCOLL_LENDS | PCOLL_SPANS_NODES,
        .start = toy_start,
        .progress = toy_progress,
        .spin = toy_spin,
        .position = pcoll_no_position,
        .unbind = toy_unbind,
    };
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy;
    struct pcoll_bound *served;
    int good, polled;

    toy_init(&toy);
    toy.base.medium = &network;
    if (pcoll_agent_serve(agent, &toy.base, 1, &served) != PCOLL_OK)
        abort();
    good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.polled, 3);
    pcoll_agent_hold(agent);
    good = good && pcoll_agent_try_hold(agent);
    polled = atomic_load(&toy.polled);
    usleep(5000);
    tap_ok(good && atomic_load(&toy.polled) == polled, "nothing moves while its owner holds it");
    tap_ok(served->medium->progress(served) == PCOLL_PENDING &&
               atomic_load(&toy.polled) == polled + 1,
           "except by the owner");
    pcoll_agent_release(agent);
    usleep(1000);
    good = atomic_load(&toy.polled) == polled + 1;
    pcoll_agent_release(agent);
    tap_ok(good && reaches(&toy.polled, polled + 5), "until it has been released as often");
    atomic_store(&toy.result, PCOLL_OK);
    tap_ok(has_ended(agent, 1), "then the agent ends the instance");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* ---- forks ------------------------------------------------------------------------- */

/* In the child all calls return, none touches the plan; the parent's plan goes on. */
static void test_fork(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    int good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.begun, 1), status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        const int polled = atomic_load(&toy.polled);
        int wrong = served->medium->start(served) != PCOLL_ERR_SYSTEM;

        alarm(20);
        atomic_store(&toy.result, PCOLL_OK);
        wrong |= served->medium->progress(served) != PCOLL_ERR_SYSTEM;
        wrong |= served->medium->spin(served, 10) != PCOLL_ERR_SYSTEM;
        wrong |= pcoll_agent_try_hold(agent);
        pcoll_agent_hold(agent);
        pcoll_agent_release(agent);
        served->medium->unbind(served);
        wrong |= toy.unbound != 0 || atomic_load(&toy.polled) != polled;
        pcoll_agent_destroy(agent);
        _exit(wrong);
    }
    tap_ok(good && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
               WEXITSTATUS(status) == 0,
           "a child has no agent, and its calls touch nothing");
    atomic_store(&toy.result, PCOLL_OK);
    tap_ok(has_ended(agent, 1) && served->medium->progress(served) == PCOLL_OK,
           "the parent's plan goes on");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_sleep(&with_core, "with a core");
    test_sleep(&without_core, "without a core");
    test_idle(&with_core, "with a core");
    test_idle(&without_core, "without a core");
    test_small();
    test_many();
    test_failure();
    test_retired();
    test_hands();
    test_network();
    if (!meeting_is_threads_only())
        test_fork();
    return tap_done();
}
