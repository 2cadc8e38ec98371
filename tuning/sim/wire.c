/* Processors, and messages between nodes, which share ports and links; the contract is in
 * engine_state.h. */
#include "tuning/sim/engine_state.h"

#include <math.h>

/* ---- time of processors ---- */

/* splitmix64 */
double pcoll_engine_draw(struct pcoll_engine *e)
{
    uint64_t z = e->random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

double pcoll_engine_occupy(struct pcoll_engine *e, int rank, double busy, double now)
{
    struct pcoll_engine_core *core = pcoll_engine_core(e, rank);
    double begin = pcoll_larger(now, core->free);

    if (e->core_of && core->last != rank)
        begin += e->options->machine.turn;
    if (e->options->noise > 0 && busy > 0)
        begin -= e->options->noise * log1p(-pcoll_engine_draw(e));
    core->last = rank;
    core->free = begin + busy;
    return begin;
}

/* ---- ends of entries ---- */

void pcoll_engine_schedule(struct pcoll_engine *e, enum pcoll_event_type type, int rank,
                           double time)
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
    r->finish = pcoll_larger(r->finish, when);
    if (--r->left == 0)
        pcoll_engine_schedule(e, PCOLL_EVENT_COMPLETE, rank, r->finish);
}

/* ---- messages between nodes ---- */

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
    const bool first = event->message == PCOLL_MESSAGE_REQUEST || kind->op == PCOLL_OP_PUT;

    if (event->message == PCOLL_MESSAGE_ANSWER && !e->options->host_driven)
        return 0;
    return e->options->machine.o +
           (first && pcoll_engine_is_user(e, kind) ? e->options->machine.rma : 0);
}

/* The time at which the port is free, and the rank's processor if it is needed. */
static double ready_at(const struct pcoll_engine *e, const struct pcoll_event *event, int rank,
                       double port)
{
    const double begin = pcoll_larger(event->time, port);

    return e->options->host_driven ? pcoll_larger(begin, pcoll_engine_core(e, rank)->free) : begin;
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
    const bool is_get = pcoll_engine_kind(e, event->kind)->op == PCOLL_OP_GET;

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
    const bool is_flat = e->options->network.kind == PCOLL_FLAT;

    next.type = is_flat ? PCOLL_EVENT_ARRIVE : PCOLL_EVENT_HOP;
    next.time = is_flat ? when + e->options->machine.L : when;
    next.sequence = 0;
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
        const double begin = pcoll_larger(event->time, e->links[link]);

        e->result->waited += begin - event->time;
        e->links[link] = begin + length_of(e, event, network->G);
        next.time = begin + network->hop;
        next.hop++;
    }
    pcoll_event_queue_put(&e->queue, &next);
}

bool pcoll_engine_arrive(struct pcoll_engine *e, struct pcoll_event *event)
{
    const struct pcoll_machine *machine = &e->options->machine;
    const int host = e->options->host_driven;
    const double length = length_of(e, event, machine->G), now = event->time;
    double *port = port_of(e, e->in, event->to, event->kind);
    double begin = ready_at(e, event, event->to, *port);

    if (host && begin > now) { /* what is fired in the meantime goes first */
        event->time = begin;
        pcoll_event_queue_put(&e->queue, event);
        return false;
    }
    if (host)
        begin = pcoll_engine_occupy(e, event->to, machine->o + length, begin);
    *port = begin + machine->g + length;
    event->type = PCOLL_EVENT_LAND;
    event->sequence = 0;
    event->time = begin + (host ? machine->o : 0) + length_of(e, event, e->tail_G);
    if (event->time <= now)
        return true;
    pcoll_event_queue_put(&e->queue, event);
    return false;
}
