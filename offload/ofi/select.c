/* Selection of provider and interface: turns the caller's options into a fi_info, or into a
 * message. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/ofi/endpoint.h"

/* One query to libfabric. */
struct question {
    const struct pcoll_ofi_options *options;
    uint64_t caps, order;
    const char *domain, *address; /* or NULL */
};

static struct fi_info *make_hints(const struct question *q)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL)
        return NULL;
    hints->caps = q->caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT | FI_MR_RMA_EVENT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = q->options->progress;
    hints->domain_attr->control_progress = q->options->progress;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = q->order;
    hints->rx_attr->msg_order = q->order;
    if (q->options->provider != NULL)
        hints->fabric_attr->prov_name = strdup(q->options->provider);
    if (q->domain != NULL)
        hints->domain_attr->name = strdup(q->domain);
    return hints;
}

/* Not every provider honors the name of a domain. */
static struct fi_info *keep_domain(struct fi_info *info, const char *domain)
{
    struct fi_info **link = &info;

    while (domain != NULL && *link != NULL) {
        struct fi_info *one = *link;

        if (strcmp(one->domain_attr->name, domain) == 0) {
            link = &one->next;
        } else {
            *link = one->next;
            one->next = NULL;
            fi_freeinfo(one);
        }
    }
    return info;
}

static struct fi_info *ask(const struct question *q)
{
    struct fi_info *hints = make_hints(q), *info = NULL;
    uint64_t flags = q->address ? FI_SOURCE : 0;

    if (hints == NULL || fi_getinfo(PCOLL_OFI_VERSION, q->address, NULL, flags, hints, &info) != 0)
        info = NULL;
    fi_freeinfo(hints);
    return keep_domain(info, q->domain);
}

/* Query with ordered writes if they are available. */
static struct fi_info *ask_ordered(struct question q)
{
    struct fi_info *info;

    q.order = FI_ORDER_WAW | FI_ORDER_RMA_WAW;
    info = ask(&q);
    if (info == NULL) {
        q.order = FI_ORDER_WAW;
        info = ask(&q);
    }
    if (info == NULL) {
        q.order = FI_ORDER_NONE;
        info = ask(&q);
    }
    return info;
}

/* The numeric address of a network interface; IPv4 if it has one. */
static bool address_of(const char *interface, char *text, socklen_t room)
{
    struct ifaddrs *all = NULL;
    int found = 0;

    if (getifaddrs(&all) != 0)
        return false;
    for (struct ifaddrs *a = all; a && found != AF_INET; a = a->ifa_next) {
        int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;
        socklen_t bytes =
            family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

        if (strcmp(a->ifa_name, interface) == 0 && (family == AF_INET || family == AF_INET6) &&
            getnameinfo(a->ifa_addr, bytes, text, room, NULL, 0, NI_NUMERICHOST) == 0)
            found = family;
    }
    freeifaddrs(all);
    return found != 0;
}

static struct fi_info *ask_interface(struct question q)
{
    char text[NI_MAXHOST];
    struct fi_info *info;

    if (q.options->interface == NULL)
        return ask_ordered(q);
    q.domain = q.options->interface;
    info = ask_ordered(q);
    if (info != NULL)
        return info;
    q.domain = NULL;
    q.address = address_of(q.options->interface, text, sizeof(text)) ? text : q.options->interface;
    return ask_ordered(q);
}

/* Returns whether the provider exists with these caps, whatever the interface and the other
 * options. */
static bool exists(const struct pcoll_ofi_options *options, uint64_t caps)
{
    struct pcoll_ofi_options only = {.provider = options->provider};
    struct question q = {.options = &only, .caps = caps};
    struct fi_info *hints = make_hints(&q), *info = NULL;
    bool found;

    if (hints == NULL)
        return false;
    if (caps == 0)
        hints->ep_attr->type = FI_EP_UNSPEC;
    found = fi_getinfo(PCOLL_OFI_VERSION, NULL, NULL, 0, hints, &info) == 0;
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return found;
}

bool pcoll_ofi_has(const char *provider)
{
    const struct pcoll_ofi_options options = {.provider = provider};

    return exists(&options, FI_RMA);
}

/* "tcp;ofi_rxm, sockets": all providers with RMA. */
static void list_providers(char *text, size_t room)
{
    struct pcoll_ofi_options any = {.progress = FI_PROGRESS_UNSPEC};
    struct question q = {.options = &any, .caps = FI_RMA};
    struct fi_info *all = ask(&q);
    size_t used = 0;

    text[0] = '\0';
    for (struct fi_info *i = all; i != NULL; i = i->next) {
        const char *name = i->fabric_attr->prov_name;

        if (strstr(text, name) == NULL && used + strlen(name) + 3 < room)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", name);
    }
    if (used == 0)
        snprintf(text, room, "none");
    fi_freeinfo(all);
}

/* Report which of the options cannot be satisfied. */
static void explain(const struct pcoll_ofi_options *options,
                    const struct pcoll_bootstrap *bootstrap)
{
    const char *name = options->provider, *wanted = getenv("FI_PROVIDER");
    char text[400], others[200];

    list_providers(others, sizeof(others));
    if (name == NULL)
        snprintf(text, sizeof(text), "libfabric: no provider has what is needed (with RMA: %s)%s%s",
                 others, wanted ? "; FI_PROVIDER is " : "", wanted ? wanted : "");
    else if (!exists(options, 0))
        snprintf(text, sizeof(text), "libfabric: no provider '%s'%s%s; with RMA there are: %s",
                 name, wanted ? " with FI_PROVIDER=" : "", wanted ? wanted : "", others);
    else if (!exists(options, FI_RMA))
        snprintf(text, sizeof(text),
                 "libfabric: provider '%s' has no reliable datagrams with RMA; these have: %s",
                 name, others);
    else if (options->interface != NULL)
        snprintf(text, sizeof(text), "libfabric: provider '%s' cannot use interface '%s'", name,
                 options->interface);
    else
        snprintf(text, sizeof(text), "libfabric: provider '%s' lacks %s", name,
                 fi_tostr(&options->caps, FI_TYPE_CAPS));
    bootstrap->report(bootstrap->context, text);
}

enum pcoll_result pcoll_ofi_select(const struct pcoll_ofi_options *options,
                                   const struct pcoll_bootstrap *bootstrap, struct fi_info **info_p)
{
    struct pcoll_ofi_options hints = *options;
    struct question q = {.options = &hints, .caps = FI_RMA | options->caps};
    struct fi_info *info = NULL;

    if (hints.progress == FI_PROGRESS_UNSPEC)
        hints.progress = FI_PROGRESS_MANUAL;
    if (hints.provider == NULL) {
        q.caps |= FI_REMOTE_COMM; /* excludes providers that work only within the node */
        info = ask_interface(q);
        q.caps &= ~FI_REMOTE_COMM;
    }
    if (info == NULL)
        info = ask_interface(q);
    if (info == NULL) {
        hints.progress = options->progress;
        info = ask_interface(q);
    }
    if (info == NULL) {
        explain(options, bootstrap);
        return PCOLL_ERR_INVALID;
    }
    *info_p = info;
    return PCOLL_OK;
}
