/* Opening an endpoint, and its services for the media; the contract is in ofi/endpoint.h. */
#include "offload/ofi/endpoint.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "offload/memory/process.h"

#define BATCH 16   /* completions read at once */
#define MAX_KEYS 8 /* in use, before a registration fails */

struct pcoll_ofi_peer {
    struct pcoll_ofi_peer *next;
    struct pcoll_ofi_name name;
    fi_addr_t address;
};

static struct pcoll_ofi_endpoint *all; /* all endpoints of this process */

static enum pcoll_result complain(const struct pcoll_ofi_endpoint *e,
                                  const struct pcoll_bootstrap *bootstrap, const char *what,
                                  long error)
{
    char text[300];

    snprintf(text, sizeof(text), "libfabric: %s (%s): %s: %s", e->info->fabric_attr->prov_name,
             e->info->domain_attr->name, what, fi_strerror((int)(error < 0 ? -error : error)));
    bootstrap->report(bootstrap->context, text);
    return PCOLL_ERR_SYSTEM;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static struct pcoll_ofi_endpoint *find(const struct pcoll_ofi_options *o)
{
    struct pcoll_ofi_endpoint *e = all;

    while (e != NULL &&
           !(is_same(e->options.provider, o->provider) &&
             is_same(e->options.interface, o->interface) && e->options.caps == o->caps &&
             e->options.progress == o->progress && e->options.event == o->event))
        e = e->next;
    return e;
}

static void close_fid(void *fid)
{
    if (fid != NULL)
        fi_close(fid);
}

static void forget_peers(struct pcoll_ofi_endpoint *e)
{
    pcoll_names_fini(&e->peers);
    while (e->all_peers != NULL) {
        struct pcoll_ofi_peer *peer = e->all_peers;

        e->all_peers = peer->next;
        free(peer);
    }
}

static void destroy(struct pcoll_ofi_endpoint *e)
{
    close_fid(e->ep);
    close_fid(e->cq);
    close_fid(e->av);
    close_fid(e->domain);
    close_fid(e->fabric);
    if (e->info != NULL)
        fi_freeinfo(e->info);
    free((char *)(uintptr_t)e->options.provider);
    free((char *)(uintptr_t)e->options.interface);
    forget_peers(e);
    free(e);
}

static int open_cq(struct pcoll_ofi_endpoint *e)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};

    return fi_cq_open(e->domain, &attr, &e->cq, NULL);
}

static int open_endpoint(struct pcoll_ofi_endpoint *e)
{
    int error = fi_endpoint(e->domain, e->info, &e->ep, NULL);

    if (error == 0)
        error = fi_ep_bind(e->ep, &e->av->fid, 0);
    if (error == 0)
        error = fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
    if (error == 0)
        error = fi_enable(e->ep);
    return error;
}

static int open_objects(struct pcoll_ofi_endpoint *e, const char **what_p)
{
    struct fi_av_attr av = {.type = e->info->domain_attr->av_type};
    int error;

    *what_p = "open the fabric";
    error = fi_fabric(e->info->fabric_attr, &e->fabric, NULL);
    if (error != 0)
        return error;
    *what_p = "open the domain";
    error = fi_domain(e->fabric, e->info, &e->domain, NULL);
    if (error != 0)
        return error;
    *what_p = "open an address vector";
    error = fi_av_open(e->domain, &av, &e->av, NULL);
    if (error != 0)
        return error;
    *what_p = "open a completion queue";
    error = open_cq(e);
    if (error != 0)
        return error;
    *what_p = "open an endpoint";
    return open_endpoint(e);
}

static int get_name(struct pcoll_ofi_endpoint *e)
{
    size_t bytes = sizeof(e->name.name);
    int error = fi_getname(&e->ep->fid, e->name.name, &bytes);

    e->name.format = e->info->addr_format;
    e->name.bytes = (uint32_t)bytes;
    return error;
}

/* Providers over TCP deliver a message through a byte stream. A write to several places is their
 * addresses, then all of the bytes, which the target reads from the stream into one place after
 * another. (tcp: tcpx_op_write, later xnet_op_write, give the places to one readv; ofi_rxm passes
 * such a write on; sockets: sock_pe_process_rx_write.) */
static bool is_stream(const char *provider)
{
    return strncmp(provider, "tcp", 3) == 0 || strncmp(provider, "net", 3) == 0 ||
           strncmp(provider, "sockets", 7) == 0;
}

