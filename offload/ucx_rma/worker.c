/* Endpoints: a context and a worker of UCX for each network device; progress and events. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/ucx_rma/state.h"

#define CLOSING_POLLS 100000 /* until a peer that does not answer is given up */

static struct pcoll_ucx_endpoint *all; /* all endpoints of this process */

void pcoll_ucx_describe(const struct pcoll_wire_endpoint *base, char *text, size_t room)
{
    const struct pcoll_ucx_endpoint *e = pcoll_ucx_endpoint_of(base);

    if (e->foreign != NULL)
        snprintf(text, room, "%s's endpoints", e->foreign->owner);
    else
        snprintf(text, room, "%s", e->device[0] != '\0' ? e->device : "any device");
}

enum pcoll_result pcoll_ucx_complain(const struct pcoll_ucx_endpoint *e,
                                     const struct pcoll_bootstrap *bootstrap, const char *what,
                                     ucs_status_t status)
{
    char text[300], name[80];

    pcoll_ucx_describe(&e->base, name, sizeof(name));
    snprintf(text, sizeof(text), "UCX: %s: %s: %s", name, what,
             pcoll_ucx.ucs_status_string(status));
    bootstrap->report(bootstrap->context, text);
    return PCOLL_ERR_SYSTEM;
}

/* ---- devices ------------------------------------------------------------------------- */

static bool is_address_of(const struct ifaddrs *a, const char *address)
{
    const int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;
    const socklen_t bytes =
        family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    char text[NI_MAXHOST];

    return (family == AF_INET || family == AF_INET6) &&
           getnameinfo(a->ifa_addr, bytes, text, sizeof(text), NULL, 0, NI_NUMERICHOST) == 0 &&
           strcmp(text, address) == 0;
}

/* All of 127.0.0.0/8 is the loopback interface. */
static bool is_loopback(const struct ifaddrs *a, const char *address)
{
    struct in_addr in;

    return strcmp(a->ifa_name, "lo") == 0 && inet_pton(AF_INET, address, &in) == 1 &&
           ntohl(in.s_addr) >> 24 == 127;
}

/* The device that the name, or the address, of an interface means. */
static bool find_device(const char *interface, char *device, size_t room)
{
    struct ifaddrs *list = NULL;
    char path[120];
    bool found = false;

    if (strchr(interface, '/') != NULL || getifaddrs(&list) != 0)
        return false;
    for (struct ifaddrs *a = list; a != NULL && !found; a = a->ifa_next) {
        found = strcmp(a->ifa_name, interface) == 0 || is_address_of(a, interface) ||
                is_loopback(a, interface);
        if (found)
            snprintf(device, room, "%s", a->ifa_name);
    }
    freeifaddrs(list);
    if (found)
        return true;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s", (int)strcspn(interface, ":"),
             interface);
    snprintf(device, room, "%s%s", interface, strchr(interface, ':') ? "" : ":1");
    return access(path, F_OK) == 0;
}

/* ---- opening ------------------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static ucs_status_t open_context(struct pcoll_ucx_endpoint *e)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_RMA | UCP_FEATURE_AM,
        .name = "pcoll",
    };
    ucp_config_t *config;
    ucs_status_t status;

    pcoll_ucx_set_environment();
    status = pcoll_ucx.ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return status;
    if (e->device[0] != '\0')
        status = pcoll_ucx.ucp_config_modify(config, "NET_DEVICES", e->device);
    if (status == UCS_OK)
        status =
            pcoll_ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &e->context);
    pcoll_ucx.ucp_config_release(config);
    return status;
}

ucs_status_t pcoll_ucx_listen(struct pcoll_ucx_endpoint *e)
{
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id = PCOLL_UCX_AM,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = pcoll_ucx_receive,
    };

    return pcoll_ucx.ucp_worker_set_am_recv_handler(e->worker, &handler);
}

static ucs_status_t open_worker(struct pcoll_ucx_endpoint *e)
{
    const ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucs_status_t status = pcoll_ucx.ucp_worker_create(e->context, &params, &e->worker);

    if (status == UCS_OK)
        status = pcoll_ucx_listen(e);
    if (status == UCS_OK)
        status = pcoll_ucx.ucp_worker_get_address(e->worker, &e->address, &e->address_bytes);
    return status;
}

static void run_down(struct pcoll_ucx_endpoint *e, void *closing)
{
    int polls = 0;

    if (closing == NULL || UCS_PTR_IS_ERR(closing))
        return;
    while (pcoll_ucx.ucp_request_check_status(closing) == UCS_INPROGRESS && polls++ < CLOSING_POLLS)
        pcoll_ucx.ucp_worker_progress(e->worker);
    pcoll_ucx.ucp_request_free(closing);
}

/* What this process has sent last may still be here: closing an endpoint flushes it. */
static void close_peers(struct pcoll_ucx_endpoint *e)
{
    const bool is_own = e->foreign == NULL;
    const ucp_request_param_t gently = {0};
    const ucp_request_param_t at_once = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                         .flags = UCP_EP_CLOSE_FLAG_FORCE};

    while (e->peers != NULL) {
        struct pcoll_ucx_peer *peer = e->peers;

        if (is_own)
            run_down(e, pcoll_ucx.ucp_ep_close_nbx(peer->ep, peer->is_lost ? &at_once : &gently));
        e->peers = peer->next;
        if (!peer->is_asking)
            free(peer);
    }
}

