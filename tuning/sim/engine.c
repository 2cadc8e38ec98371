/*
 * The simulation; engine.h holds the contract and the model.
 *
 * An event happens when its time has come, in order of time, so that shared resources (processor,
 * port, link) go to the first that asks. A resource is represented only by the time at which it is
 * free again: a request is answered at once with the time at which it is granted, and schedules
 * what follows from that.
 */
#include "tuning/sim/engine_state.h"

#include <stdlib.h>
#include <string.h>

/* Entries cause each other: what is fired raises counters, at once or by a message, and a counter
 * that is raised fires. */
static void fire(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step, double now);

/* ---- counters ---- */

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
            fire(e, rank, step, now);
        }
    }
}

static void gain(struct pcoll_engine *e, int rank, int counter, uint64_t add, double now)
{
    struct pcoll_engine_counter *c =
        &e->counters[e->program.ranks[rank].first_counter + (uint64_t)counter];

    c->value += add;
    if (e->ranks[rank].active && c->next != PCOLL_NO_STEP) {
        const struct pcoll_shape_view shape = pcoll_program_shape(&e->program, rank);

        advance(e, rank, counter, &shape, now);
    }
}

/* ---- the end of an entry ---- */

static bool is_data(const struct pcoll_kind *kind)
{
    return kind->op == PCOLL_OP_PUT || kind->op == PCOLL_OP_GET || kind->op == PCOLL_OP_COPY;
}

/* The load of a REDUCE. */
static uint32_t read_operands(struct pcoll_engine *e, const struct pcoll_kind *kind)
{
    const struct pcoll_operand *operands = pcoll_engine_operands(e, kind);
    uint32_t load = 0;

    for (uint64_t i = kind->peer_add; i-- > 0;) {
        const uint32_t left = pcoll_symbols_read(e->symbols, operands[i].rank,
                                                 pcoll_operand_place(&operands[i]), kind->bytes);

        load = load ? pcoll_symbols_reduce(e->symbols, left, load) : left;
    }
    return load;
}

/* The load that the entry takes from this rank (GET: from the peer). */
static uint32_t read_source(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);

    if (e->symbols == NULL)
        return 0;
    if (kind->op == PCOLL_OP_REDUCE)
        return read_operands(e, kind);
    if (kind->op == PCOLL_OP_GET)
        return pcoll_symbols_read(e->symbols, step->peer,
                                  pcoll_at(pcoll_kind_remote(kind), kind->remote_at), kind->bytes);
    if (!is_data(kind) &&
        (!pcoll_coll_has(e->job->signature.coll, PCOLL_SYNCHRONIZES) || step->peer == PCOLL_NONE))
        return 0;
    return pcoll_symbols_read(e->symbols, rank, pcoll_at(pcoll_kind_local(kind), kind->local_at),
                              kind->bytes);
}

/* The entry is done on this rank at `when`; its load, if any, goes into this rank's memory. */
static void end_here(struct pcoll_engine *e, int rank, uint32_t kind, uint32_t load, double when)
{
    const struct pcoll_event event = {.time = when,
                                      .type = PCOLL_EVENT_DONE,
                                      .kind = kind,
                                      .from = rank,
                                      .to = rank,
                                      .load = load};

    if (load == 0 && pcoll_engine_kind(e, kind)->done == PCOLL_NONE)
        pcoll_engine_entry_done(e, rank, kind, when);
    else
        pcoll_event_queue_put(&e->queue, &event);
}

static void entry_ends(struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, event->kind);

    if (event->load != 0 && kind->op == PCOLL_OP_COPY)
        pcoll_symbols_write(e->symbols, event->to,
                            pcoll_at(pcoll_kind_remote(kind), kind->remote_at), kind->bytes,
                            event->load);
    else if (event->load != 0)
        pcoll_symbols_write(e->symbols, event->to, pcoll_at(pcoll_kind_local(kind), kind->local_at),
                            kind->bytes, event->load);
    if (kind->done != PCOLL_NONE)
        gain(e, event->to, kind->done, kind->done_add, event->time);
    pcoll_engine_entry_done(e, event->to, event->kind, event->time);
}

/* ---- messages from other nodes, or of this one ---- */

static bool is_near(const struct pcoll_engine *e, int rank, int peer)
{
    return pcoll_engine_node(e, peer) == pcoll_engine_node(e, rank);
}

