/* A promoted plan: built, placed on the memory of a call, run, and freed. */

#include "promote.h"

#include "call.h"
#include "comm.h"
#include "lock.h"
#include "mpich_version.h"
#include "promote_key.h"
#include "waiting.h"

unsigned long MPIDI_PCOLL_promoted_plans = 0, MPIDI_PCOLL_promoted_calls = 0;

/* What the user would ask for. */
static struct pcoll_signature signature_of(uint64_t key, const MPIR_Comm *comm)
{
    return (struct pcoll_signature){.coll = MPIDI_PCOLL_key_coll(key),
                                    .nranks = comm->local_size,
                                    .root = MPIDI_PCOLL_key_root(key),
                                    .bytes = (uint64_t)MPIDI_PCOLL_key_bytes(key)};
}

uint64_t MPIDI_PCOLL_promoted_buffer_bytes(const MPIR_Comm *comm, uint64_t key)
{
    const struct pcoll_signature signature = signature_of(key, comm);
    const struct pcoll_collective *coll = pcoll_collective_of(&signature);

    return coll->send_bytes(&signature, NULL, signature.root) +
           coll->recv_bytes(&signature, NULL, signature.root);
}

/* ---- build and free ---- */

static void note_end(struct MPIDI_PCOLL_plan *plan, int mpi_errno)
{
    ((struct MPIDI_PCOLL_promoted *)plan)->mpi_errno = mpi_errno;
}

static void free_memory(struct MPIDI_PCOLL_promoted *promoted)
{
    if (promoted && promoted->out != promoted->in)
        MPL_free(promoted->out);
    if (promoted)
        MPL_free(promoted->in);
    MPL_free(promoted);
}

/* NULL: out of memory. */
static struct MPIDI_PCOLL_promoted *allocate(const MPIR_Comm *comm, uint64_t key)
{
    const struct pcoll_signature signature = signature_of(key, comm);
    const struct pcoll_collective *coll = pcoll_collective_of(&signature);
    const bool shares = signature.coll == PCOLL_BCAST;
    struct MPIDI_PCOLL_promoted *promoted = MPL_calloc(1, sizeof(*promoted), MPL_MEM_COLL);

    if (!promoted)
        return NULL;
    promoted->plan.completed = note_end;
    promoted->block = (MPI_Aint)signature.bytes;
    promoted->in_bytes = shares ? signature.bytes : coll->send_bytes(&signature, NULL, comm->rank);
    promoted->out_bytes = shares ? 0 : coll->recv_bytes(&signature, NULL, comm->rank);
    promoted->in = MPL_calloc(1, promoted->in_bytes + 1, MPL_MEM_COLL);
    promoted->out = shares ? promoted->in : MPL_calloc(1, promoted->out_bytes + 1, MPL_MEM_COLL);
    promoted->at_in = promoted->in;
    promoted->at_out = promoted->out;
    if (promoted->in && promoted->out)
        return promoted;
    free_memory(promoted);
    return NULL;
}

/* What the user would pass to the init of such a plan. */
static struct MPIDI_PCOLL_arguments arguments_of(MPIR_Comm *comm, uint64_t key, MPI_Op op,
                                                 MPI_Datatype type)
{
    const bool reduces = pcoll_coll_has(MPIDI_PCOLL_key_coll(key), PCOLL_REDUCES);
    const MPI_Datatype element = reduces ? type : MPIDI_PCOLL_BYTE;
    const MPI_Aint n = MPIDI_PCOLL_key_bytes(key) / MPIR_Datatype_get_basic_size(element);

    return (struct MPIDI_PCOLL_arguments){
        .send = {.count = n, .type = element},
        .receive = {.count = n, .type = element},
        .op = op,
        .root = MPIDI_PCOLL_key_root(key),
        .comm = comm,
    };
}

