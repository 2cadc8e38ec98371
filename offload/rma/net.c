/* The network operations of a step, one after another, and signals that arrive. */
#include <stdio.h>
#include <string.h>

#include "offload/pace.h"
#include "offload/rma/state.h"
#include "offload/run/fire.h"

static const char *name_of(const struct pcoll_rma_request *request)
{
    if (!request->is_move)
        return "signal to";
    return request->step->is_get ? "get from" : "put to";
}

/* Called once per plan: report what happened and tell the other ranks, which would otherwise wait
 * forever. */
static enum pcoll_result fail(struct pcoll_rma_request *request, const char *why)
{
    struct pcoll_rma_bound *bound = request->bound;
    const struct pcoll_bootstrap *bootstrap = &bound->group->bootstrap;
    const struct pcoll_wire_endpoint *endpoint = request->step->way->wire.endpoint;
    char text[400], name[160];

    if (bound->failed)
        return PCOLL_ERR_SYSTEM;
    bound->failed = true;
    bound->culprit = request->step->way->rank;
    endpoint->wire->describe(endpoint, name, sizeof(name));
    snprintf(text, sizeof(text), "%s: %s: %s rank %d: %s", endpoint->wire->library, name,
             name_of(request), request->step->way->rank, why);
    bootstrap->report(bootstrap->context, text);
    pcoll_node_raise(&bound->node);
    pcoll_rma_send_farewells(bound);
    return PCOLL_ERR_SYSTEM;
}

/* PCOLL_OK: the operation is in flight; PCOLL_PENDING: try again. */
static enum pcoll_result judge(struct pcoll_rma_request *request, enum pcoll_result result,
                               const char *why)
{
    if (__builtin_expect(result == PCOLL_OK, 1))
        request->bound->inflight += !request->base.is_silent;
    else if (result != PCOLL_PENDING)
        result = fail(request, why);
    return result;
}

/* The next piece of the data. */
static inline struct pcoll_wire_transfer piece_of(const struct pcoll_rma_step *step)
{
    const struct pcoll_wire_endpoint *endpoint = step->way->wire.endpoint;
    const size_t max = step->is_get ? endpoint->max_get : endpoint->max_put;
    const size_t left = step->bytes - step->moved;

    return (struct pcoll_wire_transfer){
        .local = step->local + step->moved,
        .desc = step->desc,
        .bytes = left < max ? left : max,
        .remote = step->remote + step->moved,
        .key = step->key,
    };
}

static enum pcoll_result issue_piece(struct pcoll_rma_step *step)
{
    const struct pcoll_wire *wire = step->way->wire.endpoint->wire;
    const struct pcoll_wire_transfer transfer = piece_of(step);
    const char *why = NULL;
    enum pcoll_result result;

    result =
        (step->is_get ? wire->get : wire->put)(&step->way->wire, &step->move.base, &transfer, &why);
    result = judge(&step->move, result, why);
    if (result == PCOLL_OK)
        step->moved += transfer.bytes;
    return result;
}

/* Returns whether signals are guaranteed to arrive in order. */
static inline bool keeps_order(const struct pcoll_rma_step *step)
{
    return step->way->wire.endpoint->ordered >= sizeof(struct pcoll_rma_line);
}

/* Write the channel's next sum, behind `cell` bytes of data, which end where the sum begins. */
static inline struct pcoll_wire_transfer write_signal(const struct pcoll_rma_step *step,
                                                      uint64_t sum, size_t cell)
{
    const size_t first = PCOLL_CELL_BYTES - cell;

    atomic_store_explicit(&step->outgoing->sum, sum, memory_order_relaxed);
    atomic_store_explicit(&step->outgoing->check, ~sum, memory_order_relaxed);
    return (struct pcoll_wire_transfer){
        .local = step->outgoing->cell + first,
        .desc = step->way->rail->mail.desc,
        .bytes = cell + 2 * sizeof(sum),
        .remote = step->line + first,
        .key = step->way->inbox_key.key,
    };
}

static inline uint64_t next_sum(const struct pcoll_rma_step *step)
{
    const struct pcoll_rma_channel *channel = step->channel;

    return channel->sum + (channel->counter == PCOLL_NONE ? 1 : step->step->peer_add);
}