static void read_promises(struct pcoll_ofi_endpoint *e)
{
    const struct fi_tx_attr *tx = e->info->tx_attr;

    e->ordered = (tx->msg_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW)) != 0 &&
                 e->info->ep_attr->max_order_waw_size >= e->info->ep_attr->max_msg_size;
    e->stream = is_stream(e->info->fabric_attr->prov_name);
    e->joins = e->stream && tx->iov_limit >= 2 && tx->rma_iov_limit >= 2;
    e->inject = tx->inject_size;
}

static enum pcoll_result set_up(struct pcoll_ofi_endpoint *e,
                                const struct pcoll_bootstrap *bootstrap)
{
    const struct pcoll_ofi_options *o = &e->options;
    enum pcoll_result result;
    const char *what;
    int error;

    result = pcoll_ofi_select(o, bootstrap, &e->info);
    if (result != PCOLL_OK)
        return result;
    error = open_objects(e, &what);
    if (error != 0)
        return complain(e, bootstrap, what, error);
    error = get_name(e);
    if (error != 0)
        return complain(e, bootstrap, "get the endpoint's address", error);
    read_promises(e);
    return PCOLL_OK;
}

static char *copy_text(const char *text, int *failed)
{
    char *copy = text ? strdup(text) : NULL;

    *failed |= text != NULL && copy == NULL;
    return copy;
}

enum pcoll_result pcoll_ofi_open(const struct pcoll_ofi_options *options,
                                 const struct pcoll_bootstrap *bootstrap,
                                 struct pcoll_ofi_endpoint **endpoint_p)
{
    struct pcoll_ofi_endpoint *e = find(options);
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    int failed = 0;

    if (e != NULL) {
        e->refs++;
        *endpoint_p = e;
        return PCOLL_OK;
    }
    e = calloc(1, sizeof(*e));
    if (e == NULL)
        return PCOLL_ERR_NOMEM;
    if (options->provider == NULL || strncmp(options->provider, "sockets", 7) == 0)
        setenv("FI_SOCKETS_PE_WAITTIME", "0", 0); /* there is no other way to tell the provider */
    e->options = *options;
    e->options.provider = copy_text(options->provider, &failed);
    e->options.interface = copy_text(options->interface, &failed);
    if (!failed)
        result = set_up(e, bootstrap);
    if (result != PCOLL_OK) {
        destroy(e);
        return result;
    }
    e->refs = 1;
    e->next = all;
    all = e;
    *endpoint_p = e;
    return PCOLL_OK;
}

void pcoll_ofi_close(struct pcoll_ofi_endpoint *e)
{
    struct pcoll_ofi_endpoint **link = &all;

    if (e == NULL || --e->refs > 0)
        return;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    destroy(e);
}

void pcoll_ofi_stop(struct pcoll_ofi_endpoint *e)
{
    close_fid(e->ep);
    e->ep = NULL;
}

void pcoll_ofi_keep(struct pcoll_ofi_endpoint *e)
{
    e->refs += !e->kept;
    e->kept = true;
}

void pcoll_ofi_close_kept(void)
{
    struct pcoll_ofi_endpoint *next;

    for (struct pcoll_ofi_endpoint *e = all; e != NULL; e = next) {
        bool kept = e->kept;

        next = e->next;
        e->kept = false;
        if (kept)
            pcoll_ofi_close(e);
    }
}

enum pcoll_result pcoll_ofi_peer(struct pcoll_ofi_endpoint *e,
                                 const struct pcoll_bootstrap *bootstrap,
                                 const struct pcoll_ofi_name *name, fi_addr_t *peer_p)
{
    struct pcoll_ofi_peer *peer = pcoll_names_find(&e->peers, name->name, name->bytes);
    int inserted;

    if (peer != NULL) {
        *peer_p = peer->address;
        return PCOLL_OK;
    }
    if (name->format != e->name.format)
        return complain(e, bootstrap, "a peer's address is of another kind", FI_EADDRNOTAVAIL);
    peer = pcoll_names_reserve(&e->peers) == PCOLL_OK ? malloc(sizeof(*peer)) : NULL;
    if (peer == NULL)
        return PCOLL_ERR_NOMEM;
    inserted = fi_av_insert(e->av, name->name, 1, peer_p, 0, NULL);
    if (inserted != 1) {
        free(peer);
        return complain(e, bootstrap, "insert a peer's address", inserted ? inserted : FI_EINVAL);
    }
    *peer = (struct pcoll_ofi_peer){e->all_peers, *name, *peer_p};
    e->all_peers = peer;
    pcoll_names_add(&e->peers, peer->name.name, peer->name.bytes, peer);
    return PCOLL_OK;
}