/* When the counter gets the signal, which is the next one to move its line. */
static double moves_line(struct pcoll_engine *e, const struct pcoll_event *event, int32_t counter)
{
    struct pcoll_engine_counter *c =
        &e->counters[e->program.ranks[event->to].first_counter + (uint64_t)counter];
    const struct pcoll_machine *machine = pcoll_engine_between(e, event->from, event->to);
    const bool is_moved = c->signaled > 0 && c->signaler != event->from;

    c->signaled = pcoll_larger(event->time, c->signaled + (is_moved ? machine->arrival : 0));
    c->signaler = event->from;
    return c->signaled;
}

/* Returns whether a signal waits: until its rank's earlier ones have been seen, and until those of
 * other ranks of the node have moved the line of its counter. Its event then happens again. */
static bool waits(struct pcoll_engine *e, const struct pcoll_event *event, int32_t counter)
{
    double *seen = &e->ranks[event->from].seen;
    struct pcoll_event again = *event;

    if (event->hop > 0 || e->core_of != NULL || !is_near(e, event->from, event->to))
        return false;
    if (event->time < *seen) {
        again.time = *seen;
    } else if (counter != PCOLL_NONE) {
        again.time = moves_line(e, event, counter);
        again.hop = 1;
        *seen = again.time;
    }
    if (again.time == event->time)
        return false;
    pcoll_event_queue_put(&e->queue, &again);
    return true;
}

static void land_signal(struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, event->kind);

    if (waits(e, event, kind->peer_counter))
        return;
    if (event->load != 0)
        pcoll_symbols_write(e->symbols, event->to,
                            pcoll_at(pcoll_kind_remote(kind), kind->remote_at), kind->bytes,
                            event->load);
    if (e->trace)
        pcoll_trace_see(e->trace, event->from, event->kind, event->time);
    if (kind->peer_counter != PCOLL_NONE)
        gain(e, event->to, kind->peer_counter, kind->peer_add, event->time);
}

static void land_request(struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, event->kind);
    struct pcoll_event answer = *event;

    answer.message = PCOLL_MESSAGE_ANSWER;
    answer.from = event->to;
    answer.to = event->from;
    answer.hop = 0;
    answer.sequence = event->sequence;
    if (e->symbols != NULL)
        answer.load = pcoll_symbols_read(
            e->symbols, event->to, pcoll_at(pcoll_kind_remote(kind), kind->remote_at), kind->bytes);
    pcoll_engine_inject(e, &answer);
}

/* The get is done; its signal is a new message. */
static void land_answer(struct pcoll_engine *e, const struct pcoll_event *event)
{
    struct pcoll_event signal = *event;

    entry_ends(e, event);
    if (pcoll_engine_kind(e, event->kind)->peer_counter == PCOLL_NONE)
        return;
    signal.type = PCOLL_EVENT_INJECT;
    signal.message = PCOLL_MESSAGE_SIGNAL;
    signal.from = event->to;
    signal.to = event->from;
    signal.load = 0;
    signal.hop = 0;
    signal.sequence = event->sequence;
    if (!e->options->host_driven)
        signal.time = pcoll_engine_occupy(e, signal.from, e->options->machine.o, event->time);
    pcoll_event_queue_put(&e->queue, &signal);
}

static void land(struct pcoll_engine *e, const struct pcoll_event *event)
{
    if (event->message == PCOLL_MESSAGE_SIGNAL)
        land_signal(e, event);
    else if (event->message == PCOLL_MESSAGE_REQUEST)
        land_request(e, event);
    else
        land_answer(e, event);
}

/* ---- firing ---- */

static void count_message(struct pcoll_engine *e, const struct pcoll_kind *kind, bool is_wire)
{
    const uint64_t bytes = kind->op == PCOLL_OP_COPY ? 0 : kind->bytes;

    e->result->messages++;
    e->result->bytes += bytes;
    if (is_wire) {
        e->result->wire_messages++;
        e->result->wire_bytes += bytes;
    }
}

/* ---- within the rank and the node: the processor does all the work ---- */

/* An operand of another rank takes as long to begin with as a get of it. */
static double reducing(const struct pcoll_engine *e, int rank, const struct pcoll_machine *node,
                       const struct pcoll_kind *kind)
{
    const struct pcoll_operand *operands = pcoll_engine_operands(e, kind);
    double time = (double)((kind->peer_add - 1) * kind->bytes) * node->reduce;

    for (uint64_t i = 0; operands && i < kind->peer_add; i++)
        if (operands[i].rank != rank)
            time += node->o;
    return time;
}

