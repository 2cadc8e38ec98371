/* The table of all media. No other file knows which media exist. */
#include "offload/media.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "offload/shm/shm.h"
#ifdef PCOLL_HAVE_LIBFABRIC
#include "offload/ofi_rma/ofi_rma.h"
#include "offload/ofi_trigger/ofi_trigger.h"
#endif
#ifdef PCOLL_HAVE_LIBURING
#include "offload/tcp_kernel/tcp_kernel.h"
#endif
#ifdef PCOLL_HAVE_UCX
#include "offload/ucx_rma/ucx_rma.h"
#endif

const struct pcoll_medium *const pcoll_media[] = {
#ifdef PCOLL_HAVE_LIBURING
    &pcoll_medium_tcp_kernel,
#endif
#ifdef PCOLL_HAVE_LIBFABRIC
    &pcoll_medium_ofi_trigger, &pcoll_medium_ofi_rma,
#endif
#ifdef PCOLL_HAVE_UCX
    &pcoll_medium_ucx_rma,
#endif
    &pcoll_medium_shm,
};

enum { NMEDIA = sizeof(pcoll_media) / sizeof(pcoll_media[0]) };

const int pcoll_nmedia = NMEDIA;

int pcoll_media_find(const char *name)
{
    for (int i = 0; i < NMEDIA; i++)
        if (strcmp(pcoll_media[i]->name, name) == 0)
            return i;
    return PCOLL_NONE;
}

const struct pcoll_wire *pcoll_media_wire(const struct pcoll_medium *medium)
{
    const struct pcoll_wire *wire = medium->wire;

    for (int i = 0; i < NMEDIA && wire == NULL && medium->library != NULL; i++)
        if (pcoll_media[i]->library != NULL &&
            strcmp(pcoll_media[i]->library, medium->library) == 0)
            wire = pcoll_media[i]->wire;
    return wire;
}

int pcoll_media_auto(bool one_node, const char *provider)
{
    for (int i = 0; i < NMEDIA; i++)
        if (pcoll_media[i]->suits(one_node, provider))
            return i;
    return PCOLL_NONE;
}

bool pcoll_media_reaches(const struct pcoll_medium *medium, bool one_node)
{
    return one_node || (medium->traits & PCOLL_SPANS_NODES) != 0;
}

/* A library that MPI does not use is used only by a medium that the user names. */
static bool may_follow(const struct pcoll_medium *medium, int number)
{
    return number == PCOLL_NONE || medium->library == NULL ||
           (pcoll_media[number]->library != NULL &&
            strcmp(medium->library, pcoll_media[number]->library) == 0);
}

int pcoll_media_next(int number, bool one_node, const char *provider)
{
    if (number != PCOLL_NONE && pcoll_is_network(pcoll_media[number]) &&
        pcoll_media[number]->library == NULL)
        return pcoll_media_auto(one_node, provider);
    for (int i = number + 1; i < NMEDIA; i++)
        if (pcoll_media_reaches(pcoll_media[i], one_node) && may_follow(pcoll_media[i], number))
            return i;
    return PCOLL_NONE;
}

const char *pcoll_media_names(char text[PCOLL_MEDIA_BYTES])
{
    size_t at = 0;

    for (int i = 0; i < NMEDIA && at < PCOLL_MEDIA_BYTES; i++)
        at += (size_t)snprintf(text + at, PCOLL_MEDIA_BYTES - at, "%s%s", i > 0 ? ", " : "",
                               pcoll_media[i]->name);
    return text;
}

void pcoll_media_poll(void)
{
    for (int i = 0; i < NMEDIA; i++)
        pcoll_media[i]->poll();
}

int pcoll_media_lingering(void)
{
    int n = 0;

    for (int i = 0; i < NMEDIA; i++)
        n += pcoll_media[i]->lingering();
    return n;
}

void pcoll_media_finalize(void)
{
    for (int i = 0; i < NMEDIA; i++)
        pcoll_media[i]->finalize();
}
