/* Peers, active messages, and longer transfers; why they are in order is said in ucx_rma.h. */
#include "offload/ucx_rma/wire.h"

#include <stdlib.h>
#include <string.h>

#include "offload/ucx_rma/state.h"

/* ---- peers --------------------------------------------------------------------------- */

static void write_name(const struct pcoll_wire_endpoint *base, void *name)
{
    const struct pcoll_ucx_endpoint *e = pcoll_ucx_endpoint_of(base);
    const uint32_t bytes = (uint32_t)e->address_bytes;

    memcpy(name, &bytes, sizeof(bytes));
    memcpy((char *)name + sizeof(bytes), e->address, e->address_bytes);
}

static void lose_peer(void *argument, ucp_ep_h ep, ucs_status_t status)
{
    struct pcoll_ucx_peer *peer = argument;

    (void)ep;
    (void)status;
    peer->is_lost = true;
}

static ucs_status_t find_foreign(const struct pcoll_ucx_endpoint *e, struct pcoll_ucx_peer *peer)
{
    int process;

    memcpy(&process, peer->address, sizeof(process));
    peer->ep = e->foreign->endpoint(process);
    return peer->ep != NULL ? UCS_OK : UCS_ERR_UNREACHABLE;
}

/* Transports of shared memory do not notice that a peer is gone. */
static ucs_status_t create(struct pcoll_ucx_endpoint *e, struct pcoll_ucx_peer *peer)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (const ucp_address_t *)peer->address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {lose_peer, peer},
    };
    ucs_status_t status = pcoll_ucx.ucp_ep_create(e->worker, &params, &peer->ep);

    if (status == UCS_OK)
        return status;
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    return pcoll_ucx.ucp_ep_create(e->worker, &params, &peer->ep);
}

/* Reach the peer with that address. */
static enum pcoll_result add_peer(struct pcoll_ucx_endpoint *e,
                                  const struct pcoll_bootstrap *bootstrap, const void *address,
                                  uint32_t bytes, struct pcoll_ucx_peer **peer_p)
{
    struct pcoll_ucx_peer *peer =
        pcoll_names_reserve(&e->names) == PCOLL_OK ? calloc(1, sizeof(*peer) + bytes) : NULL;
    ucs_status_t status;

    if (peer == NULL)
        return PCOLL_ERR_NOMEM;
    memcpy(peer->address, address, bytes);
    status = e->foreign != NULL ? find_foreign(e, peer) : create(e, peer);
    if (status != UCS_OK) {
        free(peer);
        return pcoll_ucx_complain(e, bootstrap, "cannot reach a peer", status);
    }
    peer->next = e->peers;
    e->peers = peer;
    pcoll_names_add(&e->names, peer->address, bytes, peer);
    *peer_p = peer;
    return PCOLL_OK;
}

static enum pcoll_result connect_peer(struct pcoll_wire_endpoint *base,
                                      const struct pcoll_bootstrap *bootstrap, const void *name,
                                      struct pcoll_wire_way *way)
{
    struct pcoll_ucx_endpoint *e = pcoll_ucx_endpoint_of(base);
    const void *address = (const char *)name + sizeof(uint32_t);
    struct pcoll_ucx_peer *peer;
    enum pcoll_result result = PCOLL_OK;
    uint32_t bytes;

    memcpy(&bytes, name, sizeof(bytes));
    peer = pcoll_names_find(&e->names, address, bytes);
    if (peer == NULL)
        result = add_peer(e, bootstrap, address, bytes, &peer);
    if (result != PCOLL_OK)
        return result;
    way->endpoint = base;
    way->peer = (uint64_t)(uintptr_t)peer;
    return PCOLL_OK;
}

static void disconnect_peer(struct pcoll_wire_way *way)
{
    while (way->early != NULL) {
        struct pcoll_wire_early *early = way->early;

        way->early = early->next;
        free(early);
    }
    way->endpoint = NULL;
}

static bool is_lost(const struct pcoll_wire_way *way)
{
    struct pcoll_ucx_peer *peer = pcoll_ucx_peer_of(way);

    return way->endpoint->foreign ? pcoll_ucx_foreign_is_lost(peer) : peer->is_lost;
}

/* ---- arrival ------------------------------------------------------------------------- */

