/* Times of the instances of plans. */
#include "offload/times.h"

#include <stdlib.h>

#include "offload/yield.h"

enum { ALL_UNTIL = 8, THEN_EACH = 8 };

struct timed {
    struct pcoll_bound base;
    struct pcoll_medium medium; /* of `base`: the plan's, with the functions below */
    struct pcoll_bound *own;
    struct pcoll_times *times;
    uint64_t instances;
    uint64_t started, waited_since; /* of this instance; 0: it is not timed, or no wait has begun */
};

static struct timed *timed_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct timed, base);
}

/* ---- buckets ---- */

static int bucket_of(uint64_t ns)
{
    const int power = 63 - __builtin_clzll(ns | 4);
    const int bucket = 4 * power + (int)(ns >> (power - 2) & 3);

    return bucket < PCOLL_TIMES_BUCKETS ? bucket : PCOLL_TIMES_BUCKETS - 1;
}

static double middle_of(int bucket)
{
    const double quarter = (double)(UINT64_C(1) << (bucket / 4)) / 4;

    return quarter * (4.5 + bucket % 4);
}

static void add_instance(struct timed *timed)
{
    struct pcoll_times *times = timed->times;
    const uint64_t now = pcoll_now(), ns = now - timed->started;

    times->timed++;
    times->ns += ns;
    if (timed->waited_since > 0)
        times->waiting_ns += now - timed->waited_since;
    if (times->min_ns == 0 || ns < times->min_ns)
        times->min_ns = ns > 0 ? ns : 1;
    times->buckets[bucket_of(ns)]++;
    timed->started = 0;
}

/* ---- the functions of the medium ---- */

static enum pcoll_result judge(struct timed *timed, enum pcoll_result result)
{
    if (timed->started > 0 && result == PCOLL_OK)
        add_instance(timed);
    return result;
}

static enum pcoll_result timed_start(struct pcoll_bound *bound)
{
    struct timed *timed = timed_of(bound);
    const bool is_timed = timed->instances < ALL_UNTIL || timed->instances % THEN_EACH == 0;

    timed->instances++;
    timed->times->starts++;
    timed->waited_since = 0;
    timed->started = is_timed ? pcoll_now() : 0;
    return judge(timed, timed->own->medium->start(timed->own));
}

static enum pcoll_result timed_progress(struct pcoll_bound *bound)
{
    struct timed *timed = timed_of(bound);

    return judge(timed, timed->own->medium->progress(timed->own));
}

/* Only a wait for this plan spins. */
static enum pcoll_result timed_spin(struct pcoll_bound *bound, unsigned spins)
{
    struct timed *timed = timed_of(bound);

    if (timed->started > 0 && timed->waited_since == 0)
        timed->waited_since = pcoll_now();
    return judge(timed, timed->own->medium->spin(timed->own, spins));
}

static void timed_rest(struct pcoll_bound *bound, unsigned usec)
{
    struct timed *timed = timed_of(bound);

    timed->times->sleeps += usec > 0;
    timed->own->medium->rest(timed->own, usec);
}

static uint64_t timed_position(const struct pcoll_bound *bound)
{
    const struct timed *timed = timed_of(bound);

    return timed->own->medium->position(timed->own);
}

static void timed_unbind(struct pcoll_bound *bound)
{
    struct timed *timed = timed_of(bound);

    timed->own->medium->unbind(timed->own);
    free(timed);
}

enum pcoll_result pcoll_times_watch(struct pcoll_bound *bound, struct pcoll_times *times,
                                    struct pcoll_bound **timed_p)
{
    struct timed *timed = calloc(1, sizeof(*timed));

    if (timed == NULL)
        return PCOLL_ERR_NOMEM;
    timed->own = bound;
    timed->times = times;
    timed->medium = *bound->medium;
    timed->medium.start = timed_start;
    timed->medium.progress = timed_progress;
    timed->medium.spin = timed_spin;
    timed->medium.rest = timed_rest;
    timed->medium.position = timed_position;
    timed->medium.unbind = timed_unbind;
    timed->base.medium = &timed->medium;
    *timed_p = &timed->base;
    return PCOLL_OK;
}

/* ---- sums ---- */

void pcoll_times_add(struct pcoll_times *times, const struct pcoll_times *more)
{
    times->starts += more->starts;
    times->sleeps += more->sleeps;
    times->timed += more->timed;
    times->ns += more->ns;
    times->waiting_ns += more->waiting_ns;
    if (more->min_ns > 0 && (times->min_ns == 0 || more->min_ns < times->min_ns))
        times->min_ns = more->min_ns;
    for (int i = 0; i < PCOLL_TIMES_BUCKETS; i++)
        times->buckets[i] += more->buckets[i];
}

double pcoll_times_median_us(const struct pcoll_times *times)
{
    uint64_t below = 0;

    for (int i = 0; i < PCOLL_TIMES_BUCKETS; i++) {
        below += times->buckets[i];
        if (2 * below > times->timed)
            return middle_of(i) / 1000;
    }
    return 0;
}
