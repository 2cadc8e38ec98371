/* The network operations of a step, one after another, and signals that arrive. */
#include <stdio.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "offload/ofi_rma/state.h"
#include "offload/run/fire.h"

static const char *name_of(const struct pcoll_ofi_request *request)
{
    if (!request->is_move)
        return "signal to";
    return request->step->get ? "get from" : "put to";
}

/* Called once per plan: report what happened and tell the other ranks, which would otherwise wait
 * forever. */
static enum pcoll_result fail(struct pcoll_ofi_request *request, const char *why)
{
    struct pcoll_ofi_bound *bound = request->bound;
    const struct pcoll_bootstrap *bootstrap = &bound->group->bootstrap;
    const struct fi_info *info = request->step->way->rail->endpoint->info;
    char text[400];

    if (bound->failed)
        return PCOLL_ERR_SYSTEM;
    bound->failed = 1;
    snprintf(text, sizeof(text), "libfabric: %s (%s): %s rank %d: %s", info->fabric_attr->prov_name,
             info->domain_attr->name, name_of(request), request->step->way->rank, why);
    bootstrap->report(bootstrap->context, text);
    atomic_fetch_or_explicit(&bound->shm.block->alarm, PCOLL_SHM_FAILED, memory_order_release);
    pcoll_ofi_say_farewell(bound, PCOLL_OFI_FAILED);
    return PCOLL_ERR_SYSTEM;
}

struct transfer {
    const struct pcoll_ofi_way *way;
    void *local, *desc;
    size_t bytes;
    uint64_t remote, key, flags;
    int get;
};

/* Returns 0 or a negative error. */
static ssize_t issue(struct pcoll_ofi_request *request, struct transfer t)
{
    struct iovec iov = {t.local, t.bytes};
    struct fi_rma_iov remote = {t.remote, t.bytes, t.key};
    struct fi_msg_rma message = {
        .msg_iov = &iov,
        .desc = &t.desc,
        .iov_count = 1,
        .addr = t.way->address,
        .rma_iov = &remote,
        .rma_iov_count = 1,
        .context = request,
    };
    struct fid_ep *ep = t.way->rail->endpoint->ep;
    uint64_t flags = t.flags | (t.flags & FI_INJECT ? 0 : FI_COMPLETION);
    ssize_t error = t.get ? fi_readmsg(ep, &message, flags) : fi_writemsg(ep, &message, flags);

    request->is_injected = (flags & FI_INJECT) != 0;
    request->bound->inflight += error == 0 && !request->is_injected;
    return error;
}

/* PCOLL_OK: the operation is in flight; PCOLL_PENDING: try again. */
static enum pcoll_result judge(struct pcoll_ofi_request *request, ssize_t error)
{
    if (__builtin_expect(error == 0, 1))
        return PCOLL_OK;
    if (error == -FI_EAGAIN)
        return PCOLL_PENDING;
    return fail(request, fi_strerror((int)-error));
}

/* Without order a put must have arrived before a later one may: the signal after its data, the
 * farewell after signals. */
static uint64_t must_arrive(const struct pcoll_ofi_way *way)
{
    return way->rail->endpoint->ordered ? 0 : FI_DELIVERY_COMPLETE;
}

/* The provider copies small data: there is nothing to wait for if the order says when it has
 * arrived. */
static uint64_t small_flags(const struct pcoll_ofi_way *way, size_t bytes)
{
    const struct pcoll_ofi_endpoint *e = way->rail->endpoint;

    return e->ordered && bytes <= e->inject ? FI_INJECT : must_arrive(way);
}

static enum pcoll_result issue_piece(struct pcoll_ofi_step *step)
{
    const struct pcoll_ofi_endpoint *e = step->way->rail->endpoint;
    size_t most = e->info->ep_attr->max_msg_size, left = step->bytes - step->moved;
    size_t piece = left < most ? left : most;
    enum pcoll_result result;