static void close_worker(struct pcoll_ucx_endpoint *e)
{
    if (e->address != NULL)
        pcoll_ucx.ucp_worker_release_address(e->worker, e->address);
    if (e->worker != NULL)
        pcoll_ucx.ucp_worker_destroy(e->worker);
    if (e->context != NULL)
        pcoll_ucx.ucp_cleanup(e->context);
}

/* The owner of a foreign worker may have closed it. */
static void destroy(struct pcoll_ucx_endpoint *e)
{
    if (e->is_stuck)
        return;
    close_peers(e);
    if (e->foreign == NULL)
        close_worker(e);
    pcoll_names_fini(&e->names);
    free(e->interface);
    free(e);
}

static bool has_rdma(void)
{
    return access("/sys/class/infiniband", F_OK) == 0;
}

static enum pcoll_result choose_device(struct pcoll_ucx_endpoint *e, const char *interface,
                                       const struct pcoll_bootstrap *bootstrap)
{
    char text[120];

    e->interface = strdup(interface);
    if (e->interface == NULL)
        return PCOLL_ERR_NOMEM;
    if (find_device(interface, e->device, sizeof(e->device)))
        return PCOLL_OK;
    snprintf(text, sizeof(text), "UCX: no network device '%.80s'", interface);
    bootstrap->report(bootstrap->context, text);
    return PCOLL_ERR_INVALID;
}

static enum pcoll_result open_own(struct pcoll_ucx_endpoint *e,
                                  const struct pcoll_bootstrap *bootstrap)
{
    const char *transports = getenv("UCX_TLS");
    ucs_status_t status = open_context(e);
    char text[120];

    if (status != UCS_OK) {
        snprintf(text, sizeof(text), "cannot open a context%s%.60s",
                 transports ? " with UCX_TLS=" : "", transports ? transports : "");
        return pcoll_ucx_complain(e, bootstrap, text, status);
    }
    status = open_worker(e);
    if (status != UCS_OK)
        return pcoll_ucx_complain(e, bootstrap, "cannot open a worker", status);
    return PCOLL_OK;
}

static enum pcoll_result describe_self(struct pcoll_ucx_endpoint *e,
                                       const struct pcoll_bootstrap *bootstrap)
{
    const bool puts = has_rdma(); /* otherwise messages carry all data that is not got */
    const size_t message = puts ? PCOLL_UCX_MESSAGE_RDMA : PCOLL_UCX_MESSAGE_TCP;

    e->base = (struct pcoll_wire_endpoint){
        .wire = &pcoll_wire_ucx,
        .foreign = e->foreign != NULL,
        .ordered = message,
        .stream = 1,
        .max_put = puts ? SIZE_MAX : message,
        .max_get = SIZE_MAX,
        .keyless = puts ? message : SIZE_MAX,
        .joined = message,
        .name_bytes = sizeof(uint32_t) + e->address_bytes,
    };
    return pcoll_ucx_measure_key(e, bootstrap);
}

