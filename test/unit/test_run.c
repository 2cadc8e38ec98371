/*
 * The executor: which steps it fires, in which order, what a pending step delays, and when a phase
 * is complete. A medium of the test fires each step and can be told to leave one pending.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "offload/run/fire.h"
#include "offload/yield.h"
#include "test/unit/tap.h"

enum { STEPS = 16 };

static struct pcoll_line counters[3];
static struct pcoll_run run;
static int fired[STEPS], nfired;   /* since the last start */
static int reluctant = PCOLL_NONE; /* this step is pending */
static int broken = PCOLL_NONE;    /* this step fails */

static enum pcoll_result fire(struct pcoll_run *r, struct pcoll_step *step)
{
    const int i = (int)(step - r->steps);

    if (i == reluctant)
        return PCOLL_PENDING;
    if (i == broken)
        return PCOLL_ERR_SYSTEM;
    fired[nfired++] = i;
    pcoll_step_signal(step);
    return PCOLL_OK;
}

static int have_fired(int n, const int *expected)
{
    return nfired == n && memcmp(fired, expected, (size_t)n * sizeof(*fired)) == 0;
}

static enum pcoll_result start(void)
{
    nfired = 0;
    return pcoll_run_start(&run, fire);
}

static enum pcoll_result progress(void)
{
    return pcoll_run_progress(&run, fire);
}

/*
 * Two phases. Phase 0: steps 0 and 1 fire at start; 2 and 3 wait for counter 0 at 1 and 2; 4 waits
 * for counter 1 at 1. Phase 1: step 5 waits for counter 0 at 3. In a cycle counter 0 gains 4 and
 * counter 1 gains 1.
 */
static int bind_plan(void)
{
    const struct pcoll_signature signature = {.coll = PCOLL_BARRIER, .nranks = 1};
    struct pcoll_plan *plan;

    if (pcoll_plan_create(&signature, NULL, 0, &plan) != PCOLL_OK || !pcoll_plan_begin(plan, 2, 2))
        return 0;
    plan->gain[0] = 4;
    plan->gain[1] = 1;
    pcoll_plan_open(plan, 0);
    pcoll_plan_add(plan, pcoll_entry_add(PCOLL_NONE, 0));
    pcoll_plan_add(plan, pcoll_entry_add(PCOLL_NONE, 0));
    pcoll_plan_add(plan, pcoll_entry_add(0, 1));
    pcoll_plan_add(plan, pcoll_entry_add(0, 2));
    pcoll_plan_add(plan, pcoll_entry_add(1, 1));
    pcoll_plan_open(plan, 1);
    pcoll_plan_add(plan, pcoll_entry_add(0, 3));
    if (pcoll_plan_seal(plan) != PCOLL_OK || pcoll_run_init(&run, plan, NULL) != PCOLL_OK)
        return 0;
    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];

        run.steps[i] = (struct pcoll_step){.threshold = entry->threshold};
        if (entry->trigger != PCOLL_NONE)
            run.steps[i].gain = plan->gain[entry->trigger];
    }
    pcoll_run_cut(&run, plan, counters, sizeof(*counters));
    pcoll_plan_destroy(plan);
    return 1;
}

static void test_order(void)
{
    enum pcoll_result result = start();

    tap_ok(result == PCOLL_PENDING && have_fired(2, (int[]){0, 1}),
           "start fires what waits for nothing");
    counters[0].value = 1;
    result = progress();
    tap_ok(result == PCOLL_PENDING && have_fired(3, (int[]){0, 1, 2}),
           "progress fires what its counter has reached, and no more");
    counters[1].value = 1;
    result = progress();
    tap_ok(result == PCOLL_PENDING && have_fired(4, (int[]){0, 1, 2, 4}),
           "a queue behind one that waits goes on");
    counters[0].value = 3;
    result = progress();
    tap_ok(result == PCOLL_OK && have_fired(5, (int[]){0, 1, 2, 4, 3}),
           "the phase is complete with its last step, and does not touch the next phase");
    result = start();
    tap_ok(result == PCOLL_OK && have_fired(1, (int[]){5}),
           "the next start runs the next phase, at once where its counters have come so far");
}

