/* Which medium carries the plans of a communicator; offload/media.c knows which media exist. */

#include "pcoll.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_MEDIUM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Medium of persistent collectives. Values: auto (shm on one node, otherwise
        ofi_trigger if the network runs plans by itself, otherwise ofi_rma or ucx_rma,
        whichever library MPICH uses), shm, ofi_rma (libfabric RMA), ofi_trigger (libfabric
        deferred work), ucx_rma (UCX), mpich (MPICH's own schedules). Set it to compare
        media, or to mpich if a medium fails.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static void report_hint(const char *name, bool exists)
{
    char line[PCOLL_MEDIA_BYTES + 150], names[PCOLL_MEDIA_BYTES];

    if (exists)
        snprintf(line, sizeof(line),
                 "MPIR_CVAR_COLL_OFFLOAD_MEDIUM: '%.30s' does not reach other nodes; using auto",
                 name);
    else
        snprintf(line, sizeof(line),
                 "MPIR_CVAR_COLL_OFFLOAD_MEDIUM: no medium '%.30s' (allowed: auto, %s, mpich); "
                 "using auto",
                 name, pcoll_media_names(names));
    MPIDI_PCOLL_report(line);
}

int MPIDI_PCOLL_medium_hint(bool one_node)
{
    const char *name = MPIR_CVAR_COLL_OFFLOAD_MEDIUM;
    int number;

    if (name && strcmp(name, "mpich") == 0)
        return PCOLL_NONE;
    if (name && *name && strcmp(name, "auto") != 0) {
        number = pcoll_media_find(name);
        if (number != PCOLL_NONE && pcoll_media_reaches(pcoll_media[number], one_node))
            return number;
        report_hint(name, number != PCOLL_NONE);
    }
    return pcoll_media_auto(one_node,
                            MPIDI_PCOLL_over_ucx() ? PCOLL_OVER_UCX : MPIDI_PCOLL_provider());
}

bool MPIDI_PCOLL_is_network(const struct pcoll_medium *medium)
{
    return (medium->traits & PCOLL_SPANS_NODES) != 0;
}

bool MPIDI_PCOLL_is_libfabric(const struct pcoll_medium *medium)
{
    return MPIDI_PCOLL_is_network(medium) &&
           strncmp(medium->name, PCOLL_OVER_UCX, strlen(PCOLL_OVER_UCX)) != 0;
}

/* ---- the lifetime of the network ---- */

static bool network_used = false;

void MPIDI_PCOLL_network_opened(void)
{
    network_used = true;
}

bool MPIDI_PCOLL_network_used(void)
{
    return network_used;
}

void MPIDI_PCOLL_network_disown(void)
{
    network_used = false;
}

bool MPIDI_PCOLL_network_left(void)
{
    return !network_used || pcoll_media_lingering() == 0;
}

void MPIDI_PCOLL_network_close(void)
{
    if (network_used)
        pcoll_media_finalize();
    network_used = false;
    MPIDI_PCOLL_foreign_ends();
}
