/*
 * The simulation: ranks, counters and the loop; engine.h holds the contract and the model.
 *
 * An event happens when its time has come, in order of time, so that shared resources (processor,
 * port, link) go to the first that asks. A resource is represented only by the time at which it is
 * free again: a request is answered at once with the time at which it is granted, and schedules
 * what follows from that.
 */
#include "tuning/sim/engine_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- random times ---- */

/* splitmix64, in [0, 1). */
static double draw(struct pcoll_engine *e)
{
    uint64_t z = e->random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

double pcoll_engine_occupy(struct pcoll_engine *e, int rank, double busy, double now)
{
    struct pcoll_engine_core *core = pcoll_engine_core(e, rank);
    double begin = pcoll_later(now, core->free);

    if (e->core_of && core->last != rank)
        begin += e->options->machine.turn;
    if (e->options->noise > 0 && busy > 0)
        begin -= e->options->noise * log1p(-draw(e));
    core->last = rank;
    core->free = begin + busy;
    return begin;
}

/* ---- ranks ---- */

static void schedule(struct pcoll_engine *e, enum pcoll_event_type type, int rank, double time)
{
    const struct pcoll_event event = {
        .time = time, .type = (uint8_t)type, .from = rank, .to = rank};

    pcoll_event_queue_put(&e->queue, &event);
}

void pcoll_engine_entry_done(struct pcoll_engine *e, int rank, uint32_t kind, double when)
{
    struct pcoll_engine_rank *r = &e->ranks[rank];

    if (e->trace)
        pcoll_trace_done(e->trace, rank, kind, when);
    r->finish = pcoll_later(r->finish, when);
    if (--r->left == 0)
        schedule(e, PCOLL_EVENT_COMPLETE, rank, r->finish);
}

/* The steps of the phase that the rank is running. */
struct phase {
    const struct pcoll_sim_step *steps;
    uint32_t count;
    uint64_t cycle;
};

static struct phase phase_of(const struct pcoll_engine *e, int rank,
                             const struct pcoll_shape_view *shape)
{
    const int instance = e->ranks[rank].instance, number = instance % shape->nphases;
    const struct pcoll_sim_step *steps = e->program.steps + e->program.ranks[rank].first_step;

    for (int i = 0; i < number; i++)
        steps += shape->counts[i];
    return (struct phase){steps, (uint32_t)shape->counts[number],
                          (uint64_t)(instance / shape->nphases)};
}

/* Fire everything that the counter has triggered by now. */
static void advance(struct pcoll_engine *e, int rank, int counter,
                    const struct pcoll_shape_view *shape, double now)
{
    struct pcoll_engine_counter *c =
        &e->counters[e->program.ranks[rank].first_counter + (uint64_t)counter];
    const struct phase phase = phase_of(e, rank, shape);
    const uint64_t raised = phase.cycle * shape->gains[counter];

    while (c->next != PCOLL_NO_STEP) {
        const struct pcoll_sim_step *step = &phase.steps[c->next];
        const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);

        if (kind->trigger != counter) {
            c->next = PCOLL_NO_STEP;
        } else if ((int64_t)(c->value - (kind->threshold + raised)) < 0) {
            return;
        } else {
            c->next = c->next + 1 < phase.count ? c->next + 1 : PCOLL_NO_STEP;
            pcoll_engine_fire(e, rank, step, now);
        }
    }
}

void pcoll_engine_gain(struct pcoll_engine *e, int rank, int counter, uint64_t add, double now)
{
    struct pcoll_engine_counter *c =
        &e->counters[e->program.ranks[rank].first_counter + (uint64_t)counter];

    c->value += add;
    if (e->ranks[rank].active && c->next != PCOLL_NO_STEP) {
        const struct pcoll_shape_view shape = pcoll_program_shape(&e->program, rank);

        advance(e, rank, counter, &shape, now);
    }
}

/* Steps are sorted by counter. Those without a counter come first, and the first step of each
 * counter is recorded. */
static void fire_first(struct pcoll_engine *e, int rank, const struct pcoll_shape_view *shape,
                       double now)
{
    struct pcoll_engine_counter *counters = &e->counters[e->program.ranks[rank].first_counter];
    const struct phase phase = phase_of(e, rank, shape);
    int32_t last = PCOLL_NONE;

    for (int c = 0; c < shape->ncounters; c++)
        counters[c].next = PCOLL_NO_STEP;
    for (uint32_t i = 0; i < phase.count; i++) {
        const int32_t trigger = pcoll_engine_kind(e, phase.steps[i].kind)->trigger;

        if (trigger == PCOLL_NONE)
            pcoll_engine_fire(e, rank, &phase.steps[i], now);
        else if (trigger != last)
            counters[trigger].next = i;
        last = trigger;
    }
    for (int c = 0; c < shape->ncounters; c++)
        advance(e, rank, c, shape, now);
}