/* The second cycle: all thresholds are higher by the gain. */
static void test_gain(void)
{
    enum pcoll_result result = start();

    tap_ok(result == PCOLL_PENDING && have_fired(2, (int[]){0, 1}),
           "in the next cycle thresholds are higher by what the counters gain");
    counters[0].value = 6;
    counters[1].value = 2;
    result = progress();
    tap_ok(result == PCOLL_OK && have_fired(5, (int[]){0, 1, 2, 3, 4}),
           "what has come together fires together");
    counters[0].value = 7;
    tap_ok(start() == PCOLL_OK, "and its second phase");
}

/* A pending step delays its own queue only. */
static void test_pending(void)
{
    enum pcoll_result result;

    counters[0].value = 10;
    counters[1].value = 3;
    reluctant = 0;
    result = start();
    tap_ok(result == PCOLL_PENDING && have_fired(3, (int[]){2, 3, 4}),
           "a pending step of the start holds up those behind it, and no other queue");
    result = progress();
    tap_ok(result == PCOLL_PENDING && nfired == 3, "it stays so");
    reluctant = 1;
    result = progress();
    tap_ok(result == PCOLL_PENDING && have_fired(4, (int[]){2, 3, 4, 0}), "it is tried again");
    reluctant = PCOLL_NONE;
    result = progress();
    tap_ok(result == PCOLL_OK && have_fired(5, (int[]){2, 3, 4, 0, 1}), "each fires once");
    counters[0].value = 11;
    tap_ok(start() == PCOLL_OK, "and the second phase");

    counters[0].value = 14;
    counters[1].value = 4;
    reluctant = 2;
    result = start();
    tap_ok(result == PCOLL_PENDING && have_fired(3, (int[]){0, 1, 4}),
           "a pending step with a counter holds up those behind it, and no other queue");
    reluctant = PCOLL_NONE;
    result = progress();
    tap_ok(result == PCOLL_OK && have_fired(5, (int[]){0, 1, 4, 2, 3}),
           "then they fire in their order");
    counters[0].value = 15;
    tap_ok(start() == PCOLL_OK, "and the second phase");
}

static void test_failure(void)
{
    counters[0].value = 18;
    counters[1].value = 5;
    broken = 1;
    tap_ok(start() == PCOLL_ERR_SYSTEM && have_fired(1, (int[]){0}),
           "a step of the start that fails ends the start");
    broken = PCOLL_NONE;
}

static void test_signals(void)
{
    struct pcoll_line lines[2] = {0};
    struct pcoll_target alone = {&lines[0], 0, PCOLL_ALONE, NULL},
                        shared = {&lines[1], 0, PCOLL_SHARED, NULL};

    lines[0].value = 77; /* a rank that is the only one to signal does not read the counter */
    pcoll_signal(&alone, 2);
    pcoll_signal(&alone, 3);
    tap_ok(lines[0].value == 5, "a counter that one rank signals takes its sums");
    lines[1].value = 10;
    pcoll_signal(&shared, 2);
    tap_ok(lines[1].value == 12, "one that several signal is added to");
}

/* A rest ends when the counter moves, if it has moved already, or when its time is over. */
static void test_rest(void)
{
    run.phase = 0;
    counters[0].value = 0;
    run.pending_end = run.pending + 1;
    run.pending[0] = (struct pcoll_queue){&counters[0], &run.steps[2], &run.steps[3]};
    run.steps[2].threshold = 1;
    pcoll_run_rest(&run, 1000);
    tap_ok(counters[0].sleepers == 0, "a rest ends in time, and counts its sleeper off");
    counters[0].value = 1;
    pcoll_run_rest(&run, 999999);
    tap_ok(counters[0].sleepers == 0, "a rest for a counter that has moved does not sleep");
}