static enum pcoll_result issue_signal(struct pcoll_rma_step *step)
{
    struct pcoll_rma_channel *channel = step->channel;
    const uint64_t sum = next_sum(step);
    struct pcoll_wire_transfer transfer;
    const char *why = NULL;
    enum pcoll_result result;

    if (channel->is_busy)
        return PCOLL_PENDING;
    transfer = write_signal(step, sum, step->bytes == 0 ? (size_t)channel->bytes : 0);
    result = step->way->wire.endpoint->wire->put_signal(&step->way->wire, &step->signal.base,
                                                        &transfer, &why);
    result = judge(&step->signal, result, why);
    if (result != PCOLL_OK)
        return result;
    channel->sum = sum;
    channel->is_busy = !keeps_order(step);
    return PCOLL_OK;
}

static inline void add_done(const struct pcoll_rma_step *step)
{
    if (step->step->done != NULL)
        pcoll_signal(step->step->done, step->step->done_add);
}

/* The last piece of the data, or all of it, and the signal in one message. */
static enum pcoll_result issue_joined(struct pcoll_rma_step *step)
{
    const uint64_t sum = next_sum(step);
    const struct pcoll_wire_transfer data = piece_of(step), signal = write_signal(step, sum, 0);
    const char *why = NULL;
    enum pcoll_result result = step->way->wire.endpoint->wire->put_joined(
        &step->way->wire, &step->move.base, &data, &signal, &why);

    result = judge(&step->move, result, why);
    if (result != PCOLL_OK)
        return result;
    step->channel->sum = sum;
    step->moved = 0;
    if (step->move.base.is_silent)
        add_done(step);
    return PCOLL_OK;
}

enum pcoll_result pcoll_rma_advance(struct pcoll_rma_step *step)
{
    enum pcoll_result result = PCOLL_OK;

    if (step->stage == PCOLL_RMA_READY && step->bytes > 0 &&
        step->bytes - step->moved <= step->joined)
        return issue_joined(step);
    if (step->stage == PCOLL_RMA_READY && step->copy_bytes > 0)
        pcoll_copy_any(step->copy_to, step->copy_from, step->copy_bytes);
    if (step->stage == PCOLL_RMA_READY && step->bytes > 0) {
        result = issue_piece(step);
        if (result != PCOLL_OK)
            return result;
        step->stage = PCOLL_RMA_MOVING;
        if (!step->is_get && step->bytes <= step->way->wire.endpoint->ordered &&
            step->moved == step->bytes)
            step->stage = PCOLL_RMA_SIGNAL;
    } else if (step->stage == PCOLL_RMA_READY) {
        step->stage = PCOLL_RMA_SIGNAL;
        add_done(step);
    }
    if (step->stage == PCOLL_RMA_MOVING)
        return PCOLL_PENDING;
    if (step->channel != NULL)
        result = issue_signal(step);
    if (result != PCOLL_OK)
        return result;
    step->stage = PCOLL_RMA_READY;
    step->moved = 0;
    return PCOLL_OK;
}

/* A piece of data has been moved. */
static void end_move(struct pcoll_rma_bound *bound, struct pcoll_rma_step *step)
{
    const bool is_waiting = step->stage == PCOLL_RMA_MOVING;

    if (is_waiting && step->moved < step->bytes) {
        step->stage = PCOLL_RMA_READY;
    } else {
        add_done(step);
        if (is_waiting)
            step->stage = PCOLL_RMA_SIGNAL;
    }
    if (is_waiting && !step->is_queued) {
        step->next_ready = NULL;
        *bound->ready_end = step;
        bound->ready_end = &step->next_ready;
    }
}

enum pcoll_result pcoll_rma_flush(struct pcoll_rma_bound *bound)
{
    while (bound->ready != NULL) {
        struct pcoll_rma_step *step = bound->ready;
        enum pcoll_result result = pcoll_rma_advance(step);

        if (result != PCOLL_OK && !(result == PCOLL_PENDING && step->stage == PCOLL_RMA_MOVING))
            return result;
        bound->ready = step->next_ready;
        if (bound->ready == NULL)
            bound->ready_end = &bound->ready;
    }
    return PCOLL_OK;
}