/* Some regions must be bound to the endpoint or to a counter before they can be used. */
static int enable(const struct pcoll_ofi_endpoint *e, struct fid_cntr *counter, struct fid_mr *mr)
{
    int mode = e->info->domain_attr->mr_mode, error = 0;

    if (mode & FI_MR_ENDPOINT)
        error = fi_mr_bind(mr, &e->ep->fid, 0);
    if (error == 0 && counter != NULL)
        error = fi_mr_bind(mr, &counter->fid, FI_REMOTE_WRITE);
    if (error == 0 && (mode & FI_MR_ENDPOINT || (mode & FI_MR_RMA_EVENT && counter != NULL)))
        error = fi_mr_enable(mr);
    return error;
}

/* Whoever reaches the endpoint needs the key of a region to access it, so nobody must guess it. A
 * provider that makes keys itself ignores this one; of short keys some can be in use. */
static uint64_t make_key(const struct pcoll_ofi_endpoint *e)
{
    const size_t bytes = e->info->domain_attr->mr_key_size;
    struct pcoll_process_id random;
    uint64_t key;

    pcoll_process_random(&random);
    memcpy(&key, &random, sizeof(key));
    return bytes < sizeof(key) ? key & ((UINT64_C(1) << 8 * bytes) - 1) : key;
}

enum pcoll_result pcoll_ofi_register(struct pcoll_ofi_endpoint *e,
                                     const struct pcoll_bootstrap *bootstrap, const char *what,
                                     void *address, size_t bytes, struct fid_cntr *counter,
                                     struct pcoll_ofi_region *region)
{
    uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    struct fid_mr *mr = NULL;
    char text[120];
    int error, attempts = 0;

    do
        error = fi_mr_reg(e->domain, address, bytes, access, 0, make_key(e),
                          counter ? FI_RMA_EVENT : 0, &mr, NULL);
    while (error == -FI_ENOKEY && ++attempts < MAX_KEYS);
    if (error == 0)
        error = enable(e, counter, mr);
    if (error != 0) {
        close_fid(mr);
        snprintf(text, sizeof(text), "cannot register %zu bytes of %s", bytes, what);
        return complain(e, bootstrap, text, error);
    }
    region->mr = mr;
    region->desc = fi_mr_desc(mr);
    region->key = fi_mr_key(mr);
    region->base = 0;
    if (e->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        region->base = (uint64_t)(uintptr_t)address;
    return PCOLL_OK;
}

void pcoll_ofi_unregister(struct pcoll_ofi_region *region)
{
    close_fid(region->mr);
    *region = (struct pcoll_ofi_region){0};
}

static void report_error(struct pcoll_ofi_endpoint *e)
{
    struct fi_cq_err_entry entry = {0};
    char detail[120] = "", text[200];
    const char *of_provider;

    if (fi_cq_readerr(e->cq, &entry, 0) != 1)
        return;
    of_provider = fi_cq_strerror(e->cq, entry.prov_errno, entry.err_data, detail, sizeof(detail));
    snprintf(text, sizeof(text), "%s (%s)", fi_strerror(entry.err), of_provider ? of_provider : "");
    e->options.event(entry.op_context, text);
}

int pcoll_ofi_poll(struct pcoll_ofi_endpoint *e)
{
    struct fi_cq_entry entries[BATCH];
    ssize_t n = fi_cq_read(e->cq, entries, BATCH);

    if (__builtin_expect(n == -FI_EAGAIN, 1))
        return 0;
    if (n < 0) {
        report_error(e);
        return 1;
    }
    for (ssize_t i = 0; i < n; i++)
        e->options.event(entries[i].op_context, NULL);
    return (int)n;
}

void pcoll_ofi_poll_all(void)
{
    for (struct pcoll_ofi_endpoint *e = all; e != NULL; e = e->next)
        pcoll_ofi_poll(e);
}
