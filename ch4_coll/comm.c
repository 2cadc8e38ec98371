/* The state of a communicator, kept as an attribute with a keyval of our own: duplicates start
 * without it, and the delete function runs when the communicator is freed. */

#include "comm.h"

#include "agent.h"
#include "bootstrap.h"
#include "cores.h"
#include "forced.h"
#include "job_report.h"
#include "lock.h"
#include "media_calls.h"
#include "mpich_version.h"
#include "network.h"
#include "node_blocks.h"
#include "process.h"
#include "report.h"
#include "request.h"
#include "settings.h"

#include "offload/agree.h"
#include "offload/media.h"
#include "offload/node/nodes.h"

static int keyval = MPI_KEYVAL_INVALID;

static int node_of(const MPIR_Comm *comm, int rank)
{
    int node;

    MPID_Get_node_id((MPIR_Comm *)comm, rank, &node);
    return node;
}

/* The answer is the same on all ranks: one group of processes of one MPI_COMM_WORLD. */
static bool is_served(const MPIR_Comm *comm)
{
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM)
        return false;
    for (int i = 0; i < comm->local_size; i++)
        if (node_of(comm, i) < 0)
            return false;
    return true;
}

/* This may run in a local call, such as the MPI_Request_free of another request that held the last
 * reference to the communicator, or in the progress engine: it must not wait for other ranks. MPICH
 * calls it without holding its global lock, as it calls user functions. */
static int delete_state(MPI_Comm comm, int key, void *value, void *extra)
{
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIDI_PCOLL_comm_freed(value);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return MPI_SUCCESS;
}

int MPIDI_PCOLL_attach(MPIR_Comm *comm, int *own_keyval, MPI_Comm_delete_attr_function *end,
                       void *value)
{
    MPII_Keyval *keyval_ptr;
    int mpi_errno = MPI_SUCCESS;

    if (*own_keyval == MPI_KEYVAL_INVALID)
        mpi_errno = MPIR_Comm_create_keyval_impl(MPI_COMM_NULL_COPY_FN, end, own_keyval, NULL);
    MPIR_ERR_CHECK(mpi_errno);
    MPII_Keyval_get_ptr(*own_keyval, keyval_ptr);
    mpi_errno = MPIDI_PCOLL_set_attr(comm, keyval_ptr, value);

fn_fail:
    return mpi_errno;
}

static bool have_one_node(const MPIR_Comm *comm)
{
    for (int i = 1; i < comm->local_size; i++)
        if (node_of(comm, i) != node_of(comm, 0))
            return false;
    return true;
}

bool MPIDI_PCOLL_is_on_one_node(const MPIR_Comm *comm)
{
    return is_served(comm) && have_one_node(comm);
}

int MPIDI_PCOLL_count_nodes(const MPIR_Comm *comm)
{
    int last = 0, count = 0;
    bool *seen;

    for (int i = 0; i < comm->remote_size; i++)
        last = MPL_MAX(last, node_of(comm, i));
    seen = MPL_calloc((size_t)last + 1, sizeof(*seen), MPL_MEM_COLL);
    for (int i = 0; seen && i < comm->remote_size; i++) {
        const int node = node_of(comm, i);

        if (node < 0 || seen[node])
            continue;
        seen[node] = true;
        count++;
    }
    MPL_free(seen);
    return MPL_MAX(count, 1);
}

/* A rank bound to cores near the network devices is a better leader of its node: the number of
 * devices that are not near. */
static int distance_from_network(void)
{
    const char *list = MPIDI_PCOLL_interface();
    char *names = list ? MPL_strdup(list) : NULL, *rest = names, *device;
    int far = 0;

    while ((device = strsep(&rest, ",")) != NULL)
        far += *device && !MPIR_hwtopo_is_dev_close_by_name(device);
    MPL_free(names);
    return far;
}

static enum pcoll_result gather_distances(void *context, int own, int *distances)
{
    int mpi_errno;