/* The time that the processor takes to move or reduce the bytes. */
static double moving(const struct pcoll_engine *e, int rank, const struct pcoll_machine *node,
                     const struct pcoll_kind *kind)
{
    if (kind->op == PCOLL_OP_REDUCE)
        return reducing(e, rank, node, kind);
    if (!is_data(kind))
        return 0;
    if (pcoll_engine_is_user(e, kind))
        return node->rma +
               (double)kind->bytes * (node->G + (kind->op == PCOLL_OP_PUT ? node->put : 0));
    return (double)kind->bytes * node->copy;
}

/* Signal the peer what is done at `end`; the peer of a COPY may be on another node. */
static void raise_counter(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                          uint32_t load, double end)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);
    const bool near = is_near(e, rank, step->peer);
    const struct pcoll_event event = {
        .time = near ? end + pcoll_engine_between(e, rank, step->peer)->L : end,
        .type = near ? PCOLL_EVENT_LAND : PCOLL_EVENT_INJECT,
        .message = PCOLL_MESSAGE_SIGNAL,
        .kind = step->kind,
        .from = rank,
        .to = step->peer,
        .load = load,
    };

    count_message(e, kind, !near);
    if (kind->op == PCOLL_OP_PUT || kind->peer_counter != PCOLL_NONE)
        pcoll_event_queue_put(&e->queue, &event);
}

/* What a COPY moves stays with the rank. */
static const struct pcoll_machine *machine_of(const struct pcoll_engine *e, int rank,
                                              const struct pcoll_sim_step *step)
{
    const bool is_own = pcoll_engine_kind(e, step->kind)->op == PCOLL_OP_COPY;

    return pcoll_engine_between(e, rank, is_own ? PCOLL_NONE : step->peer);
}

static void fire_within(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                        double now)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);
    const struct pcoll_machine *machine = machine_of(e, rank, step);
    const double work = machine->o + moving(e, rank, machine, kind);
    const double busy = step->peer != PCOLL_NONE ? pcoll_larger(work, machine->g) : work;
    const double begin = pcoll_engine_occupy(e, rank, busy, now);
    const double end = e->is_shared ? pcoll_engine_pass(e, rank, step, begin, work) : begin + work;
    const uint32_t load = read_source(e, rank, step);
    const bool is_away = kind->op == PCOLL_OP_PUT || kind->op == PCOLL_OP_ADD;

    if (e->trace)
        pcoll_trace_work(e->trace, rank, step->kind, begin, end);
    if (step->peer != PCOLL_NONE)
        raise_counter(e, rank, step, is_away ? load : 0, end);
    end_here(e, rank, step->kind, is_away ? 0 : load, end);
}

/* ---- to another node ---- */

static void fire_out(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                     double now)
{
    const struct pcoll_machine *machine = &e->options->machine;
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);
    const double busy = machine->o + (pcoll_engine_is_user(e, kind) ? machine->rma : 0);
    const bool is_get = kind->op == PCOLL_OP_GET;
    const int host = e->options->host_driven; /* in this form the processor is acquired together
                                               * with the port */
    const struct pcoll_event event = {
        .time = host ? now : pcoll_engine_occupy(e, rank, busy, now),
        .type = PCOLL_EVENT_INJECT,
        .sequence = host ? e->cause : 0,
        .message = is_get ? PCOLL_MESSAGE_REQUEST : PCOLL_MESSAGE_SIGNAL,
        .kind = step->kind,
        .from = rank,
        .to = step->peer,
        .load = is_get ? 0 : read_source(e, rank, step),
    };

    if (e->trace && !host)
        pcoll_trace_work(e->trace, rank, step->kind, event.time, event.time + busy);
    count_message(e, kind, true);
    if (kind->op == PCOLL_OP_ADD && !host)
        end_here(e, rank, step->kind, 0, event.time + busy);
    if (event.time > now)
        pcoll_event_queue_put(&e->queue, &event);
    else
        pcoll_engine_inject(e, &event);
}

/* The processor turns to an entry, or is told what it does next. */
static void perform(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step, double now)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);

    if (kind->op == PCOLL_OP_WAIT)
        pcoll_engine_entry_done(e, rank, step->kind,
                                e->core_of ? pcoll_engine_occupy(e, rank, 0, now) : now);
    else if (step->peer == PCOLL_NONE || kind->op == PCOLL_OP_COPY || is_near(e, rank, step->peer))
        fire_within(e, rank, step, now);
    else
        fire_out(e, rank, step, now);
}

