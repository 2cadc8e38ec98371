/* What is kept per communicator, as an attribute with a keyval of our own: duplicates start
 * clean, and the delete function runs when the communicator goes. */

#include "pcoll.h"

#include "offload/shm.h"

#include <sched.h>

const struct pcoll_medium *const MPIDI_PCOLL_medium = &pcoll_medium_shm;

static int keyval = MPI_KEYVAL_INVALID;

static enum pcoll_result allgather(void *context, const void *mine, void *all, size_t bytes)
{
    MPIR_Comm *comm = context;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int mpi_errno;

    if (comm->local_size == 1) {
        memcpy(all, mine, bytes);
        return PCOLL_OK;
    }
    mpi_errno =
        MPIR_Allgather_fallback(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, &errflag);
    return mpi_errno == MPI_SUCCESS && errflag == MPIR_ERR_NONE ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

/* Waiting at init: what others need of this process must go on, and so must they. */
static void idle(void *context)
{
    MPID_Progress_test(NULL);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (MPIDI_PCOLL_crowded())
        sched_yield();
}

static void report(void *context, const char *message)
{
    MPIDI_PCOLL_report(message);
}

/* Known to all ranks alike: one group of processes of one MPI_COMM_WORLD on one node, and no
 * threads that our single lock, MPICH's global one, would not keep apart. */
static bool is_served(MPIR_Comm *comm)
{
    int node, first;

    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM)
        return false;
#if MPICH_THREAD_GRANULARITY != MPICH_THREAD_GRANULARITY__GLOBAL
    if (MPIR_ThreadInfo.isThreaded)
        return false;
#endif
    MPID_Get_node_id(comm, 0, &first);
    for (int i = 1; i < comm->local_size; i++) {
        MPID_Get_node_id(comm, i, &node);
        if (node != first)
            return false;
    }
    return first >= 0;
}

/* The communicator goes; its plans may stay. Their requests must not name it any more. */
static int delete_state(MPI_Comm comm, int key, void *value, void *extra)
{
    struct MPIDI_PCOLL_comm *state = value;

    for (struct MPIDI_PCOLL_plan *plan = state->plans; plan; plan = plan->sibling_next)
        plan->preq->comm = NULL;
    state->comm = NULL;
    MPIDI_PCOLL_comm_release(state);
    return MPI_SUCCESS;
}

static int attach_state(MPIR_Comm *comm, struct MPIDI_PCOLL_comm *state)
{
    MPII_Keyval *keyval_ptr;

    MPII_Keyval_get_ptr(keyval, keyval_ptr);
    return MPIR_Comm_set_attr_impl(comm, keyval_ptr, state, MPIR_ATTR_PTR);
}

static int create_state(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p)
{
    struct pcoll_bootstrap bootstrap = {
        .rank = comm->rank,
        .nranks = comm->local_size,
        .context = comm,
        .allgather = allgather,
        .idle = idle,
        .report = report,
    };
    struct MPIDI_PCOLL_comm *state;
    int mpi_errno = MPI_SUCCESS;

    state = MPL_calloc(1, sizeof(*state), MPL_MEM_COLL);
    MPIR_ERR_CHKANDJUMP(!state, mpi_errno, MPI_ERR_OTHER, "**nomem");
    state->refs = 1;
    state->comm = comm;
    if (MPIDI_PCOLL_medium->group_create(&bootstrap, &state->group) != PCOLL_OK)
        state->group = NULL;
    mpi_errno = attach_state(comm, state);
    if (mpi_errno != MPI_SUCCESS)
        MPIDI_PCOLL_comm_release(state);
    MPIR_ERR_CHECK(mpi_errno);
    *state_p = state;

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIDI_PCOLL_comm_get(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p)
{
    struct MPIDI_PCOLL_comm *state = NULL;
    int found = 0, mpi_errno = MPI_SUCCESS;

    *state_p = NULL;
    if (keyval == MPI_KEYVAL_INVALID) {
        mpi_errno =
            MPIR_Comm_create_keyval_impl(MPI_COMM_NULL_COPY_FN, delete_state, &keyval, NULL);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Comm_get_attr_impl(comm, keyval, &state, &found, MPIR_ATTR_PTR);
    MPIR_ERR_CHECK(mpi_errno);
    if (!found && !is_served(comm))
        goto fn_exit;
    if (!found)
        mpi_errno = create_state(comm, &state);
    MPIR_ERR_CHECK(mpi_errno);
    if (state->group)
        *state_p = state;

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

void MPIDI_PCOLL_comm_release(struct MPIDI_PCOLL_comm *state)
{
    if (--state->refs > 0)
        return;
    MPIDI_PCOLL_medium->group_destroy(state->group);
    MPL_free(state);
}

void MPIDI_PCOLL_comm_free_keyval(void)
{
    MPII_Keyval *keyval_ptr;

    if (keyval == MPI_KEYVAL_INVALID)
        return;
    MPII_Keyval_get_ptr(keyval, keyval_ptr);
    MPIR_free_keyval(keyval_ptr);
    keyval = MPI_KEYVAL_INVALID;
}
