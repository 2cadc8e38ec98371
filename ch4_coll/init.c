/* The calls that become plans: from the call to a bound plan.
 *
 * One combine of a few words over the communicator settles everything that ranks could see
 * differently: whether each of them can take part, and what rank 0 proposes. What is declined is
 * declined by all ranks identically and goes to MPICH's own path. */

#include "pcoll.h"

#include "fallback.h"

#include "algorithms/lower/lower.h"

/* A call that is not a plan yet. */
struct call {
    struct pcoll_signature signature;
    MPIR_Comm *comm;
    MPIR_Info *info;
    struct MPIDI_PCOLL_data in, out;
    struct MPIDI_PCOLL_operator *op; /* of a reduction */
    bool eligible;                   /* as far as this rank can tell */
    const char *why;                 /* why not; NULL: nobody needs to be told */
};

/* The words that the ranks combine; the maximum of each counts. */
enum {
    INELIGIBLE,
    IN_PLACE,
    NOT_IN_PLACE,
    NOT_COMMUTING,
    UNIT,
    NOT_UNIT, /* as below */
    BYTES,
    NOT_BYTES, /* complement of the bytes: the bytes are equal if both maxima come from the same
                * value */
    ROW,       /* from here on, what rank 0 proposes (other ranks contribute 0); 0: nothing */
    PARAMS,    /* struct pcoll_params as it lies in memory */
    NWORDS = PARAMS + sizeof(struct pcoll_params) / sizeof(uint64_t)
};

_Static_assert(sizeof(struct pcoll_params) % sizeof(uint64_t) == 0, "they are whole words");
_Static_assert(NWORDS <= PCOLL_COMBINE_WORDS, "they are combined at once");

static struct call call_make(enum pcoll_coll coll, int root, MPIR_Comm *comm, MPIR_Info *info)
{
    struct call call = {
        .signature = {.coll = coll, .nranks = comm->local_size, .root = root},
        .comm = comm,
        .info = info,
        .eligible = true,
    };

    return call;
}

/* Describe the rank's data; data that cannot be handled makes the call ineligible. */
static void add_data(struct call *call, struct MPIDI_PCOLL_data *data, const void *user,
                     MPI_Aint count, MPI_Datatype type, void *outer)
{
    if (MPIR_GPU_query_pointer_is_dev(user) ||
        MPIDI_PCOLL_data_init(data, (void *)user, count, type, outer) != MPI_SUCCESS)
        call->eligible = false;
}

static void write_choice(const struct pcoll_choice *choice, uint64_t *words)
{
    if (!choice->algorithm)
        return;
    words[ROW] = (uint64_t)pcoll_algorithm_number(choice->algorithm) + 1;
    memcpy(&words[PARAMS], &choice->params, sizeof(choice->params));
}

static void read_choice(const uint64_t *words, struct pcoll_choice *choice)
{
    choice->algorithm = words[ROW] ? pcoll_algorithms[words[ROW] - 1] : NULL;
    memcpy(&choice->params, &words[PARAMS], sizeof(choice->params));
}

/* Settle eligibility and choice. *choice becomes rank 0's, of which other ranks get algorithm and
 * parameters; it has no algorithm if the call is declined. */
static int agree(struct call *call, struct MPIDI_PCOLL_comm *state, struct pcoll_choice *choice)
{
    uint64_t words[NWORDS] = {
        [INELIGIBLE] = !call->eligible,
        [IN_PLACE] = (uint64_t)call->signature.in_place,
        [NOT_IN_PLACE] = !call->signature.in_place,
        [NOT_COMMUTING] = !call->signature.commutes,
        [UNIT] = call->signature.unit,
        [NOT_UNIT] = ~call->signature.unit,
        [BYTES] = call->signature.bytes,
        [NOT_BYTES] = ~call->signature.bytes,
    };
    int mpi_errno = MPI_SUCCESS;

    if (call->comm->rank == 0) {
        MPIDI_PCOLL_propose(&call->signature, call->info, state, choice);
        write_choice(choice, words);
    }
    if (state->medium->combine(state->group, words, NWORDS) != PCOLL_OK)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    read_choice(words, choice);
    if (words[INELIGIBLE] || words[BYTES] != ~words[NOT_BYTES] || words[UNIT] != ~words[NOT_UNIT] ||
        (call->op && words[IN_PLACE] && words[NOT_IN_PLACE]))
        choice->algorithm = NULL;
    call->signature.in_place = !words[NOT_IN_PLACE];
    call->signature.commutes = !words[NOT_COMMUTING];
    return mpi_errno;
}