static void start(struct pcoll_engine *e, int rank, double now)
{
    const struct pcoll_shape_view shape = pcoll_program_shape(&e->program, rank);
    struct pcoll_engine_rank *r = &e->ranks[rank];
    const double call = e->options->machine.call;

    if (e->symbols != NULL)
        pcoll_symbols_start(e->symbols, rank, r->instance);
    r->finish = pcoll_engine_occupy(e, rank, call, now) + call;
    if (e->trace)
        pcoll_trace_start(e->trace, rank, now, r->finish);
    r->left = phase_of(e, rank, &shape).count;
    r->active = 1;
    if (r->left == 0)
        schedule(e, PCOLL_EVENT_COMPLETE, rank, r->finish);
    else
        fire_first(e, rank, &shape, now);
}

static void complete(struct pcoll_engine *e, int rank, double now)
{
    struct pcoll_engine_rank *r = &e->ranks[rank];
    struct pcoll_engine_result *result = e->result;

    if (e->symbols != NULL && !e->wrong && !pcoll_symbols_complete(e->symbols, rank, r->instance)) {
        e->wrong = 1;
        if (e->options->why)
            fprintf(e->options->why, "rank %d: the result of instance %d is wrong\n", rank,
                    r->instance);
    }
    if (e->trace)
        pcoll_trace_complete(e->trace, rank, now);
    if (r->instance == 0) {
        result->first = pcoll_later(result->first, now);
        result->earliest = result->earliest < 0 || now < result->earliest ? now : result->earliest;
    }
    result->last = pcoll_later(result->last, now);
    r->active = 0;
    r->instance++;
    if (r->instance < e->instances)
        schedule(e, PCOLL_EVENT_START, rank, now);
}

/* ---- the job ---- */

static void happen(struct pcoll_engine *e, const struct pcoll_event *event)
{
    switch ((enum pcoll_event_type)event->type) {
        case PCOLL_EVENT_START:
            start(e, event->to, event->time);
            break;
        case PCOLL_EVENT_INJECT:
            pcoll_engine_inject(e, event);
            break;
        case PCOLL_EVENT_HOP:
            pcoll_engine_hop(e, event);
            break;
        case PCOLL_EVENT_ARRIVE:
            pcoll_engine_arrive(e, event);
            break;
        case PCOLL_EVENT_LAND:
            pcoll_engine_land(e, event);
            break;
        case PCOLL_EVENT_DONE:
            pcoll_engine_done(e, event);
            break;
        default:
            complete(e, event->to, event->time);
    }
}

/* PCOLL_OK if all ranks have completed; otherwise reports the first that has not. */
static enum pcoll_result check_end(const struct pcoll_engine *e)
{
    for (int r = 0; r < e->program.nranks; r++)
        if (e->ranks[r].instance < e->instances) {
            if (e->options->why)
                fprintf(e->options->why, "rank %d waits forever in instance %d, %u entries left\n",
                        r, e->ranks[r].instance, e->ranks[r].left);
            return PCOLL_ERR_INVALID;
        }
    return e->wrong ? PCOLL_ERR_INVALID : PCOLL_OK;
}

static enum pcoll_result run(struct pcoll_engine *e)
{
    struct pcoll_event event;

    for (int r = 0; r < e->program.nranks; r++)
        schedule(e, PCOLL_EVENT_START, r, e->options->skew > 0 ? e->options->skew * draw(e) : 0);
    while (pcoll_event_queue_take(&e->queue, &event)) {
        e->cause = event.ticket;
        happen(e, &event);
        e->result->events++;
    }
    if (e->queue.failed || (e->symbols != NULL && pcoll_symbols_failed(e->symbols)))
        return PCOLL_ERR_NOMEM;
    return check_end(e);
}

/* Assigns a core to each rank where a node has fewer cores than ranks. */
static int share_cores(struct pcoll_engine *e, int nranks)
{
    const struct pcoll_topology *topology = e->job->signature.topology;
    const int cores = e->options->machine.cores;

    if (cores <= 0 || (topology && topology->nnodes == nranks) || nranks <= cores)
        return 1;
    e->core_of = calloc((size_t)nranks, sizeof(*e->core_of));
    if (e->core_of == NULL)
        return 0;
    for (int i = 0; i < nranks; i++) {
        const int rank = topology ? pcoll_topology_rank(topology, i) : i;
        const int node = pcoll_topology_node(topology, rank);
        const int member = topology ? i - pcoll_topology_first(topology, node) : i;

        e->core_of[rank] = node * cores + member % cores;
    }
    return 1;
}

