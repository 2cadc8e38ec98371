/* From the description of a call to a bound plan.
 *
 * One combine of a few words over the communicator settles everything that ranks could see
 * differently: whether each of them can take part, and what rank 0 proposes. What is declined is
 * declined by all ranks identically and goes to MPICH's own path. */

#include "call.h"

#include "lock.h"

#include "algorithms/lower/lower.h"
#include "algorithms/plan/user.h"
#include "offload/memory/heap.h"

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
    BLOCKS,    /* a hash of all blocks */
    NOT_BLOCKS,
    APART,
    ROW,    /* from here on, what rank 0 proposes (other ranks contribute 0); 0: nothing */
    PARAMS, /* struct pcoll_params as it lies in memory */
    NWORDS = PARAMS + sizeof(struct pcoll_params) / sizeof(uint64_t)
};

_Static_assert(sizeof(struct pcoll_params) % sizeof(uint64_t) == 0, "they are whole words");
_Static_assert(NWORDS <= PCOLL_COMBINE_WORDS, "they are combined at once");

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

/* 0 if there are none (FNV-1a, by words). */
static uint64_t hash_of_blocks(const struct pcoll_signature *signature)
{
    uint64_t hash = signature->blocks ? UINT64_C(0xcbf29ce484222325) : 0;

    for (int r = 0; signature->blocks && r <= signature->nranks; r++)
        hash = (hash ^ signature->blocks[r]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The ranks have contributed the same number to both words, one of them complemented. */
static bool is_same(const uint64_t *words, int value, int complement)
{
    return words[value] == ~words[complement];
}

static bool is_mapped(const struct MPIDI_PCOLL_call *call)
{
    return pcoll_heap_find(call->in.user, 1).fd != PCOLL_NONE ||
           pcoll_heap_find(call->out.user, 1).fd != PCOLL_NONE;
}

/* Settle eligibility and choice. *choice becomes rank 0's, of which other ranks get algorithm and
 * parameters; it has no algorithm if the call is declined. */
static int agree(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state,
                 struct pcoll_choice *choice)
{
    const uint64_t blocks = hash_of_blocks(&call->signature);
    const bool one_place = call->op && !pcoll_coll_has(call->signature.coll, PCOLL_ROOTED);
    uint64_t words[NWORDS] = {
        [INELIGIBLE] = !call->eligible,
        [IN_PLACE] = (uint64_t)call->signature.in_place,
        [NOT_IN_PLACE] = !call->signature.in_place,
        [NOT_COMMUTING] = !call->signature.commutes,
        [UNIT] = call->signature.unit,
        [NOT_UNIT] = ~call->signature.unit,
        [BYTES] = call->signature.bytes,
        [NOT_BYTES] = ~call->signature.bytes,
        [BLOCKS] = blocks,
        [NOT_BLOCKS] = ~blocks,
        [APART] = call->is_apart,
    };
    int mpi_errno = MPI_SUCCESS;

    if (call->comm->rank == 0 && !call->is_apart) {
        MPIDI_PCOLL_propose(&call->signature, is_mapped(call), call->info, state, choice);
        write_choice(choice, words);
    }
    if (state->medium->combine(state->group, words, NWORDS) != PCOLL_OK)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    read_choice(words, choice);
    if (words[INELIGIBLE] || !is_same(words, BYTES, NOT_BYTES) || !is_same(words, UNIT, NOT_UNIT) ||
        !is_same(words, BLOCKS, NOT_BLOCKS) ||
        (one_place && words[IN_PLACE] && words[NOT_IN_PLACE]))
        choice->algorithm = NULL;
    call->is_apart = words[APART] || !is_same(words, BYTES, NOT_BYTES) ||
                     !is_same(words, BLOCKS, NOT_BLOCKS) ||
                     (words[IN_PLACE] && words[NOT_IN_PLACE]);
    call->signature.in_place = !words[NOT_IN_PLACE];
    call->signature.commutes = !words[NOT_COMMUTING];
    return mpi_errno;
}

/* Generate the plan, and lower it if the medium cannot run it otherwise. */
static enum pcoll_result generate(const struct MPIDI_PCOLL_call *call,
                                  const struct MPIDI_PCOLL_comm *state,
                                  const struct pcoll_choice *choice, struct pcoll_plan **plan_p)
{
    enum pcoll_result result = pcoll_generate(choice->algorithm, &call->signature, call->local,
                                              call->comm->rank, &choice->params, plan_p);

    if (result == PCOLL_OK && !(state->medium->group_provides(state->group) & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(choice->algorithm, &choice->params, plan_p);
    return result;
}

static void print_choice(const struct MPIDI_PCOLL_plan *plan, const struct pcoll_choice *choice)
{
    const char *provider = MPIDI_PCOLL_is_libfabric(plan->medium) ? MPIDI_PCOLL_provider() : NULL;
    const struct pcoll_signature *sig = &plan->plan->signature;
    struct pcoll_account account = pcoll_plan_account(plan->plan);
    char text[PCOLL_CHOICE_BYTES], nodes[24] = "";

    pcoll_choice_text(choice, text);
    if (sig->topology)
        snprintf(nodes, sizeof(nodes), " of %d nodes", sig->topology->nnodes);
    fprintf(stderr,
            "[%d] pcoll: %s %llu B on %d ranks%s: %s on %s%s%s (%s), predicted %.2f us; "
            "%d counters, %d entries, %d messages, %llu B of state; ranks of a node: %s\n",
            MPIR_Process.rank, pcoll_coll_name(sig->coll), (unsigned long long)sig->bytes,
            sig->nranks, nodes, text, plan->medium->name, provider ? " over " : "",
            provider ? provider : "", choice->reason, choice->predicted_us, account.counters,
            account.entries, account.messages, (unsigned long long)account.state_bytes,
            plan->state->level == PCOLL_LEVEL_ANY ? "distance unknown"
                                                  : pcoll_level_names[plan->state->level]);
    if (MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 1)
        pcoll_plan_print(plan->plan, stderr);
}

static struct MPIDI_PCOLL_plan *discard(struct MPIDI_PCOLL_plan *plan)
{
    if (plan) {
        MPIDI_PCOLL_request_discard(plan);
        MPIDI_PCOLL_forget_kept(plan);
    }
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

static int is_border(const void *plan, enum pcoll_buffer buffer, uint64_t at)
{
    const struct MPIDI_PCOLL_plan *p = plan;

    return MPIDI_PCOLL_data_is_border(buffer == PCOLL_SEND ? &p->in : &p->out, at);
}

/* Where the plan finds the user's data. Data that is not contiguous is packed on its way to the
 * others if medium and plan can do that, otherwise at start. An agent cannot pack. */
static enum pcoll_result find_memory(struct MPIDI_PCOLL_plan *plan, struct pcoll_plan *raw,
                                     const struct pcoll_medium *medium, struct pcoll_memory *memory)
{
    const bool is_apart = !plan->in.is_packed || plan->in.owned; /* SEND is no part of RECV */

    if (is_apart && medium->traits & PCOLL_PACKS && !MPIDI_PCOLL_agent_wants(raw) &&
        pcoll_plan_can_pack(raw, is_border, plan)) {
        memory->send_layout = MPIDI_PCOLL_data_lay_out(&plan->in);
        memory->recv_layout = MPIDI_PCOLL_data_lay_out(&plan->out);
    }
    if ((!memory->send_layout && MPIDI_PCOLL_data_settle(&plan->in) != MPI_SUCCESS) ||
        (!memory->recv_layout && MPIDI_PCOLL_data_settle(&plan->out) != MPI_SUCCESS))
        return PCOLL_ERR_NOMEM;
    if (!memory->send_layout && !memory->recv_layout && MPIDI_PCOLL_keep(plan, raw) != MPI_SUCCESS)
        return PCOLL_ERR_NOMEM;
    memory->op = MPIDI_PCOLL_operator_base(plan->op);
    memory->send = MPIDI_PCOLL_data_address(&plan->in);
    memory->recv = MPIDI_PCOLL_data_address(&plan->out);
    return PCOLL_OK;
}

/* The call's data and operator become the plan's, or the reverse. */
static void hand_over(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_plan *plan)
{
    plan->in = call->in;
    plan->out = call->out;
    plan->op = call->op;
    plan->blocks = call->blocks;
    plan->local = call->local;
}

static void take_back(struct MPIDI_PCOLL_call *call, const struct MPIDI_PCOLL_plan *plan)
{
    call->in = plan->in;
    call->out = plan->out;
}

/* Generate and bind the plan. NULL, on all ranks, if that is declined. A rank that has run out of
 * memory, or cannot even generate the plan, still takes part in the steps that all others wait
 * for. */
static struct MPIDI_PCOLL_plan *make_plan(struct MPIDI_PCOLL_call *call,
                                          struct MPIDI_PCOLL_comm *state,
                                          const struct pcoll_choice *choice)
{
    struct pcoll_memory memory = {.op = NULL};
    struct MPIDI_PCOLL_plan *plan = MPL_calloc(1, sizeof(*plan), MPL_MEM_COLL);
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    struct pcoll_bound *bound = NULL;
    struct pcoll_plan *raw = NULL;

    if (plan && MPIDI_PCOLL_request_create(plan) == MPI_SUCCESS)
        result = generate(call, state, choice, &raw);
    if (result == PCOLL_OK) {
        hand_over(call, plan);
        result = find_memory(plan, raw, state->medium, &memory);
    }
    MPIDI_PCOLL_agent_hold(state->medium);
    result = state->medium->bind(state->group, result == PCOLL_OK ? raw : NULL, &memory, &bound);
    MPIDI_PCOLL_agent_release(state->medium);
    if (result != PCOLL_OK) {
        if (raw)
            take_back(call, plan);
        pcoll_plan_destroy(raw);
        return discard(plan);
    }
    if (MPIDI_PCOLL_is_network(state->medium))
        flush_messages(raw);
    plan->bound = MPIDI_PCOLL_agent_serve(raw, &memory, bound);
    plan->medium = plan->bound->medium;
    plan->plan = raw;
    plan->state = state;
    state->refs++;
    if (call->comm->rank == 0 && MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        print_choice(plan, choice);
    return plan;
}

static void drop_data(struct MPIDI_PCOLL_call *call)
{
    MPIDI_PCOLL_data_fini(&call->in);
    MPIDI_PCOLL_data_fini(&call->out);
    MPL_free(call->blocks);
    call->blocks = NULL;
}

/* The ranks learn about their edges, and agree. */
static int agree_on_edges(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state,
                          struct pcoll_choice *choice)
{
    int mpi_errno = MPIDI_PCOLL_settle_edges(call, state);

    return mpi_errno == MPI_SUCCESS ? agree(call, state, choice) : mpi_errno;
}

/* Where blocks may differ but lie side by side on all ranks, the signature says everything;
 * otherwise the ranks describe them once more, as edges. */
static int agree_on_blocks(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state,
                           struct pcoll_choice *choice)
{
    int mpi_errno = agree(call, state, choice);

    if (mpi_errno != MPI_SUCCESS || !call->is_apart)
        return mpi_errno;
    drop_data(call);
    call->is_apart = false;
    call->signature.blocks = NULL;
    call->signature.bytes = 0;
    call->signature.in_place = 0;
    choice->algorithm = NULL;
    MPIDI_PCOLL_describe_edges(call);
    return agree_on_edges(call, state, choice);
}

static void report_declined(const struct MPIDI_PCOLL_call *call)
{
    if (call->why && call->comm->rank == 0 && MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        fprintf(stderr, "[%d] pcoll: %s goes to MPICH's path: %s\n", MPIR_Process.rank,
                pcoll_coll_name(call->signature.coll), call->why);
}

static int init_on(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state,
                   MPIR_Request **request)
{
    struct pcoll_choice choice = {.algorithm = NULL};
    struct MPIDI_PCOLL_plan *plan = NULL;
    int mpi_errno = MPI_SUCCESS;

    call->signature.topology = state->topology;
    if (!pcoll_coll_has(call->signature.coll, PCOLL_EDGES))
        mpi_errno = agree(call, state, &choice);
    else if (pcoll_coll_has(call->signature.coll, PCOLL_VECTOR))
        mpi_errno = agree_on_blocks(call, state, &choice);
    else
        mpi_errno = agree_on_edges(call, state, &choice);
    if (mpi_errno == MPI_SUCCESS && choice.algorithm)
        plan = make_plan(call, state, &choice);
    if (plan) {
        *request = MPIDI_PCOLL_request_issue(plan);
    } else {
        drop_data(call);
        MPIDI_PCOLL_operator_destroy(call->op);
        MPIDI_PCOLL_local_free(call->local);
        report_declined(call);
    }
    return mpi_errno;
}

/* The communicator's state; NULL if the backend does not serve it. Without a free slot for the
 * progress hook it serves no communicator; that is the same on all ranks, as they run the same
 * build. */
static int find_state(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p)
{
    if (MPIDI_PCOLL_is_child())
        return MPIDI_PCOLL_refuse_child();
    if (MPIDI_PCOLL_run_init() == MPI_SUCCESS)
        return MPIDI_PCOLL_comm_get(comm, state_p);
    MPIDI_PCOLL_report("no progress hook is free; persistent collectives go to MPICH's path");
    return MPI_SUCCESS;
}

int MPIDI_PCOLL_call_init(struct MPIDI_PCOLL_call *call, MPIDI_PCOLL_describe *describe,
                          MPIR_Request **request)
{
    struct MPIDI_PCOLL_comm *state = NULL;
    int mpi_errno;

    *request = NULL;
    MPIDI_PCOLL_lock();
    mpi_errno = find_state(call->comm, &state);
    if (mpi_errno == MPI_SUCCESS && state) {
        if (describe)
            describe(call);
        mpi_errno = init_on(call, state, request);
    }
    MPIDI_PCOLL_unlock();
    return mpi_errno;
}