/* Nothing that polls can see a signal before its data: the handler runs in a poll. */
static inline void deliver(const struct pcoll_ucx_header *header, size_t header_bytes,
                           const void *data, size_t bytes)
{
    memcpy((void *)(uintptr_t)header->to, data, bytes);
    if (header_bytes > PCOLL_UCX_PLAIN_BYTES)
        memcpy((void *)(uintptr_t)header->signal_to, header->signal, sizeof(header->signal));
}

static void keep(struct pcoll_wire_way *way, const struct pcoll_ucx_header *header,
                 size_t header_bytes, const void *data, size_t bytes)
{
    struct pcoll_wire_early *early = malloc(sizeof(*early) + bytes);

    if (early == NULL) {
        pcoll_ucx_peer_of(way)->is_lost = true; /* as the message is */
        return;
    }
    early->header = *header;
    early->header_bytes = header_bytes;
    early->bytes = bytes;
    memcpy(early->data, data, bytes);
    early->next = way->early;
    way->early = early;
}

static struct pcoll_wire_early **find_next(struct pcoll_wire_way *way)
{
    struct pcoll_wire_early **link = &way->early;

    while (*link != NULL && (*link)->header.number != way->received)
        link = &(*link)->next;
    return link;
}

static void take_early(struct pcoll_wire_way *way)
{
    struct pcoll_wire_early **link = find_next(way);

    while (*link != NULL) {
        struct pcoll_wire_early *early = *link;

        *link = early->next;
        deliver(&early->header, early->header_bytes, early->data, early->bytes);
        way->received++;
        free(early);
        link = find_next(way);
    }
}

ucs_status_t pcoll_ucx_receive(void *argument, const void *bytes_of_header, size_t header_bytes,
                               void *data, size_t bytes, const ucp_am_recv_param_t *param)
{
    struct pcoll_ucx_header header;
    struct pcoll_wire_way *way;

    (void)argument;
    (void)param;
    if (header_bytes != PCOLL_UCX_PLAIN_BYTES && header_bytes != sizeof(header))
        return UCS_OK;
    memcpy(&header, bytes_of_header, header_bytes);
    way = (struct pcoll_wire_way *)(uintptr_t)header.port;
    if (__builtin_expect(header.number != way->received, 0)) {
        keep(way, &header, header_bytes, data, bytes);
        return UCS_OK;
    }
    deliver(&header, header_bytes, data, bytes);
    way->received++;
    if (__builtin_expect(way->early != NULL, 0))
        take_early(way);
    return UCS_OK;
}

/* ---- transfers ----------------------------------------------------------------------- */

static void end(struct pcoll_ucx_request *request, ucs_status_t status)
{
    struct pcoll_ucx_endpoint *e = request->endpoint;

    request->error = status == UCS_OK ? NULL : pcoll_ucx.ucs_status_string(status);
    request->next = NULL;
    *e->done_end = request;
    e->done_end = &request->next;
}

static void on_end(void *handle, ucs_status_t status, void *request)
{
    pcoll_ucx.ucp_request_free(handle);
    end(request, status);
}

/* The flush that follows fails, too. */
static void on_put(void *handle, ucs_status_t status, void *nothing)
{
    (void)status;
    (void)nothing;
    pcoll_ucx.ucp_request_free(handle);
}

static enum pcoll_result fail(ucs_status_t status, const char **why_p)
{
    *why_p = pcoll_ucx.ucs_status_string(status);
    return PCOLL_ERR_SYSTEM;
}

static inline struct pcoll_ucx_request *begin(const struct pcoll_wire_way *way,
                                              struct pcoll_wire_request *base)
{
    struct pcoll_ucx_request *request = (struct pcoll_ucx_request *)(void *)base->own;

    request->endpoint = pcoll_ucx_endpoint_of(way->endpoint);
    base->is_silent = false;
    return request;
}

/* Judge what UCX returned: it completes the request if it has not kept it. */
static inline enum pcoll_result issued(struct pcoll_ucx_request *request, void *handle,
                                       const char **why_p)
{
    if (UCS_PTR_IS_ERR(handle))
        return fail(UCS_PTR_STATUS(handle), why_p);
    if (handle == NULL)
        end(request, UCS_OK);
    return PCOLL_OK;
}

/* Send the data behind so much of the request's header. Returns what UCX returns. */
static inline void *send_message(struct pcoll_wire_way *way, struct pcoll_ucx_request *request,
                                 size_t header_bytes, const struct pcoll_wire_transfer *t)
{
    const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = on_end,
        .user_data = request,
    };

    request->header.port = way->port;
    request->header.to = t->remote;
    request->header.number = way->sent++;
    return pcoll_ucx.ucp_am_send_nbx(pcoll_ucx_peer_of(way)->ep, PCOLL_UCX_AM, &request->header,
                                     header_bytes, t->local, t->bytes, &param);
}

