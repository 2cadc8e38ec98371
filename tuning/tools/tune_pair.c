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
 *   copy  ping_copy   a further byte, which is copied twice on its way
 *   call  a plan without entries
 */
#include "tuning/tools/tune.h"

#include "algorithms/lower/lower.h"
#include "algorithms/plan/topology.h"
#include "offload/medium.h"
#include "tuning/tools/probes.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum shot_name {
    PING_FEW,
    PING_MANY,
    STREAM_FEW,
    STREAM_MANY,
    PUT_FEW,
    PUT_MANY,
    PUT_SHORT,
    PUT_LONG,
    GET_SHORT,
    GET_LONG,
    COPY_SHORT,
    COPY_LONG,
    EMPTY,
    NUM_SHOTS
};

enum {
    SITTINGS = 3,
    MAX_ROUNDS = 2000,
    FEWEST_ROUNDS = 6,
    ROUNDS_BETWEEN_LOOKS = 3,
    MAX_BATCH = 2000,
    TRIES = 5,
    SPINS = 1000,
    BAR = 30
};

#define BATCH_SECONDS 200e-6
#define LEAST_PART 0.2
#define TIGHT 0.02    /* relative to the value */
#define TIGHT_US 1e-6 /* for values close to 0 */
#define FEW 2
#define MANY_IN_NODE 34 /* entries of a shot */
#define MANY_BETWEEN 10
#define SHORT_IN_NODE (UINT64_C(64) << 10)
#define LONG_IN_NODE (UINT64_C(1) << 20)
#define SHORT_BETWEEN (UINT64_C(16) << 10)
#define LONG_BETWEEN (UINT64_C(256) << 10)
#define SHORT_COPY (UINT64_C(8) << 10) /* the largest communication buffers */
#define LONG_COPY (UINT64_C(128) << 10)
#define MOST_BYTES LONG_IN_NODE

struct shot {
    struct pcoll_plan *plan; /* NULL: the medium cannot run it */
    struct pcoll_bound *bound;
    struct pcoll_params params;
    uint64_t bytes;
    int batch;
    double whole, start; /* us per instance, in the last batch */
};

struct pair {
    MPI_Comm comm;
    const struct pcoll_medium *medium;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_topology *topology;
    struct pcoll_group *group;
    struct pcoll_memory memory; /* MOST_BYTES, 2 * MOST_BYTES */
    int in_node, many;
    struct shot shots[NUM_SHOTS];
    int rounds;
    double (*samples)[MAX_ROUNDS]; /* for each parameter */
    unsigned given;
    double begin, seconds; /* of all sittings */
    int bar;
};

/* ---- shots ---- */

/* Bytes of an entry, in a node and between nodes. */
static const struct {
    enum probe probe;
    uint64_t near, far;
} kinds[NUM_SHOTS] = {
    [PING_FEW] = {PROBE_PING, 0, 0},
    [PING_MANY] = {PROBE_PING, 0, 0},
    [STREAM_FEW] = {PROBE_STREAM, 0, 0},
    [STREAM_MANY] = {PROBE_STREAM, 0, 0},
    [PUT_FEW] = {PROBE_PING_PUT, 8, 8},
    [PUT_MANY] = {PROBE_PING_PUT, 8, 8},
    [PUT_SHORT] = {PROBE_STREAM_PUT, SHORT_IN_NODE, SHORT_BETWEEN},
    [PUT_LONG] = {PROBE_STREAM_PUT, LONG_IN_NODE, LONG_BETWEEN},
    [GET_SHORT] = {PROBE_STREAM_GET, SHORT_IN_NODE, SHORT_BETWEEN},
    [GET_LONG] = {PROBE_STREAM_GET, LONG_IN_NODE, LONG_BETWEEN},
    [COPY_SHORT] = {PROBE_PING_COPY, SHORT_COPY, SHORT_COPY},
    [COPY_LONG] = {PROBE_PING_COPY, LONG_COPY, LONG_COPY},
    [EMPTY] = {PROBE_PING_PUT, 0, 0},
};