static MPIDI_PCOLL_describe *const describe[PCOLL_NUM_COLLS] = {
    [PCOLL_BCAST] = MPIDI_PCOLL_describe_bcast,
    [PCOLL_GATHER] = MPIDI_PCOLL_describe_gather,
    [PCOLL_SCATTER] = MPIDI_PCOLL_describe_scatter,
    [PCOLL_ALLGATHER] = MPIDI_PCOLL_describe_allgather,
    [PCOLL_ALLTOALL] = MPIDI_PCOLL_describe_alltoall,
    [PCOLL_REDUCE] = MPIDI_PCOLL_describe_reduce,
    [PCOLL_ALLREDUCE] = MPIDI_PCOLL_describe_allreduce,
    [PCOLL_REDUCE_SCATTER_BLOCK] = MPIDI_PCOLL_describe_reduce_scatter_block,
    [PCOLL_SCAN] = MPIDI_PCOLL_describe_allreduce,
    [PCOLL_EXSCAN] = MPIDI_PCOLL_describe_exscan,
};

int MPIDI_PCOLL_promoted_create(MPIR_Comm *comm, uint64_t key, MPI_Op op, MPI_Datatype type,
                                struct MPIDI_PCOLL_promoted **promoted_p)
{
    const bool is_long = MPIDI_PCOLL_key_is_long(key);
    struct MPIDI_PCOLL_promoted *promoted = allocate(comm, key);
    struct MPIDI_PCOLL_call call = {
        .arguments = arguments_of(comm, key, op, type),
        .signature = signature_of(key, comm),
        .comm = comm,
        .eligible = promoted != NULL,
        .is_promoted = true,
        .is_long = is_long,
    };
    bool made;
    int mpi_errno;

    if (promoted) {
        call.arguments.send.buffer = promoted->in;
        call.arguments.receive.buffer = promoted->out;
    }
    mpi_errno = MPIDI_PCOLL_call_plan(&call, describe[MPIDI_PCOLL_key_coll(key)],
                                      promoted ? &promoted->plan : NULL, &made);
    if (made) {
        promoted->can_move =
            is_long && !promoted->plan.plan->user_rma && MPIDI_PCOLL_plan_can_move(&promoted->plan);
        MPIDI_PCOLL_promoted_plans++;
    } else {
        free_memory(promoted);
    }
    *promoted_p = made ? promoted : NULL;
    return mpi_errno;
}

void MPIDI_PCOLL_promoted_free(struct MPIDI_PCOLL_promoted *promoted)
{
    if (!promoted)
        return;
    MPIDI_PCOLL_plan_unbind(&promoted->plan);
    MPIDI_PCOLL_state_release(promoted->plan.state);
    MPIDI_PCOLL_plan_fini(&promoted->plan);
    free_memory(promoted);
}

uint64_t MPIDI_PCOLL_promoted_bytes(const struct MPIDI_PCOLL_promoted *promoted)
{
    const uint64_t bytes = pcoll_plan_account(promoted->plan.plan).state_bytes;

    return promoted->can_move ? bytes : bytes + promoted->in_bytes + promoted->out_bytes;
}

/* ---- a call ---- */

void MPIDI_PCOLL_promoted_place(struct MPIDI_PCOLL_promoted *promoted, const void *in, void *out)
{
    struct MPIDI_PCOLL_plan *plan = &promoted->plan;
    const struct pcoll_memory memory = {
        .send = (void *)in, .recv = out, .op = MPIDI_PCOLL_operator_base(plan->op)};

    if (in == promoted->at_in && out == promoted->at_out)
        return;
    promoted->at_in = in;
    promoted->at_out = out;
    plan->medium->move(plan->bound, plan->plan, &memory);
}

/* Other threads enter MPI meanwhile, and may complete the plan. */
static void wait_with_threads(const struct MPIDI_PCOLL_plan *plan)
{
    while (plan->active) {
        MPID_Progress_test(NULL);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
}

int MPIDI_PCOLL_promoted_run(struct MPIDI_PCOLL_promoted *promoted)
{
    struct MPIDI_PCOLL_plan *plan = &promoted->plan;
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(plan->past == MPIDI_PCOLL_FAILED, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    MPIDI_PCOLL_promoted_calls++;
    mpi_errno = MPIDI_PCOLL_plan_start(plan);
    MPIR_ERR_CHECK(mpi_errno);
    if (MPIR_ThreadInfo.isThreaded)
        wait_with_threads(plan);
    else
        MPIDI_PCOLL_plan_wait(plan);
    mpi_errno = promoted->mpi_errno;

fn_fail:
    return mpi_errno;
}