    MPIDI_PCOLL_unlock();
    mpi_errno = MPIDI_PCOLL_allgather_int(own, distances, context);
    MPIDI_PCOLL_lock();
    return mpi_errno == MPI_SUCCESS ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

static int node_in_map(const void *comm, int rank)
{
    return node_of(comm, rank);
}

/* Find which ranks share a node, and the leaders of nodes: collective, unless a formula tells. */
static enum pcoll_result find_topology(struct MPIDI_PCOLL_comm *state, int distance,
                                       bool distances_differ)
{
    enum pcoll_result result;
    const struct pcoll_nodes nodes = {
        .map = {node_in_map, state->comm},
        .distance = distance,
        .distances_differ = distances_differ,
        .gather = gather_distances,
    };

    result = pcoll_nodes_settle(&state->bootstrap, &nodes, &state->places);
    if (result == PCOLL_OK)
        state->bootstrap.topology = state->topology = &state->places;
    return result;
}

/* Collective: returns the greatest candidacy. */
static enum pcoll_result find_host(const struct pcoll_bootstrap *bootstrap, uint64_t own,
                                   uint64_t *greatest_p)
{
    struct pcoll_term term = {.kind = PCOLL_TERM_MAX, .value = own};
    const enum pcoll_result result = pcoll_agree(bootstrap, PCOLL_ROUND_HOST, PCOLL_OK, &term, 1);

    *greatest_p = term.value;
    return result;
}

/* Ranks with different providers cannot reach each other, so none of them uses libfabric. */
static bool is_refused(const struct MPIDI_PCOLL_comm *state, bool is_mixed)
{
    const char *provider = MPIDI_PCOLL_provider();
    char text[160];

    if (!is_mixed || !MPIDI_PCOLL_is_libfabric(state->medium))
        return false;
    if (state->bootstrap.rank == 0) {
        snprintf(
            text, sizeof(text),
            "MPIR_CVAR_COLL_OFFLOAD_PROVIDER: '%.40s' here, but not on all ranks; %s is not used",
            provider ? provider : "", state->medium->name);
        MPIDI_PCOLL_report(text);
    }
    return true;
}

/* Open a group of the first medium that is available, from `number` on; state->group stays NULL if
 * none is. */
static void open_group(struct MPIDI_PCOLL_comm *state, int number, bool one_node, bool is_mixed)
{
    for (; number != PCOLL_NONE; number = MPIDI_PCOLL_medium_next(number, one_node)) {
        state->medium = pcoll_media[number];
        if (is_refused(state, is_mixed))
            continue;
        if (MPIDI_PCOLL_group_create(state->medium, &state->bootstrap, &state->group) == PCOLL_OK)
            return;
        state->group = NULL;
    }
}

static void see_node(struct MPIDI_PCOLL_comm *state)
{
    state->level = state->medium->group_level(state->group);
    state->levels = state->medium->group_levels(state->group);
}

/* What the ranks of a communicator know of each other before they meet. */
struct settings {
    bool one_node;
    int medium; /* rank 0's settings apply; PCOLL_NONE: MPICH's path */
    uint64_t coop_from;
    bool measures;
    bool reports;    /* all ranks */
    bool wants_host; /* a rank wants an agent for its node */
    int distance;    /* of this rank to the network */
    bool distances_differ, is_mixed;
};

static enum pcoll_result agree_on_settings(const struct pcoll_bootstrap *bootstrap,
                                           enum pcoll_result mine, struct settings *settings)
{
    enum { MEDIUM, COOP_FROM, MEASURES, REPORTS, AGENT, DISTANCE, PROVIDER, NTERMS };
    const bool one_node = have_one_node(bootstrap->context);
    const int distance = one_node ? 0 : distance_from_network();
    struct pcoll_term terms[NTERMS] = {
        [MEDIUM] = {.kind = PCOLL_TERM_RANK_0},
        [COOP_FROM] = {.kind = PCOLL_TERM_RANK_0},
        [MEASURES] = {.kind = PCOLL_TERM_RANK_0, .value = MPIDI_PCOLL_measures()},
        [REPORTS] = {.kind = PCOLL_TERM_MIN, .value = MPIDI_PCOLL_job_may_report_all()},
        [AGENT] = {.kind = PCOLL_TERM_MAX, .value = one_node && MPIDI_PCOLL_agent_is_for_node()},
        [DISTANCE] = {.kind = PCOLL_TERM_SAME, .value = (uint64_t)distance},
        [PROVIDER] = {.kind = PCOLL_TERM_SAME,
                      .value = one_node ? 0 : MPIDI_PCOLL_hash(MPIDI_PCOLL_provider())},
    };
    enum pcoll_result result;

