#include "tuning/sim/trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- room ---- */

static uint64_t span_of(const struct pcoll_trace *trace, int rank, int instance)
{
    return (uint64_t)rank * (uint64_t)trace->instances + (uint64_t)instance;
}

static uint64_t count_firings(const struct pcoll_program *program, int instances)
{
    uint64_t firings = 0;

    for (int r = 0; r < program->nranks; r++) {
        const struct pcoll_shape_view shape = pcoll_program_shape(program, r);

        for (int i = 0; i < instances; i++)
            firings += shape.counts[i % shape.nphases];
    }
    return firings;
}

static bool is_small(const struct pcoll_trace *trace, FILE *why)
{
    if (trace->program.nranks <= PCOLL_TRACE_RANKS && trace->nfirings <= PCOLL_TRACE_FIRINGS)
        return true;
    if (why)
        fprintf(why,
                "%d ranks with %" PRIu64 " entries to fire are too many to draw (at most %d "
                "and %d)\n",
                trace->program.nranks, trace->nfirings, PCOLL_TRACE_RANKS, PCOLL_TRACE_FIRINGS);
    return false;
}

/* Fills in the firings of one instance, starting at index `firing`. */
static uint64_t fill_instance(struct pcoll_trace *trace, int rank, int instance, uint64_t firing)
{
    const struct pcoll_shape_view shape = pcoll_program_shape(&trace->program, rank);
    const int phase = instance % shape.nphases;
    uint64_t step = trace->program.ranks[rank].first_step;

    for (int p = 0; p < phase; p++)
        step += shape.counts[p];
    trace->first[span_of(trace, rank, instance)] = firing;
    for (uint64_t i = 0; i < shape.counts[phase]; i++)
        trace->firings[firing + i] = (struct pcoll_firing){.rank = rank,
                                                           .instance = instance,
                                                           .step = (uint32_t)(step + i),
                                                           .index = (int32_t)i,
                                                           .sent = -1,
                                                           .seen = -1};
    return firing + shape.counts[phase];
}

static bool make_room(struct pcoll_trace *trace)
{
    const size_t nranks = (size_t)trace->program.nranks;
    const size_t nspans = nranks * (size_t)trace->instances;

    trace->firings = malloc((trace->nfirings + 1) * sizeof(*trace->firings));
    trace->spans = calloc(nspans, sizeof(*trace->spans));
    trace->first = calloc(nspans + 1, sizeof(*trace->first));
    trace->running = malloc(nranks * sizeof(*trace->running));
    trace->seen = calloc(trace->program.nsteps + 1, sizeof(*trace->seen));
    return trace->firings && trace->spans && trace->first && trace->running && trace->seen;
}

static void free_room(struct pcoll_trace *trace)
{
    free(trace->firings);
    free(trace->spans);
    free(trace->first);
    free(trace->running);
    free(trace->seen);
}

enum pcoll_result pcoll_trace_create(const struct pcoll_program *program, int instances, FILE *why,
                                     struct pcoll_trace *trace)
{
    uint64_t firing = 0;

    *trace = (struct pcoll_trace){
        .program = *program, .instances = instances, .nfirings = count_firings(program, instances)};
    if (!is_small(trace, why))
        return PCOLL_ERR_INVALID;
    if (!make_room(trace)) {
        free_room(trace);
        return PCOLL_ERR_NOMEM;
    }
    for (int r = 0; r < program->nranks; r++) {
        trace->running[r] = -1;
        for (int i = 0; i < instances; i++)
            firing = fill_instance(trace, r, i, firing);
    }
    trace->first[span_of(trace, program->nranks, 0)] = firing;
    return PCOLL_OK;
}

void pcoll_trace_destroy(struct pcoll_trace *trace)
{
    pcoll_program_destroy(&trace->program);
    free_room(trace);
}

/* ---- events ---- */

void pcoll_trace_start(struct pcoll_trace *trace, int rank, double begin, double ready)
{
    const int instance = ++trace->running[rank];

    trace->spans[span_of(trace, rank, instance)] =
        (struct pcoll_instance){.begin = begin, .ready = ready};
}

void pcoll_trace_complete(struct pcoll_trace *trace, int rank, double now)
{
    trace->spans[span_of(trace, rank, trace->running[rank])].end = now;
}

/* The firing of an entry in the running instance. */
static struct pcoll_firing *find(const struct pcoll_trace *trace, int rank, uint32_t kind)
{
    const uint64_t first = trace->first[span_of(trace, rank, trace->running[rank])];

    return &trace->firings[first + pcoll_program_step(kind) - trace->firings[first].step];
}

void pcoll_trace_fire(struct pcoll_trace *trace, int rank, uint32_t kind, double now)
{
    struct pcoll_firing *firing = find(trace, rank, kind);

    firing->triggered = firing->begin = firing->end = now;
}

void pcoll_trace_work(struct pcoll_trace *trace, int rank, uint32_t kind, double begin, double end)
{
    struct pcoll_firing *firing = find(trace, rank, kind);

    firing->begin = begin;
    firing->end = end;
}

void pcoll_trace_send(struct pcoll_trace *trace, int rank, uint32_t kind, double when)
{
    find(trace, rank, kind)->sent = when;
}

void pcoll_trace_done(struct pcoll_trace *trace, int rank, uint32_t kind, double when)
{
    find(trace, rank, kind)->done = when;
}

void pcoll_trace_see(struct pcoll_trace *trace, int rank, uint32_t kind, double when)
{
    const struct pcoll_shape_view shape = pcoll_program_shape(&trace->program, rank);
    const uint32_t step = pcoll_program_step(kind);
    uint64_t index = step - trace->program.ranks[rank].first_step;
    int instance = 0;

    for (; index >= shape.counts[instance]; instance++)
        index -= shape.counts[instance];
    instance += (int)trace->seen[step]++ * shape.nphases;
    trace->firings[trace->first[span_of(trace, rank, instance)] + index].seen = when;
}

/* ---- access to a firing ---- */

const struct pcoll_kind *pcoll_firing_kind(const struct pcoll_trace *trace,
                                           const struct pcoll_firing *firing)
{
    return pcoll_kind_at(&trace->program, trace->program.steps[firing->step].kind);
}

int pcoll_firing_peer(const struct pcoll_trace *trace, const struct pcoll_firing *firing)
{
    return trace->program.steps[firing->step].peer;
}

uint64_t pcoll_firing_threshold(const struct pcoll_trace *trace, const struct pcoll_firing *firing)
{
    const struct pcoll_shape_view shape = pcoll_program_shape(&trace->program, firing->rank);
    const struct pcoll_kind *kind = pcoll_firing_kind(trace, firing);
    const uint64_t cycle = (uint64_t)(firing->instance / shape.nphases);

    return kind->trigger == PCOLL_NONE ? 0 : kind->threshold + cycle * shape.gains[kind->trigger];
}
