/* The contract is in interfaces.h. */
#include "offload/interfaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report_list(const struct pcoll_bootstrap *bootstrap, const char *format,
                        const char *name)
{
    char what[150], text[400];

    snprintf(what, sizeof(what), format, name);
    snprintf(text, sizeof(text), "interfaces '%.200s': %s", bootstrap->interface, what);
    bootstrap->report(bootstrap->context, text);
}

/* Add the name, or report why not. */
static void add_name(struct pcoll_interfaces *list, const struct pcoll_bootstrap *bootstrap,
                     const char *name)
{
    int i = 0;

    while (i < list->n && strcmp(list->names[i], name) != 0)
        i++;
    if (*name == '\0')
        report_list(bootstrap, "an empty name%s is left out", name);
    else if (i < list->n)
        report_list(bootstrap, "'%.80s' is repeated; it is used once", name);
    else if (list->n == PCOLL_MAX_RAILS)
        report_list(bootstrap, "'%.80s' exceeds 8 names; the first 8 are used", name);
    else
        list->names[list->n++] = name;
}

enum pcoll_result pcoll_interfaces(const struct pcoll_bootstrap *bootstrap,
                                   struct pcoll_interfaces *list)
{
    char *rest, *name;

    *list = (struct pcoll_interfaces){.n = 1};
    if (bootstrap->interface == NULL)
        return PCOLL_OK;
    list->text = rest = strdup(bootstrap->interface);
    if (rest == NULL)
        return PCOLL_ERR_NOMEM;
    list->n = 0;
    while ((name = strsep(&rest, ",")) != NULL)
        add_name(list, bootstrap, name);
    if (list->n == 0)
        report_list(bootstrap, "no name is left%s; the provider chooses", "");
    list->n += list->n == 0;
    return PCOLL_OK;
}

void pcoll_interfaces_free(struct pcoll_interfaces *list)
{
    free(list->text);
    *list = (struct pcoll_interfaces){0};
}
