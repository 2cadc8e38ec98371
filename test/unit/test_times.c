/*
 * Times of the instances of a plan: every call reaches the plan's own medium, and its answers come
 * back; what is counted and timed; sums and medians.
 */
#include <string.h>

#include "offload/times.h"
#include "offload/yield.h"
#include "test/unit/tap.h"

enum { LONG_NS = 200000 };

/* A plan that is pending after start until it has been polled `polls` times. */
static struct plan {
    struct pcoll_bound base;
    enum pcoll_result at_end;
    int polls, left;
    int starts, progressed, spun, rested, unbound;
    unsigned spins, usec;
    uint64_t takes_ns; /* each poll */
} plan;

static enum pcoll_result result_of_poll(void)
{
    const uint64_t until = pcoll_now() + plan.takes_ns;

    while (pcoll_now() < until)
        ;
    return plan.left-- > 0 ? PCOLL_PENDING : plan.at_end;
}

static enum pcoll_result start(struct pcoll_bound *bound)
{
    plan.starts += bound == &plan.base;
    plan.left = plan.polls;
    return result_of_poll();
}

static enum pcoll_result progress(struct pcoll_bound *bound)
{
    plan.progressed += bound == &plan.base;
    return result_of_poll();
}

static enum pcoll_result spin(struct pcoll_bound *bound, unsigned spins)
{
    plan.spun += bound == &plan.base;
    plan.spins = spins;
    return result_of_poll();
}

static void rest(struct pcoll_bound *bound, unsigned usec)
{
    plan.rested += bound == &plan.base;
    plan.usec = usec;
}

static uint64_t position(const struct pcoll_bound *bound)
{
    return bound == &plan.base ? 77 : 0;
}

static void unbind(struct pcoll_bound *bound)
{
    plan.unbound += bound == &plan.base;
}

static const struct pcoll_medium medium = {
    .name = "plan",
    .traits = PCOLL_SPANS_NODES,
    .start = start,
    .progress = progress,
    .spin = spin,
    .rest = rest,
    .position = position,
    .unbind = unbind,
};

static struct pcoll_bound *watch(struct pcoll_times *times, int polls)
{
    struct pcoll_bound *timed = NULL;

    plan = (struct plan){.base = {&medium}, .polls = polls};
    memset(times, 0, sizeof(*times));
    if (pcoll_times_watch(&plan.base, times, &timed) != PCOLL_OK)
        exit(1);
    return timed;
}

static void test_calls(void)
{
    struct pcoll_times times;
    struct pcoll_bound *timed = watch(&times, 3);
    const struct pcoll_medium *of = timed->medium;

    tap_ok(strcmp(of->name, "plan") == 0 && of->traits == PCOLL_SPANS_NODES,
           "the name and the traits are the medium's");
    tap_ok(of->start(timed) == PCOLL_PENDING && plan.starts == 1, "a start reaches the plan");
    tap_ok(of->progress(timed) == PCOLL_PENDING && plan.progressed == 1, "progress reaches it");
    tap_ok(of->spin(timed, 5) == PCOLL_PENDING && plan.spun == 1 && plan.spins == 5,
           "spin reaches it");
    of->rest(timed, 0);
    of->rest(timed, 9);
    tap_ok(plan.rested == 2 && plan.usec == 9 && times.sleeps == 1,
           "rest reaches it, and only a sleep counts as one");
    tap_ok(of->position(timed) == 77, "position reaches it");
    tap_ok(times.timed == 0, "an instance is not timed before it has ended");
    tap_ok(of->progress(timed) == PCOLL_OK && times.timed == 1 && times.starts == 1, "then it is");
    plan.at_end = PCOLL_ERR_SYSTEM;
    plan.polls = 0;
    tap_ok(of->start(timed) == PCOLL_ERR_SYSTEM && times.timed == 1 && times.starts == 2,
           "an instance that has failed is not timed");
    of->unbind(timed);
    tap_ok(plan.unbound == 1, "the plan is unbound");
}

static void test_times(void)
{
    struct pcoll_times times;
    struct pcoll_bound *timed = watch(&times, 1);

    plan.takes_ns = LONG_NS;
    timed->medium->start(timed);
    timed->medium->spin(timed, 1);
    tap_ok(times.ns >= 2 * LONG_NS && times.min_ns == times.ns, "an instance takes what it takes");
    tap_ok(times.waiting_ns >= LONG_NS && times.waiting_ns <= times.ns - LONG_NS,
           "its rank waits from the first spin on");
    timed->medium->start(timed);
    timed->medium->progress(timed);
    tap_ok(times.timed == 2 && times.waiting_ns <= times.ns - 3 * LONG_NS,
           "without a spin it does not wait");
    tap_ok(pcoll_times_median_us(&times) >= 2 * LONG_NS / 1000. * 7 / 8,
           "the median is no less than the least, less one eighth");
    timed->medium->unbind(timed);
}

static void test_samples(void)
{
    struct pcoll_times times;
    struct pcoll_bound *timed = watch(&times, 0);
    int good = 1;

    for (uint64_t i = 0; i < 100; i++) {
        timed->medium->start(timed);
        good &= times.timed == (i < 8 ? i + 1 : 8 + (i / 8));
    }
    tap_ok(good && times.starts == 100, "the first 8 instances are timed, then each eighth");
    timed->medium->unbind(timed);
}

/* So many instances in the bucket. */
static struct pcoll_times in_bucket(int bucket, uint32_t n, uint64_t min_ns)
{
    struct pcoll_times times = {.starts = n, .timed = n, .min_ns = min_ns, .ns = n * min_ns};

    times.buckets[bucket] = n;
    return times;
}

static void test_sums(void)
{
    struct pcoll_times sum = in_bucket(40, 3, 1030), more = in_bucket(44, 2, 2060), none = {0};

    pcoll_times_add(&sum, &more);
    pcoll_times_add(&sum, &none);
    tap_ok(sum.starts == 5 && sum.timed == 5 && sum.min_ns == 1030 && sum.ns == 3 * 1030 + 2 * 2060,
           "a sum has the least minimum");
    tap_ok(pcoll_times_median_us(&sum) > 1.024 && pcoll_times_median_us(&sum) < 1.28,
           "its median is that of the greater part");
    pcoll_times_add(&sum, &more);
    tap_ok(pcoll_times_median_us(&sum) > 2.048 && pcoll_times_median_us(&sum) < 2.56,
           "whichever that is");
    tap_ok(pcoll_times_median_us(&none) == 0, "without instances there is none");
}

int main(void)
{
    test_calls();
    test_times();
    test_samples();
    test_sums();
    return tap_done();
}