    if (bootstrap->rank == 0) {
        terms[MEDIUM].value = (uint64_t)(MPIDI_PCOLL_medium_hint(one_node) - PCOLL_NONE);
        terms[COOP_FROM].value = MPIDI_PCOLL_forced()->coop_from;
    }
    result = pcoll_agree(bootstrap, PCOLL_ROUND_SETTINGS, mine, terms, NTERMS);
    *settings = (struct settings){
        .one_node = one_node,
        .medium = (int)terms[MEDIUM].value + PCOLL_NONE,
        .coop_from = terms[COOP_FROM].value,
        .measures = terms[MEASURES].value != 0,
        .reports = terms[REPORTS].value != 0,
        .wants_host = terms[AGENT].value != 0,
        .distance = distance,
        .distances_differ = terms[DISTANCE].differs,
        .is_mixed = terms[PROVIDER].differs,
    };
    return result;
}

/* Find the nodes of the ranks, and open the medium that carries plans between them. */
static void meet(struct MPIDI_PCOLL_comm *state, const struct settings *settings)
{
    const uint64_t candidacy = settings->wants_host ? MPIDI_PCOLL_agent_candidacy() : 0;
    uint64_t host = 0; /* the greatest candidacy */
    enum pcoll_result result = PCOLL_OK;

    if (!settings->one_node)
        result = find_topology(state, settings->distance, settings->distances_differ);
    else if (settings->wants_host)
        result = find_host(&state->bootstrap, candidacy, &host);

    state->bootstrap.coop_from = settings->coop_from;
    state->measures = settings->measures;
    state->bootstrap.board_from = MPIDI_PCOLL_agent_board_from();
    if (candidacy > 0 && host == candidacy)
        state->bootstrap.bell = MPIDI_PCOLL_agent_start_for_node();
    if (settings->wants_host && host == 0 && state->bootstrap.rank == 0)
        MPIDI_PCOLL_agent_report_no_core();
    if (result == PCOLL_OK)
        open_group(state, settings->medium, settings->one_node, settings->is_mixed);
    if (state->group)
        see_node(state);
    if (state->group && state->bootstrap.rank == 0)
        MPIDI_PCOLL_show_machine(state);
}

int MPIDI_PCOLL_comm_measure(struct MPIDI_PCOLL_comm *state)
{
    int mpi_errno = MPI_SUCCESS;

    if (!state->measures)
        return MPI_SUCCESS;
    state->measures = false;
    MPL_free(state->known); /* proposals that did not know the machine */
    state->known = NULL;
    if (state->medium->group_measure(state->group) != PCOLL_OK)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    else if (state->bootstrap.rank == 0)
        MPIDI_PCOLL_show_measured(state);
    return mpi_errno;
}

/* The part of the state that a rank makes alone; NULL: out of memory. */
static struct MPIDI_PCOLL_comm *make_state(MPIR_Comm *comm, const struct pcoll_bootstrap *bootstrap)
{
    struct MPIDI_PCOLL_comm *state = MPIDI_PCOLL_state_create(comm, bootstrap);

    if (!state || MPIDI_PCOLL_attach(comm, &keyval, delete_state, state) == MPI_SUCCESS)
        return state;
    MPIDI_PCOLL_state_release(state);
    return NULL;
}

/* *state_p is NULL on all ranks if one of them is out of memory; a later call tries again. */
static int create_state(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p)
{
    const struct pcoll_bootstrap bootstrap = MPIDI_PCOLL_bootstrap(comm);
    struct MPIDI_PCOLL_comm *state = make_state(comm, &bootstrap);
    MPII_Keyval *keyval_ptr;
    struct settings settings;
    int mpi_errno = MPI_SUCCESS;

    *state_p = state;
    MPIDI_PCOLL_cores_publish();
    if (agree_on_settings(&bootstrap, state ? PCOLL_OK : PCOLL_ERR_NOMEM, &settings) == PCOLL_OK) {
        MPIDI_PCOLL_see_cores();
        if (settings.reports)
            MPIDI_PCOLL_job_reports_all(comm);
        meet(state, &settings);
        return MPI_SUCCESS;
    }
    *state_p = NULL;
    if (!state) {
        MPIDI_PCOLL_report("out of memory: a persistent collective goes to MPICH's path");
        return MPI_SUCCESS;
    }
    MPII_Keyval_get_ptr(keyval, keyval_ptr);
    mpi_errno = MPIR_Comm_delete_attr_impl(comm, keyval_ptr);
    return mpi_errno;
}

int MPIDI_PCOLL_comm_get(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p)
{
    struct MPIDI_PCOLL_comm *state = NULL;
    int found = 0, mpi_errno = MPI_SUCCESS;

    *state_p = NULL;
    if (keyval != MPI_KEYVAL_INVALID)
        mpi_errno = MPIDI_PCOLL_get_attr(comm, keyval, &state, &found);
    MPIR_ERR_CHECK(mpi_errno);
    if (!found && is_served(comm))
        mpi_errno = create_state(comm, &state);
    MPIR_ERR_CHECK(mpi_errno);
    if (state && state->group)
        *state_p = state;

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

struct MPIDI_PCOLL_comm *MPIDI_PCOLL_comm_find(MPIR_Comm *comm)
{
    struct MPIDI_PCOLL_comm *state = NULL;
    int found = 0;

    if (keyval != MPI_KEYVAL_INVALID &&
        MPIDI_PCOLL_get_attr(comm, keyval, &state, &found) == MPI_SUCCESS && found)
        return state;
    return NULL;
}

void MPIDI_PCOLL_free_keyval(int *own_keyval)
{
    MPII_Keyval *keyval_ptr;

    if (*own_keyval == MPI_KEYVAL_INVALID)
        return;
    MPII_Keyval_get_ptr(*own_keyval, keyval_ptr);
    MPIR_free_keyval(keyval_ptr);
    *own_keyval = MPI_KEYVAL_INVALID;
}

void MPIDI_PCOLL_comm_free_keyval(void)
{
    MPIDI_PCOLL_free_keyval(&keyval);
}