static struct shot describe_shot(const struct pair *pair, enum shot_name name)
{
    const int is_many = name == PING_MANY || name == STREAM_MANY || name == PUT_MANY;
    struct shot shot = {.bytes = pair->in_node ? kinds[name].near : kinds[name].far, .batch = 1};

    shot.params.radix = is_many ? pair->many : FEW;
    return shot;
}

static int is_possible(const struct pair *pair, enum shot_name name)
{
    const unsigned provides = pair->medium->group_provides(pair->group);

    if (name >= PUT_FEW && name <= GET_LONG && !(provides & PCOLL_NEED_USER_RMA))
        return 0;
    if (name == GET_SHORT || name == GET_LONG)
        return (provides & PCOLL_NEED_GET) != 0;
    return (name != COPY_SHORT && name != COPY_LONG) || pair->in_node;
}

static enum pcoll_result make_plan(const struct pair *pair, enum shot_name name, struct shot *shot)
{
    const struct pcoll_algorithm *row = &probe_rows[kinds[name].probe];
    const struct pcoll_signature signature = {
        .coll = row->coll, .nranks = 2, .bytes = shot->bytes, .topology = pair->topology};
    enum pcoll_result result =
        pcoll_generate(row, &signature, NULL, pair->bootstrap.rank, &shot->params, &shot->plan);

