/* How the ranks of a communicator reach each other before a medium works: by MPICH's messages. */

#include "bootstrap.h"

#include "forced.h"
#include "lock.h"
#include "mpich_version.h"
#include "network.h"
#include "process.h"
#include "report.h"

#include "offload/agent/agent.h"

enum { SWAP_TAG = MPIR_ALLTOALL_TAG, FEW_PEERS = 16 };

/* Used if there is no memory for requests. The ranks exchange with their peers one by one, in
 * ascending order. Some rank can always continue: a rank that waits for b has exchanged with all
 * ranks below b, so what b waits for is below it. */
static enum pcoll_result swap_in_turn(MPIR_Comm *comm, const int *ranks, int n, const char *mine,
                                      char *theirs, size_t bytes)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < n && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = MPIDI_PCOLL_sendrecv(mine + i * bytes, theirs + i * bytes, (MPI_Aint)bytes,
                                         ranks[i], SWAP_TAG, comm);
    return mpi_errno == MPI_SUCCESS ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

static enum pcoll_result swap_at_once(MPIR_Comm *comm, const int *ranks, int n, const void *mine,
                                      void *theirs, size_t bytes)
{
    MPIR_Request *few[2 * FEW_PEERS], **requests = few;
    int count = 0, mpi_errno = MPI_SUCCESS;

    if (n > FEW_PEERS)
        requests = MPL_malloc(2 * n * sizeof(*requests), MPL_MEM_COLL);
    if (!requests)
        return swap_in_turn(comm, ranks, n, mine, theirs, bytes);
    for (int i = 0; i < n && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = MPIDI_PCOLL_irecv((char *)theirs + i * bytes, (MPI_Aint)bytes, ranks[i],
                                      SWAP_TAG, comm, &requests[count++]);
    for (int i = 0; i < n && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = MPIDI_PCOLL_isend((const char *)mine + i * bytes, (MPI_Aint)bytes, ranks[i],
                                      SWAP_TAG, comm, &requests[count++]);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_PCOLL_waitall(count, requests);
    if (requests != few)
        MPL_free(requests);
    return mpi_errno == MPI_SUCCESS ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

/* Runs between blocking collectives of the communicator, on its collective context. */
static enum pcoll_result swap(void *context, const int *ranks, int n, const void *mine,
                              void *theirs, size_t bytes)
{
    enum pcoll_result result;

    MPIDI_PCOLL_unlock();
    result = swap_at_once(context, ranks, n, mine, theirs, bytes);
    MPIDI_PCOLL_lock();
    return result;
}

static enum pcoll_result combine(void *context, uint64_t *words, int n)
{
    MPIR_Comm *comm = context;
    const struct pcoll_bootstrap bootstrap = {.context = comm, .swap = swap};
    const struct pcoll_circle circle = {
        .outer = &bootstrap, .mine = comm->rank, .nranks = comm->local_size};

    return pcoll_combine_by_swap(&circle, words, n);
}

/* Called while waiting at init: what other ranks need of this process must progress. */
static void idle(void *context)
{
    MPIDI_PCOLL_unlock();
    MPID_Progress_test(NULL);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIDI_PCOLL_lock();
}

static void report(void *context, const char *message)
{
    if (!pcoll_agent_keep_message(message))
        MPIDI_PCOLL_report(message);
}

struct pcoll_bootstrap MPIDI_PCOLL_bootstrap(MPIR_Comm *comm)
{
    return (struct pcoll_bootstrap){
        .rank = comm->rank,
        .nranks = comm->local_size,
        .provider = MPIDI_PCOLL_provider(),
        .interface = MPIDI_PCOLL_interface(),
        .foreign = MPIDI_PCOLL_foreign(),
        .crowded = MPIDI_PCOLL_crowded,
        .maps = MPIR_CVAR_CH4_XPMEM_ENABLE,
        .locality = MPIDI_PCOLL_forced()->locality,
        .context = comm,
        .combine = combine,
        .swap = swap,
        .idle = idle,
        .report = report,
    };
}
