#include "tools/tune_shots.h"

#include "algorithms/lower/lower.h"
#include "algorithms/plan/topology.h"
#include "tools/probes.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BATCH = 2000, TRIES = 5, SPINS = 1000, ROUNDS_BETWEEN_LONGEST = 8 };

#define BATCH_SECONDS 200e-6
#define MANY_IN_NODE 34
#define MANY_BETWEEN 10
#define SHORT_IN_NODE (UINT64_C(64) << 10)
#define LONG_IN_NODE (UINT64_C(1) << 20)
#define SHORT_BETWEEN (UINT64_C(16) << 10)
#define LONG_BETWEEN (UINT64_C(256) << 10)
#define SHORT_COPY (UINT64_C(8) << 10) /* the largest communication buffers */
#define LONG_COPY (UINT64_C(128) << 10)
#define LONGEST_COPY (UINT64_C(8) << 20) /* leaves the caches */
#define MAX_BYTES LONGEST_COPY

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
    [COPY_LONGEST] = {PROBE_PING_COPY, LONGEST_COPY, LONGEST_COPY},
    [EMPTY] = {PROBE_PING_PUT, 0, 0},
};

static struct shot describe_shot(const struct shots *shots, enum shot_name name)
{
    const bool is_many = name == PING_MANY || name == STREAM_MANY || name == PUT_MANY;
    struct shot shot = {.bytes = shots->in_node ? kinds[name].near : kinds[name].far, .batch = 1};

    shot.params.radix = is_many ? shots->many : SHOT_FEW;
    return shot;
}

static bool is_possible(const struct shots *shots, enum shot_name name)
{
    const unsigned provides = shots->medium->group_provides(shots->group);

    if (name >= PUT_FEW && name <= GET_LONG && !(provides & PCOLL_NEED_USER_RMA))
        return false;
    if (name == GET_SHORT || name == GET_LONG)
        return (provides & PCOLL_NEED_GET) != 0;
    return name < COPY_SHORT || name > COPY_LONGEST || shots->in_node;
}

static enum pcoll_result make_plan(const struct shots *shots, enum shot_name name,
                                   struct shot *shot)
{
    const struct pcoll_algorithm *row = &probe_rows[kinds[name].probe];
    const struct pcoll_signature signature = {
        .coll = row->coll, .nranks = 2, .bytes = shot->bytes, .topology = shots->topology};
    enum pcoll_result result =
        pcoll_generate(row, &signature, NULL, shots->bootstrap.rank, &shot->params, &shot->plan);