static enum pcoll_result set_up(struct pcoll_ucx_endpoint *e,
                                const struct pcoll_wire_options *options,
                                const struct pcoll_bootstrap *bootstrap)
{
    enum pcoll_result result = PCOLL_OK;

    e->event = options->event;
    e->done_end = &e->done;
    if (options->interface != NULL)
        result = choose_device(e, options->interface, bootstrap);
    if (result == PCOLL_OK)
        result =
            e->foreign != NULL ? pcoll_ucx_enter_foreign(e, bootstrap) : open_own(e, bootstrap);
    if (result == PCOLL_OK)
        result = describe_self(e, bootstrap);
    if (result == PCOLL_OK && e->foreign != NULL)
        result = pcoll_ucx_try_foreign(e, bootstrap);
    return result;
}

/* The endpoint of that interface, on the foreign worker if there is one, otherwise on its own. */
static enum pcoll_result find_or_make(const struct pcoll_wire_options *options,
                                      const struct pcoll_ucx_foreign *foreign,
                                      const struct pcoll_bootstrap *bootstrap,
                                      struct pcoll_ucx_endpoint **e_p)
{
    const unsigned session = foreign != NULL ? foreign->session : 0;
    struct pcoll_ucx_endpoint *e = all;
    enum pcoll_result result;

    while (e != NULL && !(e->foreign == foreign && e->session == session &&
                          is_same(e->interface, options->interface)))
        e = e->next;
    *e_p = e;
    if (e != NULL)
        return PCOLL_OK;
    e = calloc(1, sizeof(*e));
    if (e == NULL)
        return PCOLL_ERR_NOMEM;
    e->foreign = foreign;
    e->session = session;
    result = set_up(e, options, bootstrap);
    if (result != PCOLL_OK) {
        destroy(e);
        return result;
    }
    e->next = all;
    *e_p = all = e;
    return PCOLL_OK;
}

enum pcoll_result pcoll_ucx_open(const struct pcoll_wire_options *options,
                                 const struct pcoll_bootstrap *bootstrap,
                                 struct pcoll_wire_endpoint **endpoint_p)
{
    const struct pcoll_ucx_foreign *foreign = pcoll_ucx_foreign_of(options, bootstrap);
    struct pcoll_ucx_endpoint *e;
    enum pcoll_result result = pcoll_ucx_load(bootstrap), on_foreign = PCOLL_UNSUPPORTED;

    if (result != PCOLL_OK)
        return result;
    if (foreign != NULL)
        on_foreign = find_or_make(options, foreign, bootstrap, &e);
    if (on_foreign != PCOLL_OK)
        result = find_or_make(options, NULL, bootstrap, &e);
    if (result != PCOLL_OK)
        return result;
    e->refs++;
    *endpoint_p = &e->base;
    return PCOLL_OK;
}

void pcoll_ucx_close(struct pcoll_wire_endpoint *base)
{
    struct pcoll_ucx_endpoint *e = pcoll_ucx_endpoint_of(base), **link = &all;

    if (--e->refs > 0)
        return;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    destroy(e);
}

void pcoll_ucx_keep(struct pcoll_wire_endpoint *base)
{
    struct pcoll_ucx_endpoint *e = pcoll_ucx_endpoint_of(base);

    e->refs += !e->kept;
    e->kept = true;
}

void pcoll_ucx_close_kept(void)
{
    struct pcoll_ucx_endpoint *next;

    for (struct pcoll_ucx_endpoint *e = all; e != NULL; e = next) {
        const bool kept = e->kept;

        next = e->next;
        e->kept = false;
        if (kept)
            pcoll_ucx_close(&e->base);
    }
}

/* ---- progress ------------------------------------------------------------------------ */

static void tell_events(struct pcoll_ucx_endpoint *e)
{
    while (e->done != NULL) {
        struct pcoll_ucx_request *request = e->done;

        e->done = request->next;
        if (e->done == NULL)
            e->done_end = &e->done;
        e->event(pcoll_container_of(request, struct pcoll_wire_request, own), request->error);
    }
}

/* For all functions but poll, the owner of a foreign worker drives it: they may run in its
 * callbacks, where that is forbidden. */
void pcoll_ucx_poll(struct pcoll_wire_endpoint *base)
{
    struct pcoll_ucx_endpoint *e = pcoll_ucx_endpoint_of(base);

    pcoll_ucx.ucp_worker_progress(e->worker);
    tell_events(e);
}

void pcoll_ucx_poll_all(void)
{
    for (struct pcoll_ucx_endpoint *e = all; e != NULL; e = e->next)
        if (e->foreign != NULL)
            tell_events(e);
        else
            pcoll_ucx_poll(&e->base);
}
