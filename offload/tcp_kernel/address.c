/* Which address of this host the plans use; the contract is in state.h. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "offload/tcp_kernel/state.h"

enum { NAMES_BYTES = 120 };

static void set_address(struct tcp_address *to, const struct sockaddr *name)
{
    to->length =
        name->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    memcpy(&to->name, name, to->length);
}

/* "10.0.0.1", "fd00::1" */
static bool is_literal(const char *text, struct tcp_address *address_p)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        set_address(address_p, (struct sockaddr *)&v4);
    else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
        set_address(address_p, (struct sockaddr *)&v6);
    else
        return false;
    return true;
}

/* An address of link scope means nothing without its interface. */
static bool is_usable(const struct ifaddrs *at, int family)
{
    const struct sockaddr_in6 *v6 = (const void *)at->ifa_addr;

    if (at->ifa_addr == NULL || at->ifa_addr->sa_family != family || !(at->ifa_flags & IFF_UP))
        return false;
    return family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

/* The interface of the default route of IPv4, if there is one. */
static bool default_route(char name[IF_NAMESIZE])
{
    FILE *routes = fopen("/proc/net/route", "re");
    char line[256];
    unsigned long destination, mask;
    bool found = false;

    while (routes && !found && fgets(line, sizeof(line), routes))
        found = sscanf(line, "%15s %lx %*x %*x %*d %*d %*d %lx", name, &destination, &mask) == 3 &&
                destination == 0 && mask == 0;
    if (routes)
        fclose(routes);
    return found;
}

/* The first usable address, of IPv4 rather than IPv6: that of the interface, or of any that has
 * the flag IFF_LOOPBACK or lacks it. */
static bool find(const struct ifaddrs *list, const char *interface, unsigned loopback,
                 struct tcp_address *address_p)
{
    static const int families[] = {AF_INET, AF_INET6};

    for (int i = 0; i < 2; i++)
        for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
            bool fits = interface ? strcmp(at->ifa_name, interface) == 0
                                  : (at->ifa_flags & IFF_LOOPBACK) == loopback;

            if (fits && is_usable(at, families[i])) {
                set_address(address_p, at->ifa_addr);
                return true;
            }
        }
    return false;
}

static bool find_default(const struct pcoll_bootstrap *bootstrap, const struct ifaddrs *list,
                         struct tcp_address *address_p)
{
    const bool one_node = bootstrap->topology == NULL || bootstrap->topology->nnodes == 1;
    char name[IF_NAMESIZE];

    if (one_node)
        return find(list, NULL, IFF_LOOPBACK, address_p);
    return (default_route(name) && find(list, name, 0, address_p)) ||
           find(list, NULL, 0, address_p);
}

/* "lo, eth0": the interfaces with an address. */
static void list_names(const struct ifaddrs *list, char names[NAMES_BYTES])
{
    size_t at = 0;

    names[0] = '\0';
    for (; list && at < NAMES_BYTES; list = list->ifa_next)
        if (is_usable(list, AF_INET))
            at += (size_t)snprintf(names + at, NAMES_BYTES - at, "%s%s", at ? ", " : "",
                                   list->ifa_name);
}

enum pcoll_result pcoll_tcp_address(const struct pcoll_bootstrap *bootstrap, const char *interface,
                                    struct tcp_address *address_p)
{
    char names[NAMES_BYTES];
    struct ifaddrs *list;
    bool found;

    if (getifaddrs(&list) != 0) {
        pcoll_tcp_report(bootstrap, "this host's interfaces cannot be listed: %m");
        return PCOLL_UNSUPPORTED;
    }
    found = interface ? find(list, interface, 0, address_p) || is_literal(interface, address_p)
                      : find_default(bootstrap, list, address_p);
    list_names(list, names);
    freeifaddrs(list);
    if (found)
        return PCOLL_OK;
    pcoll_tcp_report(bootstrap, "this host has no interface or address '%.60s' (it has %s)",
                     interface ? interface : "to other hosts", names);
    return PCOLL_UNSUPPORTED;
}