/* Generate the plan, and lower it if the medium cannot run it otherwise. */
static enum pcoll_result generate(const struct call *call, const struct MPIDI_PCOLL_comm *state,
                                  const struct pcoll_choice *choice, struct pcoll_plan **plan_p)
{
    enum pcoll_result result = pcoll_generate(choice->algorithm, &call->signature, NULL,
                                              call->comm->rank, &choice->params, plan_p);

    if (result == PCOLL_OK && !(state->medium->group_provides(state->group) & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(choice->algorithm, &choice->params, plan_p);
    return result;
}

static void print_choice(const struct MPIDI_PCOLL_plan *plan, const struct pcoll_choice *choice)
{
    const struct pcoll_signature *sig = &plan->plan->signature;
    struct pcoll_account account = pcoll_plan_account(plan->plan);
    char text[PCOLL_CHOICE_BYTES], nodes[24] = "";

    pcoll_choice_text(choice, text);
    if (sig->topology)
        snprintf(nodes, sizeof(nodes), " of %d nodes", sig->topology->nnodes);
    fprintf(stderr,
            "[%d] pcoll: %s %llu B on %d ranks%s: %s on %s (%s), predicted %.2f us; "
            "%d counters, %d entries, %d messages, %llu B of state\n",
            MPIR_Process.rank, pcoll_coll_name(sig->coll), (unsigned long long)sig->bytes,
            sig->nranks, nodes, text, plan->medium->name, choice->reason, choice->predicted_us,
            account.counters, account.entries, account.messages,
            (unsigned long long)account.state_bytes);
    if (MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 1)
        pcoll_plan_print(plan->plan, stderr);
}

static struct MPIDI_PCOLL_plan *discard(struct MPIDI_PCOLL_plan *plan)
{
    if (plan)
        MPIDI_PCOLL_request_discard(plan);
    MPL_free(plan);
    return NULL;
}

/* MPICH regards a short message as sent once libfabric has it, but a provider with manual progress
 * may keep it until it is polled again: `sockets` sends one message of its queue at each poll. A
 * rank that starts the plan and computes must not leave the others waiting in this call. The queue
 * holds no more than what was sent to the neighbors and in the last agreement. */
static void flush_messages(const struct pcoll_plan *plan)
{
    enum { OF_AGREEMENT = 8, SWAPS = 2 };

    for (int i = 0; i < SWAPS * plan->nneighbors + OF_AGREEMENT; i++)
        MPID_Progress_test(NULL);
}

/* Generate and bind the plan. NULL, on all ranks, if that is declined. A rank that has run out of
 * memory, or cannot even generate the plan, still takes part in the steps that all others wait
 * for. */
static struct MPIDI_PCOLL_plan *make_plan(struct call *call, struct MPIDI_PCOLL_comm *state,
                                          const struct pcoll_choice *choice)
{
    struct pcoll_memory memory = {MPIDI_PCOLL_data_address(&call->in),
                                  MPIDI_PCOLL_data_address(&call->out),
                                  MPIDI_PCOLL_operator_base(call->op)};
    struct MPIDI_PCOLL_plan *plan = MPL_calloc(1, sizeof(*plan), MPL_MEM_COLL);
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    struct pcoll_bound *bound = NULL;
    struct pcoll_plan *raw = NULL;

    if (plan && MPIDI_PCOLL_request_create(plan) == MPI_SUCCESS)
        result = generate(call, state, choice, &raw);
    result = state->medium->bind(state->group, result == PCOLL_OK ? raw : NULL, &memory, &bound);
    if (result != PCOLL_OK) {
        pcoll_plan_destroy(raw);
        return discard(plan);
    }
    if (MPIDI_PCOLL_is_network(state->medium))
        flush_messages(raw);
    plan->bound = bound;
    plan->medium = state->medium;
    plan->plan = raw;
    plan->in = call->in;
    plan->out = call->out;
    plan->op = call->op;
    plan->state = state;
    state->refs++;
    if (call->comm->rank == 0 && MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        print_choice(plan, choice);
    return plan;
}

static void report_declined(const struct call *call)
{
    if (call->why && call->comm->rank == 0 && MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        fprintf(stderr, "[%d] pcoll: %s goes to MPICH's path: %s\n", MPIR_Process.rank,
                pcoll_coll_name(call->signature.coll), call->why);
}

/* *request stays NULL if the call is declined. */
static int try_init(struct call *call, struct MPIDI_PCOLL_comm *state, MPIR_Request **request)
{
    struct pcoll_choice choice = {.algorithm = NULL};
    struct MPIDI_PCOLL_plan *plan = NULL;
    int mpi_errno;

    call->signature.topology = state->topology;
    mpi_errno = agree(call, state, &choice);
    if (mpi_errno == MPI_SUCCESS && choice.algorithm)
        plan = make_plan(call, state, &choice);
    if (plan) {
        *request = MPIDI_PCOLL_request_issue(plan);
    } else {
        MPIDI_PCOLL_data_fini(&call->in);
        MPIDI_PCOLL_data_fini(&call->out);
        MPIDI_PCOLL_operator_destroy(call->op);
        report_declined(call);
    }
    return mpi_errno;
}

/* The communicator's state; NULL if the backend does not serve it. Without a free slot for the
 * progress hook it serves no communicator; that is the same on all ranks, as they run the same
 * build. */
static int find_state(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p)
{
    if (MPIDI_PCOLL_run_init() == MPI_SUCCESS)
        return MPIDI_PCOLL_comm_get(comm, state_p);
    MPIDI_PCOLL_report("no progress hook is free; persistent collectives go to MPICH's path");
    return MPI_SUCCESS;
}

int MPIDI_PCOLL_Barrier_init(MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    struct MPIDI_PCOLL_comm *state = NULL;
    struct call call = call_make(PCOLL_BARRIER, 0, comm, info);
    int mpi_errno = find_state(comm, &state);

    *request = NULL;
    if (mpi_errno == MPI_SUCCESS && state)
        mpi_errno = try_init(&call, state, request);
    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_barrier(comm, info, request);
    return mpi_errno;
}

static int try_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, struct call *call,
                     struct MPIDI_PCOLL_comm *state, MPIR_Request **request)
{
    bool is_root = call->comm->rank == call->signature.root;
    struct MPIDI_PCOLL_data *data = is_root ? &call->in : &call->out;

    add_data(call, data, buffer, count, datatype, NULL);
    call->signature.bytes = (uint64_t)data->bytes;
    return try_init(call, state, request);
}

int MPIDI_PCOLL_Bcast_init(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    struct MPIDI_PCOLL_comm *state = NULL;
    struct call call = call_make(PCOLL_BCAST, root, comm, info);
    int mpi_errno = find_state(comm, &state);

    *request = NULL;
    if (mpi_errno == MPI_SUCCESS && state)
        mpi_errno = try_bcast(buffer, count, datatype, &call, state, request);
    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_bcast(buffer, count, datatype, root, comm, info, request);
    return mpi_errno;
}

/* For MPI_IN_PLACE: the rank's own block, where it lies in the receive buffer. */
static void add_own_block(struct call *call, void *recvbuf, MPI_Aint recvcount,
                          MPI_Datatype recvtype)
{
    MPI_Aint extent, bytes = call->out.bytes / call->comm->local_size;
    int rank = call->comm->rank;
    char *packed = call->out.packed;

    MPIR_Datatype_get_extent_macro(recvtype, extent);
    add_data(call, &call->in, (char *)recvbuf + rank * recvcount * extent, recvcount, recvtype,
             packed ? packed + rank * bytes : NULL);
}

static int try_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                         struct call *call, struct MPIDI_PCOLL_comm *state, MPIR_Request **request)
{
    add_data(call, &call->out, recvbuf, recvcount * call->comm->local_size, recvtype, NULL);
    call->signature.in_place = sendbuf == MPI_IN_PLACE;
    if (sendbuf == MPI_IN_PLACE)
        add_own_block(call, recvbuf, recvcount, recvtype);
    else
        add_data(call, &call->in, sendbuf, sendcount, sendtype, NULL);
    call->signature.bytes = (uint64_t)call->in.bytes;
    if (call->in.bytes * call->comm->local_size != call->out.bytes)
        call->eligible = false;
    return try_init(call, state, request);
}

int MPIDI_PCOLL_Allgather_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                               MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request)
{
    struct MPIDI_PCOLL_comm *state = NULL;
    struct call call = call_make(PCOLL_ALLGATHER, 0, comm, info);
    int mpi_errno = find_state(comm, &state);

    *request = NULL;
    if (mpi_errno == MPI_SUCCESS && state)
        mpi_errno = try_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &call,
                                  state, request);
    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                                   recvtype, comm, info, request);
    return mpi_errno;
}

