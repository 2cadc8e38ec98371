/*
 * Two ranks measure a medium.
 *
 * A shot is a probe of some length, bound and ready to start. A round fires a batch of every shot,
 * one after the other, so that a change in the machine's speed affects all of them equally. A
 * parameter is the difference of two shots, in which their common parts (start, wait, the answer)
 * cancel. Each round gives one sample of every parameter. After a third of the time the group and
 * the shots are made again (a sitting), since much depends on where memory happens to lie.
 *
 *   hop   ping        one signal and its answer, halved
 *   o     stream      a further entry in `start`
 *   g     stream      a further entry, until all have been answered
 *   L     hop less the larger of o and g, as the cost model adds one of them for each entry
 *   rma   ping_put    hop of 8 bytes between user buffers, less hop
 *   G     stream_put, stream_get    a further byte; their mean
 *   cached  ping_copy a further byte, which is copied twice on its way
 *   copy  ping_copy   the same where the caches do not hold all of the bytes
 *   call  a plan without entries
 */
#include "tools/tune_shots.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITTINGS = 3, MAX_ROUNDS = 2000, FEWEST_ROUNDS = 6, ROUNDS_BETWEEN_LOOKS = 3, BAR = 30 };

#define MIN_PART 0.2
#define TIGHT 0.02    /* relative to the value */
#define TIGHT_US 1e-6 /* for values close to 0 */

struct pair {
    struct shots shots;
    int rounds;
    double (*samples)[MAX_ROUNDS]; /* for each parameter */
    unsigned given;
    double begin, seconds; /* of all sittings */
    int bar;
};

/* ---- rounds ---- */

static void take(struct pair *pair, enum pcoll_parameter parameter, double sample)
{
    pair->samples[parameter][pair->rounds] = sample;
    pair->given |= pcoll_parameter_bit(parameter);
}

/* The time of one further entry or byte, in us. */
static double slope(const struct pair *pair, enum shot_name less, enum shot_name more,
                    double further)
{
    return (pair->shots.list[more].whole - pair->shots.list[less].whole) / further;
}

static double byte_slope(const struct pair *pair, enum shot_name less, enum shot_name more,
                         int times)
{
    return slope(pair, less, more,
                 times * (double)(pair->shots.list[more].bytes - pair->shots.list[less].bytes));
}

static void derive_bytes(struct pair *pair)
{
    const bool has_put = pair->shots.list[PUT_LONG].plan && pair->shots.list[PUT_SHORT].plan;
    const bool has_get = pair->shots.list[GET_LONG].plan && pair->shots.list[GET_SHORT].plan;
    const double put = has_put ? byte_slope(pair, PUT_SHORT, PUT_LONG, SHOT_FEW) : 0;
    const double get = has_get ? byte_slope(pair, GET_SHORT, GET_LONG, SHOT_FEW) : put;

    if (has_put)
        take(pair, PCOLL_PARAMETER_G, (put + get) / 2);
    if (pair->shots.list[COPY_SHORT].plan && pair->shots.list[COPY_LONG].plan)
        take(pair, PCOLL_PARAMETER_CACHED, byte_slope(pair, COPY_SHORT, COPY_LONG, 4 * SHOT_FEW));
    if (pair->shots.list[COPY_LONG].plan && pair->shots.list[COPY_LONGEST].plan)
        take(pair, PCOLL_PARAMETER_COPY, byte_slope(pair, COPY_LONG, COPY_LONGEST, 4 * SHOT_FEW));
}

static void derive(struct pair *pair)
{
    const double further = pair->shots.many - SHOT_FEW;
    const double hop = slope(pair, PING_FEW, PING_MANY, 2 * further);
    const double gap = slope(pair, STREAM_FEW, STREAM_MANY, further);
    const double post =
        (pair->shots.list[STREAM_MANY].start - pair->shots.list[STREAM_FEW].start) / further;

    if (pair->shots.list[PING_MANY].plan && pair->shots.list[STREAM_MANY].plan) {
        take(pair, PCOLL_PARAMETER_O, post);
        take(pair, PCOLL_PARAMETER_GAP, gap);
        take(pair, PCOLL_PARAMETER_L, hop - fmax(post, gap));
    }
    if (pair->shots.list[PUT_FEW].plan && pair->shots.list[PUT_MANY].plan)
        take(pair, PCOLL_PARAMETER_RMA, slope(pair, PUT_FEW, PUT_MANY, 2 * further) - hop);
    if (pair->shots.list[EMPTY].plan)
        take(pair, PCOLL_PARAMETER_CALL, pair->shots.list[EMPTY].whole);
    derive_bytes(pair);
}