/* A silent operation gets here only if it failed. */
void pcoll_rma_event(struct pcoll_wire_request *base, const char *error)
{
    struct pcoll_rma_request *request = pcoll_container_of(base, struct pcoll_rma_request, base);

    pcoll_network_event();
    request->bound->inflight -= !base->is_silent;
    if (request->step == NULL)
        return;
    if (error != NULL)
        fail(request, error);
    else if (request->is_move)
        end_move(request->bound, request->step);
    else
        request->step->channel->is_busy = false;
}

/* The sum in a line, if it has landed completely and is new. */
static inline uint64_t read_sum(const struct pcoll_rma_source *source)
{
    uint64_t check = atomic_load_explicit(&source->line->check, memory_order_acquire);
    uint64_t sum = atomic_load_explicit(&source->line->sum, memory_order_acquire);

    return sum == ~check ? sum : source->seen;
}

/* Read all sums. Returns whether any has changed. */
static inline bool collect(struct pcoll_rma_bound *bound)
{
    bool changed = false;

    for (int i = 0; i < bound->nsources; i++) {
        struct pcoll_rma_source *source = &bound->sources[i];
        uint64_t sum = read_sum(source);

        changed |= sum != source->sum;
        source->sum = sum;
    }
    return changed;
}

bool pcoll_rma_read_inbox(struct pcoll_rma_bound *bound)
{
    if (!collect(bound))
        return false;
    pcoll_network_event();
    while (collect(bound))
        continue;
    for (int i = 0; i < bound->nsources; i++) {
        struct pcoll_rma_source *source = &bound->sources[i];
        uint64_t risen = source->sum - source->seen;

        if (risen == 0)
            continue;
        source->seen = source->sum;
        if (source->bytes > 0)
            memcpy(source->cell, source->line->cell + PCOLL_CELL_BYTES - source->bytes,
                   source->bytes);
        if (source->target != NULL)
            pcoll_signal(source->target, risen);
    }
    return true;
}

void pcoll_rma_poll_rails(struct pcoll_rma_bound *bound)
{
    for (int i = 0; i < bound->nrails; i++)
        bound->rails[i].endpoint->wire->poll(bound->rails[i].endpoint);
}

/* Not a signal: it must have left this process before the endpoint is closed. */
static enum pcoll_result send_farewell(struct pcoll_rma_way *way)
{
    const struct pcoll_wire_transfer transfer = {
        .local = &way->outgoing->sum,
        .desc = way->rail->mail.desc,
        .bytes = 2 * sizeof(uint64_t),
        .remote = way->farewell,
        .key = way->inbox_key.key,
    };
    const char *why;
    enum pcoll_result result =
        way->wire.endpoint->wire->put(&way->wire, &way->bye.base, &transfer, &why);

    way->bye.bound->inflight += result == PCOLL_OK && !way->bye.base.is_silent;
    return result;
}

/* The word of a farewell: its kind in the low byte, and above it the rank that caused a failure,
 * plus one. */
enum { KIND_BITS = 8 };

bool pcoll_rma_send_farewells(struct pcoll_rma_bound *bound)
{
    const enum pcoll_rma_farewell farewell = bound->failed ? PCOLL_RMA_FAILED : PCOLL_RMA_LEFT;
    const uint64_t word = (uint64_t)farewell | (uint64_t)(bound->culprit + 1) << KIND_BITS;
    bool all = true;

    for (int i = 0; i < bound->nways; i++) {
        struct pcoll_rma_way *way = &bound->ways[i];

        if (way->bye_sent)
            continue;
        atomic_store_explicit(&way->outgoing->sum, word, memory_order_relaxed);
        atomic_store_explicit(&way->outgoing->check, ~word, memory_order_relaxed);
        way->bye_sent = send_farewell(way) != PCOLL_PENDING;
        all &= way->bye_sent;
    }
    return all;
}

enum pcoll_rma_farewell pcoll_rma_farewell_of(const struct pcoll_rma_way *way, int *culprit_p)
{
    uint64_t check = atomic_load_explicit(&way->arrived->check, memory_order_acquire);
    uint64_t sum = atomic_load_explicit(&way->arrived->sum, memory_order_acquire);

    if (sum != ~check)
        return PCOLL_RMA_HERE;
    if (culprit_p != NULL)
        *culprit_p = (int)(sum >> KIND_BITS) - 1;
    return (enum pcoll_rma_farewell)(sum & ((1U << KIND_BITS) - 1));
}