/* The data of a reduction: `count` elements that are not cut. */
static int try_reduction(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                         MPI_Op op, struct call *call, struct MPIDI_PCOLL_comm *state,
                         MPIR_Request **request)
{
    const bool in_place = sendbuf == MPI_IN_PLACE;

    call->why = MPIDI_PCOLL_operator_create(op, datatype, &call->op);
    if (call->why)
        call->eligible = false;
    else
        call->signature.unit = MPIDI_PCOLL_operator_base(call->op)->unit;
    call->signature.commutes = MPIR_Op_is_commutative(op);
    call->signature.in_place = in_place;
    if (call->eligible) {
        add_data(call, &call->out, recvbuf, count, datatype, NULL);
        add_data(call, &call->in, in_place ? recvbuf : sendbuf, count, datatype, NULL);
    }
    call->signature.bytes = (uint64_t)call->in.bytes;
    return try_init(call, state, request);
}

int MPIDI_PCOLL_Allreduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request)
{
    struct MPIDI_PCOLL_comm *state = NULL;
    struct call call = call_make(PCOLL_ALLREDUCE, 0, comm, info);
    int mpi_errno = find_state(comm, &state);

    *request = NULL;
    if (mpi_errno == MPI_SUCCESS && state)
        mpi_errno = try_reduction(sendbuf, recvbuf, count, datatype, op, &call, state, request);
    if (mpi_errno == MPI_SUCCESS && !*request)
        mpi_errno = MPIDI_PCOLL_fallback_allreduce(sendbuf, recvbuf, count, datatype, op, comm,
                                                   info, request);
    return mpi_errno;
}
