/* The simulation: messages between nodes, according to the model in engine.h. */
#include "tuning/sim/engine_state.h"

/* The bytes that the message carries. */
static uint64_t size_of(const struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, event->kind);

    if (event->message == PCOLL_MESSAGE_ANSWER ||
        (event->message == PCOLL_MESSAGE_SIGNAL && kind->op == PCOLL_OP_PUT))
        return kind->bytes;
    return 0;
}

/* The time from its first byte to its last. */
static double length_of(const struct pcoll_engine *e, const struct pcoll_event *event, double G)
{
    const uint64_t size = size_of(e, event);

    return size > 0 ? (double)(size - 1) * G : 0;
}

static double *port_of(const struct pcoll_engine *e, double *ports, int rank, uint32_t kind)
{
    return &ports[(int64_t)pcoll_engine_node(e, rank) * e->ports +
                  pcoll_engine_kind(e, kind)->rail % e->ports];
}

/* What the processor that fires a message adds to its time. */
static double setup_of(const struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, event->kind);
    const int first = event->message == PCOLL_MESSAGE_REQUEST || kind->op == PCOLL_OP_PUT;

    if (event->message == PCOLL_MESSAGE_ANSWER && !e->options->host_driven)
        return 0;
    return e->options->machine.o +
           (first && pcoll_engine_is_user(kind) ? e->options->machine.rma : 0);
}

/* The time at which the port is free, and the rank's processor if it is needed. */
static double ready_at(const struct pcoll_engine *e, const struct pcoll_event *event, int rank,
                       double port)
{
    const double begin = pcoll_later(event->time, port);

    return e->options->host_driven ? pcoll_later(begin, pcoll_engine_core(e, rank)->free) : begin;
}

/* Complete an entry that is done when its message has left. */
static void end_sender(struct pcoll_engine *e, const struct pcoll_event *event, double when)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, event->kind);
    const struct pcoll_event done = {.time = when,
                                     .type = PCOLL_EVENT_DONE,
                                     .kind = event->kind,
                                     .from = event->from,
                                     .to = event->from};

    if (event->message != PCOLL_MESSAGE_SIGNAL ||
        !(kind->op == PCOLL_OP_PUT || (kind->op == PCOLL_OP_ADD && e->options->host_driven)))
        return;
    if (kind->done == PCOLL_NONE)
        pcoll_engine_entry_done(e, event->from, event->kind, when);
    else
        pcoll_event_queue_put(&e->queue, &done);
}

/* Only messages that an entry fires are traced, not answers and the signals that follow them. */
static void trace_departure(struct pcoll_engine *e, const struct pcoll_event *event, double begin,
                            double setup)
{
    const int is_get = pcoll_engine_kind(e, event->kind)->op == PCOLL_OP_GET;

    if (is_get != (event->message == PCOLL_MESSAGE_REQUEST))
        return;
    if (e->options->host_driven)
        pcoll_trace_work(e->trace, event->from, event->kind, begin, begin + setup);
    pcoll_trace_send(e->trace, event->from, event->kind, begin);
}

/* The head leaves at `from`. */
static void depart(struct pcoll_engine *e, const struct pcoll_event *event, double when)
{
    struct pcoll_event next = *event;
    const int is_flat = e->options->network.kind == PCOLL_FLAT;

    next.type = is_flat ? PCOLL_EVENT_ARRIVE : PCOLL_EVENT_HOP;
    next.time = is_flat ? when + e->options->machine.L : when;
    next.ticket = 0;
    pcoll_event_queue_put(&e->queue, &next);
}

void pcoll_engine_inject(struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_machine *machine = &e->options->machine;
    const int host = e->options->host_driven;
    const double setup = setup_of(e, event), length = length_of(e, event, machine->G);
    const double fixed = setup > machine->o ? setup - machine->o : 0; /* the part for rma */
    double *port = port_of(e, e->out, event->from, event->kind);
    double begin = ready_at(e, event, event->from, *port);

    if (host && begin > event->time) {
        struct pcoll_event again = *event;

        again.type = PCOLL_EVENT_INJECT;
        again.time = begin;
        pcoll_event_queue_put(&e->queue, &again);
        return;
    }
    if (host)
        begin = pcoll_engine_occupy(e, event->from, setup, begin);
    if (e->trace)
        trace_departure(e, event, begin, setup);
    *port = begin + fixed + machine->g + length;
    end_sender(e, event, begin + setup + (host ? 0 : length));
    depart(e, event, begin + setup);
}

