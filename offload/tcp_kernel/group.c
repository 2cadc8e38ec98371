/* Groups of the medium `tcp_kernel`. */
#include <stdarg.h>
#include <stdio.h>

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

static enum pcoll_result open_here(struct pcoll_autonomous_group *base, const char *interface)
{
    const enum pcoll_result result =
        pcoll_tcp_address(&base->bootstrap, interface, &tcp_group_of(&base->base)->address);

    return result == PCOLL_OK ? pcoll_tcp_probe(&base->bootstrap) : result;
}

static void close_nothing(struct pcoll_autonomous_group *base)
{
    (void)base;
}

enum pcoll_result pcoll_tcp_group_create(const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_group **group_p)
{
    static const struct pcoll_autonomous kind = {
        .medium = &pcoll_medium_tcp_kernel,
        .group_bytes = sizeof(struct tcp_group),
        .open = open_here,
        .close = close_nothing,
    };

    return pcoll_autonomous_group_create(&kind, bootstrap, group_p);
}

unsigned pcoll_tcp_group_provides(const struct pcoll_group *group)
{
    (void)group;
    return PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA | PCOLL_NEED_ORDER;
}
