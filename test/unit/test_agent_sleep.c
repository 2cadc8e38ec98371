/*
 * When an agent sleeps, what wakes it, and that an idle one takes no CPU time.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "offload/yield.h"
#include "test/unit/tap.h"
#include "test/unit/stub.h"

enum { IDLE_USEC = 1000000, LOOK_NSEC = 5000000 /* of an agent without a core */ };

static void test_sleep(const struct pcoll_agent_options *options, const char *what)
{
    struct pcoll_agent *agent = stub_create_agent(options);
    struct stub stub;
    struct pcoll_bound *served = stub_serve(agent, &stub, true);
    int asleep = stub_falls_asleep(agent), good = asleep, polled;

    for (int i = 1; i <= 5 && good; i++) {
        good = served->medium->start(served) == PCOLL_PENDING && stub_reaches(&stub.begun, i) &&
               stub_reaches(&stub.polled, atomic_load(&stub.polled) + 5);
        atomic_store(&stub.result, PCOLL_OK);
        good = good && stub_has_ended(agent, (unsigned long)i) &&
               served->medium->progress(served) == PCOLL_OK && stub_falls_asleep(agent);
        atomic_store(&stub.result, PCOLL_PENDING);
    }
    tap_ok(asleep && good, "%s: sleeps without a plan, and each start wakes it", what);
    polled = atomic_load(&stub.polled);
    usleep(20000);
    tap_ok(polled == atomic_load(&stub.polled) && atomic_load(&agent->bell->sleep) == PCOLL_ASLEEP,
           "%s: visits no plan that is not active", what);
    tap_ok(pcoll_agent_account(agent).wakes >= 1, "%s: %lu starts had to wake it", what,
           pcoll_agent_account(agent).wakes);
    served->medium->unbind(served);
    tap_ok(stub.unbound == 1, "%s: the plan is unbound", what);
    pcoll_agent_destroy(agent);
}

/* Starts that follow each other wake no agent that would take the core from them; it comes by
 * itself. */
static void test_unseen(void)
{
    struct pcoll_agent *agent = stub_create_agent(&stub_without_core);
    struct stub stub;
    struct pcoll_bound *served = stub_serve(agent, &stub, true);
    unsigned long wakes = 0;
    int good = stub_falls_asleep(agent);

    for (int i = 1; i <= 6 && good; i++) {
        good = served->medium->start(served) == PCOLL_PENDING &&
               stub_reaches(&stub.polled, atomic_load(&stub.polled) + 2);
        if (i == 1)
            wakes = pcoll_agent_account(agent).wakes;
        atomic_store(&stub.result, PCOLL_OK);
        good = good && stub_has_ended(agent, (unsigned long)i) &&
               served->medium->progress(served) == PCOLL_OK;
        atomic_store(&stub.result, PCOLL_PENDING);
        usleep(2000);
    }
    tap_ok(good && wakes == 1 && pcoll_agent_account(agent).wakes == wakes,
           "without a core: the first of 6 starts wakes it (%lu)",
           pcoll_agent_account(agent).wakes);
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* Microseconds from a start until the agent has polled the plan twice. */
static uint64_t delay_of(struct pcoll_bound *served, struct stub *stub)
{
    const int polled = atomic_load(&stub->polled);
    const uint64_t begin = pcoll_now();

    if (served->medium->start(served) != PCOLL_PENDING || !stub_reaches(&stub->polled, polled + 2))
        abort();
    return (pcoll_now() - begin) / 1000;
}

static void end(struct pcoll_agent *agent, struct pcoll_bound *served, struct stub *stub)
{
    const unsigned long ended = pcoll_agent_account(agent).ended;

    atomic_store(&stub->result, PCOLL_OK);
    if (!stub_has_ended(agent, ended + 1) || served->medium->progress(served) != PCOLL_OK)
        abort();
    atomic_store(&stub->result, PCOLL_PENDING);
}

/* Without a core, it leaves each instance of a plan within a node to the ranks for 10 ms, and looks
 * seldom; one of the network it serves as soon as it sees it, here the best of several. */
static void test_young(void)
{
    struct pcoll_agent *agent = stub_create_agent(&stub_without_core);
    struct pcoll_medium network = stub_medium;
    struct stub stubs[2];
    struct pcoll_bound *local = stub_serve(agent, &stubs[0], true), *far;
    uint64_t of_local = UINT64_MAX, of_far = UINT64_MAX, looks, begin;

    for (int i = 0; i < 5; i++) {
        const uint64_t delay = delay_of(local, &stubs[0]);

        of_local = delay < of_local ? delay : of_local;
        end(agent, local, &stubs[0]);
    }
    begin = pcoll_now();
    looks = atomic_load(&agent->bell->laps);
    usleep(100000);
    looks = atomic_load(&agent->bell->laps) - looks;
    tap_ok(looks <= (pcoll_now() - begin) / LOOK_NSEC + 2,
           "without a core: it looks seldom for the node's plans (%lu times)",
           (unsigned long)looks);
    stub_init(&stubs[1]);
    network.traits |= PCOLL_SPANS_NODES;
    stubs[1].base.medium = &network;
    if (pcoll_agent_serve(agent, &stubs[1].base, true, &far) != PCOLL_OK)
        abort();
    for (int i = 0; i < 20; i++) {
        const uint64_t delay = delay_of(far, &stubs[1]);

        of_far = delay < of_far ? delay : of_far;
        end(agent, far, &stubs[1]);
    }
    tap_ok(of_local >= 10000, "without a core: the node's plans wait for it (%lu us)",
           (unsigned long)of_local);
    tap_ok(of_far < 10000, "without a core: the network's do not (%lu us)", (unsigned long)of_far);
    local->medium->unbind(local);
    far->medium->unbind(far);
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
    struct pcoll_agent *agent = stub_create_agent(options);
    struct stub stub;
    struct pcoll_bound *served = stub_serve(agent, &stub, true);
    int good = served->medium->start(served) == PCOLL_PENDING && stub_reaches(&stub.polled, 1);
    uint64_t before = 0;

    atomic_store(&stub.result, PCOLL_OK);
    good = good && stub_has_ended(agent, 1) && served->medium->progress(served) == PCOLL_OK &&
           stub_falls_asleep(agent);
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

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_sleep(&stub_with_core, "with a core");
    test_sleep(&stub_without_core, "without a core");
    test_unseen();
    test_young();
    test_idle(&stub_with_core, "with a core");
    test_idle(&stub_without_core, "without a core");
    return tap_done();
}