    result =
        judge(&step->move, issue(&step->move, (struct transfer){
                                                  .way = step->way,
                                                  .local = step->local + step->moved,
                                                  .desc = step->desc,
                                                  .bytes = piece,
                                                  .remote = step->remote + step->moved,
                                                  .key = step->key,
                                                  .flags = step->get ? 0 : must_arrive(step->way),
                                                  .get = step->get,
                                              }));
    if (result == PCOLL_OK)
        step->moved += piece;
    return result;
}

/* The data of a cell that travels with the sum ends where the sum begins. */
static enum pcoll_result issue_signal(struct pcoll_ofi_step *step)
{
    struct pcoll_ofi_channel *channel = step->channel;
    size_t cell = step->bytes == 0 ? (size_t)channel->bytes : 0;
    size_t first = PCOLL_CELL_BYTES - cell, bytes = cell + 2 * sizeof(channel->sum);
    uint64_t sum = channel->sum + (channel->counter == PCOLL_NONE ? 1 : step->step->peer_add);
    enum pcoll_result result;

    if (channel->is_busy)
        return PCOLL_PENDING;
    atomic_store_explicit(&step->outgoing->sum, sum, memory_order_relaxed);
    atomic_store_explicit(&step->outgoing->check, ~sum, memory_order_relaxed);
    result = judge(&step->signal, issue(&step->signal, (struct transfer){
                                                           .way = step->way,
                                                           .local = step->outgoing->cell + first,
                                                           .desc = step->way->rail->mail.desc,
                                                           .bytes = bytes,
                                                           .remote = step->slot + first,
                                                           .key = step->way->inbox_key,
                                                           .flags = small_flags(step->way, bytes),
                                                       }));
    if (result != PCOLL_OK)
        return result;
    channel->sum = sum;
    channel->is_busy = !step->way->rail->endpoint->ordered;
    return PCOLL_OK;
}

static inline void add_done(const struct pcoll_ofi_step *step)
{
    if (step->step->done != NULL)
        pcoll_signal(step->step->done, step->step->done_add);
}

enum pcoll_result pcoll_ofi_advance(struct pcoll_ofi_step *step)
{
    enum pcoll_result result = PCOLL_OK;

    if (step->stage == PCOLL_OFI_READY && step->copy_bytes > 0)
        pcoll_copy_any(step->copy_to, step->copy_from, step->copy_bytes);
    if (step->stage == PCOLL_OFI_READY && step->bytes > 0) {
        result = issue_piece(step);
        if (result != PCOLL_OK)
            return result;
        step->stage = PCOLL_OFI_MOVING;
        if (!step->get && step->way->rail->endpoint->ordered && step->moved == step->bytes)
            step->stage = PCOLL_OFI_SIGNAL;
    } else if (step->stage == PCOLL_OFI_READY) {
        step->stage = PCOLL_OFI_SIGNAL;
        add_done(step);
    }
    if (step->stage == PCOLL_OFI_MOVING)
        return PCOLL_PENDING;
    if (step->channel != NULL)
        result = issue_signal(step);
    if (result != PCOLL_OK)
        return result;
    step->stage = PCOLL_OFI_READY;
    step->moved = 0;
    return PCOLL_OK;
}

/* A piece of data has been moved. */
static void end_move(struct pcoll_ofi_bound *bound, struct pcoll_ofi_step *step)
{
    int is_waiting = step->stage == PCOLL_OFI_MOVING;

    if (is_waiting && step->moved < step->bytes) {
        step->stage = PCOLL_OFI_READY;
    } else {
        add_done(step);
        if (is_waiting)
            step->stage = PCOLL_OFI_SIGNAL;
    }
    if (is_waiting && !step->is_queued) {
        step->next_ready = NULL;
        *bound->ready_end = step;
        bound->ready_end = &step->next_ready;
    }
}

