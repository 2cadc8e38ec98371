/* Endpoints of libfabric (ofi/endpoint.h) behind the functions of a wire. */
#include "offload/ofi_rma/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>

_Static_assert(sizeof(struct fi_context2) <= sizeof(((struct pcoll_wire_request *)0)->own),
               "a request has room for the provider's context");

/* The endpoint's options hold the function of the core as it is given here. */
static pcoll_wire_event *core_event;

static void pass_event(void *context, const char *error)
{
    if (context != NULL)
        core_event(context, error);
}

static struct pcoll_wire_endpoint wire_of(const struct pcoll_ofi_endpoint *e)
{
    const size_t max = e->info->ep_attr->max_msg_size;

    return (struct pcoll_wire_endpoint){
        .wire = &pcoll_wire_ofi,
        .ordered = e->ordered ? SIZE_MAX : 0,
        .stream = e->stream,
        .max_put = max,
        .max_get = max,
        .joined = e->ordered && e->joins ? max - PCOLL_WIRE_SIGNAL_BYTES : 0,
        .name_bytes = sizeof(e->name),
        .key_bytes = sizeof(uint64_t),
    };
}

static enum pcoll_result ofi_open(const struct pcoll_wire_options *wanted,
                                  const struct pcoll_bootstrap *bootstrap,
                                  struct pcoll_wire_endpoint **endpoint_p)
{
    const struct pcoll_ofi_options options = {.provider = wanted->provider,
                                              .interface = wanted->interface,
                                              .progress = FI_PROGRESS_UNSPEC,
                                              .event = pass_event};
    struct pcoll_ofi_endpoint *e;
    const enum pcoll_result result = pcoll_ofi_open(&options, bootstrap, &e);

    if (result != PCOLL_OK)
        return result;
    core_event = wanted->event;
    if (e->wire.wire == NULL)
        e->wire = wire_of(e);
    *endpoint_p = &e->wire;
    return PCOLL_OK;
}

static void ofi_close(struct pcoll_wire_endpoint *endpoint)
{
    pcoll_ofi_close(pcoll_wire_ofi_endpoint(endpoint));
}

static void ofi_keep(struct pcoll_wire_endpoint *endpoint)
{
    pcoll_ofi_keep(pcoll_wire_ofi_endpoint(endpoint));
}

static void ofi_describe(const struct pcoll_wire_endpoint *endpoint, char *text, size_t room)
{
    const struct fi_info *info = pcoll_wire_ofi_endpoint(endpoint)->info;

    snprintf(text, room, "%s (%s)", info->fabric_attr->prov_name, info->domain_attr->name);
}

static void ofi_poll(struct pcoll_wire_endpoint *endpoint)
{
    pcoll_ofi_poll(pcoll_wire_ofi_endpoint(endpoint));
}

/* ---- peers and memory ---------------------------------------------------------------- */

static void write_name(const struct pcoll_wire_endpoint *endpoint, void *name)
{
    memcpy(name, &pcoll_wire_ofi_endpoint(endpoint)->name, endpoint->name_bytes);
}

static enum pcoll_result connect_peer(struct pcoll_wire_endpoint *endpoint,
                                      const struct pcoll_bootstrap *bootstrap, const void *name,
                                      struct pcoll_wire_way *way)
{
    struct pcoll_ofi_name copy;
    fi_addr_t peer;
    enum pcoll_result result;

    memcpy(&copy, name, sizeof(copy));
    result = pcoll_ofi_peer(pcoll_wire_ofi_endpoint(endpoint), bootstrap, &copy, &peer);
    if (result == PCOLL_OK) {
        way->endpoint = endpoint;
        way->peer = peer;
    }
    return result;
}

static void disconnect_peer(struct pcoll_wire_way *way)
{
    way->endpoint = NULL;
}

static bool never_lost(const struct pcoll_wire_way *way)
{
    (void)way;
    return false;
}

static enum pcoll_result map(struct pcoll_wire_endpoint *endpoint,
                             const struct pcoll_bootstrap *bootstrap, const char *what,
                             void *address, size_t bytes, struct pcoll_wire_region *region)
{
    struct pcoll_ofi_region mapped;
    enum pcoll_result result = pcoll_ofi_register(pcoll_wire_ofi_endpoint(endpoint), bootstrap,
                                                  what, address, bytes, NULL, &mapped);

    if (result == PCOLL_OK)
        *region = (struct pcoll_wire_region){
            .handle = mapped.mr, .desc = mapped.desc, .base = mapped.base};
    return result;
}

static void unmap(struct pcoll_wire_endpoint *endpoint, struct pcoll_wire_region *region)
{
    struct pcoll_ofi_region mapped = {.mr = region->handle};

    (void)endpoint;
    pcoll_ofi_unregister(&mapped);
    *region = (struct pcoll_wire_region){0};
}