static void play_round(struct pair *pair)
{
    shots_fire(&pair->shots);
    derive(pair);
    pair->rounds++;
}

static struct estimate estimate_parameter(const struct pair *pair, int parameter)
{
    double samples[MAX_ROUNDS];

    memcpy(samples, pair->samples[parameter], (size_t)pair->rounds * sizeof(double));
    return estimate_of(samples, pair->rounds);
}

static bool all_tight(const struct pair *pair)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        const struct estimate estimate = estimate_parameter(pair, i);

        if (pair->given & pcoll_parameter_bit((enum pcoll_parameter)i) &&
            !estimate_is_tight(&estimate, TIGHT, TIGHT_US))
            return false;
    }
    return true;
}

/* Rank 0 extends the bar in proportion to the elapsed time. */
static void draw_bar(struct pair *pair, double part)
{
    for (; pair->bar < BAR && pair->bar < part * BAR; pair->bar++)
        fputc('#', stderr);
    fflush(stderr);
}

/* Continue until all intervals are tight, and at least for a part of the time. */
static bool goes_on(struct pair *pair, double begin, double seconds)
{
    const double gone = tune_now() - begin;
    int on = 0;

    if (pair->shots.bootstrap.rank == 0) {
        on = pair->rounds < FEWEST_ROUNDS ||
             (gone < seconds && (gone < MIN_PART * seconds || !all_tight(pair)));
        on = on && pair->rounds + ROUNDS_BETWEEN_LOOKS <= MAX_ROUNDS;
        draw_bar(pair, (tune_now() - pair->begin) / pair->seconds);
    }
    tune_bcast(&on, sizeof(on), 0, pair->shots.comm);
    return on;
}

static enum pcoll_result sit(struct pair *pair, struct tune_result *result)
{
    const double begin = tune_now();
    const enum pcoll_result loaded = shots_load(&pair->shots);

    if (loaded != PCOLL_OK)
        return loaded;
    pair->rounds = 0;
    while (goes_on(pair, begin, pair->seconds / SITTINGS))
        for (int i = 0; i < ROUNDS_BETWEEN_LOOKS; i++)
            play_round(pair);
    shots_unload(&pair->shots);
    result->given = pair->given;
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        if (pair->given & pcoll_parameter_bit((enum pcoll_parameter)i))
            result->estimates[i] = estimate_parameter(pair, i);
    return PCOLL_OK;
}

static void join_sittings(const struct tune_result *sittings, struct tune_result *result)
{
    result->given = sittings[SITTINGS - 1].given;
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        struct estimate all[SITTINGS];

        for (int k = 0; k < SITTINGS; k++)
            all[k] = sittings[k].estimates[i];
        result->estimates[i] = estimate_join(all, SITTINGS);
    }
}

static enum pcoll_result sit_often(struct pair *pair, struct tune_result *result)
{
    struct tune_result sittings[SITTINGS] = {{.given = 0}};

    for (int i = 0; i < SITTINGS; i++) {
        const enum pcoll_result sat = sit(pair, &sittings[i]);

        if (sat != PCOLL_OK)
            return sat;
    }
    join_sittings(sittings, result);
    if (pair->shots.bootstrap.rank == 0)
        draw_bar(pair, 1);
    return PCOLL_OK;
}

enum pcoll_result tune_pair(MPI_Comm *comm, const struct pcoll_medium *medium,
                            const struct tune_options *options, double seconds,
                            struct tune_result *result)
{
    struct pair pair = {.samples = calloc(PCOLL_NUM_PARAMETERS, sizeof(*pair.samples)),
                        .begin = tune_now(),
                        .seconds = seconds};
    enum pcoll_result measured;

    if (!pair.samples) {
        fprintf(stderr, "pcoll-tune: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    measured = shots_init(&pair.shots, comm, medium, options);
    if (measured == PCOLL_OK)
        measured = sit_often(&pair, result);
    shots_fini(&pair.shots);
    free(pair.samples);
    return measured;
}