static inline enum pcoll_result sent(struct pcoll_wire_request *base, void *handle,
                                     const char **why_p)
{
    base->is_silent = handle == NULL;
    return UCS_PTR_IS_ERR(handle) ? fail(UCS_PTR_STATUS(handle), why_p) : PCOLL_OK;
}

static enum pcoll_result put_signal(struct pcoll_wire_way *way, struct pcoll_wire_request *base,
                                    const struct pcoll_wire_transfer *t, const char **why_p)
{
    return sent(base, send_message(way, begin(way, base), PCOLL_UCX_PLAIN_BYTES, t), why_p);
}

static enum pcoll_result put_joined(struct pcoll_wire_way *way, struct pcoll_wire_request *base,
                                    const struct pcoll_wire_transfer *data,
                                    const struct pcoll_wire_transfer *signal, const char **why_p)
{
    struct pcoll_ucx_request *request = begin(way, base);

    request->header.signal_to = signal->remote;
    memcpy(request->header.signal, signal->local, sizeof(request->header.signal));
    return sent(base, send_message(way, request, sizeof(request->header), data), why_p);
}

static enum pcoll_result put_long(struct pcoll_wire_way *way, struct pcoll_ucx_request *request,
                                  const struct pcoll_wire_transfer *t, const char **why_p)
{
    const ucp_request_param_t put = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | (t->desc != NULL ? UCP_OP_ATTR_FIELD_MEMH : 0),
        .cb.send = on_put,
        .memh = t->desc,
    };
    const ucp_request_param_t flush = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_end,
        .user_data = request,
    };
    ucp_ep_h ep = pcoll_ucx_peer_of(way)->ep;
    void *handle = pcoll_ucx.ucp_put_nbx(ep, t->local, t->bytes, t->remote,
                                         (ucp_rkey_h)(uintptr_t)t->key, &put);

    if (UCS_PTR_IS_ERR(handle))
        return fail(UCS_PTR_STATUS(handle), why_p);
    return issued(request, pcoll_ucx.ucp_ep_flush_nbx(ep, &flush), why_p);
}

static enum pcoll_result put(struct pcoll_wire_way *way, struct pcoll_wire_request *base,
                             const struct pcoll_wire_transfer *t, const char **why_p)
{
    struct pcoll_ucx_request *request = begin(way, base);

    if (t->bytes > way->endpoint->ordered)
        return put_long(way, request, t, why_p);
    return issued(request, send_message(way, request, PCOLL_UCX_PLAIN_BYTES, t), why_p);
}

static enum pcoll_result get(struct pcoll_wire_way *way, struct pcoll_wire_request *base,
                             const struct pcoll_wire_transfer *t, const char **why_p)
{
    struct pcoll_ucx_request *request = begin(way, base);
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        (t->desc != NULL ? UCP_OP_ATTR_FIELD_MEMH : 0),
        .cb.send = on_end,
        .user_data = request,
        .memh = t->desc,
    };

    return issued(request,
                  pcoll_ucx.ucp_get_nbx(pcoll_ucx_peer_of(way)->ep, t->local, t->bytes, t->remote,
                                        (ucp_rkey_h)(uintptr_t)t->key, &param),
                  why_p);
}

const struct pcoll_wire pcoll_wire_ucx = {
    .library = PCOLL_UCX_LIBRARY,
    .open = pcoll_ucx_open,
    .close = pcoll_ucx_close,
    .keep = pcoll_ucx_keep,
    .close_kept = pcoll_ucx_close_kept,
    .describe = pcoll_ucx_describe,
    .poll = pcoll_ucx_poll,
    .poll_all = pcoll_ucx_poll_all,
    .write_name = write_name,
    .connect = connect_peer,
    .disconnect = disconnect_peer,
    .is_lost = is_lost,
    .map = pcoll_ucx_map,
    .unmap = pcoll_ucx_unmap,
    .write_key = pcoll_ucx_write_key,
    .take_key = pcoll_ucx_take_key,
    .drop_key = pcoll_ucx_drop_key,
    .put = put,
    .get = get,
    .put_signal = put_signal,
    .put_joined = put_joined,
};