static void *zeroed(int64_t n, size_t size)
{
    return calloc((size_t)n + 1, size);
}

static enum pcoll_result allocate(struct pcoll_engine *e)
{
    const int nranks = e->program.nranks, cores = e->options->machine.cores;
    const int64_t nports = (int64_t)e->nnodes * e->ports;

    if (!share_cores(e, nranks))
        return PCOLL_ERR_NOMEM;
    e->ranks = zeroed(nranks, sizeof(*e->ranks));
    e->counters = zeroed((int64_t)e->program.ncounters, sizeof(*e->counters));
    e->cores = zeroed(e->core_of ? (int64_t)e->nnodes * cores : nranks, sizeof(*e->cores));
    e->out = zeroed(nports, sizeof(*e->out));
    e->in = zeroed(nports, sizeof(*e->in));
    e->links = zeroed(pcoll_network_nlinks(&e->options->network, e->nnodes), sizeof(*e->links));
    if (!e->ranks || !e->counters || !e->cores || !e->out || !e->in || !e->links)
        return PCOLL_ERR_NOMEM;
    for (uint64_t c = 0; c < e->program.ncounters; c++)
        e->counters[c].next = PCOLL_NO_STEP;
    return e->options->verify ? pcoll_symbols_create(&e->job->signature, &e->symbols) : PCOLL_OK;
}

static void destroy(struct pcoll_engine *e)
{
    pcoll_symbols_destroy(e->symbols);
    pcoll_event_queue_fini(&e->queue);
    if (!e->trace)
        pcoll_program_destroy(&e->program);
    free(e->links);
    free(e->in);
    free(e->out);
    free(e->cores);
    free(e->core_of);
    free(e->counters);
    free(e->ranks);
}

static enum pcoll_result prepare_trace(struct pcoll_engine *e)
{
    struct pcoll_trace *trace = e->options->trace;
    enum pcoll_result result;

    if (!trace)
        return PCOLL_OK;
    result = pcoll_trace_create(&e->program, e->instances, e->options->why, trace);
    if (result == PCOLL_OK)
        e->trace = trace;
    return result;
}

static struct pcoll_engine engine_of(const struct pcoll_job *job,
                                     const struct pcoll_engine_options *options,
                                     struct pcoll_engine_result *result)
{
    const struct pcoll_topology *topology = job->signature.topology;
    const struct pcoll_machine *machine = &options->machine;
    const int is_flat = options->network.kind == PCOLL_FLAT;

    return (struct pcoll_engine){
        .job = job,
        .options = options,
        .result = result,
        .node = machine->node ? *machine->node : *machine,
        .tail_G = is_flat ? machine->G : pcoll_later(machine->G, options->network.G),
        .ports = options->ports > 0 ? options->ports : 1,
        .instances = options->instances > 0 ? options->instances : 1,
        .nnodes = topology ? topology->nnodes : 1,
        .topology = topology,
        .random = options->seed,
    };
}

enum pcoll_result pcoll_engine_run(const struct pcoll_job *job,
                                   const struct pcoll_engine_options *options,
                                   struct pcoll_engine_result *result)
{
    struct pcoll_engine e = engine_of(job, options, result);
    const uint64_t most =
        options->most_memory ? options->most_memory / sizeof(struct pcoll_sim_step) : UINT64_MAX;
    const unsigned keep = (options->verify || options->trace ? PCOLL_KEEP_PLACES : 0) |
                          (options->trace ? PCOLL_KEEP_APART : 0);
    enum pcoll_result outcome;

    memset(result, 0, sizeof(*result));
    result->earliest = -1;
    outcome = pcoll_network_check(&options->network, e.nnodes, options->why);
    if (outcome == PCOLL_OK)
        outcome = pcoll_program_create(job, e.instances, keep, most, &e.program);
    if (outcome != PCOLL_OK)
        return outcome;
    result->kinds = e.program.kinds.nrows;
    result->most = e.program.most;
    pcoll_event_queue_init(&e.queue, options->host_driven);
    outcome = prepare_trace(&e);
    if (outcome == PCOLL_OK)
        outcome = allocate(&e);
    if (outcome == PCOLL_OK)
        outcome = run(&e);
    if (e.trace && outcome != PCOLL_OK)
        pcoll_trace_destroy(e.trace);
    destroy(&e);
    return outcome;
}