    if (result == PCOLL_OK && !(shots->medium->group_provides(shots->group) & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(row, &shot->params, &shot->plan);
    return result;
}

/* A medium may be unable to hold one more plan: the shot is then left out, on both ranks. */
static void load_plans(struct shots *shots)
{
    for (int i = 0; i < NUM_SHOTS; i++) {
        struct shot *shot = &shots->list[i];
        enum pcoll_result result;

        *shot = describe_shot(shots, (enum shot_name)i);
        if (!is_possible(shots, (enum shot_name)i))
            continue;
        result = make_plan(shots, (enum shot_name)i, shot);
        result = shots->medium->bind(shots->group, result == PCOLL_OK ? shot->plan : NULL,
                                     &shots->memory, &shot->bound);
        if (result == PCOLL_OK)
            continue;
        pcoll_plan_destroy(shot->plan);
        shot->plan = NULL;
    }
}

static void unload_plans(struct shots *shots)
{
    tune_meet(shots->comm); /* the other rank has seen the last answer */
    for (int i = 0; i < NUM_SHOTS; i++) {
        struct shot *shot = &shots->list[i];

        if (!shot->plan)
            continue;
        shots->medium->unbind(shot->bound);
        pcoll_plan_destroy(shot->plan);
        shot->plan = NULL;
    }
}

/* If a shot fails on one rank, the peer waits forever, so the job ends. */
static void finish(const struct shots *shots, const struct shot *shot, enum pcoll_result result)
{
    while (result == PCOLL_PENDING) {
        result = shot->bound->medium->spin(shot->bound, SPINS);
        if (result == PCOLL_PENDING)
            sched_yield();
    }
    if (result == PCOLL_OK)
        return;
    fprintf(stderr, "pcoll-tune: %s: %s\n", shots->medium->name, pcoll_result_text(result));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The time in starts is taken for streams only, since reading the clock takes time as well. */
static void fire(const struct shots *shots, enum shot_name name, struct shot *shot)
{
    const bool looks = name == STREAM_FEW || name == STREAM_MANY;
    double started = 0;
    const double begin = tune_now();

    for (int i = 0; i < shot->batch; i++) {
        const double before = looks ? tune_now() : 0;
        const enum pcoll_result result = shot->bound->medium->start(shot->bound);

        started += looks ? tune_now() - before : 0;
        finish(shots, shot, result);
    }
    shot->whole = (tune_now() - begin) / shot->batch * 1e6;
    shot->start = started / shot->batch * 1e6;
}

/* Chooses the number of instances per batch so that a batch lasts BATCH_SECONDS. */
static void calibrate(struct shots *shots)
{
    int batches[NUM_SHOTS];

    for (int i = 0; i < NUM_SHOTS; i++) {
        struct shot *shot = &shots->list[i];
        double min = 1e9;

        shot->batch = 1;
        for (int k = 0; shot->plan && k < TRIES; k++) {
            fire(shots, (enum shot_name)i, shot);
            min = fmin(min, shot->whole);
        }
        batches[i] = (int)fmax(1, fmin(MAX_BATCH, BATCH_SECONDS * 1e6 / fmax(min, 1e-3)));
    }
    tune_bcast(batches, sizeof(batches), 0, shots->comm);
    for (int i = 0; i < NUM_SHOTS; i++)
        shots->list[i].batch = batches[i];
}

/* A sitting has a group of its own, since the group's memory lies elsewhere each time. */
enum pcoll_result shots_load(struct shots *shots)
{
    const enum pcoll_result opened = shots->medium->group_create(&shots->bootstrap, &shots->group);

    if (opened != PCOLL_OK)
        return opened;
    load_plans(shots);
    calibrate(shots);
    return PCOLL_OK;
}

void shots_unload(struct shots *shots)
{
    unload_plans(shots);
    tune_meet(shots->comm);
    shots->medium->group_destroy(shots->group);
}

void shots_fire(struct shots *shots)
{
    const bool is_long_round = shots->rounds++ % ROUNDS_BETWEEN_LONGEST == 0;

    for (int i = 0; i < NUM_SHOTS; i++)
        if (shots->list[i].plan && (i != COPY_LONGEST || is_long_round))
            fire(shots, (enum shot_name)i, &shots->list[i]);
}

/* ---- before and after ---- */

static void say_nothing(void *context, const char *message)
{
    (void)context;
    (void)message;
}

enum pcoll_result shots_init(struct shots *shots, MPI_Comm *comm, const struct pcoll_medium *medium,
                             const struct tune_options *options)
{
    static const int apart[2] = {0, 1};
    enum pcoll_result result = PCOLL_OK;

    *shots = (struct shots){
        .comm = *comm,
        .medium = medium,
        .bootstrap = tune_bootstrap(comm, options),
        .memory = {.send = malloc(MAX_BYTES), .recv = malloc(2 * MAX_BYTES)},
        .in_node = !(medium->traits & PCOLL_SPANS_NODES),
    };
    if (!shots->memory.send || !shots->memory.recv) {
        fprintf(stderr, "pcoll-tune: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(shots->memory.send, 1, MAX_BYTES);
    memset(shots->memory.recv, 2, 2 * MAX_BYTES);
    shots->many = shots->in_node ? MANY_IN_NODE : MANY_BETWEEN;
    if (!options->media && medium->traits & PCOLL_RUNS_BY_ITSELF)
        shots->bootstrap.report = say_nothing; /* most networks cannot run it, which needs no
                                                * message */
    if (!shots->in_node)
        result = pcoll_topology_create(apart, NULL, 2, &shots->topology);
    shots->bootstrap.topology = shots->topology;
    return result;
}

void shots_fini(struct shots *shots)
{
    pcoll_topology_destroy(shots->topology);
    free(shots->memory.send);
    free(shots->memory.recv);
}