static void write_key(const struct pcoll_wire_region *region, void *key)
{
    const uint64_t value = fi_mr_key(region->handle);

    memcpy(key, &value, sizeof(value));
}

static enum pcoll_result take_key(const struct pcoll_wire_way *way,
                                  const struct pcoll_bootstrap *bootstrap, const void *key,
                                  uint64_t *key_p)
{
    (void)way;
    (void)bootstrap;
    memcpy(key_p, key, sizeof(*key_p));
    return PCOLL_OK;
}

static void drop_key(uint64_t key)
{
    (void)key;
}

/* ---- transfers ----------------------------------------------------------------------- */

static inline enum pcoll_result judge(ssize_t error, const char **why_p)
{
    if (__builtin_expect(error == 0, 1))
        return PCOLL_OK;
    if (error == -FI_EAGAIN)
        return PCOLL_PENDING;
    *why_p = fi_strerror((int)-error);
    return PCOLL_ERR_SYSTEM;
}

static inline enum pcoll_result issue(struct pcoll_wire_way *way,
                                      struct pcoll_wire_request *request,
                                      const struct pcoll_wire_transfer *t, bool is_get,
                                      uint64_t flags, const char **why_p)
{
    struct iovec iov = {t->local, t->bytes};
    struct fi_rma_iov remote = {t->remote, t->bytes, t->key};
    void *desc = t->desc;
    struct fi_msg_rma message = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = way->peer,
        .rma_iov = &remote,
        .rma_iov_count = 1,
        .context = request,
    };
    struct fid_ep *ep = pcoll_wire_ofi_endpoint(way->endpoint)->ep;

    flags |= flags & FI_INJECT ? 0 : FI_COMPLETION;
    request->is_silent = (flags & FI_INJECT) != 0;
    return judge(is_get ? fi_readmsg(ep, &message, flags) : fi_writemsg(ep, &message, flags),
                 why_p);
}

static enum pcoll_result get(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                             const struct pcoll_wire_transfer *transfer, const char **why_p)
{
    return issue(way, request, transfer, true, 0, why_p);
}

static uint64_t must_arrive(const struct pcoll_wire_way *way)
{
    return way->endpoint->ordered ? 0 : FI_DELIVERY_COMPLETE;
}

static enum pcoll_result put(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                             const struct pcoll_wire_transfer *transfer, const char **why_p)
{
    return issue(way, request, transfer, false, must_arrive(way), why_p);
}

/* The provider copies small data: there is nothing to wait for if the order says when it has
 * arrived. */
static enum pcoll_result put_signal(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                                    const struct pcoll_wire_transfer *transfer, const char **why_p)
{
    const bool can_inject =
        way->endpoint->ordered && transfer->bytes <= pcoll_wire_ofi_endpoint(way->endpoint)->inject;

    return issue(way, request, transfer, false, can_inject ? FI_INJECT : must_arrive(way), why_p);
}

static enum pcoll_result put_joined(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                                    const struct pcoll_wire_transfer *data,
                                    const struct pcoll_wire_transfer *signal, const char **why_p)
{
    const struct pcoll_ofi_endpoint *e = pcoll_wire_ofi_endpoint(way->endpoint);
    const struct iovec iov[] = {{data->local, data->bytes}, {signal->local, signal->bytes}};
    const struct fi_rma_iov remote[] = {{data->remote, data->bytes, data->key},
                                        {signal->remote, signal->bytes, signal->key}};
    void *descs[] = {data->desc, signal->desc};
    const struct fi_msg_rma message = {
        .msg_iov = iov,
        .desc = descs,
        .iov_count = 2,
        .addr = way->peer,
        .rma_iov = remote,
        .rma_iov_count = 2,
        .context = request,
    };

    request->is_silent = data->bytes + signal->bytes <= e->inject;
    return judge(fi_writemsg(e->ep, &message, request->is_silent ? FI_INJECT : FI_COMPLETION),
                 why_p);
}

const struct pcoll_wire pcoll_wire_ofi = {
    .library = PCOLL_LIBFABRIC,
    .open = ofi_open,
    .close = ofi_close,
    .keep = ofi_keep,
    .close_kept = pcoll_ofi_close_kept,
    .describe = ofi_describe,
    .poll = ofi_poll,
    .poll_all = pcoll_ofi_poll_all,
    .write_name = write_name,
    .connect = connect_peer,
    .disconnect = disconnect_peer,
    .is_lost = never_lost,
    .map = map,
    .unmap = unmap,
    .write_key = write_key,
    .take_key = take_key,
    .drop_key = drop_key,
    .put = put,
    .get = get,
    .put_signal = put_signal,
    .put_joined = put_joined,
};