    if (result == PCOLL_OK && !(pair->medium->group_provides(pair->group) & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(row, &shot->params, &shot->plan);
    return result;
}

/* A medium may be unable to hold one more plan: the shot is then left out, on both ranks. */
static void load_shots(struct pair *pair)
{
    for (int i = 0; i < NUM_SHOTS; i++) {
        struct shot *shot = &pair->shots[i];
        const int batch = shot->batch;
        enum pcoll_result result;

        *shot = describe_shot(pair, (enum shot_name)i);
        shot->batch = batch;
        if (!is_possible(pair, (enum shot_name)i))
            continue;
        result = make_plan(pair, (enum shot_name)i, shot);
        result = pair->medium->bind(pair->group, result == PCOLL_OK ? shot->plan : NULL,
                                    &pair->memory, &shot->bound);
        if (result == PCOLL_OK)
            continue;
        pcoll_plan_destroy(shot->plan);
        shot->plan = NULL;
    }
}

static void unload_shots(struct pair *pair)
{
    tune_meet(pair->comm); /* the other rank has seen the last answer */
    for (int i = 0; i < NUM_SHOTS; i++) {
        struct shot *shot = &pair->shots[i];

        if (!shot->plan)
            continue;
        pair->medium->unbind(shot->bound);
        pcoll_plan_destroy(shot->plan);
        shot->plan = NULL;
    }
}

/* If a shot fails on one rank, the peer waits forever, so the job ends. */
static void finish(const struct pair *pair, const struct shot *shot, enum pcoll_result result)
{
    while (result == PCOLL_PENDING) {
        result = pair->medium->spin(shot->bound, SPINS);
        if (result == PCOLL_PENDING)
            sched_yield();
    }
    if (result == PCOLL_OK)
        return;
    fprintf(stderr, "pcoll-tune: %s: %s\n", pair->medium->name, pcoll_result_text(result));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The time in starts is taken for streams only, since reading the clock takes time as well. */
static void fire(const struct pair *pair, enum shot_name name, struct shot *shot)
{
    const int looks = name == STREAM_FEW || name == STREAM_MANY;
    double started = 0;
    const double begin = tune_now();

    for (int i = 0; i < shot->batch; i++) {
        const double before = looks ? tune_now() : 0;
        const enum pcoll_result result = pair->medium->start(shot->bound);

        started += looks ? tune_now() - before : 0;
        finish(pair, shot, result);
    }
    shot->whole = (tune_now() - begin) / shot->batch * 1e6;
    shot->start = started / shot->batch * 1e6;
}

/* Chooses the number of instances per batch so that a batch lasts BATCH_SECONDS. */
static void calibrate(struct pair *pair)
{
    int batches[NUM_SHOTS];

    for (int i = 0; i < NUM_SHOTS; i++) {
        struct shot *shot = &pair->shots[i];
        double least = 1e9;

        shot->batch = 1;
        for (int k = 0; shot->plan && k < TRIES; k++) {
            fire(pair, (enum shot_name)i, shot);
            least = fmin(least, shot->whole);
        }
        batches[i] = (int)fmax(1, fmin(MAX_BATCH, BATCH_SECONDS * 1e6 / fmax(least, 1e-3)));
    }
    tune_bcast(batches, sizeof(batches), 0, pair->comm);
    for (int i = 0; i < NUM_SHOTS; i++)
        pair->shots[i].batch = batches[i];
}

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
    return (pair->shots[more].whole - pair->shots[less].whole) / further;
}

static double byte_slope(const struct pair *pair, enum shot_name less, enum shot_name more,
                         int times)
{
    return slope(pair, less, more,
                 times * (double)(pair->shots[more].bytes - pair->shots[less].bytes));
}

static void derive_bytes(struct pair *pair)
{
    const int has_put = pair->shots[PUT_LONG].plan && pair->shots[PUT_SHORT].plan;
    const int has_get = pair->shots[GET_LONG].plan && pair->shots[GET_SHORT].plan;
    const double put = has_put ? byte_slope(pair, PUT_SHORT, PUT_LONG, FEW) : 0;
    const double get = has_get ? byte_slope(pair, GET_SHORT, GET_LONG, FEW) : put;

    if (has_put)
        take(pair, PCOLL_PARAMETER_G, (put + get) / 2);
    if (pair->shots[COPY_SHORT].plan && pair->shots[COPY_LONG].plan)
        take(pair, PCOLL_PARAMETER_COPY, byte_slope(pair, COPY_SHORT, COPY_LONG, 4 * FEW));
}

static void derive(struct pair *pair)
{
    const double further = pair->many - FEW;
    const double hop = slope(pair, PING_FEW, PING_MANY, 2 * further);
    const double gap = slope(pair, STREAM_FEW, STREAM_MANY, further);
    const double post = (pair->shots[STREAM_MANY].start - pair->shots[STREAM_FEW].start) / further;

    if (pair->shots[PING_MANY].plan && pair->shots[STREAM_MANY].plan) {
        take(pair, PCOLL_PARAMETER_O, post);
        take(pair, PCOLL_PARAMETER_GAP, gap);
        take(pair, PCOLL_PARAMETER_L, hop - fmax(post, gap));
    }
    if (pair->shots[PUT_FEW].plan && pair->shots[PUT_MANY].plan)
        take(pair, PCOLL_PARAMETER_RMA, slope(pair, PUT_FEW, PUT_MANY, 2 * further) - hop);
    if (pair->shots[EMPTY].plan)
        take(pair, PCOLL_PARAMETER_CALL, pair->shots[EMPTY].whole);
    derive_bytes(pair);
}

static void play_round(struct pair *pair)
{
    for (int i = 0; i < NUM_SHOTS; i++)
        if (pair->shots[i].plan)
            fire(pair, (enum shot_name)i, &pair->shots[i]);
    derive(pair);
    pair->rounds++;
}

static struct estimate estimate_parameter(const struct pair *pair, int parameter)
{
    double samples[MAX_ROUNDS];

    memcpy(samples, pair->samples[parameter], (size_t)pair->rounds * sizeof(double));
    return estimate_of(samples, pair->rounds);
}

static int all_tight(const struct pair *pair)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        const struct estimate estimate = estimate_parameter(pair, i);

        if (pair->given & pcoll_parameter_bit((enum pcoll_parameter)i) &&
            !estimate_is_tight(&estimate, TIGHT, TIGHT_US))
            return 0;
    }
    return 1;
}

