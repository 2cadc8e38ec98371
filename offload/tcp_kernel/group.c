/* Groups of the medium `tcp_kernel`. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "offload/agree.h"
#include "offload/interfaces.h"
#include "offload/tcp_kernel/state.h"

void pcoll_tcp_report(const struct pcoll_bootstrap *bootstrap, const char *format, ...)
{
    char what[300], text[320];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(text, sizeof(text), "tcp_kernel: %s", what);
    bootstrap->report(bootstrap->context, text);
}

static enum pcoll_result open_group(struct tcp_group *group)
{
    struct pcoll_interfaces interfaces;
    enum pcoll_result result = pcoll_interfaces(&group->bootstrap, &interfaces);

    if (result == PCOLL_OK)
        result = pcoll_tcp_address(&group->bootstrap, interfaces.names[0], &group->address);
    pcoll_interfaces_free(&interfaces);
    return result == PCOLL_OK ? pcoll_tcp_probe(&group->bootstrap) : result;
}

enum pcoll_result pcoll_tcp_group_create(const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_group **group_p)
{
    struct tcp_group *group = calloc(1, sizeof(*group));
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (group) {
        group->refs = 1;
        group->bootstrap = *bootstrap;
        result = open_group(group);
    }
    result = pcoll_agree(bootstrap, PCOLL_ROUND_NETWORK, result, NULL, 0);
    if (result == PCOLL_OK) {
        group->base.medium = &pcoll_medium_tcp_kernel;
        group->base.bootstrap = &group->bootstrap;
        *group_p = &group->base;
    } else if (group) {
        pcoll_tcp_group_release(group);
    }
    return result;
}

void pcoll_tcp_group_release(struct tcp_group *group)
{
    if (--group->refs == 0)
        free(group);
}

void pcoll_tcp_group_destroy(struct pcoll_group *base)
{
    pcoll_tcp_poll();
    if (base != NULL)
        pcoll_tcp_group_release(tcp_group_of(base));
}

unsigned pcoll_tcp_group_provides(const struct pcoll_group *group)
{
    (void)group;
    return PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA | PCOLL_NEED_ORDER;
}