static void fire(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step, double now)
{
    e->result->entries++;
    if (e->trace)
        pcoll_trace_fire(e->trace, rank, step->kind, now);
    if (!pcoll_engine_defer(e, rank, step, now))
        perform(e, rank, step, now);
}

static void turn(struct pcoll_engine *e, int rank, double now)
{
    struct pcoll_engine_task task;

    if (!pcoll_engine_take(e, rank, now, &task))
        return;
    perform(e, task.rank, &task.step, now);
    pcoll_engine_turn(e, rank, now);
}

/* ---- instances ---- */

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
            fire(e, rank, &phase.steps[i], now);
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
    r->active = true;
    if (r->left == 0)
        pcoll_engine_schedule(e, PCOLL_EVENT_COMPLETE, rank, r->finish);
    else
        fire_first(e, rank, &shape, now);
}

static void complete(struct pcoll_engine *e, int rank, double now)
{
    struct pcoll_engine_rank *r = &e->ranks[rank];
    struct pcoll_engine_result *result = e->result;

    if (e->symbols != NULL && !e->wrong && !pcoll_symbols_complete(e->symbols, rank, r->instance)) {
        e->wrong = true;
        if (e->options->why)
            fprintf(e->options->why, "rank %d: the result of instance %d is wrong\n", rank,
                    r->instance);
    }
    if (e->trace)
        pcoll_trace_complete(e->trace, rank, now);
    if (r->instance == 0) {
        result->first = pcoll_larger(result->first, now);
        result->earliest = result->earliest < 0 || now < result->earliest ? now : result->earliest;
    }
    result->last = pcoll_larger(result->last, now);
    r->active = false;
    r->instance++;
    if (r->instance < e->instances)
        pcoll_engine_schedule(e, PCOLL_EVENT_START, rank, now);
}

/* ---- the job ---- */

static void happen(struct pcoll_engine *e, struct pcoll_event *event)
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
            if (pcoll_engine_arrive(e, event))
                land(e, event);
            break;
        case PCOLL_EVENT_LAND:
            land(e, event);
            break;
        case PCOLL_EVENT_TURN:
            turn(e, event->to, event->time);
            break;
        case PCOLL_EVENT_DONE:
            entry_ends(e, event);
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
        pcoll_engine_schedule(e, PCOLL_EVENT_START, r,
                              e->options->skew > 0 ? e->options->skew * pcoll_engine_draw(e) : 0);
    while (pcoll_event_queue_take(&e->queue, &event)) {
        e->cause = event.sequence;
        happen(e, &event);
        e->result->events++;
    }
    if (e->queue.failed || (e->symbols != NULL && pcoll_symbols_failed(e->symbols)))
        return PCOLL_ERR_NOMEM;
    return check_end(e);
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

enum pcoll_result pcoll_engine_run(const struct pcoll_job *job,
                                   const struct pcoll_engine_options *options,
                                   struct pcoll_engine_result *result)
{
    struct pcoll_engine e = pcoll_engine_of(job, options, result);
    const uint64_t max =
        options->max_memory ? options->max_memory / sizeof(struct pcoll_sim_step) : UINT64_MAX;
    const bool places = options->verify || options->trace || e.node.locked > 0;
    const unsigned keep =
        (places ? PCOLL_KEEP_PLACES : 0) | (options->trace ? PCOLL_KEEP_APART : 0);
    enum pcoll_result outcome;

    memset(result, 0, sizeof(*result));
    result->earliest = -1;
    outcome = pcoll_network_check(&options->network, e.nnodes, options->why);
    if (outcome == PCOLL_OK)
        outcome = pcoll_program_create(job, e.instances, keep, max, &e.program);
    if (outcome != PCOLL_OK)
        return outcome;
    result->kinds = e.program.kinds.nrows;
    result->max = e.program.max;
    pcoll_event_queue_init(&e.queue, options->host_driven);
    outcome = prepare_trace(&e);
    if (outcome == PCOLL_OK)
        outcome = pcoll_engine_allocate(&e);
    if (outcome == PCOLL_OK)
        outcome = run(&e);
    if (e.trace && outcome != PCOLL_OK)
        pcoll_trace_destroy(e.trace);
    pcoll_engine_free(&e);
    return outcome;
}