static int user_yields;

static void user_yield(void)
{
    user_yields++;
}

static void test_user_yield(void)
{
    counters[0].value = 0;
    pcoll_set_yield(user_yield);
    pcoll_run_rest(&run, 0);
    pcoll_run_rest(&run, 3600u * 1000000);
    pcoll_rest_usec(3600u * 1000000);
    tap_ok(user_yields == 3 && !pcoll_may_sleep(), "among user-level threads a rest only yields");
    pcoll_set_yield(NULL);
    tap_ok(pcoll_may_sleep(), "and sleeps again where there are none");
}

/* Two queues wait, and a thread sleeps for an hour unless it is woken (or the kernel cannot wait
 * for two counters). */
static void *rest_long(void *nothing)
{
    while (counters[0].value == 0 && counters[1].value == 0)
        pcoll_run_rest(&run, 3600u * 1000000);
    return nothing;
}

static void wake_through(struct pcoll_target *target, const char *what)
{
    const struct timespec moment = {0, 20000000};
    pthread_t thread;

    counters[0].value = counters[1].value = 0;
    if (pthread_create(&thread, NULL, rest_long, NULL) != 0)
        return;
    while (atomic_load(&target->line->sleepers) == 0)
        sched_yield();
    nanosleep(&moment, NULL); /* it has looked at the counters */
    pcoll_signal(target, 1);
    pthread_join(thread, NULL);
    tap_ok(counters[0].sleepers == 0 && counters[1].sleepers == 0, "a rest for two counters: %s",
           what);
}

static void test_wake(void)
{
    static _Atomic uint32_t sleepers;
    struct pcoll_target shared = {&counters[0], 0, PCOLL_SHARED, NULL},
                        alone = {&counters[1], 0, PCOLL_ALONE_WATCHED, &sleepers};

    run.sleepers = &sleepers;
    run.pending_end = run.pending + 2;
    run.pending[0] = (struct pcoll_queue){&counters[0], &run.steps[2], &run.steps[3]};
    run.pending[1] = (struct pcoll_queue){&counters[1], &run.steps[2], &run.steps[3]};
    run.steps[2].threshold = 1;
    wake_through(&shared, "the first one's signal wakes");
    wake_through(&alone, "so does the second one's, of the only rank that signals it");
    tap_ok(sleepers == 0, "and nobody is counted as asleep any more");
}

/* True if a thread sleeps through the first two of three signals. On a busy machine the first one
 * may come before it sleeps, which ends its rest. */
static int sleeps_until_third(void)
{
    const struct timespec moment = {0, 20000000};
    struct pcoll_target target = {&counters[0], 0, PCOLL_SHARED, NULL};
    pthread_t thread;
    int slept = 1;

    counters[0].value = counters[1].value = 0;
    if (pthread_create(&thread, NULL, rest_long, NULL) != 0)
        return 0;
    while (atomic_load(&counters[0].sleepers) == 0)
        sched_yield();
    for (int i = 0; i < 3; i++) {
        nanosleep(&moment, NULL);
        slept &= atomic_load(&counters[0].sleepers) == 1;
        pcoll_signal(&target, 1);
    }
    pthread_join(thread, NULL);
    return slept;
}

static void test_wanted(void)
{
    int tries = 5;

    run.pending_end = run.pending + 1;
    run.steps[2].threshold = 3;
    while (!sleeps_until_third() && tries > 0)
        tries--;
    tap_ok(tries > 0, "a rest lasts until the counter has the value that its step waits for");
}

int main(void)
{
    if (!bind_plan())
        return 1;
    alarm(60);
    test_order();
    test_gain();
    test_pending();
    test_failure();
    test_signals();
    test_rest();
    test_user_yield();
    test_wake();
    test_wanted();
    pcoll_run_fini(&run);
    return tap_done();
}
