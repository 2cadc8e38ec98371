/* The simulation: what entries do when they fire, according to the model in engine.h. */
#include "tuning/sim/engine_state.h"

static int is_data(const struct pcoll_kind *kind)
{
    return kind->op == PCOLL_OP_PUT || kind->op == PCOLL_OP_GET || kind->op == PCOLL_OP_COPY;
}

static int touches_user(const struct pcoll_kind *kind)
{
    return (kind->op == PCOLL_OP_PUT || kind->op == PCOLL_OP_GET) && pcoll_engine_is_user(kind);
}

/* The load of a REDUCE, whose operands are in this rank's memory. */
static uint32_t read_operands(struct pcoll_engine *e, int rank, const struct pcoll_kind *kind)
{
    const struct pcoll_place *operands = e->program.operands + kind->remote_at;
    uint32_t load = 0;

    for (uint64_t i = kind->peer_add; i-- > 0;) {
        const uint32_t left = pcoll_symbols_read(e->symbols, rank, operands[i], kind->bytes);

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
        return read_operands(e, rank, kind);
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

void pcoll_engine_done(struct pcoll_engine *e, const struct pcoll_event *event)
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
        pcoll_engine_gain(e, event->to, kind->done, kind->done_add, event->time);
    pcoll_engine_entry_done(e, event->to, event->kind, event->time);
}

static void count_message(struct pcoll_engine *e, const struct pcoll_kind *kind, int is_wire)
{
    const uint64_t bytes = kind->op == PCOLL_OP_COPY ? 0 : kind->bytes;

    e->result->messages++;
    e->result->bytes += bytes;
    if (is_wire) {
        e->result->wire_messages++;
        e->result->wire_bytes += bytes;
    }
}

static int is_near(const struct pcoll_engine *e, int rank, int peer)
{
    return pcoll_engine_node(e, peer) == pcoll_engine_node(e, rank);
}

/* ---- within the rank and the node: the processor does all the work ---- */

/* The time that the processor takes to move or reduce the bytes. */
static double moving(const struct pcoll_machine *node, const struct pcoll_kind *kind)
{
    if (kind->op == PCOLL_OP_REDUCE)
        return (double)((kind->peer_add - 1) * kind->bytes) * node->reduce;
    if (!is_data(kind))
        return 0;
    if (touches_user(kind))
        return node->rma +
               (double)kind->bytes * (node->G + (kind->op == PCOLL_OP_PUT ? node->put : 0));
    return (double)kind->bytes * node->copy;
}

/* Signal the peer what is done at `end`; the peer of a COPY may be on another node. */
static void raise_counter(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                          uint32_t load, double end)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);
    const int near = is_near(e, rank, step->peer);
    const struct pcoll_event event = {
        .time = near ? end + e->node.L : end,
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

static void fire_within(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                        double now)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);
    const double work = e->node.o + moving(&e->node, kind);
    const double busy = step->peer != PCOLL_NONE ? pcoll_later(work, e->node.g) : work;
    const double end = pcoll_engine_occupy(e, rank, busy, now) + work;
    const uint32_t load = read_source(e, rank, step);
    const int is_away = kind->op == PCOLL_OP_PUT || kind->op == PCOLL_OP_ADD;

    if (e->trace)
        pcoll_trace_work(e->trace, rank, step->kind, end - work, end);
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
    const double busy = machine->o + (touches_user(kind) ? machine->rma : 0);
    const int is_get = kind->op == PCOLL_OP_GET;
    const int host = e->options->host_driven; /* in this form the processor is acquired together
                                               * with the port */
    const struct pcoll_event event = {
        .time = host ? now : pcoll_engine_occupy(e, rank, busy, now),
        .type = PCOLL_EVENT_INJECT,
        .ticket = host ? e->cause : 0,
        .message = is_get ? PCOLL_MESSAGE_REQUEST : PCOLL_MESSAGE_SIGNAL,
        .kind = step->kind,
        .from = rank,
        .to = step->peer,
        .load = is_get ? 0 : read_source(e, rank, step),
    };

    if (e->trace && !host)
        pcoll_trace_work(e->trace, rank, step->kind, event.time, event.time + busy);
    count_message(e, kind, 1);
    if (kind->op == PCOLL_OP_ADD && !host)
        end_here(e, rank, step->kind, 0, event.time + busy);
    if (event.time > now)
        pcoll_event_queue_put(&e->queue, &event);
    else
        pcoll_engine_inject(e, &event);
}

void pcoll_engine_fire(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                       double now)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);

    e->result->entries++;
    if (e->trace)
        pcoll_trace_fire(e->trace, rank, step->kind, now);
    if (kind->op == PCOLL_OP_WAIT)
        pcoll_engine_entry_done(e, rank, step->kind,
                                e->core_of ? pcoll_engine_occupy(e, rank, 0, now) : now);
    else if (step->peer == PCOLL_NONE || kind->op == PCOLL_OP_COPY || is_near(e, rank, step->peer))
        fire_within(e, rank, step, now);
    else
        fire_out(e, rank, step, now);
}