/* Rank 0 extends the bar in proportion to the elapsed time. */
static void draw_bar(struct pair *pair, double part)
{
    for (; pair->bar < BAR && pair->bar < part * BAR; pair->bar++)
        fputc('#', stderr);
    fflush(stderr);
}

/* Continue until all intervals are tight, and at least for a part of the time. */
static int goes_on(struct pair *pair, double begin, double seconds)
{
    const double gone = tune_now() - begin;
    int on = 0;

    if (pair->bootstrap.rank == 0) {
        on = pair->rounds < FEWEST_ROUNDS ||
             (gone < seconds && (gone < LEAST_PART * seconds || !all_tight(pair)));
        on = on && pair->rounds + ROUNDS_BETWEEN_LOOKS <= MAX_ROUNDS;
        draw_bar(pair, (tune_now() - pair->begin) / pair->seconds);
    }
    tune_bcast(&on, sizeof(on), 0, pair->comm);
    return on;
}

static void sit_down(struct pair *pair, struct tune_result *result)
{
    const double begin = tune_now();

    pair->rounds = 0;
    load_shots(pair);
    calibrate(pair);
    while (goes_on(pair, begin, pair->seconds / SITTINGS))
        for (int i = 0; i < ROUNDS_BETWEEN_LOOKS; i++)
            play_round(pair);
    unload_shots(pair);
    result->given = pair->given;
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        if (pair->given & pcoll_parameter_bit((enum pcoll_parameter)i))
            result->estimates[i] = estimate_parameter(pair, i);
}

/* A sitting has a group of its own, since the group's memory lies elsewhere each time. */
static enum pcoll_result sit(struct pair *pair, struct tune_result *result)
{
    const enum pcoll_result opened = pair->medium->group_create(&pair->bootstrap, &pair->group);

    if (opened != PCOLL_OK)
        return opened;
    sit_down(pair, result);
    tune_meet(pair->comm);
    pair->medium->group_destroy(pair->group);
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
    if (pair->bootstrap.rank == 0)
        draw_bar(pair, 1);
    return PCOLL_OK;
}

/* ---- before and after ---- */

static void say_nothing(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static enum pcoll_result prepare(struct pair *pair)
{
    static const int apart[2] = {0, 1};
    enum pcoll_result result = PCOLL_OK;

    pair->samples = calloc(PCOLL_NUM_PARAMETERS, sizeof(*pair->samples));
    pair->memory.send = calloc(1, MOST_BYTES);
    pair->memory.recv = calloc(2, MOST_BYTES);
    if (!pair->samples || !pair->memory.send || !pair->memory.recv) {
        fprintf(stderr, "pcoll-tune: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(pair->memory.send, 1, MOST_BYTES);
    memset(pair->memory.recv, 2, 2 * MOST_BYTES);
    if (!pair->in_node)
        result = pcoll_topology_create(apart, NULL, 2, &pair->topology);
    pair->bootstrap.topology = pair->topology;
    return result;
}

enum pcoll_result tune_pair(MPI_Comm *comm, const struct pcoll_medium *medium,
                            const struct tune_options *options, double seconds,
                            struct tune_result *result)
{
    struct pair pair = {
        .comm = *comm,
        .medium = medium,
        .bootstrap = tune_bootstrap(comm, options),
        .in_node = !(medium->traits & PCOLL_SPANS_NODES),
        .begin = tune_now(),
        .seconds = seconds,
    };
    enum pcoll_result measured;

    pair.many = pair.in_node ? MANY_IN_NODE : MANY_BETWEEN;
    if (!options->media && medium->traits & PCOLL_RUNS_BY_ITSELF)
        pair.bootstrap.report = say_nothing; /* most networks cannot run it, which needs no
                                              * message */
    measured = prepare(&pair);
    if (measured == PCOLL_OK)
        measured = sit_often(&pair, result);
    pcoll_topology_destroy(pair.topology);
    free(pair.memory.send);
    free(pair.memory.recv);
    free(pair.samples);
    return measured;
}
