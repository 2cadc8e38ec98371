/*
 * An agent that serves plans of a medium made for its tests: whether it or the owner progresses a
 * plan; what becomes of plans at its end, after a failure and in a forked child. test_agent_sleep
 * tests when it sleeps, test_agent runs plans of the medium `shm`.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/stub.h"

enum { MANY = 2 * PCOLL_SERVED_ROWS + 1 };

/* A plan that is not bulk is its owner's, and its start wakes nobody. */
static void test_small(void)
{
    struct pcoll_agent *agent = stub_create_agent(&stub_with_core);
    struct stub stub;
    struct pcoll_bound *served = stub_serve(agent, &stub, false);
    int good = stub_falls_asleep(agent) && served->medium->start(served) == PCOLL_PENDING;

    usleep(5000);
    tap_ok(good && atomic_load(&stub.begun) == 1 && atomic_load(&stub.polled) == 0 &&
               pcoll_agent_account(agent).wakes == 0,
           "a plan that is not long is left to its owner");
    atomic_store(&stub.result, PCOLL_OK);
    tap_ok(served->medium->spin(served, 3) == PCOLL_OK && atomic_load(&stub.polled) == 1,
           "who completes it");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* More plans than fit in one table, all active at a time, ending from the last to the first; rows
 * are used again. */
static void test_many(void)
{
    struct pcoll_agent *agent = stub_create_agent(&stub_with_core);
    static struct stub list[MANY];
    struct pcoll_bound *served[MANY];
    int good = 1;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            served[i] = stub_serve(agent, &list[i], true);
        for (int i = 0; i < MANY; i++)
            good &= served[i]->medium->start(served[i]) == PCOLL_PENDING;
        for (int i = MANY - 1; i >= 0; i--) {
            good &= stub_reaches(&list[i].polled, 1);
            atomic_store(&list[i].result, PCOLL_OK);
            good &= stub_has_ended(agent, (unsigned long)(round * MANY + MANY - i));
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
    struct pcoll_agent *agent = stub_create_agent(&stub_with_core);
    char text[PCOLL_AGENT_MESSAGE_BYTES];
    struct stub stub;
    struct pcoll_bound *served = stub_serve(agent, &stub, true);
    int good;

    tap_ok(!pcoll_agent_keep_message("not from an agent") && !pcoll_agent_take_message(agent, text),
           "the owner's own messages are not the agent's");
    stub.says = "the stub is broken";
    good = served->medium->start(served) == PCOLL_PENDING && stub_reaches(&stub.polled, 1);
    atomic_store(&stub.result, PCOLL_ERR_SYSTEM);
    good = good && stub_has_ended(agent, 1);
    tap_ok(good && served->medium->spin(served, 1) == PCOLL_ERR_SYSTEM &&
               pcoll_agent_take_message(agent, text) && strcmp(text, "the stub is broken") == 0 &&
               !pcoll_agent_take_message(agent, text),
           "the agent's failure and its message reach the owner");
    pcoll_agent_destroy(agent);
    stub.says = NULL;
    atomic_store(&stub.result, PCOLL_OK);
    atomic_store(&stub.begun, 0);
    tap_ok(served->medium->start(served) == PCOLL_PENDING && atomic_load(&stub.begun) == 1 &&
               served->medium->progress(served) == PCOLL_OK,
           "after its end the owner runs the plan");
    served->medium->unbind(served);
}

/* While the agent is away, starts and polls are the owner's; what was posted before is begun. */
static void test_retired(void)
{
    struct pcoll_agent *agent = stub_create_agent(&stub_with_core);
    struct stub stub;
    struct pcoll_bound *served = stub_serve(agent, &stub, true);
    int good;

    /* It believes that it sleeps until somebody ends that state, so this keeps it asleep; but an
     * agent that has announced its sleep and does not sleep yet goes on. */
    do {
        uint32_t asleep = PCOLL_ASLEEP;

        good = stub_falls_asleep(agent);
        atomic_compare_exchange_strong(&agent->bell->sleep, &asleep, PCOLL_RETIRED);
        usleep(20000);
    } while (good && atomic_load(&agent->bell->sleep) != PCOLL_RETIRED);
    good = good && served->medium->start(served) == PCOLL_PENDING;
    tap_ok(good && atomic_load(&stub.begun) == 1, "if it has retired, the owner begins");
    atomic_store(&stub.result, PCOLL_OK);
    tap_ok(served->medium->progress(served) == PCOLL_OK, "and ends");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* While an agent with a core is at work, an owner that only tests does none of it; if the agent is
 * stuck in another plan, the owner does. */
static enum pcoll_result stay(struct pcoll_bound *bound)
{
    struct stub *stub = stub_of(bound);

    atomic_fetch_add(&stub->polled, 1);
    while (atomic_load(&stub->result) == PCOLL_PENDING)
        usleep(STUB_STEP_USEC);
    return PCOLL_OK;
}

static void test_hands(void)
{
    struct pcoll_medium sticky = stub_medium;
    struct pcoll_agent *agent = stub_create_agent(&stub_with_core);
    struct stub stub, other;
    struct pcoll_bound *served = stub_serve(agent, &stub, true), *stuck;
    int good = served->medium->start(served) == PCOLL_PENDING && stub_reaches(&stub.polled, 1);
    unsigned tests = 0;

    sticky.progress = stay;
    stub_init(&other);
    other.base.medium = &sticky;
    if (pcoll_agent_serve(agent, &other.base, true, &stuck) != PCOLL_OK)
        abort();
    good = good && stuck->medium->start(stuck) == PCOLL_PENDING && stub_reaches(&other.polled, 1);
    usleep(1000); /* its visit of the first plan is over */
    atomic_store(&stub.result, PCOLL_OK);
    while (served->medium->progress(served) == PCOLL_PENDING && tests < 1000)
        tests++;
    tap_ok(good && tests > 0 && tests < 1000, "the owner ends a plan after %u tests", tests);
    atomic_store(&other.result, PCOLL_OK);
    tap_ok(stub_has_ended(agent, 1) && stuck->medium->progress(stuck) == PCOLL_OK,
           "the agent ends the one that it has");
    served->medium->unbind(served);
    stuck->medium->unbind(stuck);
    pcoll_agent_destroy(agent);
}

static void test_network(void)
{
    struct pcoll_medium network = stub_medium;
    struct pcoll_agent *agent = stub_create_agent(&stub_with_core);
    struct stub stub;
    struct pcoll_bound *served;
    int good, polled;

    network.traits |= PCOLL_SPANS_NODES;
    stub_init(&stub);
    stub.base.medium = &network;
    if (pcoll_agent_serve(agent, &stub.base, true, &served) != PCOLL_OK)
        abort();
    good = served->medium->start(served) == PCOLL_PENDING && stub_reaches(&stub.polled, 3);
    pcoll_agent_hold(agent);
    good = good && pcoll_agent_try_hold(agent);
    polled = atomic_load(&stub.polled);
    usleep(5000);
    tap_ok(good && atomic_load(&stub.polled) == polled, "nothing moves while its owner holds it");
    tap_ok(served->medium->progress(served) == PCOLL_PENDING &&
               atomic_load(&stub.polled) == polled + 1,
           "except by the owner");
    pcoll_agent_release(agent);
    usleep(1000);
    good = atomic_load(&stub.polled) == polled + 1;
    pcoll_agent_release(agent);
    tap_ok(good && stub_reaches(&stub.polled, polled + 5), "until it has been released as often");
    atomic_store(&stub.result, PCOLL_OK);
    tap_ok(stub_has_ended(agent, 1), "then the agent ends the instance");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* ---- forks ------------------------------------------------------------------------- */

/* In the child all calls return, none touches the plan; the parent's plan goes on. */
static void test_fork(void)
{
    struct pcoll_agent *agent = stub_create_agent(&stub_with_core);
    struct stub stub;
    struct pcoll_bound *served = stub_serve(agent, &stub, true);
    int good = served->medium->start(served) == PCOLL_PENDING && stub_reaches(&stub.begun, 1),
        status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        const int polled = atomic_load(&stub.polled);
        int wrong = served->medium->start(served) != PCOLL_ERR_SYSTEM;

        alarm(20);
        atomic_store(&stub.result, PCOLL_OK);
        wrong |= served->medium->progress(served) != PCOLL_ERR_SYSTEM;
        wrong |= served->medium->spin(served, 10) != PCOLL_ERR_SYSTEM;
        wrong |= pcoll_agent_try_hold(agent);
        pcoll_agent_hold(agent);
        pcoll_agent_release(agent);
        served->medium->unbind(served);
        wrong |= stub.unbound != 0 || atomic_load(&stub.polled) != polled;
        pcoll_agent_destroy(agent);
        _exit(wrong);
    }
    tap_ok(good && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
               WEXITSTATUS(status) == 0,
           "a child has no agent, and its calls touch nothing");
    atomic_store(&stub.result, PCOLL_OK);
    tap_ok(stub_has_ended(agent, 1) && served->medium->progress(served) == PCOLL_OK,
           "the parent's plan goes on");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
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
