/* The network between nodes: the user's settings, or what MPICH itself uses. */

#include "network.h"

#include "mpidimpl.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "agent.h"
#include "forced.h"
#include "lock.h"
#include "mpich_version.h"
#include "mpir_coll_offload_hooks.h"

#ifdef HAVE_CH4_NETMOD_UCX
#include "offload/ucx_rma/foreign.h"
#endif
#ifdef PCOLL_HAVE_LIBFABRIC
#include "offload/ofi/endpoint.h"
#endif
#ifdef HAVE_CH4_NETMOD_OFI
#include "../netmod/ofi/ofi_impl.h"
#endif

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_PROVIDER
      category    : COLLECTIVE
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        libfabric provider for persistent collectives between nodes. All ranks must name
        the same one. Values: as in FI_PROVIDER, such as tcp, verbs or cxi; unset, MPICH's own
        provider is used, except that tcp, where libfabric has it, replaces sockets that
        FI_PROVIDER does not name. Set it if MPICH's own messages use another network.

    - name        : MPIR_CVAR_COLL_OFFLOAD_INTERFACE
      category    : COLLECTIVE
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Link that persistent collectives use between nodes; the i-th links of all processes
        communicate with each other. Values: a domain of libfabric, a device of UCX, a
        network interface or an address, or a list of up to 8 (link1,link2) to stripe long
        messages over; unset, MPICH's interface is used, or the provider's choice if
        MPIR_CVAR_COLL_OFFLOAD_PROVIDER is set. Set it where a node has several links. In
        MPICH on UCX, plans then have a UCX context of their own.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static bool is_set(const char *value)
{
    return value && *value;
}

#if defined(HAVE_CH4_NETMOD_OFI) && defined(PCOLL_HAVE_LIBFABRIC)
#define OTHER_TCP "tcp"

/* Where libfabric has given MPICH `sockets`, which moves data by threads of its own, plans over
 * `tcp` take half the time. What the user names is used, and ofi_trigger needs what only `sockets`
 * emulates. */
static bool should_replace(const char *provider)
{
    const char *medium = MPIR_CVAR_COLL_OFFLOAD_MEDIUM;

    return strncmp(provider, "sockets", strlen("sockets")) == 0 && !is_set(getenv("FI_PROVIDER")) &&
           !(is_set(medium) && strcmp(medium, "ofi_trigger") == 0) && pcoll_ofi_has(OTHER_TCP);
}

/* MPICH's own, or what replaces it; found out once. */
static const char *default_provider(void)
{
    enum { UNKNOWN, OWN, REPLACED };
    static atomic_int known = UNKNOWN;
    const char *own = MPIDI_OFI_global.prov_use[0]->fabric_attr->prov_name;

    if (atomic_load_explicit(&known, memory_order_relaxed) == UNKNOWN)
        atomic_store_explicit(&known, should_replace(own) ? REPLACED : OWN, memory_order_relaxed);
    return atomic_load_explicit(&known, memory_order_relaxed) == REPLACED ? OTHER_TCP : own;
}
#else
static const char *default_provider(void)
{
    return NULL;
}
#endif

static const char *mpich_interface(void)
{
#ifdef HAVE_CH4_NETMOD_OFI
    return MPIDI_OFI_global.prov_use[0]->domain_attr->name;
#else
    return NULL;
#endif
}

bool MPIDI_PCOLL_over_ucx(void)
{
#ifdef HAVE_CH4_NETMOD_UCX
    return !is_set(MPIR_CVAR_COLL_OFFLOAD_PROVIDER);
#else
    return false;
#endif
}

const char *MPIDI_PCOLL_provider(void)
{
    const char *hint = MPIR_CVAR_COLL_OFFLOAD_PROVIDER;

    return is_set(hint) ? hint : default_provider();
}

const char *MPIDI_PCOLL_interface(void)
{
    const char *hint = MPIR_CVAR_COLL_OFFLOAD_INTERFACE;

    if (is_set(hint))
        return hint;
    return is_set(MPIR_CVAR_COLL_OFFLOAD_PROVIDER) ? NULL : mpich_interface();
}

/* ---- what MPICH lends to a medium ---- */

#ifdef HAVE_CH4_NETMOD_UCX
static unsigned sessions = 0; /* of MPI that have ended */

void MPIDI_PCOLL_foreign_ends(void)
{
    sessions++;
}

void MPIDI_PCOLL_before_ucx(void)
{
    if (MPIDI_PCOLL_forced()->share_ucx)
        pcoll_ucx_set_segments();
}

static ucp_ep_h endpoint_to(int process)
{
    return MPIDI_PCOLL_UCX_ENDPOINT(process);
}

/* An agent would use the worker without MPICH's lock. */
const struct pcoll_foreign *MPIDI_PCOLL_foreign(void)
{
    static struct pcoll_ucx_foreign foreign = {
        .base = {.library = PCOLL_UCX_LIBRARY},
        .owner = "MPICH",
        .progress = ucp_worker_progress,
        .endpoint = endpoint_to,
    };

    MPL_COMPILE_TIME_ASSERT(MPIDI_PCOLL_UCX_AM != PCOLL_UCX_AM);
    foreign.session = sessions;
    foreign.context = MPIDI_PCOLL_UCX_CONTEXT;
    foreign.worker = MPIDI_PCOLL_UCX_WORKER;
    foreign.process = MPIR_Process.rank;
    if (!MPIDI_PCOLL_forced()->share_ucx || MPIDI_PCOLL_agent_is_wanted() ||
        MPIDI_PCOLL_has_lock() || !foreign.worker)
        return NULL;
    return &foreign.base;
}
#else
void MPIDI_PCOLL_foreign_ends(void)
{
}

const struct pcoll_foreign *MPIDI_PCOLL_foreign(void)
{
    return NULL;
}
#endif

/* ---- the end of MPICH's own UCX ---- */

#ifdef MPIDI_PCOLL_UCX_CLOSES_FIRST
#define ANSWER_USEC 200

/* UCX closes an endpoint over TCP once the peer has answered, if anything has been sent over it. A
 * process that has closed all of its own would wait in PMI, and answer nobody. */
static void *answer(void *have_met_to)
{
    const _Atomic bool *have_met = have_met_to;
    const struct timespec pause = {.tv_nsec = ANSWER_USEC * 1000};

    while (!*have_met) {
        for (int i = 0; i < MPIDI_PCOLL_UCX_NWORKERS; i++)
            ucp_worker_progress(MPIDI_PCOLL_UCX_WORKER_OF(i));
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* The application's signals are not for the thread. */
static bool starts(pthread_t *thread, void *have_met)
{
    sigset_t everything, before;
    int error;

    sigfillset(&everything);
    pthread_sigmask(SIG_SETMASK, &everything, &before);
    error = pthread_create(thread, NULL, answer, have_met);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

int MPIDI_PCOLL_last_barrier(void)
{
    _Atomic bool have_met = false;
    pthread_t thread;
    const bool answers = starts(&thread, &have_met);
    const int mpi_errno = MPIR_pmi_barrier();

    have_met = true;
    if (answers)
        pthread_join(thread, NULL);
    return mpi_errno;
}
#endif