void pcoll_engine_hop(struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_network *network = &e->options->network;
    const int64_t link = pcoll_network_link(network, e->nnodes, pcoll_engine_node(e, event->from),
                                            pcoll_engine_node(e, event->to), event->hop);
    struct pcoll_event next = *event;

    if (link == PCOLL_NONE) {
        next.type = PCOLL_EVENT_ARRIVE;
        next.time += e->options->machine.L;
    } else {
        const double begin = pcoll_later(event->time, e->links[link]);

        e->result->waited += begin - event->time;
        e->links[link] = begin + length_of(e, event, network->G);
        next.time = begin + network->hop;
        next.hop++;
    }
    pcoll_event_queue_put(&e->queue, &next);
}

void pcoll_engine_arrive(struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_machine *machine = &e->options->machine;
    const int host = e->options->host_driven;
    const double length = length_of(e, event, machine->G);
    double *port = port_of(e, e->in, event->to, event->kind);
    double begin = ready_at(e, event, event->to, *port);
    struct pcoll_event next = *event;

    if (host && begin > event->time) { /* what is fired in the meantime goes first */
        next.time = begin;
        pcoll_event_queue_put(&e->queue, &next);
        return;
    }
    if (host)
        begin = pcoll_engine_occupy(e, event->to, machine->o + length, begin);
    *port = begin + machine->g + length;
    next.type = PCOLL_EVENT_LAND;
    next.ticket = 0;
    next.time = begin + (host ? machine->o : 0) + length_of(e, event, e->tail_G);
    if (next.time > event->time)
        pcoll_event_queue_put(&e->queue, &next);
    else
        pcoll_engine_land(e, &next);
}

static void land_signal(struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, event->kind);

    if (event->load != 0)
        pcoll_symbols_write(e->symbols, event->to,
                            pcoll_at(pcoll_kind_remote(kind), kind->remote_at), kind->bytes,
                            event->load);
    if (e->trace)
        pcoll_trace_see(e->trace, event->from, event->kind, event->time);
    if (kind->peer_counter != PCOLL_NONE)
        pcoll_engine_gain(e, event->to, kind->peer_counter, kind->peer_add, event->time);
}

static void land_request(struct pcoll_engine *e, const struct pcoll_event *event)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, event->kind);
    struct pcoll_event answer = *event;

    answer.message = PCOLL_MESSAGE_ANSWER;
    answer.from = event->to;
    answer.to = event->from;
    answer.hop = 0;
    answer.ticket = event->ticket;
    if (e->symbols != NULL)
        answer.load = pcoll_symbols_read(
            e->symbols, event->to, pcoll_at(pcoll_kind_remote(kind), kind->remote_at), kind->bytes);
    pcoll_engine_inject(e, &answer);
}

/* The get is done; its signal is a new message. */
static void land_answer(struct pcoll_engine *e, const struct pcoll_event *event)
{
    struct pcoll_event signal = *event;

    pcoll_engine_done(e, event);
    if (pcoll_engine_kind(e, event->kind)->peer_counter == PCOLL_NONE)
        return;
    signal.type = PCOLL_EVENT_INJECT;
    signal.message = PCOLL_MESSAGE_SIGNAL;
    signal.from = event->to;
    signal.to = event->from;
    signal.load = 0;
    signal.hop = 0;
    signal.ticket = event->ticket;
    if (!e->options->host_driven)
        signal.time = pcoll_engine_occupy(e, signal.from, e->options->machine.o, event->time);
    pcoll_event_queue_put(&e->queue, &signal);
}

void pcoll_engine_land(struct pcoll_engine *e, const struct pcoll_event *event)
{
    if (event->message == PCOLL_MESSAGE_SIGNAL)
        land_signal(e, event);
    else if (event->message == PCOLL_MESSAGE_REQUEST)
        land_request(e, event);
    else
        land_answer(e, event);
}
