/* Which medium carries the plans of a communicator: shared memory on one node, libfabric between
 * several. */

#include "pcoll.h"

#include "offload/shm/shm.h"
#ifdef MPIDI_PCOLL_HAVE_LIBFABRIC
#include "offload/ofi_rma/ofi_rma.h"
#include "offload/ofi_trigger/ofi_trigger.h"
#endif
#ifdef HAVE_CH4_NETMOD_OFI
#include "../netmod/ofi/ofi_impl.h"
#endif

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
        What carries persistent collectives: auto (shm on one node, else ofi_trigger where the
        network runs plans by itself, else ofi_rma), shm, ofi_rma (libfabric RMA), ofi_trigger
        (libfabric deferred work), or mpich (MPICH's own schedules).

    - name        : MPIR_CVAR_COLL_OFFLOAD_PROVIDER
      category    : COLLECTIVE
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        libfabric provider of persistent collectives between nodes, as in FI_PROVIDER. Unset: that
        of MPICH.

    - name        : MPIR_CVAR_COLL_OFFLOAD_INTERFACE
      category    : COLLECTIVE
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Domain, network interface or address of it that persistent collectives use between nodes, or
        a list of up to 8 (link1,link2) to stripe long messages over; the i-th of each process talk
        to each other. Unset: that of MPICH, or the provider's choice if
        MPIR_CVAR_COLL_OFFLOAD_PROVIDER is set.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static const struct pcoll_medium *const media[] = {
    [MPIDI_PCOLL_MEDIUM_SHM] = &pcoll_medium_shm,
#ifdef MPIDI_PCOLL_HAVE_LIBFABRIC
    [MPIDI_PCOLL_MEDIUM_RMA] = &pcoll_medium_ofi_rma,
    [MPIDI_PCOLL_MEDIUM_TRIGGER] = &pcoll_medium_ofi_trigger,
#endif
};

enum { NMEDIA = sizeof(media) / sizeof(media[0]) };

const struct pcoll_medium *MPIDI_PCOLL_medium(int number)
{
    return number >= 0 && number < NMEDIA ? media[number] : NULL;
}

static bool is_set(const char *value)
{
    return value && *value;
}

/* MPICH's own way to other nodes, if it is libfabric's. */
static const char *mpich_provider(void)
{
#ifdef HAVE_CH4_NETMOD_OFI
    return MPIDI_OFI_global.prov_use[0]->fabric_attr->prov_name;
#else
    return NULL;
#endif
}

static const char *mpich_interface(void)
{
#ifdef HAVE_CH4_NETMOD_OFI
    return MPIDI_OFI_global.prov_use[0]->domain_attr->name;
#else
    return NULL;
#endif
}

const char *MPIDI_PCOLL_provider(void)
{
    const char *hint = MPIR_CVAR_COLL_OFFLOAD_PROVIDER;

    return is_set(hint) ? hint : mpich_provider();
}

const char *MPIDI_PCOLL_interface(void)
{
    const char *hint = MPIR_CVAR_COLL_OFFLOAD_INTERFACE;

    if (is_set(hint))
        return hint;
    return is_set(MPIR_CVAR_COLL_OFFLOAD_PROVIDER) ? NULL : mpich_interface();
}

/* Does the provider let hardware run plans?  `sockets` does it with a thread, which needs a core;
 * that is for who asks for it. */
static bool network_runs_plans(void)
{
    const char *provider = MPIDI_PCOLL_provider();

    return provider && strncmp(provider, "cxi", 3) == 0;
}

static int find_medium(const char *name)
{
    for (int i = 0; i < NMEDIA; i++)
        if (strcmp(media[i]->name, name) == 0)
            return i;
    return PCOLL_NONE;
}

static void report_names(const char *name)
{
    char line[200], names[100] = "";

    for (int i = 0; i < NMEDIA; i++) {
        strcat(names, media[i]->name);
        strcat(names, ", ");
    }
    snprintf(
        line, sizeof(line),
        "MPIR_CVAR_COLL_OFFLOAD_MEDIUM: no medium '%.30s' (allowed: auto, %smpich); using auto",
        name, names);
    MPIDI_PCOLL_report(line);
}

int MPIDI_PCOLL_medium_hint(bool one_node)
{
    const char *name = MPIR_CVAR_COLL_OFFLOAD_MEDIUM;
    int number;

    if (is_set(name) && strcmp(name, "mpich") == 0)
        return PCOLL_NONE;
    if (is_set(name) && strcmp(name, "auto") != 0) {
        number = find_medium(name);
        if (number == PCOLL_NONE)
            report_names(name);
        else if (number != MPIDI_PCOLL_MEDIUM_SHM || one_node)
            return number;
        else
            MPIDI_PCOLL_report("MPIR_CVAR_COLL_OFFLOAD_MEDIUM: 'shm' does not reach other nodes; "
                               "using auto");
    }
    if (one_node)
        return MPIDI_PCOLL_MEDIUM_SHM;
    number = network_runs_plans() ? MPIDI_PCOLL_MEDIUM_TRIGGER : MPIDI_PCOLL_MEDIUM_RMA;
    return number < NMEDIA ? number : PCOLL_NONE;
}

int MPIDI_PCOLL_medium_next(int number, bool one_node)
{
    if (number == MPIDI_PCOLL_MEDIUM_TRIGGER)
        return MPIDI_PCOLL_MEDIUM_RMA;
    if (number == MPIDI_PCOLL_MEDIUM_RMA && one_node)
        return MPIDI_PCOLL_MEDIUM_SHM;
    return PCOLL_NONE;
}

/* ---- the life of the network ---- */

static bool network_used = false;

bool MPIDI_PCOLL_is_network(const struct pcoll_medium *medium)
{
    return medium != &pcoll_medium_shm;
}

void MPIDI_PCOLL_network_opened(void)
{
    network_used = true;
}

bool MPIDI_PCOLL_network_used(void)
{
    return network_used;
}

void MPIDI_PCOLL_network_poll(void)
{
#ifdef MPIDI_PCOLL_HAVE_LIBFABRIC
    pcoll_ofi_rma_poll();
    pcoll_ofi_trigger_leave();
#endif
}

bool MPIDI_PCOLL_network_left(void)
{
#ifdef MPIDI_PCOLL_HAVE_LIBFABRIC
    return !network_used || pcoll_ofi_rma_poll() + pcoll_ofi_trigger_leave() == 0;
#else
    return true;
#endif
}

void MPIDI_PCOLL_network_close(void)
{
#ifdef MPIDI_PCOLL_HAVE_LIBFABRIC
    if (network_used) {
        pcoll_ofi_rma_finalize();
        pcoll_ofi_trigger_finalize();
    }
#endif
    network_used = false;
}