enum pcoll_result pcoll_ofi_flush(struct pcoll_ofi_bound *bound)
{
    while (bound->ready != NULL) {
        struct pcoll_ofi_step *step = bound->ready;
        enum pcoll_result result = pcoll_ofi_advance(step);

        if (result != PCOLL_OK && !(result == PCOLL_PENDING && step->stage == PCOLL_OFI_MOVING))
            return result;
        bound->ready = step->next_ready;
        if (bound->ready == NULL)
            bound->ready_end = &bound->ready;
    }
    return PCOLL_OK;
}

/* All our operations have a context. An injected operation gets here only if it failed. */
void pcoll_ofi_rma_event(void *context, const char *error)
{
    struct pcoll_ofi_request *request = context;

    if (request == NULL)
        return;
    request->bound->inflight -= !request->is_injected;
    if (request->step == NULL)
        return;
    if (error != NULL)
        fail(request, error);
    else if (request->is_move)
        end_move(request->bound, request->step);
    else
        request->step->channel->is_busy = 0;
}

/* The sum in a slot, if it has landed completely and is new. */
static inline uint64_t read_sum(const struct pcoll_ofi_source *source)
{
    uint64_t check = atomic_load_explicit(&source->slot->check, memory_order_acquire);
    uint64_t sum = atomic_load_explicit(&source->slot->sum, memory_order_acquire);

    return sum == ~check ? sum : source->seen;
}

static inline int collect(struct pcoll_ofi_bound *bound)
{
    int changed = 0;

    for (int i = 0; i < bound->nsources; i++) {
        struct pcoll_ofi_source *source = &bound->sources[i];
        uint64_t sum = read_sum(source);

        changed |= sum != source->sum;
        source->sum = sum;
    }
    return changed;
}

int pcoll_ofi_read_inbox(struct pcoll_ofi_bound *bound)
{
    if (!collect(bound))
        return 0;
    while (collect(bound))
        continue;
    for (int i = 0; i < bound->nsources; i++) {
        struct pcoll_ofi_source *source = &bound->sources[i];
        uint64_t risen = source->sum - source->seen;

        if (risen == 0)
            continue;
        source->seen = source->sum;
        if (source->bytes > 0)
            memcpy(source->cell, source->slot->cell + PCOLL_CELL_BYTES - source->bytes,
                   source->bytes);
        if (source->target != NULL)
            pcoll_signal(source->target, risen);
    }
    return 1;
}

void pcoll_ofi_poll_rails(struct pcoll_ofi_bound *bound)
{
    for (int i = 0; i < bound->nrails; i++)
        pcoll_ofi_poll(bound->rails[i].endpoint);
}

int pcoll_ofi_say_farewell(struct pcoll_ofi_bound *bound, enum pcoll_ofi_farewell farewell)
{
    int all = 1;

    for (int i = 0; i < bound->nways; i++) {
        struct pcoll_ofi_way *way = &bound->ways[i];
        struct pcoll_ofi_slot *slot = way->outgoing;
        ssize_t error;

        if (way->bye_sent)
            continue;
        atomic_store_explicit(&slot->sum, (uint64_t)farewell, memory_order_relaxed);
        atomic_store_explicit(&slot->check, ~(uint64_t)farewell, memory_order_relaxed);
        error = issue(&way->bye, (struct transfer){
                                     .way = way,
                                     .local = &slot->sum,
                                     .desc = way->rail->mail.desc,
                                     .bytes = 2 * sizeof(uint64_t),
                                     .remote = way->farewell,
                                     .key = way->inbox_key,
                                 });
        way->bye_sent = error != -FI_EAGAIN;
        all &= way->bye_sent;
    }
    return all;
}

enum pcoll_ofi_farewell pcoll_ofi_farewell_of(const struct pcoll_ofi_way *way)
{
    uint64_t check = atomic_load_explicit(&way->arrived->check, memory_order_acquire);
    uint64_t sum = atomic_load_explicit(&way->arrived->sum, memory_order_acquire);

    return sum == ~check ? (enum pcoll_ofi_farewell)sum : PCOLL_OFI_HERE;
}
